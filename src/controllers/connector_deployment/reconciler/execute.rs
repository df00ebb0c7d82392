//! Carries a decision out: writes the operation, sends its one call, and says when to go on.

use std::sync::Arc;
use std::time::Duration;

use clock::{between, later};
use connect_api::{ApiError, ConnectApi};
use jiff::Timestamp;

use super::super::act::{self, Done};
use super::super::decide::{self, AppliedResponse, Call, CallKind, Decision, Outcome, Response, Step, Wanted};
use super::super::observe::RecordRead;
use super::super::persisted::{Observation, OperationKind, OperationState, Phase};
use super::super::registered;
use super::super::status::{self, Comparison, ObservedRecord};
use super::super::{applications, logs, outputs, verification};
use crate::controllers::object::Next;
use crate::controllers::reason::{ConditionState, Reason};
use crate::controllers::remote::{PollRate, Remote};
use crate::controllers::values::Values;
use crate::crd::DriftPolicy;
use crate::crd::connector_deployment_status::OperationType;

use super::registered::needs_declarations;
use super::{Inputs, Reconciler};

/// Pause before the look that follows the lost answer to a redeploy (contract section 8.4): that the remote is at work,
/// which shows that the call arrived, may be over soon. What shows for a create or an undeploy stays. When to send again is
/// for the table, which keeps pauses of its own.
const LOST_AGAIN: Duration = Duration::from_secs(1);
/// Pause after which to run again if the answer to a call shows nothing at work.
const UNCHANGED_AGAIN: Duration = Duration::from_secs(3);

impl Reconciler<'_> {
    pub(super) async fn execute(
        &mut self,
        remote: &Arc<Remote>,
        api: &dyn ConnectApi,
        inputs: Inputs,
        read: RecordRead,
        observation: &Observation,
        decision: Decision,
    ) -> Result<Next, kube::Error> {
        match &decision.step {
            Step::RemoveFinalizer => self.remove_finalizer(Some(&decision.persisted)).await,
            Step::NoOp => self.no_op(remote, api, &inputs, &read, observation, &decision).await,
            Step::Send(call) => {
                let condition = status::ready_condition(&decision.outcome, &inputs.wanted.key, None, &[]);
                self.patch_status(
                    &inputs,
                    &decision.persisted,
                    condition,
                    ObservedRecord::NotRead,
                    None,
                    Comparison::None,
                )
                .await?;
                self.cache.seen = decision.transient.clone();
                // In a box of its own: most runs send nothing.
                Box::pin(self.send(remote, api, &inputs, &read, call.clone(), decision)).await
            }
        }
    }

    /// Nothing to send: says what is the case, and when to look again.
    pub(super) async fn no_op(
        &mut self,
        remote: &Arc<Remote>,
        api: &dyn ConnectApi,
        inputs: &Inputs,
        read: &RecordRead,
        observation: &Observation,
        decision: &Decision,
    ) -> Result<Next, kube::Error> {
        let record = read.record.as_deref();
        let before = self.status();
        let log = logs::wanted(&self.object, &before, record, &decision.outcome, self.context.clock.now());
        let mut condition = self.ready_condition(inputs, decision, record);
        let drifted = match decision.outcome {
            Outcome::Settled { drifted, .. } | Outcome::NotApplied { drifted } => Some(drifted),
            _ => None,
        };
        let comparison = match drifted {
            _ if self.object.spec.drift.policy == DriftPolicy::Ignore => Comparison::Ignored,
            Some(true) => Comparison::Different,
            Some(false) => Comparison::Same,
            None => Comparison::None,
        };
        if drifted.is_some()
            && let Some(record) = record
            && let Err(problem) = outputs::write(self.context, &self.object, record).await?
            // What is wrong with the deployment itself comes first: one that failed may have no URL yet.
            && condition.reason.state() == ConditionState::Ready
        {
            condition = problem;
        }
        self.verify(remote, read, &decision.outcome).await?;
        let findings = record.is_some_and(verification::has_findings);
        condition = verification::ready(condition, self.object.spec.ready_when, findings, self.verified.as_ref());
        let deploys = |kind| matches!(kind, OperationType::Create | OperationType::Redeploy);
        let sent = before.operation.as_ref().filter(|operation| deploys(operation.operation_type));
        let reason = condition.reason;
        let sight = record.map_or(ObservedRecord::Absent, ObservedRecord::Present);
        // The lines of a failure before this one are not its own.
        let lines = log.as_ref().map(|_| Vec::new());
        self.patch_status(inputs, &decision.persisted, condition.clone(), sight, lines, comparison).await?;
        self.context.work.settled(self.object_ref, reason);
        let live = decision.persisted.applied.as_ref().is_some_and(|applied| applied.outcome == Phase::Deployed);
        if let Some(sent) = sent.filter(|_| live && decision.persisted.operation.is_none()) {
            self.context.work.live(sent.started_at.0, read.at);
        }
        // Not before: what is forgotten because of a decision is still needed if that could not be written.
        self.cache.seen = decision.transient.clone();
        self.annotate(&decision.persisted).await?;
        let again = self.next_poll(remote, observation, decision);
        let verifies = self.verified.as_ref().is_some_and(|condition| condition.reason == Reason::KubernetesError);
        let refused = if verifies { Reason::KubernetesError } else { reason };
        let again = self.cache.kubernetes_error_backoff.again(refused, again);
        if let Some(log) = &log {
            Box::pin(self.show_log(api, inputs, decision, record, log, (condition, comparison))).await?;
        }
        Ok(Next::Again(again))
    }

    /// The pace of looks; and the time after which to run again whatever is seen.
    pub(super) fn next_poll(
        &self,
        remote: &Arc<Remote>,
        observation: &Observation,
        decision: &Decision,
    ) -> Option<Duration> {
        let interval = self.object.spec.effective_interval();
        let Some(id) = &decision.persisted.id else { return Some(decision.again.unwrap_or(interval)) };
        let busy = matches!(observation, Observation::Present(seen) if seen.phase.is_busy());
        if !busy {
            remote.watch(self.object_ref, id, PollRate::Settled(interval));
            // A decision that waits for something has to look then; the view tells of everything else.
            return decision.again;
        }
        let now = self.context.clock.now();
        let since = decision.persisted.operation.as_ref().map(|operation| operation.started_at);
        let since = since.or(decision.transient.busy_since).unwrap_or(now);
        remote.watch(self.object_ref, id, PollRate::Busy { since });
        // Only time can change what is told of something that stays busy (rule 18).
        let left = between(now, later(since, decide::TOO_LONG));
        (!left.is_zero()).then_some(left)
    }

    /// The operation is written; now its one call.
    pub(super) async fn send(
        &mut self,
        remote: &Arc<Remote>,
        api: &dyn ConnectApi,
        inputs: &Inputs,
        read: &RecordRead,
        call: Call,
        decision: Decision,
    ) -> Result<Next, kube::Error> {
        let started =
            decision.persisted.operation.as_ref().map_or_else(Timestamp::default, |operation| operation.started_at);
        let none = Values::default();
        let values = inputs.desired.as_ref().map_or(&none, |desired| &desired.values);
        let record = read.record.as_deref();
        let named = |call: &CallKind| {
            let offered = needs_declarations(call).then(|| inputs.registered.declared());
            applications::named(values, call, offered.as_ref().unwrap_or(&inputs.declared).as_ref(), record)
        };
        let send = async |values| {
            act::send(api, &self.object, &inputs.wanted, inputs.target.as_ref(), &call, &values, started).await
        };
        let mut done = send(named(&call.kind)).await;
        if let Some(without) = done.without_added(&call.kind) {
            done = send(named(&without)).await;
        }
        let deploys = matches!(call.kind, CallKind::Create { .. } | CallKind::Redeploy { .. });
        if deploys && matches!(done.answer, Response::Accepted { .. } | Response::Unknown) {
            self.context.work.sent(self.object_ref);
        }
        let now = self.context.clock.now();
        self.cache.last_call = Some(now);
        let cause = inputs.payload.as_ref().map(|wanted| self.cause(wanted, inputs.registered.latest()));
        let applied = decide::apply_response(&decision.persisted, &decision.transient, &call, cause, &done.answer, now);
        self.after_call(remote, inputs, &call, done, applied).await
    }

    pub(super) fn cause(&self, wanted: &Wanted, latest: Option<i64>) -> decide::Cause {
        let (generation, request) = self.asked_for();
        decide::Cause { digest: wanted.payload.digest.clone(), generation, request, latest }
    }

    pub(super) async fn after_call(
        &mut self,
        remote: &Arc<Remote>,
        inputs: &Inputs,
        call: &Call,
        done: Done,
        applied: AppliedResponse,
    ) -> Result<Next, kube::Error> {
        if applied.remove_finalizer {
            return self.remove_finalizer(Some(&applied.persisted)).await;
        }
        self.cache.seen = applied.transient.clone();
        let kind = match call.kind {
            CallKind::Create { .. } => OperationKind::Create,
            CallKind::Redeploy { .. } => OperationKind::Redeploy,
            CallKind::Undeploy { .. } => OperationKind::Undeploy,
            CallKind::Recreate { .. } => OperationKind::Recreate,
        };
        let outcome = if applied.key_taken { Outcome::KeyTaken } else { Outcome::Running(kind) };
        let suspects = registered::suspects(&call.kind, inputs.registered.generates_api_client());
        let condition = act::condition(&done, &suspects, &inputs.wanted.remote.project_key)
            .filter(|_| !applied.key_taken)
            .unwrap_or_else(|| status::ready_condition(&outcome, &inputs.wanted.key, done.record.as_ref(), &[]));
        self.cache.refusal = applied.transient.refused.as_ref().map(|_| condition.clone());
        self.patch_response(inputs, &applied.persisted, &condition, done.record.as_ref()).await?;
        self.annotate(&applied.persisted).await?;
        Ok(Next::Again(Some(self.after_answer(remote, &done, &applied))))
    }

    /// When to go on after a call.
    pub(super) fn after_answer(&mut self, remote: &Arc<Remote>, done: &Done, applied: &AppliedResponse) -> Duration {
        let interval = self.object.spec.effective_interval();
        let accepted =
            applied.persisted.operation.as_ref().is_some_and(|operation| operation.state == OperationState::Accepted);
        if accepted {
            self.cache.backoff.worked();
            let now = self.context.clock.now();
            // The view tells of every change; what does not change at all has to be looked at too, and then only once.
            let busy = matches!(&done.answer, Response::Accepted { phase, .. } if phase.is_busy());
            let pace = if busy { PollRate::Busy { since: now } } else { PollRate::Settled(interval) };
            if let Some(id) = &applied.persisted.id {
                remote.watch(self.object_ref, id, pace);
            }
            return if busy { decide::TOO_LONG } else { UNCHANGED_AGAIN };
        }
        if applied.key_taken || applied.transient.refused.as_ref().is_some_and(|refused| refused.cause.is_some()) {
            return interval;
        }
        let redeploys =
            applied.persisted.operation.as_ref().is_some_and(|operation| operation.kind == OperationKind::Redeploy);
        if redeploys && done.answer == Response::Unknown {
            let asked = done.error.as_ref().and_then(|error| error.retry_after);
            return LOST_AGAIN.max(asked.unwrap_or_default());
        }
        match (applied.transient.pause, &done.error) {
            (Some(pause), _) => between(self.context.clock.now(), pause.until),
            (None, Some(error)) => self.pause(error),
            (None, None) => Duration::from_secs(5),
        }
    }

    /// Holds the calls of this resource back, longer with each failure.
    pub(super) fn pause(&mut self, error: &ApiError) -> Duration {
        let asked = self.asked_for();
        self.cache.backoff.failed(asked, error, self.context.clock.now())
    }
}
