//! The kinds that have a controller: what the operator records of an object, how it reconciles it, and how many
//! reconciles run at once.
//!
//! A new kind needs an `impl` of both traits here, and a line in `manager.rs`, which watches it.

use std::future::Future;
use std::sync::Arc;

use jiff::Timestamp;
use kube::Resource;
use kube::core::object::HasStatus;
use kube::runtime::controller::Action;

use super::conditions::ConditionUpdate;
use super::connector::project::MirroredProject;
use super::context::Context;
use super::inventory::ReportedState;
use super::keys::KeyOwnership;
use super::object::Object;
use super::object_ref::Kind;
use super::tracker::ReconcileOutcome;
use super::{action_check, connect_project, connector, driver, events, panics};
use crate::crd::{ActionCheck, ConnectProject, ConnectorDeployment, ConnectorStaged};
use crate::names;

/// Returns the maximum number of concurrent reconciles of this kind, in all namespaces together. [`super::fair_queue`]
/// distributes them over namespaces.
#[must_use]
pub(super) fn slots(kind: Kind) -> usize {
    match kind {
        // A thousand resources that change at the same time need no memory for a thousand reconciles. Most wait for the
        // API server; `run --concurrency` bounds how many of one remote project get further.
        Kind::Deployment => 128,
        // Each reads a Secret of up to 1 MiB and writes its copy, and makes no call to the remote: more would only wait
        // for the API server, with their Secrets in memory.
        Kind::Project => 32,
        // Connector developers have few staged connectors. Each check waits for a frontend, and keeps its response in
        // memory for a moment.
        Kind::Staged | Kind::Check => 16,
        // Each reads its registry page by page, and needs a few megabytes meanwhile.
        Kind::Mirror => 2,
    }
}

/// A kind that is watched and reconciled.
pub trait ManagedKind: Resource<DynamicType = ()> {
    /// The kind.
    const KIND: Kind;

    /// Records an observed object and the key that it claims (rule 4).
    fn note(&self, keys: &KeyOwnership);

    /// Returns what the status reports, for metrics; `None`: the object is not counted.
    fn reported_state(&self) -> Option<ReportedState>;

    /// Returns the install that works on the object, if one has claimed it (rule 26).
    fn controller(&self) -> Option<&str>;
}

/// How a kind is reconciled.
pub(super) trait Reconciled: Object + ManagedKind {
    /// Reconciles an object; returns what follows and the outcome. Never fails: an error becomes a condition or a
    /// retry.
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

/// Implements both traits for a kind with conditions of its own. `$note`: records its claim; `$started_at`: when the
/// operation in its status began.
macro_rules! managed_kind {
    ($kind:ident, $variant:ident, $module:ident, $note:expr, $started_at:expr) => {
        impl ManagedKind for $kind {
            const KIND: Kind = Kind::$variant;

            fn note(&self, keys: &KeyOwnership) {
                let note: fn(&Self, &KeyOwnership) = $note;
                note(self, keys);
            }

            fn reported_state(&self) -> Option<ReportedState> {
                let Some(status) = &self.status else { return Some(ReportedState::default()) };
                let started_at: fn(&<Self as HasStatus>::Status) -> Option<Timestamp> = $started_at;
                Some(ReportedState::of(&status.conditions, names::READY, started_at(status)))
            }

            fn controller(&self) -> Option<&str> {
                self.status.as_ref()?.controller.as_deref()
            }
        }

        impl Reconciled for $kind {
            fn reconcile(
                object: Arc<Self>,
                context: Arc<Context>,
            ) -> impl Future<Output = (Action, ReconcileOutcome)> + Send {
                $module::reconcile(object, context)
            }
        }
    };
}

managed_kind!(ConnectorDeployment, Deployment, driver, |deployment, keys| keys.saw(deployment), |status| {
    status.operation.as_ref().map(|operation| operation.started_at.0)
});
managed_kind!(ConnectorStaged, Staged, driver, |staged, keys| keys.saw(staged), |status| {
    status.operation.as_ref().map(|operation| operation.started_at.0)
});
managed_kind!(ConnectProject, Project, connect_project, |project, keys| keys.saw_project(project), |_| None);
// A check claims no key.
managed_kind!(ActionCheck, Check, action_check, |_, _| {}, |_| None);

impl ManagedKind for MirroredProject {
    const KIND: Kind = Kind::Mirror;

    /// A mirror claims no key.
    fn note(&self, _: &KeyOwnership) {}

    /// Counted only while the project mirrors the registry or may still have mirrored objects.
    fn reported_state(&self) -> Option<ReportedState> {
        let status = self.status.as_ref().filter(|_| self.spec.registry.is_some() || self.may_have_objects())?;
        Some(ReportedState::of(&status.conditions, names::REGISTRY_MIRRORED, None))
    }

    fn controller(&self) -> Option<&str> {
        self.status.as_ref()?.controller.as_deref()
    }
}

impl Reconciled for MirroredProject {
    fn reconcile(object: Arc<Self>, context: Arc<Context>) -> impl Future<Output = (Action, ReconcileOutcome)> + Send {
        connector::reconcile(object, context)
    }

    /// The status of its project reports the panic.
    async fn report_panic(object: &Self, context: &Context, condition: &ConditionUpdate) -> Result<(), kube::Error> {
        connector::stopped(context, &events::object_ref(object), condition.clone());
        Ok(())
    }
}
