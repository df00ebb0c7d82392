//! The kinds that have a controller: how many of each run at once, and where a run begins.
//!
//! A new kind is one more `impl` here, and a line in `manager.rs`, which watches it.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use kube::runtime::controller::{Action, Config};

use super::conditions::Told;
use super::connector::project::MirroredProject;
use super::context::Context;
use super::events::{self, Ours};
use super::object::Object;
use super::panics;
use super::work::Ended;
use super::{action_check, connect_project, connector, connector_deployment, connector_staged};
use crate::crd::{ActionCheck, ConnectProject, ConnectorDeployment, ConnectorStaged};

/// Runs at once of all remote projects together, so that a thousand resources that change at the same time need no memory
/// for a thousand runs. Most wait for the cluster; of one remote project only [`Options::concurrency`] get further, so a
/// slow one does not hold up the others.
const RUNS_AT_ONCE: u16 = 128;

/// Staged connectors at once: their makers have few.
const STAGED_AT_ONCE: u16 = 16;

/// Calls of actions at once: each waits for a frontend, and keeps its answer in memory for a moment.
const CHECKS_AT_ONCE: u16 = 16;

/// Mirrors that look at once: each reads its registry page by page, and keeps a few megabytes in memory meanwhile.
const MIRRORS_AT_ONCE: u16 = 2;

/// A kind that has a controller.
pub(super) trait Controlled: Object + Ours {
    /// How its runs are done.
    fn config() -> Config;

    /// One run: what follows, and how it ended. Never fails: whatever goes wrong is said in the status, or tried again.
    fn reconcile(object: Arc<Self>, context: Arc<Context>) -> impl Future<Output = (Action, Ended)> + Send;

    /// Reports that a reconcile of the object panicked, in its status unless the kind has another place for it.
    ///
    /// # Errors
    /// Those of the API server.
    fn report_panic(
        object: &Self,
        context: &Context,
        told: &Told,
    ) -> impl Future<Output = Result<(), kube::Error>> + Send {
        panics::report(object, context, told)
    }
}

impl Controlled for ConnectorDeployment {
    fn config() -> Config {
        Config::default().concurrency(RUNS_AT_ONCE)
    }

    fn reconcile(object: Arc<Self>, context: Arc<Context>) -> impl Future<Output = (Action, Ended)> + Send {
        connector_deployment::reconcile(object, context)
    }
}

impl Controlled for ConnectorStaged {
    fn config() -> Config {
        Config::default().concurrency(STAGED_AT_ONCE)
    }

    fn reconcile(object: Arc<Self>, context: Arc<Context>) -> impl Future<Output = (Action, Ended)> + Send {
        connector_staged::reconcile(object, context)
    }
}

impl Controlled for ConnectProject {
    fn config() -> Config {
        Config::default().debounce(Duration::from_millis(50))
    }

    fn reconcile(object: Arc<Self>, context: Arc<Context>) -> impl Future<Output = (Action, Ended)> + Send {
        connect_project::reconcile(object, context)
    }
}

impl Controlled for ActionCheck {
    fn config() -> Config {
        Config::default().concurrency(CHECKS_AT_ONCE)
    }

    fn reconcile(object: Arc<Self>, context: Arc<Context>) -> impl Future<Output = (Action, Ended)> + Send {
        action_check::reconcile(object, context)
    }
}

impl Controlled for MirroredProject {
    fn config() -> Config {
        Config::default().concurrency(MIRRORS_AT_ONCE)
    }

    fn reconcile(object: Arc<Self>, context: Arc<Context>) -> impl Future<Output = (Action, Ended)> + Send {
        connector::reconcile(object, context)
    }

    /// Its project reports it.
    async fn report_panic(object: &Self, context: &Context, told: &Told) -> Result<(), kube::Error> {
        connector::stopped(context, &events::subject(object), told.clone());
        Ok(())
    }
}
