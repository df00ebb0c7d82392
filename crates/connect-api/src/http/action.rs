//! Frontend actions over HTTP: one request for each call, to one host, never repeated. See [`crate::action`] for how
//! the request is built.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use reqwest::{Body, Client, Request, Response};
use tracing::Instrument as _;

use super::build_error::BuildError;
use super::connection::{self, Sent};
use super::span;
use super::trust::Authorities;
use super::wire::NOT_PERMITTED;
use crate::action::{ActionAnswer, ActionApi, ActionRequest};
use crate::api::Answer;
use crate::client_context::ClientContext;
use crate::error::{ApiError, Failure};
use crate::fence::Fence;
use crate::hosts::Endpoint;
use crate::observer::{Observer, RequestEnd, Unfinished};
use clock::Clock;

/// Maximum memory reserved for a body before it arrives, in bytes. A server can announce any length at no cost, so the
/// announced length is not trusted beyond this.
const LARGEST_TRUST: usize = 64 << 10;

/// The frontend to call, and the limits of a call.
#[derive(Clone, Debug)]
pub struct ActionSettings {
    /// The frontend; no other host is called.
    pub endpoint: Endpoint,
    /// Limits of one call.
    pub limits: ActionLimits,
    /// The authorities to trust.
    pub authorities: Authorities,
}

/// Limits of one call: real time and bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActionLimits {
    /// Time to establish a connection, including DNS and TLS: 5 s, never more than `call`.
    pub connect: Duration,
    /// Time from the start of the connection to the end of the body: 10 s.
    pub call: Duration,
    /// Maximum number of bytes of a body that are kept: 1 MiB. The rest is not read.
    pub body: usize,
}

impl Default for ActionLimits {
    fn default() -> Self {
        Self { connect: Duration::from_secs(5), call: Duration::from_secs(10), body: 1 << 20 }
    }
}

/// Client for the actions of one frontend. It uses a new connection for each request, so that no request is sent on a
/// connection that the server is just closing.
#[derive(Debug)]
pub struct ActionClient {
    settings: ActionSettings,
    clock: Clock,
    fence: Fence,
    client: Client,
    observer: Arc<dyn Observer>,
}

impl ActionClient {
    /// Creates a client without sending anything.
    ///
    /// # Errors
    /// Fails if TLS cannot be set up or the CA certificates cannot be read.
    pub fn new(settings: ActionSettings, clock: Clock) -> Result<Self, BuildError> {
        Self::within(settings, ClientContext::plain(clock))
    }

    /// Creates a client with the fence and the observer of `around`.
    ///
    /// # Errors
    /// Fails like [`ActionClient::new`].
    pub fn within(mut settings: ActionSettings, around: ClientContext) -> Result<Self, BuildError> {
        settings.limits.connect = settings.limits.connect.min(settings.limits.call);
        let endpoints = [&settings.endpoint];
        let builder = connection::builder(&endpoints, settings.limits.connect, &settings.authorities)?;
        let client = builder.pool_max_idle_per_host(0).build()?;
        let ClientContext { clock, fence, observer } = around;
        Ok(Self { settings, clock, fence, client, observer })
    }

    async fn exchange(&self, request: ActionRequest, send_before: Option<Timestamp>) -> Result<ActionAnswer, ApiError> {
        let ActionRequest { operation, method, url, headers, body, masker } = request;
        let lost = |failure, message| ApiError { operation, failure, message, correlation_id: None, retry_after: None };
        if url.origin() != self.settings.endpoint.url().origin() {
            return Err(lost(Failure::NotSent, "the request is addressed to another host".to_owned()));
        }
        if send_before.is_some_and(|end| self.clock.now() >= end) {
            return Err(lost(Failure::NotSent, "the time limit for sending it has passed".to_owned()));
        }
        let mut request = Request::new(method, url);
        *request.headers_mut() = headers;
        *request.body_mut() = body.map(Body::from);
        let ActionLimits { connect, call, body: largest } = self.settings.limits;
        *request.timeout_mut() = Some(call);
        if !self.fence.holds() {
            return Err(lost(Failure::NotSent, NOT_PERMITTED.to_owned()));
        }
        let start = self.clock.elapsed();
        let span = span::of(operation, &request);
        let observe = |end| {
            span::ended(&span, end);
            self.observer.request(operation, end, self.clock.elapsed().saturating_sub(start));
        };
        let unfinished = Unfinished::start(&*self.observer, &self.clock, operation);
        let received = async {
            let answered = self.client.execute(request).instrument(span.clone()).await;
            let response = answered.map_err(|error| {
                let (sent, end, why) = connection::why(&error, &self.settings.authorities, connect, call, || masker);
                observe(end);
                match sent {
                    Sent::Nothing => lost(Failure::NotSent, why),
                    Sent::Perhaps => lost(Failure::NoAnswer, why),
                }
            })?;
            let status = response.status();
            let (body, whole) = beginning(response, largest).instrument(span.clone()).await.map_err(|error| {
                let broken = format!("status {}, but the body is incomplete", status.as_u16());
                observe(if error.is_timeout() { RequestEnd::Timeout } else { RequestEnd::Broken });
                let slow = || format!("status {}, but the body was incomplete after {call:?}", status.as_u16());
                lost(Failure::NoAnswer, if error.is_timeout() { slow() } else { broken })
            })?;
            observe(RequestEnd::Status(status.as_u16()));
            Ok((status, body, whole))
        };
        let received = received.await;
        unfinished.finished();
        let (status, body, whole) = received?;
        let duration = self.clock.elapsed().saturating_sub(start);
        let duration_ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        tracing::debug!(operation, status = status.as_u16(), duration_ms, "the action answered");
        Ok(ActionAnswer { status, body, whole, duration })
    }
}

impl ActionApi for ActionClient {
    fn send(&self, request: ActionRequest, send_before: Option<Timestamp>) -> Answer<'_, ActionAnswer> {
        Box::pin(self.exchange(request, send_before))
    }
}

/// Reads a body up to the limit, and returns whether that is all of it.
async fn beginning(mut response: Response, largest: usize) -> Result<(Vec<u8>, bool), reqwest::Error> {
    let announced = response.content_length().map_or(Ok(0), usize::try_from).unwrap_or(usize::MAX);
    let mut body = Vec::with_capacity(announced.min(largest).min(LARGEST_TRUST));
    while let Some(chunk) = response.chunk().await? {
        let room = largest - body.len();
        if chunk.len() > room {
            body.extend_from_slice(&chunk[..room]);
            return Ok((body, false));
        }
        body.extend_from_slice(&chunk);
    }
    Ok((body, true))
}
