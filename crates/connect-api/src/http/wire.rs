//! A single exchange with the Connect API, the HTTP API or a token endpoint. This module knows neither operations nor
//! tokens, and makes no decisions.

use std::time::Duration;

use http::header::AUTHORIZATION;
use http::{HeaderValue, StatusCode};
use jiff::Timestamp;
use reqwest::Request;
use uuid::Uuid;

use super::answer::{self, CORRELATION_ID};
use super::build_error::BuildError;
use super::connection::Connections;
use super::pace::Pace;
use super::running::Running;
use super::settings::{Limits, Settings};
use crate::client_context::ClientContext;
use crate::error::{ApiError, Failure};
use crate::mask::Masker;
use crate::observer::{Observer, RequestEnd};
use crate::trace;

/// How long an idle connection is kept. This is shorter than the timeout of servers and gateways, so that few requests
/// are sent on a connection that is just being closed.
const IDLE_CONNECTION: Duration = Duration::from_secs(20);

/// The connections of one client, with its rate limit and pauses.
#[derive(Debug)]
pub(super) struct Wire {
    connections: Connections,
    pub(super) limits: Limits,
    pub(super) pace: Pace,
}

/// A complete response with any status.
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) body: Vec<u8>,
    pub(super) correlation_id: String,
    pub(super) retry_after: Option<Duration>,
    running: Running,
}

impl Reply {
    /// Decodes the body of a success. The error omits serde's message, because that quotes the body.
    pub(super) fn read<T>(mut self, read: impl FnOnce(&[u8]) -> Result<T, serde_json::Error>) -> Result<T, ApiError> {
        read(&self.body).map_err(|error| {
            self.running.ends(RequestEnd::Undecodable);
            let message = format!(
                "status {} with {} bytes that do not match the contract ({:?} error at line {}, column {})",
                self.status.as_u16(),
                self.body.len(),
                error.classify(),
                error.line(),
                error.column(),
            );
            let correlation_id = Some(std::mem::take(&mut self.correlation_id));
            ApiError { correlation_id, ..ApiError::of(self.running.operation, Failure::Unreadable, message) }
        })
    }
}

impl Wire {
    pub(super) fn new(settings: &Settings, around: ClientContext) -> Result<Self, BuildError> {
        let Settings { api_url, auth_url, limits, authorities, .. } = settings;
        let pace = Pace::new(around.clock.clone(), settings.requests_per_second);
        let times = (limits.connect, limits.call);
        let connections = Connections::new(&[api_url, auth_url], times, Some(IDLE_CONNECTION), authorities, around)?;
        Ok(Self { connections, limits: *limits, pace })
    }

    pub(super) fn observer(&self) -> &dyn Observer {
        &*self.connections.around.observer
    }

    /// Sends a request of `operation` once, if it may still leave, and reads the response. `send_before` is set for
    /// changing calls, which also need the permission of the fence. `largest_body` limits the body of a success. `masker`
    /// hides secrets in the correlation id and in error messages. `optional`: a pause that the response asks for does not
    /// delay other calls.
    pub(super) async fn exchange(
        &self,
        operation: &'static str,
        mut request: Request,
        send_before: Option<Timestamp>,
        largest_body: usize,
        optional: bool,
        masker: impl Fn() -> Masker,
    ) -> Result<Reply, ApiError> {
        let sent = correlate(&mut request);
        self.pace.open().map_err(|left| held_back(operation, left))?;
        self.connections.permit(operation, send_before)?;
        let mut running = Running::start(operation, &request, &self.connections.around);
        running.correlated(&sent);
        let response = self.connections.send(request, &mut running, &masker).await.map_err(|error| {
            let correlation_id = (error.failure == Failure::NoAnswer).then(|| sent.clone());
            ApiError { correlation_id, ..error }
        })?;
        let (status, headers) = (response.status(), response.headers());
        let retry_after =
            if status.is_success() { None } else { answer::retry_after(headers, self.connections.around.clock.now()) };
        if let Some(pause) = retry_after.filter(|_| !optional) {
            self.pace.hold(pause);
        }
        if retry_after.is_some() || status == StatusCode::TOO_MANY_REQUESTS {
            self.observer().throttled();
        }
        let correlation_id = answer::correlation_id(headers, &sent, &masker);
        running.correlated(&correlation_id);
        let largest = if status.is_success() { largest_body } else { self.limits.small_body };
        let read = self.connections.read(response, largest, &mut running).await;
        let failed = |error| ApiError { correlation_id: Some(correlation_id.clone()), retry_after, ..error };
        let (body, whole) = read.map_err(failed)?;
        if !whole {
            running.ends(RequestEnd::Broken);
            let message = format!("status {}, but a body of more than {largest} bytes", status.as_u16());
            return Err(failed(ApiError::of(operation, Failure::NoAnswer, message)));
        }
        running.ends(RequestEnd::Status(status.as_u16()));
        Ok(Reply { status, body, correlation_id, retry_after, running })
    }
}

/// Returns the error of a call that waits for the end of a pause.
pub(super) fn held_back(operation: &'static str, left: Duration) -> ApiError {
    let message = "the service asked for a pause";
    ApiError { retry_after: Some(left), ..ApiError::of(operation, Failure::HeldBack, message) }
}

/// Gives a request its correlation id, and keeps its credentials out of `Debug`.
fn correlate(request: &mut Request) -> String {
    // The trace id comes first, so that the service's logs can be matched with the operator's.
    let trace = trace::current().map(|id| format!("{id}-")).unwrap_or_default();
    let id = format!("connect-operator-{trace}{}", Uuid::new_v4());
    let value = HeaderValue::from_str(&id);
    let value = value.expect("a UUID, a trace id and a fixed prefix are ASCII letters, digits and dashes");
    request.headers_mut().insert(CORRELATION_ID, value);
    if let Some(authorization) = request.headers_mut().get_mut(AUTHORIZATION) {
        authorization.set_sensitive(true);
    }
    id
}
