//! Frontend actions over HTTP: one request for each call, to one host, without any repeating. Next:
//! [`crate::action`] for what is sent.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use reqwest::{Body, Client, Request, Response};

use super::connection::{self, Sent};
use super::settings::BuildError;
use super::wire::NOT_PERMITTED;
use crate::action::{ActionAnswer, ActionApi, ActionRequest};
use crate::api::Answer;
use crate::client_context::ClientContext;
use crate::error::{ApiError, Failure};
use crate::fence::Fence;
use crate::hosts::Endpoint;
use crate::observer::{Observer, RequestEnd};
use clock::Clock;

/// Memory that is set aside for a body before it arrives, in bytes: announcing a large one costs a server nothing.
const LARGEST_TRUST: usize = 64 << 10;

/// Where actions are called, and within what limits.
#[derive(Clone, Debug)]
pub struct ActionSettings {
    /// The frontend, and no other host.
    pub endpoint: Endpoint,
    /// Limits of one call.
    pub limits: ActionLimits,
    /// Certificates in PEM that are trusted beside those of the platform.
    pub extra_ca_pem: Option<Vec<u8>>,
}

/// Limits of one call, in real time and bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActionLimits {
    /// Until a connection stands, name and TLS included: 5 s, and never more than `call`.
    pub connect: Duration,
    /// From the start of the connection to the end of the body: 10 s.
    pub call: Duration,
    /// Largest part of a body that is kept; the rest is not read: 1 MiB.
    pub body: usize,
}

impl Default for ActionLimits {
    fn default() -> Self {
        Self { connect: Duration::from_secs(5), call: Duration::from_secs(10), body: 1 << 20 }
    }
}

/// Calls actions of one frontend. No connection is used twice, so that no request meets one that is just being closed.
#[derive(Debug)]
pub struct ActionClient {
    settings: ActionSettings,
    clock: Clock,
    fence: Fence,
    client: Client,
    observer: Arc<dyn Observer>,
}

impl ActionClient {
    /// A client; nothing is sent yet.
    ///
    /// # Errors
    /// When TLS cannot be set up, or the extra certificates cannot be read.
    pub fn new(settings: ActionSettings, clock: Clock) -> Result<Self, BuildError> {
        Self::within(settings, ClientContext::plain(clock))
    }

    /// The same with a permission that may end, and somebody who hears of each call.
    ///
    /// # Errors
    /// As [`ActionClient::new`].
    pub fn within(mut settings: ActionSettings, around: ClientContext) -> Result<Self, BuildError> {
        settings.limits.connect = settings.limits.connect.min(settings.limits.call);
        let endpoints = [&settings.endpoint];
        let extra = settings.extra_ca_pem.as_deref();
        let builder = connection::builder(&endpoints, settings.limits.connect, extra)?;
        let client = builder.pool_max_idle_per_host(0).build()?;
        let ClientContext { clock, fence, observer } = around;
        Ok(Self { settings, clock, fence, client, observer })
    }

    async fn exchange(&self, request: ActionRequest, send_before: Option<Timestamp>) -> Result<ActionAnswer, ApiError> {
        let ActionRequest { operation, method, url, headers, body, masker } = request;
        let lost = |failure, message| ApiError { operation, failure, message, correlation_id: None, retry_after: None };
        if url.origin() != self.settings.endpoint.url().origin() {
            return Err(lost(Failure::NotSent, "it was made for another host".to_owned()));
        }
        if send_before.is_some_and(|end| self.clock.now() >= end) {
            return Err(lost(Failure::NotSent, "its time was over before it could leave".to_owned()));
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
        let observe = |end| {
            self.observer.request(operation, end, self.clock.elapsed().saturating_sub(start));
        };
        let answered = self.client.execute(request).await;
        let mut response = answered.map_err(|error| {
            let (sent, end, why) = connection::why(&error, connect, call, || masker);
            observe(end);
            match sent {
                Sent::Nothing => lost(Failure::NotSent, why),
                Sent::Perhaps => lost(Failure::NoAnswer, why),
            }
        })?;
        let (status, headers) = (response.status(), std::mem::take(response.headers_mut()));
        let (body, whole) = beginning(response, largest).await.map_err(|error| {
            let broken = format!("status {}, but the body broke off", status.as_u16());
            observe(if error.is_timeout() { RequestEnd::Timeout } else { RequestEnd::Broken });
            let slow = || format!("status {}, but no whole body within {call:?}", status.as_u16());
            lost(Failure::NoAnswer, if error.is_timeout() { slow() } else { broken })
        })?;
        observe(RequestEnd::Status(status.as_u16()));
        let duration = self.clock.elapsed().saturating_sub(start);
        let duration_ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        tracing::debug!(operation, status = status.as_u16(), duration_ms, "the action answered");
        Ok(ActionAnswer { status, headers, body, whole, duration })
    }
}

impl ActionApi for ActionClient {
    fn send(&self, request: ActionRequest, send_before: Option<Timestamp>) -> Answer<'_, ActionAnswer> {
        Box::pin(self.exchange(request, send_before))
    }
}

/// As much of a body as fits, and whether that is all of it.
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
