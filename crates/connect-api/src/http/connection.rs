//! Connections for the Connect API and for actions: TLS, DNS, proxies, no redirects and no automatic retries; and one
//! exchange on them, within its limits.

use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use http::HeaderValue;
use http::header::ACCEPT;
use jiff::Timestamp;
use reqwest::{Client, ClientBuilder, Request, Response, redirect};
use tracing::Instrument as _;

use super::build_error::BuildError;
use super::running::Running;
use super::trust::Authorities;
use crate::client_context::ClientContext;
use crate::error::{ApiError, Failure};
use crate::hosts::Endpoint;
use crate::mask::Masker;
use crate::observer::RequestEnd;
use crate::resolver::GuardedResolver;

/// `User-Agent` of all requests.
const USER_AGENT: &str = concat!("connect-operator/", env!("CARGO_PKG_VERSION"));

/// The connections of one client.
#[derive(Debug)]
pub(super) struct Connections {
    client: Client,
    connect: Duration,
    call: Duration,
    pub(super) around: ClientContext,
}

impl Connections {
    /// Prepares connections to these endpoints and to no other host. `connect` and `call` limit the time of one request;
    /// `idle`: how long a connection is kept for the next one, if at all.
    ///
    /// # Errors
    /// Fails if TLS cannot be set up, or the CA certificates cannot be read.
    pub(super) fn new(
        endpoints: &[&Endpoint],
        (connect, call): (Duration, Duration),
        idle: Option<Duration>,
        authorities: &Authorities,
        around: ClientContext,
    ) -> Result<Self, BuildError> {
        let builder = builder(endpoints, connect, authorities)?;
        let builder = match idle {
            Some(idle) => builder.pool_idle_timeout(idle),
            None => builder.pool_max_idle_per_host(0),
        };
        Ok(Self { client: builder.build()?, connect, call, around })
    }

    /// Checks that a request of `operation` may still leave. `send_before` is set for changing calls, which also need the
    /// permission of the fence.
    pub(super) fn permit(&self, operation: &'static str, send_before: Option<Timestamp>) -> Result<(), ApiError> {
        let Some(end) = send_before else { return Ok(()) };
        let why = if self.around.clock.now() >= end {
            "the time limit for sending it has passed"
        } else if !self.around.fence.holds() {
            "this process is no longer the leader"
        } else {
            return Ok(());
        };
        Err(ApiError::of(operation, Failure::NotSent, why))
    }

    /// Sends a request once. `masker` hides secrets in the message of an error.
    pub(super) async fn send(
        &self,
        mut request: Request,
        running: &mut Running,
        masker: impl FnOnce() -> Masker,
    ) -> Result<Response, ApiError> {
        *request.timeout_mut() = Some(self.call);
        let answered = self.client.execute(request).instrument(running.span().clone()).await;
        answered.map_err(|error| {
            let (failure, end, message) = self.why(&error, masker);
            running.ends(end);
            ApiError::of(running.operation, failure, message)
        })
    }

    /// Reads a body up to `largest` bytes, and returns whether that is all of it.
    pub(super) async fn read(
        &self,
        mut response: Response,
        largest: usize,
        running: &mut Running,
    ) -> Result<(Vec<u8>, bool), ApiError> {
        let mut body = Vec::new();
        let span = running.span().clone();
        let (end, why) = loop {
            match response.chunk().instrument(span.clone()).await {
                Ok(Some(chunk)) => {
                    let fits = chunk.len().min(largest - body.len());
                    body.extend_from_slice(&chunk[..fits]);
                    if fits < chunk.len() {
                        return Ok((body, false));
                    }
                }
                Ok(None) => return Ok((body, true)),
                Err(error) if error.is_timeout() => {
                    break (RequestEnd::Timeout, format!("the body was incomplete after {:?}", self.call));
                }
                Err(_) => break (RequestEnd::Broken, "the body is incomplete".to_owned()),
            }
        };
        running.ends(end);
        let message = format!("status {}, but {why}", response.status().as_u16());
        Err(ApiError::of(running.operation, Failure::NoAnswer, message))
    }

    /// Returns whether the request may have been sent, how it ended, and a message for users.
    fn why(&self, error: &reqwest::Error, masker: impl FnOnce() -> Masker) -> (Failure, RequestEnd, String) {
        let (connect, call) = (self.connect, self.call);
        match (error.is_connect() || error.is_builder(), error.is_timeout()) {
            (true, true) => (Failure::NotSent, RequestEnd::Timeout, format!("no connection within {connect:?}")),
            (true, false) => (Failure::NotSent, RequestEnd::Connection, format!("no connection: {}", innermost(error))),
            (false, true) => (Failure::NoAnswer, RequestEnd::Timeout, format!("no answer within {call:?}")),
            (false, false) => {
                let why = format!("the connection broke: {}", masker().mask(&innermost(error)));
                (Failure::NoAnswer, RequestEnd::Broken, why)
            }
        }
    }
}

/// Creates the builder of a client that calls these endpoints and no other host.
fn builder(endpoints: &[&Endpoint], connect: Duration, authorities: &Authorities) -> Result<ClientBuilder, BuildError> {
    // Fails if the process already installed a provider; then that one is used.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Client::builder()
        .user_agent(USER_AGENT)
        .default_headers(HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static("application/json"))]))
        .redirect(redirect::Policy::none())
        .referer(false)
        .retry(reqwest::retry::never())
        .connect_timeout(connect)
        .dns_resolver(Arc::new(GuardedResolver::new(endpoints.iter().copied())));
    // Plain HTTP needs no platform certificates: they may be absent, and loading them would cost memory.
    builder = if endpoints.iter().any(|endpoint| endpoint.url().scheme() == "https") {
        builder.tls_backend_preconfigured(authorities.tls()?)
    } else {
        builder.tls_certs_only([])
    };
    if endpoints.iter().any(|endpoint| endpoint.is_local()) {
        builder = builder.no_proxy();
    }
    Ok(builder)
}

/// Time limit of one request to a collector: the default of the OTLP specification.
const EXPORT: Duration = Duration::from_secs(10);

/// Creates a client for a collector of telemetry, whose address an administrator has set.
///
/// # Errors
/// Fails if TLS cannot be set up, or if the CA certificates cannot be read.
pub fn collector_client(authorities: &Authorities) -> Result<Client, BuildError> {
    let client = Client::builder().user_agent(USER_AGENT).timeout(EXPORT).tls_backend_preconfigured(authorities.tls()?);
    // A redirect would take the headers along, which may have an API key.
    Ok(client.redirect(redirect::Policy::none()).build()?)
}

/// Returns the message of the innermost cause. The outer errors only repeat that a request failed, and may contain the
/// URL.
fn innermost(error: &reqwest::Error) -> String {
    let mut cause = error.source();
    let mut text = String::new();
    while let Some(error) = cause {
        text = error.to_string();
        cause = error.source();
    }
    text
}
