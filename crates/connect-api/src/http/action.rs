//! Frontend actions over HTTP: one request for each call, to one host, never repeated. See [`crate::action`] for how
//! the request is built.

use jiff::Timestamp;
use reqwest::{Body, Request};

use super::build_error::BuildError;
use super::connection::Connections;
use super::running::Running;
use super::settings::Limits;
use super::trust::Authorities;
use crate::action::{ActionAnswer, ActionApi, ActionRequest};
use crate::api::Answer;
use crate::client_context::ClientContext;
use crate::error::{ApiError, Failure};
use crate::hosts::Endpoint;
use crate::observer::RequestEnd;

/// Client for the actions of one frontend. It uses a new connection for each request, so that no request is sent on a
/// connection that the server is just closing.
#[derive(Debug)]
pub struct ActionClient {
    endpoint: Endpoint,
    largest: usize,
    connections: Connections,
}

impl ActionClient {
    /// Creates a client without sending anything. No other host than that of `endpoint` is called. `limits`: of one call,
    /// `connect` and `call`, and `body`, of which the rest is not read.
    ///
    /// # Errors
    /// Fails if TLS cannot be set up or the CA certificates cannot be read.
    pub fn new(
        endpoint: Endpoint,
        limits: Limits,
        authorities: &Authorities,
        around: ClientContext,
    ) -> Result<Self, BuildError> {
        let times = (limits.connect.min(limits.call), limits.call);
        let connections = Connections::new(&[&endpoint], times, None, authorities, around)?;
        Ok(Self { endpoint, largest: limits.body, connections })
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
        let (body, whole) = self.connections.read(response, self.largest, &mut running).await?;
        running.ends(RequestEnd::Status(status.as_u16()));
        Ok(ActionAnswer { status, body, whole, duration: running.duration() })
    }
}

impl ActionApi for ActionClient {
    fn send(&self, request: ActionRequest, send_before: Option<Timestamp>) -> Answer<'_, ActionAnswer> {
        Box::pin(self.exchange(request, send_before))
    }
}
