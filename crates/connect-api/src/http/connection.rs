//! Setup of connections for the Connect API and for actions: TLS, DNS, proxies, no redirects and no automatic retries.

use std::error::Error as _;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use http::HeaderValue;
use http::header::ACCEPT;
use reqwest::{Client, ClientBuilder, redirect};

use super::build_error::BuildError;
use super::trust::Authorities;
use crate::hosts::Endpoint;
use crate::mask::Masker;
use crate::observer::RequestEnd;
use crate::resolver::GuardedResolver;

/// `User-Agent` of all requests.
const USER_AGENT: &str = concat!("connect-operator/", env!("CARGO_PKG_VERSION"));

/// Creates the builder of a client that calls these endpoints and no other host.
///
/// # Errors
/// Fails if the CA certificates cannot be read.
pub(super) fn builder(
    endpoints: &[&Endpoint],
    connect: Duration,
    authorities: &Authorities,
) -> Result<ClientBuilder, BuildError> {
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

/// Returns whether the request may have been sent, how it ended, and a message for users, which names the `authorities` if the
/// certificate is refused. `masker` hides secrets in the message.
pub(super) fn why(
    error: &reqwest::Error,
    authorities: &Authorities,
    connect: Duration,
    call: Duration,
    masker: impl FnOnce() -> Masker,
) -> (Sent, RequestEnd, String) {
    let unconnected = error.is_connect() || error.is_builder();
    match (unconnected, error.is_timeout()) {
        (true, true) => (Sent::Nothing, RequestEnd::Timeout, format!("no connection within {connect:?}")),
        (true, false) => {
            let trusted =
                if is_of_certificate(error) { format!(" (trusted are {authorities})") } else { String::new() };
            (Sent::Nothing, RequestEnd::Connection, format!("no connection: {}{trusted}", innermost(error)))
        }
        (false, true) => (Sent::Perhaps, RequestEnd::Timeout, format!("no answer within {call:?}")),
        (false, false) => {
            let why = format!("the connection broke: {}", masker().mask(&innermost(error)));
            (Sent::Perhaps, RequestEnd::Broken, why)
        }
    }
}

/// What part of a failed request was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// Nothing, because no connection was established.
    Nothing,
    /// Possibly a part or all of the request.
    Perhaps,
}

/// Returns whether the certificate of the server, or of a proxy, was refused.
fn is_of_certificate(error: &reqwest::Error) -> bool {
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<rustls::Error>() {
            return matches!(error, rustls::Error::InvalidCertificate(_));
        }
        // An I/O error does not count what it carries as its cause.
        cause = match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(carried) => Some(carried),
            None => error.source(),
        };
    }
    false
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
