//! The Connect API over HTTP. [`HttpConnect`] sends one request for each operation of [`ConnectApi`], and likewise for
//! the registry and staged connectors (`registry`) and for the HTTP API (`commerce`). Frontend actions have a separate
//! client (`action`), which shares only the setup of connections (`connection`).
//!
//! The client never repeats a call on its own, except once with a new token if the token was refused. It logs
//! operation, status, duration and correlation id, never a header or a body. See `wire` for one exchange, `token` for
//! tokens, `pace` for rate limiting and `answer` for errors.

mod action;
pub mod answer;
mod build_error;
mod call;
mod commerce;
mod connection;
mod pace;
mod registry;
mod running;
mod settings;
mod token;
mod trust;
mod wire;

use std::sync::Arc;

use http::Method;
use jiff::Timestamp;
use secrecy::ExposeSecret;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use action::ActionClient;
pub use answer::ASSUMED_LIFE;
pub use build_error::BuildError;
pub use call::Query;
pub use connection::collector_client;
pub use settings::{Credentials, Limits, Settings};
pub use trust::Authorities;

use self::call::Call;
use self::token::Tokens;
use self::wire::Wire;
use super::api::{Answer, ConnectApi, PageRequest, Selector};
use super::error::{ApiError, Failure};
use super::model::{
    Connector, ConnectorStaged, Deployment, DeploymentDraft, DeploymentUpdate, DeploymentUpdateAction, Paged,
    RedeployAction,
};
use super::routes;
use crate::client_context::ClientContext;
use clock::Clock;

/// HTTP client for the Connect API of one project. Share it: connections, token, rate limit and pauses belong to it.
#[derive(Debug)]
pub struct HttpConnect {
    settings: Settings,
    clock: Clock,
    wire: Arc<Wire>,
    tokens: Tokens,
}

impl HttpConnect {
    /// Creates a client without sending anything.
    ///
    /// # Errors
    /// Fails if TLS cannot be set up, if the CA certificates cannot be read, or if the token path cannot be appended
    /// to the authorization URL.
    pub fn new(settings: Settings, around: ClientContext) -> Result<Self, BuildError> {
        let clock = around.clock.clone();
        let wire = Arc::new(Wire::new(&settings, around)?);
        let no_path = "the token path cannot be appended to the authorization URL: give the URL without a path";
        let endpoint = settings.auth_url.at(routes::TOKEN).ok_or_else(|| BuildError(no_path.to_owned()))?;
        let tokens = Tokens::new(Arc::clone(&wire), clock.clone(), endpoint, settings.credentials.clone());
        Ok(Self { settings, clock, wire, tokens })
    }

    /// Returns the scopes of the newest token: those in its response, or the requested ones if the response names none.
    /// `None` before the first token.
    pub fn scopes(&self) -> Option<Vec<String>> {
        self.tokens.scopes()
    }

    /// Returns a read of the resource with this id or key; empty: of a list.
    fn get(&self, operation: &'static str, name: &str) -> Call<'_> {
        let path = routes::path(operation, &self.settings.project_key, name);
        Call {
            operation,
            method: Method::GET,
            path,
            query: Vec::new(),
            body: None,
            secrets: Vec::new(),
            send_before: None,
            largest_body: self.settings.limits.body,
            optional: false,
            may_be_absent: false,
        }
    }

    /// Returns a change of the resource with this id or key; empty: of a list.
    fn post(&self, operation: &'static str, name: &str, body: &impl Serialize, send_before: Timestamp) -> Call<'_> {
        let body = serde_json::to_vec(body);
        let body = body.expect("records of strings, numbers and lists can always be written as JSON");
        Call { method: Method::POST, body: Some(body), send_before: Some(send_before), ..self.get(operation, name) }
    }

    /// Deletes a resource. `read` returns the result if the service accepted that with a body that cannot be read.
    async fn delete<T: DeserializeOwned>(
        &self,
        operation: &'static str,
        selector: &Selector,
        send_before: Timestamp,
        read: Answer<'_, Option<T>>,
    ) -> Result<Option<T>, ApiError> {
        let call = self.get(operation, selector.name());
        match self.maybe(Call { method: Method::DELETE, send_before: Some(send_before), ..call }).await {
            Err(error) if error.failure == Failure::Unreadable => read.await.map_err(|_| error),
            outcome => outcome,
        }
    }
}

impl ConnectApi for HttpConnect {
    fn deployments(&self, request: PageRequest) -> Answer<'_, Paged<Arc<Deployment>>> {
        Box::pin(async move {
            let page = self.listed::<Deployment>("queryDeployments", Vec::new(), request).await?;
            let Paged { limit, offset, count, total, results } = page;
            Ok(Paged { limit, offset, count, total, results: results.into_iter().map(Arc::new).collect() })
        })
    }

    fn deployment<'a>(&'a self, selector: &'a Selector) -> Answer<'a, Option<Deployment>> {
        let operation = selector.operation("getDeploymentById", "getDeploymentByKey");
        Box::pin(self.maybe(self.get(operation, selector.name())))
    }

    fn create<'a>(&'a self, draft: &'a DeploymentDraft, send_before: Timestamp) -> Answer<'a, Deployment> {
        let secrets = draft.secured_values().map(ExposeSecret::expose_secret).collect();
        Box::pin(self.one(Call { secrets, ..self.post("createDeployment", "", draft, send_before) }))
    }

    fn redeploy<'a>(
        &'a self,
        selector: &'a Selector,
        version: i64,
        action: &'a RedeployAction,
        send_before: Timestamp,
    ) -> Answer<'a, Option<Deployment>> {
        let operation = selector.operation("updateDeploymentById", "updateDeploymentByKey");
        let update = DeploymentUpdate { version, actions: vec![DeploymentUpdateAction::Redeploy(action.clone())] };
        let secrets = action.secured_values().map(ExposeSecret::expose_secret).collect();
        Box::pin(self.maybe(Call { secrets, ..self.post(operation, selector.name(), &update, send_before) }))
    }

    fn undeploy<'a>(&'a self, selector: &'a Selector, send_before: Timestamp) -> Answer<'a, Option<Deployment>> {
        let operation = selector.operation("deleteDeploymentById", "deleteDeploymentByKey");
        Box::pin(self.delete(operation, selector, send_before, self.deployment(selector)))
    }

    fn connector<'a>(&'a self, selector: &'a Selector) -> Answer<'a, Option<Connector>> {
        let operation = selector.operation("getConnectorById", "getConnectorByKey");
        Box::pin(self.maybe(Call { optional: true, ..self.get(operation, selector.name()) }))
    }

    fn staged<'a>(&'a self, selector: &'a Selector) -> Answer<'a, Option<ConnectorStaged>> {
        let operation = selector.operation("getConnectorStagedById", "getConnectorStagedByKey");
        Box::pin(self.maybe(self.get(operation, selector.name())))
    }
}
