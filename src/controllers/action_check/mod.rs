//! Controller of `ActionCheck`: calls an action, and reports whether it answered as expected.
//!
//! A POST or PUT leaves at most once for each cause, wherever the operator is killed: the intent to send is written
//! first, on the version of the resource that was read, and what may have been sent is not sent again. Only hosts that
//! the operator allows are called. Next: `decide.rs` for when to call, `expect/` for what passes.

mod act;
pub mod decide;
pub mod desired;
pub mod expect;
mod observe;
pub mod status;

use std::sync::Arc;
use std::time::Duration;

use connect_api::trace;
use kube::ResourceExt;
use kube::api::Api;
use kube::runtime::controller::Action;

use self::act::Prepared;
use self::decide::{DesiredCall, Step};
pub(super) use self::observe::spec_digest;
use crate::controllers::context::{Context, OTHER_SHARD_AGAIN};
use crate::controllers::object_ref::ObjectRef;
use crate::controllers::objects::patch;
use crate::controllers::reconcile::unwritten::Unwritten;
use crate::controllers::reconcile::{self, AFTER_CONFLICT};
use crate::controllers::reporting::conditions::{self, ConditionUpdate};
use crate::controllers::reporting::reason::Reason;
use crate::controllers::reporting::reconcile_outcome::ReconcileOutcome;
use crate::controllers::reporting::refusal::{self, Access, STATUS};
use crate::controllers::reporting::remedy::{self, HostList};
use crate::crd::{ActionCheck, ActionCheckStatus, CheckedFor};

/// Stack of a thread that compiles or evaluates assertions, in bytes: several times what the deepest ones were measured
/// to need. The system allocates only what is used.
pub const STACK: usize = 16 << 20;
/// Pause before the next reconcile after a Kubernetes API error.
const AFTER_CLUSTER_ERROR: Duration = Duration::from_secs(5);
/// Maximum attempts to write the answer to a call that is not repeated.
const WRITES: u32 = 10;

/// Reconciles one check; returns the next action and the outcome. Never fails: errors are reported in the status, or
/// retried.
pub async fn reconcile(object: Arc<ActionCheck>, context: Arc<Context>) -> (Action, ReconcileOutcome) {
    let object_ref = ObjectRef::check(&object.namespace().unwrap_or_default(), &object.name_any());
    let api = Api::<ActionCheck>::namespaced(context.client.clone(), &object_ref.namespace);
    // Its labels have moved it to another install, which the watch will show.
    if !context.scope.selects(object.labels()) {
        gone(&context, &object_ref);
        return (Action::await_change(), ReconcileOutcome::Gone);
    }
    let unwritten = Unwritten::default();
    let run = Reconciler { api, object, context: &context, object_ref: &object_ref, unwritten };
    // Boxed to keep the futures around it small.
    let next = match Box::pin(run.reconcile()).await {
        Err(error) => run.report_kubernetes_error(error).await,
        next => next,
    };
    match next {
        Ok((again, ended)) => {
            context.requeue_timers.set(&object_ref, [again, run.other_shard()].into_iter().flatten().min());
            (Action::await_change(), ended)
        }
        Err(error) => {
            let refuses = run.unwritten.report(&context, &*run.object, "Check", &error);
            let pause = if refuses { decide::NOT_SENT_AGAIN } else { AFTER_CLUSTER_ERROR };
            reconcile::requeue_after_error(&context, &object_ref, &error, pause)
        }
    }
}

/// Removes everything in memory about a deleted check.
pub fn gone(context: &Context, object_ref: &ObjectRef) {
    context.requeue_timers.set(object_ref, None);
    context.references.forget(object_ref);
}

/// When to reconcile again, and the outcome of the reconcile.
type Next = (Option<Duration>, ReconcileOutcome);

struct Reconciler<'a> {
    api: Api<ActionCheck>,
    object: Arc<ActionCheck>,
    context: &'a Context,
    object_ref: &'a ObjectRef,
    unwritten: Unwritten,
}

impl Reconciler<'_> {
    async fn reconcile(&self) -> Result<Next, kube::Error> {
        if self.object.metadata.deletion_timestamp.is_some() {
            return Ok((None, ReconcileOutcome::Gone));
        }
        let spec = &self.object.spec;
        self.context.references.set(self.object_ref, observe::references(spec));
        if let Some(condition) = observe::not_allowed(self.context, &self.object_ref.namespace, spec) {
            return self.patch_status(&condition).await;
        }
        let cause = match observe::cause(self.context, &self.object_ref.namespace, &self.object).await? {
            Ok(cause) => cause,
            Err(condition) => return self.patch_status(&condition).await,
        };
        let (writes, interval) = (spec.method.writes(), spec.effective_interval());
        let wanted = DesiredCall { cause, writes, interval, suspended: spec.suspend };
        let before = self.object.status.clone().unwrap_or_default();
        match decide::decide(&before, &wanted, self.context.clock.now()) {
            Step::NoOp(again) => {
                let (_, ended) = self.patch_status(&status::ready_condition(&before, wanted.writes)).await?;
                Ok((again, ended))
            }
            Step::Lost => self.patch_status(&status::lost()).await,
            Step::Held => self.patch_status(&status::held()).await,
            Step::Send => match self.prepare().await? {
                Ok(prepared) => self.send(prepared, &wanted).await,
                Err(condition) => {
                    let (_, ended) = self.patch_status(&condition).await?;
                    // Changes of every other obstacle enqueue the check.
                    let again = matches!(condition.reason, Reason::InternalError | Reason::KubernetesError);
                    Ok((again.then_some(decide::NOT_SENT_AGAIN), ended))
                }
            },
        }
    }

    /// Reports that the API server refused a request, on the version that was read, if the error is worth a condition.
    async fn report_kubernetes_error(&self, error: kube::Error) -> Result<Next, kube::Error> {
        let condition = refusal::condition(Access::Write, refusal::ANY, error)?;
        let (_, ended) = Box::pin(self.patch_status(&condition)).await?;
        Ok((Some(decide::NOT_SENT_AGAIN), ended))
    }

    /// Returns when to read a deployment again that another install may manage.
    fn other_shard(&self) -> Option<Duration> {
        (self.object.spec.after.is_some() && self.context.scope.is_shard()).then_some(OTHER_SHARD_AGAIN)
    }

    /// Returns everything that a call needs, or why there can be none.
    async fn prepare(&self) -> Result<Result<Prepared, ConditionUpdate>, kube::Error> {
        let headers = match observe::headers(self.context, &self.object_ref.namespace, &self.object.spec).await? {
            Ok(headers) => headers,
            Err(condition) => return Ok(Err(condition)),
        };
        let spec = &self.object.spec;
        let frontend = match observe::frontend(self.context, &self.object_ref.namespace, spec).await? {
            Ok(frontend) => frontend,
            Err(condition) => return Ok(Err(condition)),
        };
        let desired = match desired::from_spec(spec, &frontend, headers) {
            Ok(desired) => desired,
            Err(condition) => return Ok(Err(condition)),
        };
        let condition = |reason, message| Ok(Err(ConditionUpdate::new(reason, message)));
        let endpoint = match self.context.actions.endpoint(&desired.url) {
            Ok(endpoint) => endpoint,
            Err(refused) => {
                return condition(Reason::HostNotAllowed, remedy::of_host("frontend", &refused, HostList::Action));
            }
        };
        if let Err(wrong) = act::check(spec.expect.clone()).await {
            return condition(Reason::ExpectInvalid, wrong);
        }
        let request = match desired.action.request(&desired.preset, &endpoint) {
            Ok(request) => request,
            Err(bad) => return condition(Reason::ConfigurationInvalid, bad.to_string()),
        };
        let client = self.context.actions.client(endpoint, spec.effective_timeout(), expect::LARGEST_ANSWER);
        Ok(match client {
            Ok(client) => {
                let (masker, expected) = (desired.action.masker(), spec.expect.clone());
                Ok(Prepared { client, request, masker, expected })
            }
            Err(why) => Err(ConditionUpdate::new(Reason::InternalError, why)),
        })
    }

    /// Sends one call. If it is a write, the intent to send is persisted first.
    async fn send(&self, prepared: Prepared, wanted: &DesiredCall) -> Result<Next, kube::Error> {
        let started = self.context.clock.now();
        let before = self.object.status.clone().unwrap_or_default();
        let trace_id = trace::current().unwrap_or_else(trace::Id::random);
        let sent = status::about_to_send(&before, &wanted.cause, trace_id, started);
        let object = if wanted.writes {
            let condition = status::ready_condition(&sent, true);
            let written = self.write_intent(&before, &sent).await;
            written.inspect_err(|error| self.unwritten.note(STATUS, &condition, error))?
        } else {
            Arc::clone(&self.object)
        };
        let result = act::call(prepared, started).await;
        let after = status::answered(&sent, &result, wanted.writes, self.context.clock.now());
        let written = if wanted.writes {
            self.write_answer(object, &sent, &after).await
        } else {
            patch::write_status(&self.api, &*object, &before, &after).await
        };
        let condition = status::ready_condition(&after, wanted.writes);
        if let Some(written) = written.inspect_err(|error| self.unwritten.note(STATUS, &condition, error))? {
            self.event(&before, &written, &condition);
        }
        let again = match decide::decide(&after, wanted, self.context.clock.now()) {
            Step::NoOp(again) => again,
            Step::Send | Step::Lost | Step::Held => Some(Duration::ZERO),
        };
        Ok((again, ReconcileOutcome::Reported(Some(condition.reason))))
    }

    /// Persists the intent to send, and returns the object with it.
    async fn write_intent(
        &self,
        before: &ActionCheckStatus,
        sent: &ActionCheckStatus,
    ) -> Result<Arc<ActionCheck>, kube::Error> {
        let written = patch::write_status(&self.api, &*self.object, before, sent).await;
        let stored = if let Ok(written) = &written {
            // It was written on the version that was read, so it is this one.
            written.clone().filter(|stored| is_recorded(stored, sent))
        } else {
            // If only the response was lost, the next reconcile could not know that nothing was sent.
            let stored = self.api.get_opt(&self.object_ref.name).await.unwrap_or_default();
            stored.filter(|stored| is_recorded(stored, sent) && trace_id(stored) == sent.trace_id.as_ref())
        };
        match stored {
            Some(stored) => Ok(Arc::new(stored)),
            None => Err(written.err().unwrap_or_else(dropped)),
        }
    }

    /// Writes the answer to a call that is not repeated, even if labels or the spec were changed meanwhile: an answer
    /// that is not written is lost.
    async fn write_answer(
        &self,
        mut object: Arc<ActionCheck>,
        sent: &ActionCheckStatus,
        answered: &ActionCheckStatus,
    ) -> Result<Option<ActionCheck>, kube::Error> {
        for attempt in 1.. {
            let before = object.status.clone().unwrap_or_default();
            let after = status::beside(&before, answered);
            match patch::write_status(&self.api, &*object, &before, &after).await {
                Err(error) if attempt < WRITES => {
                    tracing::debug!(object = %self.object_ref, %error, "writing the answer again");
                    self.context.clock.sleep(AFTER_CONFLICT.saturating_mul(attempt)).await;
                }
                written => return written,
            }
            match self.api.get_opt(&self.object_ref.name).await {
                // The same as it was stored: an older CRD drops the trace id.
                Ok(Some(newer)) if is_recorded(&newer, sent) && trace_id(&newer) == trace_id(&object) => {
                    object = Arc::new(newer);
                }
                // Another writer has taken over, or the check is deleted.
                Ok(_) => return Ok(None),
                Err(error) => tracing::debug!(object = %self.object_ref, %error, "the check cannot be read"),
            }
        }
        Ok(None)
    }

    async fn patch_status(&self, condition: &ConditionUpdate) -> Result<Next, kube::Error> {
        let before = self.object.status.clone().unwrap_or_default();
        let generation = self.object.metadata.generation.unwrap_or_default();
        let about = (generation, self.object.spec.suspend);
        let after = status::with_condition(&before, condition, about, self.context.clock.now());
        let written = patch::write_status(&self.api, &*self.object, &before, &after).await;
        if let Some(written) = written.inspect_err(|error| self.unwritten.note(STATUS, condition, error))? {
            self.event(&before, &written, condition);
        }
        Ok((None, ReconcileOutcome::Reported(Some(condition.reason))))
    }

    fn event(&self, before: &ActionCheckStatus, object: &ActionCheck, condition: &ConditionUpdate) {
        if conditions::ready_reason(&before.conditions) != Some(condition.reason.as_str()) {
            self.context.event(object, "Check", condition);
        }
    }
}

/// Whether the stored status is an intent for the same reason, of this reconcile or of another operator.
fn is_recorded(object: &ActionCheck, sent: &ActionCheckStatus) -> bool {
    let key = |status: &ActionCheckStatus| -> (Option<CheckedFor>, _) { (status.checked_for.clone(), status.outcome) };
    object.status.as_ref().is_some_and(|status| key(status) == key(sent))
}

/// Returns the trace id of the last call, which tells an own intent from that of another operator.
fn trace_id(object: &ActionCheck) -> Option<&String> {
    object.status.as_ref()?.trace_id.as_ref()
}

/// Returns the error for a dropped intent: an API server with an older CRD drops unknown fields, and then nothing would
/// prevent a second call.
fn dropped() -> kube::Error {
    kube::Error::Service("the API server has not kept status.checkedFor: install the CRDs of this version".into())
}
