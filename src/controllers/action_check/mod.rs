//! Controller of `ActionCheck`: calls an action, and says whether it answered as expected.
//!
//! A POST or PUT leaves at most once for each cause, wherever the operator is killed: that it is about to be sent is
//! written first, on the version of the resource that was read, and what may have been sent is not sent again. No other
//! hosts than those that the operator allows are called. Next: `decide.rs` for when, `expect/` for what passes.

mod act;
pub mod decide;
pub mod desired;
pub mod expect;
mod observe;
pub mod status;

use std::sync::Arc;
use std::time::Duration;

use kube::ResourceExt;
use kube::api::Api;
use kube::runtime::controller::Action;

use self::act::Prepared;
use self::decide::{Step, Wanted};
use super::conditions::{self, ConditionUpdate};
use super::context::Context;
use super::foreign_installs::{self, FOREIGN_AGAIN};
use super::object::{self, AFTER_CONFLICT};
use super::object_ref::ObjectRef;
use super::patch::write_status;
use super::reason::Reason;
use super::refusal::{self, Access};
use super::work::ReconcileOutcome;
use crate::crd::{ActionCheck, ActionCheckStatus, CheckedFor};

/// Stack of a thread that reads or evaluates assertions, in bytes: several times what the deepest ones were seen to need.
/// Of what is not used, the system gives nothing.
pub const STACK: usize = 16 << 20;
/// Pause before a run is done again that the cluster refused.
const AFTER_CLUSTER_ERROR: Duration = Duration::from_secs(5);
/// How often the answer to a call that is not repeated is tried to be written.
const WRITES: u32 = 10;

/// One run for one check: what follows, and how it ended. Never fails: whatever goes wrong is said in the status, or tried
/// again.
pub async fn reconcile(object: Arc<ActionCheck>, context: Arc<Context>) -> (Action, ReconcileOutcome) {
    let object_ref = ObjectRef::check(&object.namespace().unwrap_or_default(), &object.name_any());
    let api = Api::<ActionCheck>::namespaced(context.client.clone(), &object_ref.namespace);
    if foreign_installs::is_left(&context, &object_ref, &*object).await {
        gone(&context, &object_ref);
        return (Action::await_change(), ReconcileOutcome::Gone);
    }
    let run = Reconciler { api, object, context: &context, object_ref: &object_ref };
    // In a box, so that no layer around a run needs its room.
    let next = match Box::pin(run.reconcile()).await {
        Err(error) => run.report_kubernetes_error(error).await,
        next => next,
    };
    match next {
        Ok((again, ended)) => {
            context.requeue_timers.set(&object_ref, [again, run.foreign()].into_iter().flatten().min());
            (Action::await_change(), ended)
        }
        Err(error) => object::refused(&context, &object_ref, &error, AFTER_CLUSTER_ERROR),
    }
}

/// Forgets everything about a check that is gone.
pub fn gone(context: &Context, object_ref: &ObjectRef) {
    context.requeue_timers.set(object_ref, None);
    context.references.forget(object_ref);
}

/// When to run again, and how the run ended.
type Next = (Option<Duration>, ReconcileOutcome);

struct Reconciler<'a> {
    api: Api<ActionCheck>,
    object: Arc<ActionCheck>,
    context: &'a Context,
    object_ref: &'a ObjectRef,
}

impl Reconciler<'_> {
    async fn reconcile(&self) -> Result<Next, kube::Error> {
        if self.object.metadata.deletion_timestamp.is_some() {
            return Ok((None, ReconcileOutcome::Gone));
        }
        let spec = &self.object.spec;
        self.context.references.set(self.object_ref, observe::references(spec));
        let cause = match observe::cause(self.context, &self.object_ref.namespace, &self.object).await? {
            Ok(cause) => cause,
            Err(condition) => return self.patch_status(&condition).await,
        };
        let (writes, interval) = (spec.method.writes(), spec.effective_interval());
        let wanted = Wanted { cause, writes, interval, suspended: spec.suspend };
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
                    // Whatever else stands in the way wakes the check when it changes.
                    let again = matches!(condition.reason, Reason::InternalError | Reason::KubernetesError);
                    Ok((again.then_some(decide::NOT_SENT_AGAIN), ended))
                }
            },
        }
    }

    /// The API server refused a request. What can be told of that is told, on the version that was read.
    async fn report_kubernetes_error(&self, error: kube::Error) -> Result<Next, kube::Error> {
        let condition = refusal::condition(Access::Write, refusal::ANY, error)?;
        let (_, ended) = Box::pin(self.patch_status(&condition)).await?;
        Ok((Some(decide::NOT_SENT_AGAIN), ended))
    }

    /// When to look again at a deployment that another install may work on.
    fn foreign(&self) -> Option<Duration> {
        (self.object.spec.after.is_some() && self.context.foreign_installs.is_shard()).then_some(FOREIGN_AGAIN)
    }

    /// The status, with the install that works on it.
    fn claimed(&self, status: ActionCheckStatus) -> ActionCheckStatus {
        ActionCheckStatus { controller: self.context.foreign_installs.mine(), ..status }
    }

    /// Everything that a call needs, or why there can be none.
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
            Err(report_kubernetes_error) => {
                return condition(
                    Reason::HostNotAllowed,
                    format!("frontend: {report_kubernetes_error} (--allowed-action-hosts)"),
                );
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

    /// One call. If it changes something, that it is about to leave is written first.
    async fn send(&self, prepared: Prepared, wanted: &Wanted) -> Result<Next, kube::Error> {
        let started = self.context.clock.now();
        let before = self.object.status.clone().unwrap_or_default();
        let sent = self.claimed(status::about_to_send(&before, &wanted.cause, started));
        let mut object = Arc::clone(&self.object);
        if wanted.writes {
            let written = write_status(&self.api, &*self.object, &before, &sent).await?;
            object = Arc::new(written.filter(|written| is_intent(written, &sent)).ok_or_else(dropped)?);
        }
        let result = act::call(prepared, started).await;
        let after = status::answered(&sent, &result, wanted.writes, self.context.clock.now());
        let written = if wanted.writes {
            self.write_answer(object, &sent, &after).await?
        } else {
            write_status(&self.api, &*object, &before, &after).await?
        };
        let condition = status::ready_condition(&after, wanted.writes);
        if let Some(written) = written {
            self.event(&before, &written, &condition).await;
        }
        let again = match decide::decide(&after, wanted, self.context.clock.now()) {
            Step::NoOp(again) => again,
            Step::Send | Step::Lost | Step::Held => Some(Duration::ZERO),
        };
        Ok((again, ReconcileOutcome::Said(Some(condition.reason))))
    }

    /// Writes what came of a call that is not repeated, also if labels or the spec were changed meanwhile: what is not
    /// written is lost.
    async fn write_answer(
        &self,
        mut object: Arc<ActionCheck>,
        sent: &ActionCheckStatus,
        after: &ActionCheckStatus,
    ) -> Result<Option<ActionCheck>, kube::Error> {
        for attempt in 1.. {
            let before = object.status.clone().unwrap_or_default();
            match write_status(&self.api, &*object, &before, after).await {
                Err(error) if attempt < WRITES => {
                    tracing::debug!(object = %self.object_ref, %error, "the answer is written once more");
                    self.context.clock.sleep(AFTER_CONFLICT.saturating_mul(attempt)).await;
                }
                written => return written,
            }
            match self.api.get_opt(&self.object_ref.name).await {
                Ok(Some(newer)) if is_intent(&newer, sent) => object = Arc::new(newer),
                // Somebody else goes on with it, or it is gone.
                Ok(_) => return Ok(None),
                Err(error) => tracing::debug!(object = %self.object_ref, %error, "it cannot be read"),
            }
        }
        Ok(None)
    }

    async fn patch_status(&self, condition: &ConditionUpdate) -> Result<Next, kube::Error> {
        let before = self.object.status.clone().unwrap_or_default();
        let generation = self.object.metadata.generation.unwrap_or_default();
        let about = (generation, self.object.spec.suspend);
        let after = self.claimed(status::said(&before, condition, about, self.context.clock.now()));
        if let Some(written) = write_status(&self.api, &*self.object, &before, &after).await? {
            self.event(&before, &written, condition).await;
        }
        Ok((None, ReconcileOutcome::Said(Some(condition.reason))))
    }

    async fn event(&self, before: &ActionCheckStatus, object: &ActionCheck, condition: &ConditionUpdate) {
        if conditions::ready_reason(&before.conditions) != Some(condition.reason.as_str()) {
            self.context.event(object, "Check", condition).await;
        }
    }
}

/// Whether what is stored is what was written before a call.
fn is_intent(object: &ActionCheck, sent: &ActionCheckStatus) -> bool {
    let key = |status: &ActionCheckStatus| -> (Option<CheckedFor>, _, _) {
        (status.checked_for.clone(), status.outcome, status.checked_at.clone())
    };
    object.status.as_ref().is_some_and(|status| key(status) == key(sent))
}

/// An API server with an older CRD drops what it does not know, and then nothing would keep a call from being repeated.
fn dropped() -> kube::Error {
    kube::Error::Service("the API server has not kept status.checkedFor: install the CRDs of this version".into())
}
