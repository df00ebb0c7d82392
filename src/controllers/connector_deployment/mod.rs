//! Controller of `ConnectorDeployment`: one run, from an event to one write and one requeue.
//!
//! ```text
//! event ─▶ observe ─▶ desired ─▶ decide ─▶ act ─▶ status ─▶ one patch, one requeue
//! ```
//!
//! Follow [`reconcile`] from top to bottom. `observe` and `act` are the only ones that talk to anybody; `desired`,
//! `preflight`, `registered`, `applications`, `application_urls`, `decide`, `stored`, `status` and `intent` are pure. Before each call that changes something the operation is written,
//! on the version of the resource that was read; if that write fails, nothing is sent.

pub mod act;
pub mod application_urls;
pub mod applications;
pub mod decide;
pub mod desired;
pub mod intent;
pub mod ledger;
mod logs;
pub mod memory;
pub mod observe;
mod outputs;
mod preflight;
pub mod registered;
mod run;
pub mod status;
pub mod stored;
pub mod verification;

use std::sync::Arc;

use kube::ResourceExt;
use kube::runtime::controller::Action;

use self::run::Run;
use super::context::Context;
use super::elsewhere;
use super::object::{self, Next, is_ours};
use super::references::Named;
use super::refusal;
use super::subject::Subject;
use super::work::Ended;
use crate::crd::ConnectorDeployment;

/// One run for one resource: what follows, and how it ended. Never fails: whatever goes wrong is said in the status, or
/// tried again.
pub async fn reconcile(cached: Arc<ConnectorDeployment>, context: Arc<Context>) -> (Action, Ended) {
    let subject = Subject::deployment(&cached.namespace().unwrap_or_default(), &cached.name_any());
    let mut remembered = context.memories.of(&subject, cached.metadata.uid.as_deref().unwrap_or_default());
    context.alarms.set(&subject, None);
    let mut reason = None;
    let outcome = match object::current(&context.client, cached, &mut remembered.written).await {
        // Nothing of it is kept here; what it is left to wakes it.
        Ok(Some(object)) if is_ours(&*object) && elsewhere::is_left(&context, &subject, &*object).await => {
            Ok(Next::Gone)
        }
        Ok(Some(object)) if is_ours(&*object) => {
            let mut run = Run::new(&context, &subject, object, remembered);
            // In a box, so that no layer around a run needs its room.
            let outcome = match Box::pin(run.story()).await {
                Err(error) => run.refused(refusal::ANY, error).await,
                outcome => outcome,
            };
            reason = run.reason();
            remembered = run.into_remembered();
            outcome
        }
        Ok(_) => Ok(Next::Gone),
        Err(error) => Err(error),
    };
    let ended = object::ended(&outcome, reason);
    let action = object::conclude(&context, &context.memories, &subject, outcome, remembered);
    let action = action.unwrap_or_else(|| {
        gone(&context, &subject);
        Action::await_change()
    });
    (action, ended)
}

/// Forgets everything about a resource that is gone.
pub fn gone(context: &Context, subject: &Subject) {
    context.alarms.set(subject, None);
    context.remotes.forget(subject);
    context.memories.forget(subject);
    let projects = context.references.uses(subject, Named::Project);
    context.references.forget(subject);
    for project in projects {
        context.wake(Subject::project(&subject.namespace, &project));
    }
}
