//! One HTTP exchange, within its limits. Knows neither operations nor tokens, decides nothing, and logs nothing of what
//! goes over the wire.

use std::sync::Arc;
use std::time::Duration;

use http::header::AUTHORIZATION;
use http::{HeaderValue, StatusCode};
use jiff::Timestamp;
use reqwest::{Client, Request, Response};
use uuid::Uuid;

use super::answer::{self, CORRELATION_ID};
use super::connection::{self, Sent};
use super::pace::Pace;
use super::settings::{BuildError, Limits, Settings};
use crate::client_context::ClientContext;
use crate::error::Failure;
use crate::fence::Fence;
use crate::mask::Masker;
use crate::observer::{Observer, RequestEnd};
use crate::trace;
use clock::Clock;

/// How long an unused connection is kept: less than servers and gateways keep it, so that few requests meet one that
/// is just being closed.
const IDLE_CONNECTION: Duration = Duration::from_secs(20);

/// Memory that is set aside for a body before it arrives, in bytes: announcing a large one costs a server nothing.
const LARGEST_TRUST: usize = 1 << 20;

/// Why a call did not leave that the fence held back.
pub(super) const NOT_PERMITTED: &str = "this process does not lead any more";

/// The connections of one client.
#[derive(Debug)]
pub(super) struct Wire {
    client: Client,
    clock: Clock,
    limits: Limits,
    fence: Fence,
    pub(super) pace: Pace,
    pub(super) observer: Arc<dyn Observer>,
}

/// A whole answer, whatever its status.
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) body: Vec<u8>,
    pub(super) correlation_id: String,
    pub(super) retry_after: Option<Duration>,
    /// From the start of the request to the end of the body.
    pub(super) duration: Duration,
}

/// No whole answer.
#[derive(Clone, Debug)]
pub(super) struct Lost {
    pub(super) failure: Failure,
    pub(super) message: String,
    pub(super) correlation_id: Option<String>,
    pub(super) retry_after: Option<Duration>,
    /// How the request ended, and after what time; `None`: it did not begin.
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
        let builder = connection::builder(&endpoints, settings.limits.connect, settings.extra_ca_pem.as_deref())?;
        let builder = builder.pool_idle_timeout(IDLE_CONNECTION);
        let client = builder.build()?;
        let ClientContext { clock, fence, observer } = around;
        let pace = Pace::new(clock.clone(), settings.requests_per_second);
        Ok(Self { client, clock, limits: settings.limits, fence, pace, observer })
    }

    /// Sends a request once, if it may still leave, and reads the answer; `largest_body` holds for a success. `masker`
    /// knows what must not come back in an id or a text. `send_before`: of what changes something, which needs the
    /// permission of the fence as well. `optional`: a pause that is asked for holds up nobody else.
    pub(super) async fn exchange(
        &self,
        mut request: Request,
        send_before: Option<Timestamp>,
        largest_body: usize,
        optional: bool,
        masker: impl Fn() -> Masker,
    ) -> Result<Reply, Lost> {
        // The trace id in front, so that the service's own logs lead to ours.
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
            return Err(Lost::not_sent("its time was over before it could leave"));
        }
        if send_before.is_some() && !self.fence.holds() {
            return Err(Lost::not_sent(NOT_PERMITTED));
        }
        let start = self.clock.elapsed();
        let duration = || self.clock.elapsed().saturating_sub(start);
        let answered = self.client.execute(request).await;
        let response = answered.map_err(|error| self.lost(&error, duration(), &sent, &masker))?;
        let status = response.status();
        let retry_after =
            if status.is_success() { None } else { answer::retry_after(response.headers(), self.clock.now()) };
        if let Some(pause) = retry_after.filter(|_| !optional) {
            self.pace.hold(pause);
        }
        if retry_after.is_some() || status == StatusCode::TOO_MANY_REQUESTS {
            self.observer.throttled();
        }
        let correlation_id = answer::correlation_id(response.headers(), &sent, &masker);
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

    /// Reads a body and stops at once when it is too long, too slow or broken. The error says which.
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
                    return Err((RequestEnd::Timeout, format!("no whole body within {:?}", self.limits.call)));
                }
                Ok(Err(_)) => return Err((RequestEnd::Broken, "the body broke off".to_owned())),
                Err(_) => {
                    return Err((RequestEnd::Timeout, format!("the body paused for {:?}", self.limits.silence)));
                }
            }
        }
    }

    fn lost(&self, error: &reqwest::Error, after: Duration, sent: &str, masker: impl FnOnce() -> Masker) -> Lost {
        let (what, end, message) = connection::why(error, self.limits.connect, self.limits.call, masker);
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
