//! Controller of `ConnectorDeployment`: one run, from an event to one write and one requeue.
//!
//! ```text
//! event ─▶ observe ─▶ desired ─▶ decide ─▶ act ─▶ status ─▶ one patch, one requeue
//! ```
//!
//! Follow [`reconcile`] from top to bottom. `observe` and `act` are the only ones that talk to anybody; `desired`,
//! `preflight`, `registered`, `applications`, `application_urls`, `decide`, `status_conversion`, `status` and `intent` are pure. Before each call that changes something the operation is written,
//! on the version of the resource that was read; if that write fails, nothing is sent.

pub mod act;
pub mod application_urls;
pub mod applications;
pub mod cache;
pub mod decide;
pub mod desired;
pub mod intent;
mod logs;
pub mod observe;
mod outputs;
pub mod persisted;
mod preflight;
mod reconciler;
pub mod registered;
pub mod status;
pub mod status_conversion;
pub mod verification;

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
use crate::crd::ConnectorDeployment;

/// One run for one resource: what follows, and how it ended. Never fails: whatever goes wrong is said in the status, or
/// tried again.
pub async fn reconcile(cached: Arc<ConnectorDeployment>, context: Arc<Context>) -> (Action, ReconcileOutcome) {
    let object_ref = ObjectRef::deployment(&cached.namespace().unwrap_or_default(), &cached.name_any());
    let mut cache = context.local_caches.of(&object_ref, cached.metadata.uid.as_deref().unwrap_or_default());
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
    let action = object::conclude(&context, &context.local_caches, &object_ref, outcome, cache);
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
    context.local_caches.forget(object_ref);
    let projects = context.references.uses(object_ref, Named::Project);
    context.references.forget(object_ref);
    for project in projects {
        context.enqueue(ObjectRef::project(&object_ref.namespace, &project));
    }
}
