//! The kinds that have a controller: how many of each run at once, and where a run begins.
//!
//! A new kind is one more `impl` here, and a line in `manager.rs`, which watches it.

use std::future::Future;
use std::sync::Arc;

use kube::runtime::controller::Action;

use super::conditions::ConditionUpdate;
use super::connector::project::MirroredProject;
use super::context::Context;
use super::events::{self, ManagedKind};
use super::object::Object;
use super::object_ref::Kind;
use super::panics;
use super::work::ReconcileOutcome;
use super::{action_check, connect_project, connector, connector_deployment, connector_staged};
use crate::crd::{ActionCheck, ConnectProject, ConnectorDeployment, ConnectorStaged};

/// Reconciles of this kind at once, in all namespaces together; [`super::fair_queue`] says whose.
#[must_use]
pub(super) fn slots(kind: Kind) -> usize {
    match kind {
        // A thousand resources that change at the same time need no memory for a thousand reconciles. Most wait for the cluster;
        // of one remote project only as many get further as `run --concurrency` says.
        Kind::Deployment => 128,
        // Each reads a Secret of up to 1 MiB and writes its copy, and makes no call of its own: more would only wait for the
        // API server, with their Secrets in memory.
        Kind::Project => 32,
        // Makers have few staged connectors. Each check waits for a frontend, and keeps its answer in memory for a moment.
        Kind::Staged | Kind::Check => 16,
        // Each reads its registry page by page, and keeps a few megabytes in memory meanwhile.
        Kind::Mirror => 2,
    }
}

/// A kind that has a controller.
pub(super) trait Controlled: Object + ManagedKind {
    /// One run: what follows, and how it ended. Never fails: whatever goes wrong is said in the status, or tried again.
    fn reconcile(object: Arc<Self>, context: Arc<Context>) -> impl Future<Output = (Action, ReconcileOutcome)> + Send;

    /// Reports that a reconcile of the object panicked, in its status unless the kind has another place for it.
    ///
    /// # Errors
    /// Those of the API server.
    fn report_panic(
        object: &Self,
        context: &Context,
        condition: &ConditionUpdate,
    ) -> impl Future<Output = Result<(), kube::Error>> + Send {
        panics::report(object, context, condition)
    }
}

impl Controlled for ConnectorDeployment {
    fn reconcile(object: Arc<Self>, context: Arc<Context>) -> impl Future<Output = (Action, ReconcileOutcome)> + Send {
        connector_deployment::reconcile(object, context)
    }
}

impl Controlled for ConnectorStaged {
    fn reconcile(object: Arc<Self>, context: Arc<Context>) -> impl Future<Output = (Action, ReconcileOutcome)> + Send {
        connector_staged::reconcile(object, context)
    }
}

impl Controlled for ConnectProject {
    fn reconcile(object: Arc<Self>, context: Arc<Context>) -> impl Future<Output = (Action, ReconcileOutcome)> + Send {
        connect_project::reconcile(object, context)
    }
}

impl Controlled for ActionCheck {
    fn reconcile(object: Arc<Self>, context: Arc<Context>) -> impl Future<Output = (Action, ReconcileOutcome)> + Send {
        action_check::reconcile(object, context)
    }
}

impl Controlled for MirroredProject {
    fn reconcile(object: Arc<Self>, context: Arc<Context>) -> impl Future<Output = (Action, ReconcileOutcome)> + Send {
        connector::reconcile(object, context)
    }

    /// Its project reports it.
    async fn report_panic(object: &Self, context: &Context, condition: &ConditionUpdate) -> Result<(), kube::Error> {
        connector::stopped(context, &events::object_ref(object), condition.clone());
        Ok(())
    }
}
