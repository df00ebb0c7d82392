//! Frontend actions over HTTP: one request for each call, to one host, never repeated. See [`crate::action`] for how
//! the request is built.

use std::time::Duration;

use clock::Clock;
use jiff::Timestamp;
use reqwest::{Body, Request};

use super::build_error::BuildError;
use super::connection::Connections;
use super::running::Running;
use super::trust::Authorities;
use crate::action::{ActionAnswer, ActionApi, ActionRequest};
use crate::api::Answer;
use crate::client_context::ClientContext;
use crate::error::{ApiError, Failure};
use crate::hosts::Endpoint;
use crate::observer::RequestEnd;

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
    endpoint: Endpoint,
    limits: ActionLimits,
    connections: Connections,
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
    pub fn within(settings: ActionSettings, around: ClientContext) -> Result<Self, BuildError> {
        let ActionSettings { endpoint, limits, authorities } = settings;
        let times = (limits.connect.min(limits.call), limits.call);
        let connections = Connections::new(&[&endpoint], times, None, &authorities, around)?;
        Ok(Self { endpoint, limits, connections })
    }

    async fn exchange(&self, request: ActionRequest, send_before: Option<Timestamp>) -> Result<ActionAnswer, ApiError> {
        let ActionRequest { operation, method, url, headers, body, masker } = request;
        if url.origin() != self.endpoint.url().origin() {
            return Err(ApiError::of(operation, Failure::NotSent, "the request is addressed to another host"));
        }
        self.connections.permit(operation, send_before)?;
        let mut request = Request::new(method, url);
        *request.headers_mut() = headers;
        *request.body_mut() = body.map(Body::from);
        let mut running = Running::start(operation, &request, &self.connections.around);
        let response = self.connections.send(request, &mut running, || masker).await?;
        let status = response.status();
        let ActionLimits { call, body: largest, .. } = self.limits;
        let (body, whole) = self.connections.read(response, largest, call, &mut running).await?;
        running.ends(RequestEnd::Status(status.as_u16()));
        Ok(ActionAnswer { status, body, whole, duration: running.duration() })
    }
}

impl ActionApi for ActionClient {
    fn send(&self, request: ActionRequest, send_before: Option<Timestamp>) -> Answer<'_, ActionAnswer> {
        Box::pin(self.exchange(request, send_before))
    }
}
