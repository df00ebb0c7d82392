//! Controller of `ConnectorStaged`: one run, from an event to one write and one requeue.
//!
//! The story is that of a deployment (`connector_deployment`), with a simpler table: everything that is sent can be read
//! back, and every change names the version that it starts from. A tag goes its way in three steps, update, preview and
//! publish, each begun when the one before is through. `observe` and `act` are the only ones that talk to the remote;
//! the rest is pure, but for `reconciler`, which tells the story.

pub mod act;
pub mod cache;
pub mod decide;
pub mod desired;
pub mod intent;
pub mod observe;
pub mod persisted;
pub mod proof;
mod reconciler;
pub mod status;
pub mod status_conversion;

use std::sync::Arc;

use kube::ResourceExt;
use kube::runtime::controller::Action;

use self::reconciler::Reconciler;
use super::context::Context;
use super::foreign_installs;
use super::object::{self, Next, is_ours};
use super::object_ref::ObjectRef;
use super::references::Named;
use super::refusal;
use super::work::ReconcileOutcome;
use crate::crd::ConnectorStaged;

/// One run for one resource: what follows, and how it ended. Never fails: whatever goes wrong is said in the status, or
/// tried again.
pub async fn reconcile(cached: Arc<ConnectorStaged>, context: Arc<Context>) -> (Action, ReconcileOutcome) {
    let object_ref = ObjectRef::staged(&cached.namespace().unwrap_or_default(), &cached.name_any());
    let mut cache = context.staged_local_caches.of(&object_ref, cached.metadata.uid.as_deref().unwrap_or_default());
    context.requeue_timers.set(&object_ref, None);
    let mut reason = None;
    let outcome = match object::current(&context.client, cached, &mut cache.written).await {
        // Nothing of it is kept here; what it is left to wakes it.
        Ok(Some(object)) if is_ours(&*object) && foreign_installs::is_left(&context, &object_ref, &*object).await => {
            Ok(Next::Gone)
        }
        Ok(Some(object)) if is_ours(&*object) => {
            let mut reconciler = Reconciler::new(&context, &object_ref, object, cache);
            // In a box, so that no layer around a run needs its room.
            let outcome = match Box::pin(reconciler.reconcile()).await {
                Err(error) => reconciler.report_kubernetes_error(refusal::ANY, error).await,
                outcome => outcome,
            };
            reason = reconciler.reason();
            cache = reconciler.into_cache();
            outcome
        }
        Ok(_) => Ok(Next::Gone),
        Err(error) => Err(error),
    };
    let ended = object::ended(&outcome, reason);
    let action = object::conclude(&context, &context.staged_local_caches, &object_ref, outcome, cache);
    let action = action.unwrap_or_else(|| {
        gone(&context, &object_ref);
        Action::await_change()
    });
    (action, ended)
}

/// Forgets everything about a resource that is gone.
pub fn gone(context: &Context, object_ref: &ObjectRef) {
    context.requeue_timers.set(object_ref, None);
    context.remotes.forget(object_ref);
    context.staged_local_caches.forget(object_ref);
    let projects = context.references.uses(object_ref, Named::Project);
    context.references.forget(object_ref);
    for project in projects {
        context.enqueue(ObjectRef::project(&object_ref.namespace, &project));
    }
    if context.staged.forget(object_ref) {
        context.enqueue_users(Named::Staged, &object_ref.namespace, &object_ref.name);
    }
}
