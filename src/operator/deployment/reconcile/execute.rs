//! Carries out a decision, each step written at once: the finalizer, the operation on the version of the resource that was
//! read (rule 1), the one call, and its response. If a write fails, nothing is sent.

use std::sync::Arc;
use std::time::Duration;

use clock::{between, later};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::runtime::events::EventType;

use super::super::act::{self, Done, PersistedOperation};
use super::super::decide::{self, AppliedResponse, Call, CallKind, Decision, Outcome, Response, Step};
use super::super::persisted::{OperationState, OperationType, PersistedState};
use super::super::registered::suspects;
use super::super::status::{self, Comparison};
use super::super::{applications, observe, outputs, verification};
use super::sent;
use crate::crd::DriftPolicy;
use crate::operator::object_ref::Kind;
use crate::operator::reconcile::record::{self, Stop, report_left_behind};
use crate::operator::reconcile::{Next, is_ours};
use crate::operator::remote::{PollRate, Remote};
use crate::operator::reporting::conditions::ConditionUpdate;
use crate::operator::reporting::observed_record::ObservedRecord;
use crate::operator::reporting::reason::{ConditionState, Reason};
use crate::operator::reporting::refusal;
use crate::operator::values::Values;

use super::registered::declarations_again;
use super::{Inputs, Reconciler};

/// Pause before the observation that follows a lost response to a redeploy (contract section 8.4). A busy remote proves
/// that the call arrived, and it may be idle again soon; the effect of a create or an undeploy stays visible. The
/// decision table decides when to send again, with pauses of its own.
const LOST_AGAIN: Duration = Duration::from_secs(1);
/// Pause before the next reconcile if the response to a call shows an idle remote.
const UNCHANGED_AGAIN: Duration = Duration::from_secs(3);
/// Pause before the Secret of `spec.verify` is read again that the API server refused to show.
const REFUSED_AGAIN: Duration = Duration::from_mins(1);

impl Reconciler<'_> {
    pub(super) async fn execute(
        &mut self,
        remote: &Arc<Remote>,
        mut inputs: Inputs,
        decision: Decision,
    ) -> Result<Next, Stop> {
        match &decision.step {
            Step::RemoveFinalizer => self.release(&decision.persisted).await,
            Step::NoOp => {
                let next = self.report_no_op(remote, &mut inputs, &decision).await?;
                // An observation that calls for nothing ends a row of failures: those of a week are none.
                self.cache.backoff.worked();
                Ok(next)
            }
            Step::Send(call) => self.persist_and_send(remote, &inputs, call, &decision).await,
        }
    }

    async fn persist_and_send(
        &mut self,
        remote: &Arc<Remote>,
        inputs: &Inputs,
        call: &Call,
        decision: &Decision,
    ) -> Result<Next, Stop> {
        self.add_finalizer().await.map_err(|error| Stop::Refused(refusal::FINALIZERS, error))?;
        let condition = status::ready_condition(&decision.outcome, &inputs.wanted.key, None, &[]);
        let reason = condition.reason;
        // What was read before a call does not describe the deployment after it, so it is not shown.
        let record = ObservedRecord::NotRead;
        self.patch_status(inputs, &decision.persisted, condition, record, Comparison::None).await?;
        self.cache.transient = decision.transient.clone();
        let Some(operation) = PersistedOperation::of(&self.object) else { return Ok(Next::Again(None)) };
        // Boxed: most reconciles send nothing.
        let (done, applied) = Box::pin(self.send(remote, inputs, call, decision, operation)).await;
        let note = sent::note(call.kind, &inputs.wanted.key, inputs.record(), &done);
        if let Some(note) = &note {
            tracing::info!(reason = reason.as_str(), "{note}");
        }
        let accepted = matches!(done.response, Response::Accepted(_));
        if accepted {
            self.cache.backoff.worked();
        }
        // What begins or ends a record is reported with its outcome.
        let is_reported = matches!(call.kind, CallKind::Create | CallKind::Undeploy);
        let note = note.filter(|_| !(accepted && is_reported));
        // The status comes first: it has what a restart needs.
        let next = self.apply(remote, inputs, call.kind, &done, &applied).await;
        if let Some(note) = note {
            self.context.report(&*self.object, EventType::Normal, reason.into(), "Reconcile", &note);
        }
        next
    }

    /// Reports what a create has left at the remote if somebody removed the finalizer meanwhile, so that the object is gone.
    async fn report_left_behind(&self, id: Option<&str>) {
        let found = self.api.get_metadata_opt(&self.object_ref.name).await;
        let leaves = |meta: &ObjectMeta| {
            let is_kept = meta.finalizers.iter().flatten().any(|name| name == Kind::Deployment.finalizer());
            meta.uid != self.object.metadata.uid || (meta.deletion_timestamp.is_some() && !is_kept)
        };
        let is_gone = found.is_ok_and(|found| found.is_none_or(|found| leaves(&found.metadata)));
        if let Some(id) = id.filter(|_| is_gone) {
            report_left_behind(self.context, &*self.object, id);
        }
    }

    /// Reports what the response to the call means, and when to go on.
    async fn apply(
        &mut self,
        remote: &Arc<Remote>,
        inputs: &Inputs,
        call: CallKind,
        done: &Done,
        applied: &AppliedResponse,
    ) -> Result<Next, Stop> {
        if applied.remove_finalizer {
            return self.release(&applied.persisted).await;
        }
        self.cache.transient = applied.transient.clone();
        let condition = response_condition(inputs, call, done, &applied.outcome);
        self.cache.refusal = applied.transient.refused.is_some().then(|| condition.clone());
        let record = ObservedRecord::answered(done.record.as_ref());
        let written = self.patch_response(inputs, &applied.persisted, &condition, record).await;
        let accepted = applied.persisted.operation.as_ref().filter(|it| it.state == OperationState::Accepted);
        self.cache.unstored =
            accepted.filter(|_| written.is_err()).map(|operation| (operation.started_at, applied.persisted.clone()));
        if call == CallKind::Create && (written.is_err() || !is_ours(&*self.object)) {
            self.report_left_behind(applied.persisted.id.as_deref()).await;
        }
        written?;
        Ok(Next::Again(Some(self.requeue_after(remote, done, applied))))
    }

    /// Removes the finalizer.
    async fn release(&self, persisted: &PersistedState) -> Result<Next, Stop> {
        let operation = persisted.operation.as_ref();
        let is_undeployed = operation.is_some_and(|operation| operation.kind == OperationType::Undeploy);
        record::release(self.context, &self.api, &*self.object, is_undeployed).await
    }

    /// Writes the status, and returns when to observe again.
    async fn report_no_op(
        &mut self,
        remote: &Arc<Remote>,
        inputs: &mut Inputs,
        decision: &Decision,
    ) -> Result<Next, kube::Error> {
        let (verified, lookup) = self.verify(remote, inputs.record(), decision).await;
        inputs.verified = verified;
        let inputs = &*inputs;
        let record = inputs.record();
        let comparison = match decision.outcome.drifted().filter(|_| record.is_some()) {
            _ if self.object.spec.drift_policy == DriftPolicy::Ignore => Comparison::Same,
            Some(true) => Comparison::Different(inputs.differing()),
            Some(false) => Comparison::Same,
            None => Comparison::None,
        };
        let mut condition = self.ready_condition(inputs, decision);
        if decision.outcome.drifted().is_some()
            && let Some(record) = record
            && let Err(problem) = outputs::write(self.context, &self.object, record).await?
            // A problem of the deployment itself is reported first: a deployment that failed may have no URL yet.
            && condition.reason.state() == ConditionState::Ready
        {
            condition = problem;
        }
        let findings = record.is_some_and(verification::has_findings);
        let verified = inputs.verified.as_ref();
        condition = verification::ready(condition, &self.object.spec.ready_when, findings, verified);
        self.patch_status(inputs, &decision.persisted, condition, ObservedRecord::of(record), comparison).await?;
        // Only after the write: what a decision forgets is still needed if the decision could not be written.
        self.cache.transient = decision.transient.clone();
        self.annotate(&decision.persisted).await?;
        let undeclared = inputs.desired.as_ref().err().and_then(declarations_again);
        let again = [self.next_poll(remote, inputs, decision), undeclared, lookup].into_iter().flatten().min();
        let refused = verified.is_some_and(|condition| condition.reason == Reason::KubernetesError);
        Ok(Next::Again(again.into_iter().chain(refused.then_some(REFUSED_AGAIN)).min()))
    }

    /// Sets how often the record is polled, and returns when to reconcile again even if no observation enqueues the
    /// resource.
    fn next_poll(&self, remote: &Arc<Remote>, inputs: &Inputs, decision: &Decision) -> Option<Duration> {
        let interval = self.interval();
        let Some(id) = &decision.persisted.id else { return Some(decision.again.unwrap_or(interval)) };
        let busy = inputs.record().is_some_and(|record| observe::phase(&record.status).is_busy());
        if !busy {
            remote.poll(self.object_ref, id, PollRate::Settled(interval));
            // A decision that waits for a time needs a reconcile then, as does one that depends on who has the key; the
            // poller enqueues the resource for everything else.
            return decision.again.or_else(|| (decision.outcome == Outcome::KeyTaken).then_some(interval));
        }
        let now = self.context.clock.now();
        let since = decision.persisted.operation.as_ref().map(|operation| operation.started_at);
        let since = since.or(decision.transient.busy_since).unwrap_or(now);
        remote.poll(self.object_ref, id, PollRate::Busy { since });
        // As long as the deployment stays busy, only time changes its condition (rule 18).
        let left = between(now, later(since, decide::TOO_LONG));
        (!left.is_zero()).then_some(left)
    }

    /// Sends the one call of a decision whose operation is persisted.
    async fn send(
        &mut self,
        remote: &Arc<Remote>,
        inputs: &Inputs,
        call: &Call,
        decision: &Decision,
        operation: PersistedOperation,
    ) -> (Done, AppliedResponse) {
        let none = Values::default();
        let values = inputs.desired.as_ref().map_or(&none, |desired| &desired.values);
        let named = |call: CallKind| {
            let entry = call.deploys_latest().then(|| inputs.registered.declared());
            let declared = entry.as_ref().unwrap_or(&inputs.declared).as_ref();
            applications::named(values, call, declared, inputs.record())
        };
        let api = remote.api();
        let send = async |named| {
            let target = inputs.target.as_ref();
            act::send(&api, &self.object, &inputs.wanted, target, call.kind, &named, &operation).await
        };
        let mut done = send(named(call.kind)).await;
        if call.kind == CallKind::Move && act::rejects_added(&done) {
            done = send(named(CallKind::Redeploy)).await;
        }
        let now = self.context.clock.now();
        self.cache.last_call = Some(now);
        let (persisted, transient) = (&decision.persisted, &decision.transient);
        let applied = decide::apply_response(persisted, transient, call, &done.response, now);
        (done, applied)
    }

    /// Returns when to continue after a call.
    fn requeue_after(&mut self, remote: &Arc<Remote>, done: &Done, applied: &AppliedResponse) -> Duration {
        let interval = self.interval();
        let accepted =
            applied.persisted.operation.as_ref().is_some_and(|operation| operation.state == OperationState::Accepted);
        if accepted {
            let now = self.context.clock.now();
            // The poller enqueues the resource after every change. A deployment that does not change at all needs one
            // reconcile of its own.
            let busy = matches!(&done.response, Response::Accepted(accepted) if accepted.phase.is_busy());
            let pace = if busy { PollRate::Busy { since: now } } else { PollRate::Settled(interval) };
            if let Some(id) = &applied.persisted.id {
                remote.poll(self.object_ref, id, pace);
            }
            return if busy { decide::TOO_LONG } else { UNCHANGED_AGAIN };
        }
        if applied.outcome == Outcome::KeyTaken
            || applied.transient.refused.as_ref().is_some_and(|refused| !refused.is_of_deletion())
        {
            return interval;
        }
        let redeploys =
            applied.persisted.operation.as_ref().is_some_and(|operation| operation.kind == OperationType::Redeploy);
        if redeploys && done.response == Response::Unknown {
            let asked = done.error.as_ref().and_then(|error| error.retry_after);
            return LOST_AGAIN.max(asked.unwrap_or_default());
        }
        let now = self.context.clock.now();
        match (applied.transient.pause.and_then(|pause| pause.left(now)), &done.error) {
            (Some(pause), _) => pause,
            (None, Some(error)) => self.pause(remote, error),
            (None, None) => Duration::from_secs(5),
        }
    }
}

/// The condition after a response.
fn response_condition(inputs: &Inputs, call: CallKind, done: &Done, outcome: &Outcome) -> ConditionUpdate {
    let suspects = suspects(call, inputs.registered.generates_api_client());
    act::condition(done, &suspects, &inputs.wanted.remote.project_key)
        .filter(|_| *outcome != Outcome::KeyTaken)
        .unwrap_or_else(|| status::ready_condition(outcome, &inputs.wanted.key, done.record.as_ref(), &[]))
}
