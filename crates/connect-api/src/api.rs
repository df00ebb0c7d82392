//! What the operator can ask the Connect API for, in the verbs of its domain.
//!
//! Controllers know this trait only; `http.rs` implements it, tests may implement it too. Implementations mask every
//! secured value that they sent in texts that come back, and never repeat a changing call by themselves, but for one
//! new token after a 401.

use std::sync::Arc;

use futures::future::BoxFuture;
use jiff::Timestamp;

use super::ApiError;
use super::model::{Connector, ConnectorStaged, Deployment, DeploymentDraft, LogPage, Paged, RedeployAction};

/// Names one resource: by id or by key (contract section 5).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Selector {
    /// By the id that the service gave.
    Id(String),
    /// By the user's own key.
    Key(String),
}

impl Selector {
    /// Name of an operation that has one form by id and one by key (contract section 5).
    #[must_use]
    pub fn operation(&self, by_id: &'static str, by_key: &'static str) -> &'static str {
        match self {
            Self::Id(_) => by_id,
            Self::Key(_) => by_key,
        }
    }
}

/// Which form of create and of update by key to call (contract section 5.2); the others have one form only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DeploymentPaths {
    /// With the project in the path.
    #[default]
    Project,
    /// Without it.
    Unscoped,
}

/// One page of a list (contract section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRequest {
    /// Largest number of results, 0 to 500.
    pub limit: u16,
    /// Results to skip, 0 to 10000.
    pub offset: u32,
}

/// What becomes of the logs of the Connect API (contract section 3), as the end of a message.
pub const LOGS_END: &str = "the Connect API serves no logs after 2027-01-31: Platform Insights does, for deployments that were \
                            created or redeployed after forwarding was switched on";

/// Which entries of a log (contract section 3).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogRequest {
    /// The `next` of the page before.
    pub page_token: Option<String>,
    /// Keeps one application; needed on AWS.
    pub application_name: Option<String>,
    /// At most 30 days ago.
    pub start: Option<Timestamp>,
    /// End of the span.
    pub end: Option<Timestamp>,
}

/// Answer to a call that may fail.
pub type Answer<'a, T> = BoxFuture<'a, Result<T, ApiError>>;

/// The Connect API of one project. `None` stands for a 404 that the service itself gave (`ResourceNotFound`).
///
/// `send_before` of the changing calls: the request leaves before that time or not at all
/// ([`super::error::Failure::NotSent`]), also after waiting for a token or for its turn, so that nothing arrives later
/// than the time limit of a request after it.
pub trait ConnectApi: Send + Sync {
    /// `queryDeployments`: one page of the deployments of the project, in no promised order. Records that cannot be
    /// decoded are left out.
    fn deployments(&self, page: PageRequest) -> Answer<'_, Paged<Arc<Deployment>>>;

    /// `getDeploymentById`, `getDeploymentByKey`.
    fn deployment<'a>(&'a self, selector: &'a Selector) -> Answer<'a, Option<Deployment>>;

    /// `createDeployment`; on a project with unscoped paths `createDeploymentUnscoped`. Not safe to repeat: look the
    /// key up first (contract section 8.4).
    fn create<'a>(&'a self, draft: &'a DeploymentDraft, send_before: Timestamp) -> Answer<'a, Deployment>;

    /// `updateDeploymentById`, `updateDeploymentByKey`, or `updateDeploymentByKeyUnscoped`, with the one action
    /// `redeploy`. `version` is the one that was read.
    fn redeploy<'a>(
        &'a self,
        selector: &'a Selector,
        version: i64,
        action: &'a RedeployAction,
        send_before: Timestamp,
    ) -> Answer<'a, Option<Deployment>>;

    /// `deleteDeploymentById`, `deleteDeploymentByKey`: starts work that may fail (contract section 5.2).
    fn undeploy<'a>(&'a self, selector: &'a Selector, send_before: Timestamp) -> Answer<'a, Option<Deployment>>;

    /// `getDeploymentLogsById`, `getDeploymentLogsByKey`: one page.
    fn logs<'a>(&'a self, selector: &'a Selector, request: &'a LogRequest) -> Answer<'a, Option<LogPage>>;

    /// `getConnectorById`, `getConnectorByKey`.
    fn connector<'a>(&'a self, selector: &'a Selector) -> Answer<'a, Option<Connector>>;

    /// `getConnectorStagedById`, `getConnectorStagedByKey`: what a preview is made of.
    fn staged<'a>(&'a self, selector: &'a Selector) -> Answer<'a, Option<ConnectorStaged>>;
}
