//! The operations of the Connect API that the operator uses, as a trait in domain terms.
//!
//! Controllers depend on this trait only; `http/` implements it, and tests may too. Implementations mask every
//! secured value that they sent in the texts that they return. They never repeat a changing call on their own, except
//! once with a new token after a 401.

use std::sync::Arc;

use futures::future::BoxFuture;
use jiff::Timestamp;

use super::ApiError;
use super::model::{Connector, ConnectorStaged, Deployment, DeploymentDraft, Paged, RedeployAction};

/// Identifies one resource by id or by key (contract section 5).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Selector {
    /// By the id that the service assigned.
    Id(String),
    /// By the key that the user assigned.
    Key(String),
}

impl Selector {
    /// Returns the id or the key.
    pub fn name(&self) -> &str {
        let (Self::Id(name) | Self::Key(name)) = self;
        name
    }

    /// Returns the name of an operation that exists in a form by id and a form by key (contract section 5).
    pub fn operation(&self, by_id: &'static str, by_key: &'static str) -> &'static str {
        match self {
            Self::Id(_) => by_id,
            Self::Key(_) => by_key,
        }
    }
}

/// A request for one page of a list (contract section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRequest {
    /// Maximum number of results, 0 to 500.
    pub limit: u16,
    /// Number of results to skip, 0 to 10000.
    pub offset: u32,
}

/// The future result of an API call.
pub type Answer<'a, T> = BoxFuture<'a, Result<T, ApiError>>;

/// The Connect API of one project. `None` represents a 404 from the service itself (`ResourceNotFound`).
///
/// Changing calls take `send_before`: the request leaves before that time or fails with
/// [`super::error::Failure::NotSent`]. The limit also covers waiting for a token and for the rate limit, so that
/// nothing reaches the service later than one request timeout after it.
pub trait ConnectApi: Send + Sync {
    /// `queryDeployments`: returns one page of the project's deployments, in no guaranteed order. Records that cannot
    /// be decoded are omitted.
    fn deployments(&self, page: PageRequest) -> Answer<'_, Paged<Arc<Deployment>>>;

    /// `getDeploymentById`, `getDeploymentByKey`.
    fn deployment<'a>(&'a self, selector: &'a Selector) -> Answer<'a, Option<Deployment>>;

    /// `createDeployment`. Not safe to repeat: look up the key first (contract section 8.4).
    fn create<'a>(&'a self, draft: &'a DeploymentDraft, send_before: Timestamp) -> Answer<'a, Deployment>;

    /// `updateDeploymentById`, `updateDeploymentByKey`, with the single action `redeploy`. `version` is the version that
    /// the caller read.
    fn redeploy<'a>(
        &'a self,
        selector: &'a Selector,
        version: i64,
        action: &'a RedeployAction,
        send_before: Timestamp,
    ) -> Answer<'a, Option<Deployment>>;

    /// `deleteDeploymentById`, `deleteDeploymentByKey`: starts an asynchronous removal that may fail (contract section
    /// 5.2).
    fn undeploy<'a>(&'a self, selector: &'a Selector, send_before: Timestamp) -> Answer<'a, Option<Deployment>>;

    /// `getConnectorById`, `getConnectorByKey`.
    fn connector<'a>(&'a self, selector: &'a Selector) -> Answer<'a, Option<Connector>>;

    /// `getConnectorStagedById`, `getConnectorStagedByKey`: returns the staged connector that a preview deploys.
    fn staged<'a>(&'a self, selector: &'a Selector) -> Answer<'a, Option<ConnectorStaged>>;
}
