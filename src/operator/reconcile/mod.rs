//! Operations of a reconcile on its own object, the same for every kind: adds and removes the finalizer, and retries
//! what the cluster refused. `record` has what only the kinds with a remote record need.
//!
//! Next: `objects/patch.rs`, which sends the patches, and the folder of each kind, which decides.

pub mod panics;
pub mod record;

use std::time::Duration;

use kube::ResourceExt;
use kube::api::Api;
use serde_json::json;

use crate::error_text::with_causes;
use crate::operator::cluster::objects::patch;
use crate::operator::context::Context;
use crate::operator::kinds::managed_kind::{ManagedKind, has_finalizer, with_finalizer};
use crate::operator::object_ref::ObjectRef;
use crate::operator::reporting::conditions::ConditionUpdate;
use crate::operator::reporting::reason::Reason;
use crate::operator::reporting::reconcile_outcome::ReconcileOutcome;
use crate::operator::reporting::refusal::{self, Access};

/// Requeue delay after a write that met a newer version of the resource (409).
pub const AFTER_CONFLICT: Duration = Duration::from_millis(200);
/// Pause before an object is looked up again whose own controller has not reconciled it yet.
pub const NOT_YET_RECONCILED_AGAIN: Duration = Duration::from_secs(5);
/// Pause before a resource looks again whether its key is free; a change of the owner enqueues earlier.
pub const KEY_AGAIN: Duration = Duration::from_secs(30);

/// What follows a reconcile.
pub enum Next {
    /// Nothing: the resource no longer exists, its deletion no longer waits for this operator, or another install works on it.
    Gone,
    /// Reconcile again after this time, or at the next event. `None`: only at the next event.
    Again(Option<Duration>),
}

/// Whether the object is to be reconciled: it is not being deleted, or its deletion waits for our finalizer.
pub fn is_ours<K: ManagedKind>(object: &K) -> bool {
    object.meta().deletion_timestamp.is_none() || has_finalizer(object)
}

/// Adds the finalizer of its kind, unless the object has it, or is being deleted. Returns the object as the API server stored
/// it; `None`: nothing was written.
///
/// # Errors
/// Those of the API server; 409 if the object changed meanwhile.
pub async fn ensure_finalizer<K: ManagedKind>(api: &Api<K>, object: &K) -> Result<Option<K>, kube::Error> {
    if has_finalizer(object) || is_deleting(object) {
        return Ok(None);
    }
    patch::patch_metadata(api, object, json!({ "finalizers": with_finalizer(object) })).await.map(Some)
}

/// Removes the finalizer of its kind, if it is there, so that the deletion of the object can proceed. An object that no
/// longer exists is no error.
///
/// # Errors
/// Those of the API server; 409 if the object changed meanwhile.
pub async fn remove_finalizer<K: ManagedKind>(api: &Api<K>, object: &K) -> Result<(), kube::Error> {
    if !has_finalizer(object) {
        return Ok(());
    }
    let finalizers: Vec<_> = object.finalizers().iter().filter(|name| *name != K::KIND.finalizer()).collect();
    match patch::patch_metadata(api, object, json!({ "finalizers": finalizers })).await {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        answer => answer.map(|_| ()),
    }
}

/// Returns the condition for an object that cannot be read.
pub fn unreadable(what: &str, error: kube::Error) -> ConditionUpdate {
    refusal::condition(Access::Read, &format!("get {what}"), error)
        .unwrap_or_else(|error| ConditionUpdate::new(Reason::InternalError, format!("{what} cannot be read: {error}")))
}

/// Ends a reconcile: sets the requeue timer, and returns the outcome. `reason`: that of the Ready condition
/// now.
pub fn conclude(context: &Context, object_ref: &ObjectRef, next: &Next, reason: Option<Reason>) -> ReconcileOutcome {
    match next {
        Next::Gone => ReconcileOutcome::Gone,
        Next::Again(again) => {
            context.requeue_timers.set(object_ref, *again);
            ReconcileOutcome::Reported(reason)
        }
    }
}

/// Returns the outcome of a reconcile that failed with an error of the API server. After a conflict, it follows again soon.
pub fn failed(context: &Context, object_ref: &ObjectRef, error: &kube::Error) -> ReconcileOutcome {
    let ended = ReconcileOutcome::refused(error);
    if ended == ReconcileOutcome::Conflict {
        tracing::debug!("the object changed meanwhile, reconciling again");
        context.requeue_timers.set(object_ref, Some(AFTER_CONFLICT));
    } else if matches!(error, kube::Error::Api(status) if status.is_not_found()) {
        // Most likely it was deleted meanwhile; a kind that is not served any more is reported by its lists.
        tracing::debug!(%error, "the object does not exist any more");
    } else {
        tracing::warn!(error = with_causes(error), "a request to the API server failed");
    }
    ended
}

/// Whether an object is being deleted.
pub fn is_deleting<K: ManagedKind>(object: &K) -> bool {
    object.meta().deletion_timestamp.is_some()
}

/// Returns the value of an annotation by which users request something, cut to the length that a status stores.
pub fn request<K: ManagedKind>(object: &K, annotation: &str) -> Option<String> {
    object.annotations().get(annotation).map(|value| value.chars().take(256).collect())
}
