//! Frontend actions over HTTP: one request for each call, to one host, without any repeating. Next:
//! [`crate::connect::action`] for what is sent.

use std::fmt;
use std::time::Duration;

use http::{HeaderMap, StatusCode};
use jiff::Timestamp;
use reqwest::{Body, Client, Request, Response};
use serde::de::DeserializeOwned;

use super::connection::{self, Sent};
use super::settings::BuildError;
use crate::clock::Clock;
use crate::connect::action::{Action, ActionRequest, BadAction, Preset};
use crate::connect::error::{ApiError, Failure};
use crate::connect::hosts::Endpoint;
use crate::connect::mask::Masker;
use crate::connect::model::ActionError;

/// Memory that is set aside for a body before it arrives, in bytes: announcing a large one costs a server nothing.
const LARGEST_TRUST: usize = 64 << 10;

/// Where actions are called, and within what limits.
#[derive(Clone, Debug)]
pub struct ActionSettings {
    /// The frontend; [`Preset::url`] names it, unless its URL is given.
    pub endpoint: Endpoint,
    /// How it is called.
    pub preset: Preset,
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
    client: Client,
}

/// A call that can be sent, once: sending uses it up. Nothing has left yet.
pub struct PreparedAction<'c> {
    client: &'c ActionClient,
    operation: &'static str,
    request: Request,
    masker: Masker,
}

/// What came, whatever its status: an error of the action and a redirect, which is not followed, are answers too.
pub struct ActionAnswer {
    /// HTTP status.
    pub status: StatusCode,
    /// Headers; cookies may be among them.
    pub headers: HeaderMap,
    /// The body, or as much of its start as the limit allows.
    pub body: Vec<u8>,
    /// Whether that is the whole body.
    pub whole: bool,
    /// From the start of the connection to the end of the body, or of what is kept of it.
    pub duration: Duration,
}

impl ActionClient {
    /// A client; nothing is sent yet.
    ///
    /// # Errors
    /// When TLS cannot be set up, or the extra certificates cannot be read.
    pub fn new(mut settings: ActionSettings, clock: Clock) -> Result<Self, BuildError> {
        settings.limits.connect = settings.limits.connect.min(settings.limits.call);
        let endpoints = [&settings.endpoint];
        let extra = settings.extra_ca_pem.as_deref();
        let builder = connection::builder(&endpoints, settings.limits.connect, extra)?;
        let client = builder.pool_max_idle_per_host(0).build().map_err(BuildError::Tls)?;
        Ok(Self { settings, clock, client })
    }

    /// Checks a call and makes it ready.
    ///
    /// # Errors
    /// When something in it cannot be sent as it is.
    pub fn prepare(&self, action: &Action) -> Result<PreparedAction<'_>, BadAction> {
        let ActionSettings { preset, endpoint, .. } = &self.settings;
        let ActionRequest { method, url, headers, body } = action.request(preset, endpoint)?;
        let mut request = Request::new(method, url);
        *request.headers_mut() = headers;
        *request.body_mut() = body.map(Body::from);
        *request.timeout_mut() = Some(self.settings.limits.call);
        Ok(PreparedAction { client: self, operation: action.operation(preset), request, masker: action.masker() })
    }
}

impl PreparedAction<'_> {
    /// Sends it, once, if it may still leave, and reads the answer.
    ///
    /// # Errors
    /// [`Failure::NotSent`] if nothing left, and [`Failure::NoAnswer`] if it may have arrived; never another one. Texts
    /// are masked for the extra headers; the answer is not.
    pub async fn send(self, send_before: Option<Timestamp>) -> Result<ActionAnswer, ApiError> {
        let Self { client, operation, request, masker } = self;
        let lost = |failure, message| ApiError { operation, failure, message, correlation_id: None, retry_after: None };
        let ActionLimits { connect, call, body: largest } = client.settings.limits;
        if send_before.is_some_and(|end| client.clock.now() >= end) {
            return Err(lost(Failure::NotSent, "its time was over before it could leave".to_owned()));
        }
        let start = client.clock.elapsed();
        let answered = client.client.execute(request).await;
        let mut response = answered.map_err(|error| match connection::why(&error, connect, call, || masker) {
            (Sent::Nothing, why) => lost(Failure::NotSent, why),
            (Sent::Perhaps, why) => lost(Failure::NoAnswer, why),
        })?;
        let (status, headers) = (response.status(), std::mem::take(response.headers_mut()));
        let (body, whole) = beginning(response, largest).await.map_err(|error| {
            let broken = format!("status {}, but the body broke off", status.as_u16());
            let slow = || format!("status {}, but no whole body within {call:?}", status.as_u16());
            lost(Failure::NoAnswer, if error.is_timeout() { slow() } else { broken })
        })?;
        let duration = client.clock.elapsed().saturating_sub(start);
        let duration_ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        tracing::debug!(operation, status = status.as_u16(), duration_ms, "the action answered");
        Ok(ActionAnswer { status, headers, body, whole, duration })
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

impl ActionAnswer {
    /// The body as JSON; `None` if it is not JSON of that shape, or not whole.
    #[must_use]
    pub fn json<T: DeserializeOwned>(&self) -> Option<T> {
        self.whole.then(|| serde_json::from_slice(&self.body).ok())?
    }

    /// What the frontend says about a call that did not work, such as that there is no such action; `None` after a
    /// success, and if the body says something else.
    #[must_use]
    pub fn error(&self) -> Option<ActionError> {
        (!self.status.is_success()).then(|| self.json())?
    }
}

impl fmt::Debug for ActionAnswer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ActionAnswer")
            .field("status", &self.status)
            .field("bytes", &self.body.len())
            .field("whole", &self.whole)
            .field("duration", &self.duration)
            .finish_non_exhaustive()
    }
}
