//! Controller of `ActionCheck`: calls an action, and reports whether it answered as expected.
//!
//! A POST or PUT leaves at most once for each cause, wherever the operator is killed: the intent to send is written
//! first, on the version of the resource that was read, and what may have been sent is not sent again. Only hosts that
//! the operator allows are called. Next: `decide.rs` for when to call, `expect.rs` for what passes.

mod act;
pub mod decide;
pub mod desired;
pub mod expect;
mod observe;
pub mod status;

use std::sync::Arc;
use std::time::Duration;

use connect_api::trace;
use jiff::Timestamp;
use kube::ResourceExt;
use kube::api::Api;

use self::act::Prepared;
use self::decide::{DesiredCall, Step};
use self::expect::Expected;
pub(super) use self::observe::spec_digest;
use crate::crd::{ActionCheck, ActionCheckStatus, CheckOutcome, LastCall};
use crate::operator::cluster::objects::patch;
use crate::operator::context::{Context, OTHER_SHARD_AGAIN};
use crate::operator::object_ref::ObjectRef;
use crate::operator::reconcile::{self, AFTER_CONFLICT};
use crate::operator::reporting::conditions::{self, ConditionUpdate};
use crate::operator::reporting::reason::Reason;
use crate::operator::reporting::reconcile_outcome::ReconcileOutcome;
use crate::operator::reporting::refusal::{self, Access};
use crate::operator::reporting::remedy::{self, HostList};

/// Maximum attempts to write the answer to a call that is not repeated.
const WRITES: u32 = 10;

/// Reconciles one check; returns the outcome.
///
/// # Errors
/// Those of the API server that no status reports: that the status cannot be written, and those that pass by themselves.
pub async fn reconcile(object: Arc<ActionCheck>, context: Arc<Context>) -> Result<ReconcileOutcome, kube::Error> {
    let object_ref = ObjectRef::check(&object.namespace().unwrap_or_default(), &object.name_any());
    let api = Api::<ActionCheck>::namespaced(context.client.clone(), &object_ref.namespace);
    // Its labels have moved it to another install, which the watch will show.
    if !context.settings.scope.selects(object.labels()) {
        gone(&context, &object_ref);
        return Ok(ReconcileOutcome::Gone);
    }
    let run = Reconciler { api, object, context: &context, object_ref: &object_ref };
    // Boxed to keep the futures around it small.
    let (again, ended) = Box::pin(run.reconcile()).await?;
    // Nothing here follows the deployment of another install.
    let is_elsewhere = run.object.spec.deployment_ref.is_some() && context.settings.scope.is_shard();
    let again = again.into_iter().chain(is_elsewhere.then_some(OTHER_SHARD_AGAIN)).min();
    context.requeue_timers.set(&object_ref, again);
    Ok(ended)
}

/// Removes everything in memory about a deleted check.
pub fn gone(context: &Context, object_ref: &ObjectRef) {
    context.requeue_timers.set(object_ref, None);
    context.references.forget(object_ref);
    context.memory.checks.forget(object_ref);
}

/// When to reconcile again, and the outcome of the reconcile.
type Next = (Option<Duration>, ReconcileOutcome);

/// Why nothing is sent.
enum Stopped {
    /// Users read it in the status.
    Because(ConditionUpdate),
    /// The API server refused a request, or did not answer.
    Refused(kube::Error),
}

impl From<ConditionUpdate> for Stopped {
    fn from(condition: ConditionUpdate) -> Self {
        Self::Because(condition)
    }
}

impl From<kube::Error> for Stopped {
    fn from(error: kube::Error) -> Self {
        Self::Refused(error)
    }
}

struct Reconciler<'a> {
    api: Api<ActionCheck>,
    object: Arc<ActionCheck>,
    context: &'a Context,
    object_ref: &'a ObjectRef,
}

impl Reconciler<'_> {
    async fn reconcile(&self) -> Result<Next, kube::Error> {
        let condition = match self.check().await {
            Ok(next) => return Ok(next),
            Err(Stopped::Because(condition)) => condition,
            Err(Stopped::Refused(error)) => refusal::condition(Access::Write, refusal::ANY, error)?,
        };
        // Changes of every other obstacle enqueue the check.
        let again = condition.reason == Reason::InternalError;
        Box::pin(self.report(&condition, again.then_some(decide::NOT_SENT_AGAIN))).await
    }

    async fn check(&self) -> Result<Next, Stopped> {
        if reconcile::is_deleting(&*self.object) {
            return Ok((None, ReconcileOutcome::Gone));
        }
        let (context, namespace, spec) = (self.context, &self.object_ref.namespace, &self.object.spec);
        context.references.set(self.object_ref, observe::references(spec));
        observe::permission(context, namespace, spec)?;
        let cause = observe::cause(context, namespace, &self.object).await?;
        let (writes, interval) = (spec.method.writes(), spec.effective_interval());
        let wanted = DesiredCall { cause, writes, interval, suspended: spec.suspend };
        let before = self.status();
        let unreadable = |why| ConditionUpdate::new(Reason::InternalError, why);
        let last = before.last_call().map_err(unreadable)?;
        let at = self.called_at(last.as_ref(), &before, &wanted);
        match decide::decide(last.as_ref(), at, &wanted, context.clock.now()) {
            Step::NoOp(again) => {
                let condition = status::ready_condition(&before.conditions, last.as_ref(), writes);
                Ok(self.report(&condition, again).await?)
            }
            Step::Lost => Err(status::lost().into()),
            Step::Held => Err(status::held().into()),
            Step::Send => Ok(self.send(self.prepare().await?, &wanted).await?),
        }
    }

    /// Returns when the last call was about to be sent. This process remembers it, and the status names an earlier one.
    fn called_at(&self, last: Option<&LastCall>, status: &ActionCheckStatus, wanted: &DesiredCall) -> Timestamp {
        let (Some(last), Some(recorded)) = (last, &status.checked_at) else { return Timestamp::UNIX_EPOCH };
        let checks = &self.context.memory.checks;
        checks.get(self.object_ref).unwrap_or_else(|| {
            let at = decide::taken_over(last, recorded.0, wanted, self.context.clock.now());
            checks.insert(self.object_ref, at);
            at
        })
    }

    /// Returns everything that a call needs.
    async fn prepare(&self) -> Result<Prepared, Stopped> {
        let (context, namespace, spec) = (self.context, &self.object_ref.namespace, &self.object.spec);
        let headers = observe::headers(context, namespace, spec).await?;
        let frontend = observe::frontend(context, namespace, spec).await?;
        let invalid = |message| ConditionUpdate::new(Reason::ConfigurationInvalid, message);
        let desired = desired::from_spec(spec, &frontend, headers).map_err(invalid)?;
        let endpoint = context.settings.actions.endpoint(&desired.url).map_err(|refused| {
            let message = remedy::of_host("frontend", &refused, HostList::Action);
            ConditionUpdate::new(Reason::HostNotAllowed, message)
        })?;
        let expected = Expected::read(&spec.expect).map_err(invalid)?;
        let request = desired.action.request(&desired.preset, &endpoint).map_err(|bad| invalid(bad.to_string()))?;
        let client = context.settings.actions.client(endpoint, spec.effective_timeout(), expect::LARGEST_ANSWER);
        let client = client.map_err(|why| ConditionUpdate::new(Reason::InternalError, why))?;
        Ok(Prepared { client, request, masker: desired.action.masker(), expected })
    }

    /// Sends one call. If it is a write, the intent to send is persisted first.
    async fn send(&self, prepared: Prepared, wanted: &DesiredCall) -> Result<Next, kube::Error> {
        let (context, writes, before) = (self.context, wanted.writes, self.status());
        let started = context.clock.now();
        let trace_id = Some(trace::current().unwrap_or_else(trace::Id::random).to_string());
        let (cause, outcome) = (wanted.cause.clone(), CheckOutcome::Sent);
        let call = LastCall { cause, outcome, http_status: None, trace_id };
        let sent = if writes { status::about_to_send(&before, &call, started) } else { before };
        let object = if writes { self.write_intent(&sent).await? } else { Arc::clone(&self.object) };
        let result = act::call(prepared, started).await;
        let (after, condition) = status::answered(&sent, (&call, started), &result, writes, context.clock.now());
        let written =
            if writes { self.write_answer(object, &sent, &after).await? } else { self.write(&object, &after).await? };
        // Not before: a read whose result was not written is sent again at once.
        context.memory.checks.insert(self.object_ref, started);
        self.event(written, &condition);
        let last = LastCall { outcome: result.outcome, ..call };
        let again = match decide::decide(Some(&last), started, wanted, context.clock.now()) {
            Step::NoOp(again) => again,
            Step::Send | Step::Lost | Step::Held => Some(Duration::ZERO),
        };
        Ok((again, ReconcileOutcome::Reported(Some(condition.reason))))
    }

    /// Persists the intent to send, and returns the object with it.
    async fn write_intent(&self, sent: &ActionCheckStatus) -> Result<Arc<ActionCheck>, kube::Error> {
        let stored = match self.write(&self.object, sent).await {
            Ok(stored) => stored,
            // If only the response was lost, the next reconcile could not know that nothing was sent.
            Err(error) => match self.api.get_opt(&self.object_ref.name).await {
                Ok(stored) if stored.as_ref().is_some_and(|stored| is_intent(stored, sent)) => stored,
                _ => return Err(error),
            },
        };
        stored.filter(|stored| is_intent(stored, sent)).map(Arc::new).ok_or_else(dropped)
    }

    /// Writes the answer to a call that is not repeated, even if labels or the spec were changed meanwhile: an answer
    /// that is not written is lost.
    async fn write_answer(
        &self,
        mut object: Arc<ActionCheck>,
        sent: &ActionCheckStatus,
        answered: &ActionCheckStatus,
    ) -> Result<Option<ActionCheck>, kube::Error> {
        for attempt in 1..WRITES {
            match self.write(&object, answered).await {
                Err(error) => tracing::debug!(object = %self.object_ref, %error, "writing the answer again"),
                written => return written,
            }
            self.context.clock.sleep(AFTER_CONFLICT.saturating_mul(attempt)).await;
            match self.api.get_opt(&self.object_ref.name).await {
                Ok(Some(newer)) if is_intent(&newer, sent) => object = Arc::new(newer),
                // Another operator has taken over, or the check is deleted.
                Ok(_) => return Ok(None),
                Err(error) => tracing::debug!(object = %self.object_ref, %error, "the check cannot be read"),
            }
        }
        self.write(&object, answered).await
    }

    /// Writes the condition into the status.
    async fn report(&self, condition: &ConditionUpdate, again: Option<Duration>) -> Result<Next, kube::Error> {
        let generation = self.object.metadata.generation.unwrap_or_default();
        let about = (generation, self.object.spec.suspend);
        let after = status::with_condition(&self.status(), condition, about, self.context.clock.now());
        let written = self.write(&self.object, &after).await?;
        self.event(written, condition);
        Ok((again, ReconcileOutcome::Reported(Some(condition.reason))))
    }

    /// Writes a status, if it has changed, on the version of `object`.
    async fn write(&self, object: &ActionCheck, after: &ActionCheckStatus) -> Result<Option<ActionCheck>, kube::Error> {
        let before = object.status.clone().unwrap_or_default();
        patch::write_status(&self.api, object, &before, after).await
    }

    /// Publishes an Event about a condition that was written, if its reason is new.
    fn event(&self, written: Option<ActionCheck>, condition: &ConditionUpdate) {
        let is_new = conditions::ready_reason(&self.status().conditions) != Some(condition.reason.as_str());
        if let Some(written) = written.filter(|_| is_new) {
            self.context.event(&written, "Check", condition);
        }
    }

    /// Returns the status that was read.
    fn status(&self) -> ActionCheckStatus {
        self.object.status.clone().unwrap_or_default()
    }
}

/// Whether the stored status is the intent of this reconcile: one of another operator has another trace id.
fn is_intent(object: &ActionCheck, sent: &ActionCheckStatus) -> bool {
    object.status.as_ref().is_some_and(|status| {
        (&status.state, &status.handled_rerun_request, status.observed_generation)
            == (&sent.state, &sent.handled_rerun_request, sent.observed_generation)
    })
}

/// Returns the error for a dropped intent: an API server with an older CRD drops unknown fields, and then nothing would
/// prevent a second call.
fn dropped() -> kube::Error {
    kube::Error::Service("the API server has not kept status.state: install the CRDs of this version".into())
}
