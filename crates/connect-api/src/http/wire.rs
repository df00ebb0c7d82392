//! A single HTTP exchange within its limits. This module knows neither operations nor tokens, makes no decisions, and
//! does not log what it sends and receives.

use std::sync::Arc;
use std::time::Duration;

use http::header::AUTHORIZATION;
use http::{HeaderValue, StatusCode};
use jiff::Timestamp;
use reqwest::{Client, Request, Response};
use tracing::Instrument as _;
use uuid::Uuid;

use super::answer::{self, CORRELATION_ID};
use super::build_error::BuildError;
use super::connection::{self, Sent};
use super::pace::Pace;
use super::settings::{Limits, Settings};
use super::span;
use super::trust::Authorities;
use crate::client_context::ClientContext;
use crate::error::Failure;
use crate::fence::Fence;
use crate::mask::Masker;
use crate::observer::{Observer, RequestEnd};
use crate::trace;
use clock::Clock;

/// How long an idle connection is kept. This is shorter than the timeout of servers and gateways, so that few requests
/// are sent on a connection that is just being closed.
const IDLE_CONNECTION: Duration = Duration::from_secs(20);

/// Maximum memory reserved for a body before it arrives, in bytes. A server can announce any length at no cost, so the
/// announced length is not trusted beyond this.
const LARGEST_TRUST: usize = 1 << 20;

/// Message of a call that the fence stopped.
pub(super) const NOT_PERMITTED: &str = "this process is no longer the leader";

/// The connections of one client.
#[derive(Debug)]
pub(super) struct Wire {
    client: Client,
    authorities: Authorities,
    clock: Clock,
    limits: Limits,
    fence: Fence,
    pub(super) pace: Pace,
    pub(super) observer: Arc<dyn Observer>,
}

/// A complete response with any status.
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) body: Vec<u8>,
    pub(super) correlation_id: String,
    pub(super) retry_after: Option<Duration>,
    /// Time from the start of the request to the end of the body.
    pub(super) duration: Duration,
}

/// Why no complete response arrived.
#[derive(Clone, Debug)]
pub(super) struct Lost {
    pub(super) failure: Failure,
    pub(super) message: String,
    pub(super) correlation_id: Option<String>,
    pub(super) retry_after: Option<Duration>,
    /// How the request ended and after what time; `None` if it was not started.
    pub(super) ended: Option<(RequestEnd, Duration)>,
}

impl Lost {
    pub(super) fn held_back(left: Duration) -> Self {
        Self {
            failure: Failure::HeldBack,
            message: "the service asked for a pause".to_owned(),
            correlation_id: None,
            retry_after: Some(left),
            ended: None,
        }
    }

    pub(super) fn not_sent(message: impl Into<String>) -> Self {
        Self {
            failure: Failure::NotSent,
            message: message.into(),
            correlation_id: None,
            retry_after: None,
            ended: None,
        }
    }
}

impl Wire {
    pub(super) fn new(settings: &Settings, around: ClientContext) -> Result<Self, BuildError> {
        let endpoints = [&settings.api_url, &settings.auth_url];
        let builder = connection::builder(&endpoints, settings.limits.connect, &settings.authorities)?;
        let builder = builder.pool_idle_timeout(IDLE_CONNECTION);
        let client = builder.build()?;
        let ClientContext { clock, fence, observer } = around;
        let pace = Pace::new(clock.clone(), settings.requests_per_second);
        let authorities = settings.authorities.clone();
        Ok(Self { client, authorities, clock, limits: settings.limits, fence, pace, observer })
    }

    /// Sends a request of `operation` once, if it may still leave, and reads the response. `send_before` is set for changing calls,
    /// which also need the permission of the fence. `largest_body` limits the body of a success. `masker` hides secrets
    /// in the correlation id and in error messages. `optional`: a pause that the response asks for does not delay other
    /// calls.
    pub(super) async fn exchange(
        &self,
        operation: &'static str,
        mut request: Request,
        send_before: Option<Timestamp>,
        largest_body: usize,
        optional: bool,
        masker: impl Fn() -> Masker,
    ) -> Result<Reply, Lost> {
        // The trace id comes first, so that the service's logs can be matched with the operator's.
        let trace = trace::current().map(|id| format!("{id}-")).unwrap_or_default();
        let sent = format!("connect-operator-{trace}{}", Uuid::new_v4());
        request.headers_mut().insert(
            CORRELATION_ID,
            HeaderValue::from_str(&sent)
                .expect("a UUID, a trace id and a fixed prefix are ASCII letters, digits and dashes"),
        );
        if let Some(authorization) = request.headers_mut().get_mut(AUTHORIZATION) {
            authorization.set_sensitive(true);
        }
        *request.timeout_mut() = Some(self.limits.call);
        self.pace.open().map_err(Lost::held_back)?;
        if send_before.is_some_and(|end| self.clock.now() >= end) {
            return Err(Lost::not_sent("the time limit for sending it has passed"));
        }
        if send_before.is_some() && !self.fence.holds() {
            return Err(Lost::not_sent(NOT_PERMITTED));
        }
        let span = span::of(operation, &request);
        let outcome = self.send(request, &sent, largest_body, optional, &masker).instrument(span.clone()).await;
        let (end, correlation_id) = match &outcome {
            Ok(reply) => (Some(RequestEnd::Status(reply.status.as_u16())), &reply.correlation_id),
            Err(lost) => (lost.ended.map(|(end, _)| end), lost.correlation_id.as_ref().unwrap_or(&sent)),
        };
        if let Some(end) = end {
            span::ended(&span, end);
        }
        span::correlated(&span, correlation_id);
        outcome
    }

    /// Sends the request, whose correlation id is `sent`, and reads the response.
    async fn send(
        &self,
        request: Request,
        sent: &str,
        largest_body: usize,
        optional: bool,
        masker: &impl Fn() -> Masker,
    ) -> Result<Reply, Lost> {
        let start = self.clock.elapsed();
        let duration = || self.clock.elapsed().saturating_sub(start);
        let answered = self.client.execute(request).await;
        let response = answered.map_err(|error| self.lost(&error, duration(), sent, masker))?;
        let status = response.status();
        let retry_after =
            if status.is_success() { None } else { answer::retry_after(response.headers(), self.clock.now()) };
        if let Some(pause) = retry_after.filter(|_| !optional) {
            self.pace.hold(pause);
        }
        if retry_after.is_some() || status == StatusCode::TOO_MANY_REQUESTS {
            self.observer.throttled();
        }
        let correlation_id = answer::correlation_id(response.headers(), sent, masker);
        let largest_body = if status.is_success() { largest_body } else { self.limits.small_body };
        match self.body(response, largest_body).await {
            Ok(body) => Ok(Reply { status, body, correlation_id, retry_after, duration: duration() }),
            Err((end, what)) => Err(Lost {
                failure: Failure::NoAnswer,
                message: format!("status {}, but {what}", status.as_u16()),
                correlation_id: Some(correlation_id),
                retry_after,
                ended: Some((end, duration())),
            }),
        }
    }

    /// Reads a body, and stops as soon as it is too long, too slow or broken. The error describes which.
    async fn body(&self, mut response: Response, largest: usize) -> Result<Vec<u8>, (RequestEnd, String)> {
        let too_large = || (RequestEnd::Broken, format!("a body of more than {largest} bytes"));
        let announced = response.content_length().map_or(Ok(0), usize::try_from).unwrap_or(usize::MAX);
        if announced > largest {
            return Err(too_large());
        }
        let mut body = Vec::with_capacity(announced.min(LARGEST_TRUST));
        loop {
            match tokio::time::timeout(self.limits.silence, response.chunk()).await {
                Ok(Ok(Some(chunk))) if body.len() + chunk.len() > largest => return Err(too_large()),
                Ok(Ok(Some(chunk))) => body.extend_from_slice(&chunk),
                Ok(Ok(None)) => return Ok(body),
                Ok(Err(error)) if error.is_timeout() => {
                    return Err((RequestEnd::Timeout, format!("the body was incomplete after {:?}", self.limits.call)));
                }
                Ok(Err(_)) => return Err((RequestEnd::Broken, "the body is incomplete".to_owned())),
                Err(_) => {
                    return Err((RequestEnd::Timeout, format!("no data arrived for {:?}", self.limits.silence)));
                }
            }
        }
    }

    fn lost(&self, error: &reqwest::Error, after: Duration, sent: &str, masker: impl FnOnce() -> Masker) -> Lost {
        let (what, end, message) =
            connection::why(error, &self.authorities, self.limits.connect, self.limits.call, masker);
        let ended = Some((end, after));
        match what {
            Sent::Nothing => Lost { ended, ..Lost::not_sent(message) },
            Sent::Perhaps => {
                let correlation_id = Some(sent.to_owned());
                Lost { failure: Failure::NoAnswer, message, correlation_id, retry_after: None, ended }
            }
        }
    }
}
