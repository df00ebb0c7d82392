//! The kinds that have a controller: how an object is reconciled, and how many reconciles run at once.
//!
//! A new kind is a line in `object_ref.rs`, one more `impl` here and of `ManagedKind`, what is forgotten of it in
//! `event_handlers.rs`, and a line in `controllers.rs`, which watches it.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt as _;
use kube::core::NamespaceResourceScope;
use kube::runtime::controller::Action;
use kube::{Api, Client, Resource};

use super::TIME_LIMIT;
use crate::controllers::action_check;
use crate::controllers::connect_project;
use crate::controllers::connector_deployment;
use crate::controllers::connector_staged;
use crate::controllers::context::Context;
use crate::controllers::kinds::managed_kind::{ManagedKind, object_ref};
use crate::controllers::object_ref::{Kind, ObjectRef};
use crate::controllers::queue::backoff;
use crate::controllers::reconcile::{self, panics};
use crate::controllers::reporting::conditions::ConditionUpdate;
use crate::controllers::reporting::reconcile_outcome::ReconcileOutcome;
use crate::crd::{ActionCheck, ClusterConnectProject, ConnectProject, ConnectorDeployment, ConnectorStaged};

/// Reconciles of this kind at once, in all namespaces together; [`crate::controllers::queue::fair_queue`] says whose.
#[must_use]
pub(super) fn slots(kind: Kind) -> usize {
    match kind {
        // A thousand resources that change at the same time need no memory for a thousand reconciles. Most wait for the cluster;
        // of one remote project only as many get further as `run --concurrency` says.
        Kind::Deployment => 128,
        // Each reads a Secret of up to 1 MiB and writes its copy, and makes no call of its own: more would only wait for the
        // API server, with their Secrets in memory.
        Kind::Project | Kind::ClusterProject => 32,
        // Makers have few staged connectors. Each check waits for a frontend, and keeps its answer in memory for a moment.
        Kind::Staged | Kind::Check => 16,
    }
}

/// How a kind is reconciled.
pub trait Reconciled: ManagedKind {
    /// Returns the API for objects of `namespace`, which is empty for a cluster-scoped kind.
    fn api(client: &Client, namespace: &str) -> Api<Self>;

    /// Reconciles an object, and returns what follows and how it ended. Never fails: an error becomes a condition or a retry.
    fn reconcile(object: Arc<Self>, context: Arc<Context>) -> impl Future<Output = (Action, ReconcileOutcome)> + Send;

    /// Reports in its status that a reconcile of the object panicked.
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

/// Implements the trait by the `reconcile` of a module. `$panicked`: what else a panic leads to.
macro_rules! reconciled {
    ($($kind:ident by $module:ident, $scope:ident $(, and $panicked:path)?;)*) => {
        $(impl Reconciled for $kind {
            fn api(client: &Client, namespace: &str) -> Api<Self> {
                $scope(client, namespace)
            }

            fn reconcile(
                object: Arc<Self>,
                context: Arc<Context>,
            ) -> impl Future<Output = (Action, ReconcileOutcome)> + Send {
                $module::reconcile(object, context)
            }

            $(fn report_panic(
                object: &Self,
                context: &Context,
                condition: &ConditionUpdate,
            ) -> impl Future<Output = Result<(), kube::Error>> + Send {
                $panicked(object, context, &object_ref(object), condition);
                panics::report(object, context, condition)
            })?
        })*
    };
}

reconciled!(
    ConnectorDeployment by connector_deployment, namespaced;
    ConnectorStaged by connector_staged, namespaced;
    ConnectProject by connect_project, namespaced, and connect_project::publish_failure;
    ClusterConnectProject by connect_project, cluster_scoped, and connect_project::publish_failure;
    ActionCheck by action_check, namespaced;
);

/// Reads an object and reconciles it, for [`TIME_LIMIT`] at most.
pub(super) async fn bounded<R: Reconciled>(object_ref: ObjectRef, context: Arc<Context>) -> (Action, ReconcileOutcome) {
    tokio::select! {
        biased;
        done = fresh::<R>(object_ref.clone(), Arc::clone(&context)) => done,
        () = context.clock.sleep(TIME_LIMIT) => {
            tracing::error!("the reconcile has not ended within {TIME_LIMIT:?}, which is a bug; it is given up and repeated");
            context.requeue_timers.set(&object_ref, Some(backoff::pause(1)));
            (Action::await_change(), ReconcileOutcome::TimedOut)
        }
    }
}

/// Reads an object from the API server, and reconciles it.
pub async fn fresh<R: Reconciled>(object_ref: ObjectRef, context: Arc<Context>) -> (Action, ReconcileOutcome) {
    match R::api(&context.client, &object_ref.namespace).get_opt(&object_ref.name).await {
        Ok(Some(object)) => catch_panic::<R>(Arc::new(object), object_ref, context).await,
        // The watch will show that it is gone.
        Ok(None) => (Action::await_change(), ReconcileOutcome::Gone),
        Err(error) => reconcile::requeue_after_error(&context, &object_ref, &error, reconcile::AFTER_CLUSTER_ERROR),
    }
}

fn namespaced<K>(client: &Client, namespace: &str) -> Api<K>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
{
    Api::namespaced(client.clone(), namespace)
}

fn cluster_scoped<K: Resource<DynamicType = ()>>(client: &Client, _: &str) -> Api<K> {
    Api::all(client.clone())
}

/// Reconciles an object and catches a panic.
async fn catch_panic<R: Reconciled>(
    object: Arc<R>,
    object_ref: ObjectRef,
    context: Arc<Context>,
) -> (Action, ReconcileOutcome) {
    let reconcile = R::reconcile(Arc::clone(&object), Arc::clone(&context));
    if let Ok(done) = AssertUnwindSafe(reconcile).catch_unwind().await {
        context.memory.panics.forget(&object_ref);
        return done;
    }
    // This is still the thread of the panic, because nothing was awaited since.
    let place = panics::last_place();
    context.metrics.panicked(R::KIND.as_str());
    let condition = panics::condition(place.as_deref());
    tracing::error!("{}", condition.message);
    if let Err(error) = R::report_panic(&object, &context, &condition).await {
        tracing::warn!(%error, "the panic cannot be reported in the status");
    }
    let pause = backoff::pause(panics::count(&context.memory.panics, &object_ref));
    context.requeue_timers.set(&object_ref, Some(pause));
    (Action::await_change(), ReconcileOutcome::Panicked)
}
