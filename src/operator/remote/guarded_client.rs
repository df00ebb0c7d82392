//! The client that every caller gets: each call asks the circuit breaker first and reports to it afterwards, so that no
//! caller can forget.

use std::sync::Arc;

use connect_api::api::{Answer, PageRequest};
use connect_api::model::{
    Connector, ConnectorStaged, ConnectorStagedDraft, ConnectorUpdate, Deployment, DeploymentDraft, Paged,
    RedeployAction,
};
use connect_api::registry::StagedApi;
use connect_api::{ApiError, ConnectApi, Selector};
use jiff::Timestamp;

use super::circuit_breaker::CallScope;
use super::{Connection, Remote};

/// The client of a remote behind its circuit breaker.
pub(super) struct GuardedClient(pub(super) Arc<Remote>);

impl Remote {
    /// Returns the client. Each call asks the circuit breaker first
    /// ([`HeldBack`](connect_api::error::Failure::HeldBack) if it is open, with the time left in `retry_after`) and reports
    /// to it afterwards, so callers need not. Do not keep it for longer than one reconcile.
    pub fn api(self: &Arc<Self>) -> impl ConnectApi + StagedApi + use<> {
        GuardedClient(Arc::clone(self))
    }
}

impl GuardedClient {
    async fn pass<'a, T>(
        &'a self,
        operation: &'static str,
        scope: CallScope,
        call: impl FnOnce(&'a dyn Connection) -> Answer<'a, T>,
    ) -> Result<T, ApiError> {
        let permit = self.0.admit(operation, scope)?;
        let answer = call(&*self.0.client).await;
        self.0.report(permit, answer.as_ref().err());
        answer
    }
}

impl ConnectApi for GuardedClient {
    fn deployments(&self, page: PageRequest) -> Answer<'_, Paged<Arc<Deployment>>> {
        Box::pin(self.pass("queryDeployments", CallScope::List, move |client| client.deployments(page)))
    }

    fn deployment<'a>(&'a self, selector: &'a Selector) -> Answer<'a, Option<Deployment>> {
        let operation = selector.operation("getDeploymentById", "getDeploymentByKey");
        Box::pin(self.pass(operation, CallScope::Read, |client| client.deployment(selector)))
    }

    fn create<'a>(&'a self, draft: &'a DeploymentDraft, send_before: Timestamp) -> Answer<'a, Deployment> {
        Box::pin(self.pass("createDeployment", CallScope::Other, move |client| client.create(draft, send_before)))
    }

    fn redeploy<'a>(
        &'a self,
        selector: &'a Selector,
        version: i64,
        action: &'a RedeployAction,
        send_before: Timestamp,
    ) -> Answer<'a, Option<Deployment>> {
        let operation = selector.operation("updateDeploymentById", "updateDeploymentByKey");
        let call = move |client: &'a dyn Connection| client.redeploy(selector, version, action, send_before);
        Box::pin(self.pass(operation, CallScope::Other, call))
    }

    fn undeploy<'a>(&'a self, selector: &'a Selector, send_before: Timestamp) -> Answer<'a, Option<Deployment>> {
        let operation = selector.operation("deleteDeploymentById", "deleteDeploymentByKey");
        Box::pin(self.pass(operation, CallScope::Other, move |client| client.undeploy(selector, send_before)))
    }

    fn connector<'a>(&'a self, selector: &'a Selector) -> Answer<'a, Option<Connector>> {
        let operation = selector.operation("getConnectorById", "getConnectorByKey");
        Box::pin(self.pass(operation, CallScope::Extra, |client| client.connector(selector)))
    }

    fn staged<'a>(&'a self, selector: &'a Selector) -> Answer<'a, Option<ConnectorStaged>> {
        let operation = selector.operation("getConnectorStagedById", "getConnectorStagedByKey");
        Box::pin(self.pass(operation, CallScope::Other, |client| client.staged(selector)))
    }
}

impl StagedApi for GuardedClient {
    fn stage<'a>(&'a self, draft: &'a ConnectorStagedDraft, send_before: Timestamp) -> Answer<'a, ConnectorStaged> {
        let call = move |client: &'a dyn Connection| client.stage(draft, send_before);
        Box::pin(self.pass("createConnectorStaged", CallScope::Other, call))
    }

    fn update<'a>(
        &'a self,
        selector: &'a Selector,
        update: &'a ConnectorUpdate,
        send_before: Timestamp,
    ) -> Answer<'a, Option<ConnectorStaged>> {
        let operation = selector.operation("updateConnectorStagedById", "updateConnectorStagedByKey");
        let call = move |client: &'a dyn Connection| client.update(selector, update, send_before);
        Box::pin(self.pass(operation, CallScope::Other, call))
    }

    fn discard<'a>(&'a self, selector: &'a Selector, send_before: Timestamp) -> Answer<'a, Option<ConnectorStaged>> {
        let operation = selector.operation("deleteConnectorStagedById", "deleteConnectorStagedByKey");
        Box::pin(self.pass(operation, CallScope::Other, move |client| client.discard(selector, send_before)))
    }
}
