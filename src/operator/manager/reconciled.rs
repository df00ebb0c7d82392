//! How an object of each kind is reconciled, and how many reconciles run at once.
//!
//! A new kind is a line in `object_ref.rs`, an `impl` of `ManagedKind`, a line in two functions here, what is forgotten of
//! it in `event_handlers.rs`, and a line in `watches.rs`.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use kube::Api;
use kube::runtime::events::EventType;

use super::{TIME_LIMIT, event_handlers};
use crate::crd::{ClusterConnectProject, ConnectProject};
use crate::operator::check;
use crate::operator::cluster::queue::backoff;
use crate::operator::context::Context;
use crate::operator::deployment;
use crate::operator::kinds::managed_kind::ManagedKind;
use crate::operator::object_ref::{Kind, ObjectRef};
use crate::operator::project;
use crate::operator::reconcile::{self, panics};
use crate::operator::reporting::conditions::{ConditionUpdate, cut};
use crate::operator::reporting::event_reason::EventReason;
use crate::operator::reporting::reason::Reason;
use crate::operator::reporting::reconcile_outcome::ReconcileOutcome;
use crate::operator::reporting::refusal::{self, Access};
use crate::operator::staged;

/// Pause before an object is read again that a watch shows, and the API server does not find.
const NOT_FOUND_AGAIN: Duration = Duration::from_mins(15);
/// Longest pause after a request to the API server that failed.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);
/// Maximum length of the text about an object that cannot be deserialized.
const LONGEST_TEXT: usize = 512;

/// Reconciles of this kind at once, in all namespaces together; [`crate::operator::cluster::queue::fair_queue`] says whose.
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

/// Reads an object and reconciles it, for [`TIME_LIMIT`] at most. One that no watch shows is forgotten: it was deleted, or this
/// install does not work on it, and may have no right to read it.
pub(super) async fn bounded(object_ref: &ObjectRef, context: &Arc<Context>) -> ReconcileOutcome {
    if context.memory.shown.get(object_ref).is_none() {
        event_handlers::forget(context, object_ref);
        return ReconcileOutcome::Gone;
    }
    tokio::select! {
        biased;
        ended = fresh(object_ref, context) => ended,
        () = context.clock.sleep(TIME_LIMIT) => {
            tracing::error!("the reconcile has not ended within {TIME_LIMIT:?}, which is a bug; it is given up and repeated");
            again_after(object_ref, context, ReconcileOutcome::TimedOut);
            ReconcileOutcome::TimedOut
        }
    }
}

/// Repeats a reconcile that failed, with growing pauses: no event follows when a right is granted, or a policy changes. An API
/// server that was away for a moment is tried again soon.
fn again_after(object_ref: &ObjectRef, context: &Context, ended: ReconcileOutcome) {
    let longest = match ended {
        ReconcileOutcome::ClusterError => LONGEST_PAUSE,
        ReconcileOutcome::Panicked
        | ReconcileOutcome::TimedOut
        | ReconcileOutcome::Reported(Some(Reason::KubernetesError)) => Duration::MAX,
        ReconcileOutcome::Reported(_) | ReconcileOutcome::Gone | ReconcileOutcome::Conflict => {
            context.memory.failures.forget(object_ref);
            return;
        }
    };
    let failures = context.memory.failures.with(|failures| {
        let failures = failures.entry(object_ref.clone()).or_default();
        *failures = failures.saturating_add(1);
        *failures
    });
    context.requeue_timers.set_within(object_ref, backoff::pause(failures).min(longest));
}

/// Reads an object from the API server, and reconciles it. Never fails: an error becomes a condition or a retry.
pub async fn fresh(object_ref: &ObjectRef, context: &Arc<Context>) -> ReconcileOutcome {
    let (client, namespace) = (context.client.clone(), &object_ref.namespace);
    let this = Run { object_ref, context };
    let ended = match object_ref.kind {
        Kind::Deployment => this.run(Api::namespaced(client, namespace), deployment::reconcile, |_, _, _, _| {}).await,
        Kind::Staged => this.run(Api::namespaced(client, namespace), staged::reconcile, |_, _, _, _| {}).await,
        Kind::Check => this.run(Api::namespaced(client, namespace), check::reconcile, |_, _, _, _| {}).await,
        Kind::Project => {
            let api = Api::<ConnectProject>::namespaced(client, namespace);
            this.run(api, project::reconcile, project::publish_failure).await
        }
        Kind::ClusterProject => {
            let api = Api::<ClusterConnectProject>::all(client);
            this.run(api, project::reconcile, project::publish_failure).await
        }
    };
    again_after(object_ref, context, ended);
    ended
}

/// The reconcile of one object.
struct Run<'a> {
    object_ref: &'a ObjectRef,
    context: &'a Arc<Context>,
}

impl Run<'_> {
    /// Reads the object and reconciles it. `panicked`: what else a panic leads to.
    async fn run<K: ManagedKind, F: Future<Output = Result<ReconcileOutcome, kube::Error>>>(
        &self,
        api: Api<K>,
        reconcile: impl FnOnce(Arc<K>, Arc<Context>) -> F,
        panicked: impl FnOnce(&K, &Context, &ObjectRef, &ConditionUpdate),
    ) -> ReconcileOutcome {
        let Self { object_ref, context } = *self;
        let object = match api.get_opt(&object_ref.name).await {
            Ok(Some(object)) => Arc::new(object),
            Ok(None) => {
                event_handlers::forget(context, object_ref);
                // A kind that is not served for a moment is no deletion, which the watch would show.
                if context.memory.shown.get(object_ref).is_some() {
                    context.requeue_timers.set(object_ref, Some(NOT_FOUND_AGAIN));
                }
                return ReconcileOutcome::Gone;
            }
            Err(kube::Error::SerdeError(error)) => return self.not_understood(&api, &error).await,
            Err(error) => return self.failed(&error),
        };
        let run = reconcile(Arc::clone(&object), Arc::clone(context));
        if let Ok(ended) = AssertUnwindSafe(run).catch_unwind().await {
            return ended.unwrap_or_else(|error| self.not_written(&*object, &error));
        }
        context.metrics.panicked(K::KIND.as_str());
        let condition = panics::condition();
        tracing::error!("{}", condition.message);
        panicked(&object, context, object_ref, &condition);
        if let Err(error) = panics::report(&*object, context, &condition).await {
            tracing::warn!(%error, "the panic cannot be reported in the status");
        }
        ReconcileOutcome::Panicked
    }

    /// Leaves an object alone that this version cannot deserialize: a newer version may have allowed more, so after a
    /// rollback an enum value may be unknown here. An Event reports it, because its status belongs to the other version;
    /// its claim to a key stays, and what a project was before serves those that use it. The error quotes the spec, which
    /// cannot contain a secured value.
    async fn not_understood<K: ManagedKind>(&self, api: &Api<K>, error: &serde_json::Error) -> ReconcileOutcome {
        let Self { object_ref, context } = *self;
        let object = match api.get_metadata_opt(&object_ref.name).await {
            Ok(object) => object,
            Err(error) => return self.failed(&error),
        };
        if object.is_none() || !object_ref.kind.is_project() {
            event_handlers::forget(context, object_ref);
        }
        if let Some(object) = object {
            let why = cut(&error.to_string(), LONGEST_TEXT);
            tracing::warn!(why, "left alone: this version does not understand it");
            let note = format!(
                "Left alone, because this version of the operator does not understand it: {why}. Update the operator, or \
                 change the spec back."
            );
            context.report(&object, EventType::Warning, EventReason::NotUnderstood, "Reconcile", &note);
        }
        ReconcileOutcome::Gone
    }

    /// Ends a reconcile with an error that its status does not report. What would be refused again is an Event: no user can read
    /// it in a status that cannot be written.
    fn not_written<K: ManagedKind>(&self, object: &K, error: &kube::Error) -> ReconcileOutcome {
        if let Some(status) = refusal::definite(Access::Write, error) {
            let note = refusal::message(refusal::FINDINGS, status);
            self.context.report(object, EventType::Warning, Reason::KubernetesError.into(), "Reconcile", &note);
        }
        self.failed(error)
    }

    fn failed(&self, error: &kube::Error) -> ReconcileOutcome {
        reconcile::failed(self.context, self.object_ref, error)
    }
}
