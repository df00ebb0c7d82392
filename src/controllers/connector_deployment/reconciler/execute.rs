//! Reports a decision that sends nothing, sends the call of a decision that has one, and returns when to continue.

use std::sync::Arc;
use std::time::Duration;

use clock::{between, later};

use super::super::act::{self, Done};
use super::super::decide::{self, AppliedResponse, Call, CallKind, Decision, DesiredPayload, Outcome, Response};
use super::super::persisted::{OperationState, OperationType};
use super::super::registered::needs_declarations;
use super::super::status::Comparison;
use super::super::{applications, observe, outputs, verification};
use crate::controllers::driver::{ObservedRecord, PersistedOperation};
use crate::controllers::reconcile::Next;
use crate::controllers::remote::{PollRate, Remote};
use crate::controllers::reporting::reason::{ConditionState, Reason};
use crate::controllers::values::Values;
use crate::crd::DriftPolicy;

use super::{Deployment, Inputs};

/// Pause before the observation that follows a lost response to a redeploy (contract section 8.4). A busy remote proves
/// that the call arrived, and it may be idle again soon; the effect of a create or an undeploy stays visible. The
/// decision table decides when to send again, with pauses of its own.
const LOST_AGAIN: Duration = Duration::from_secs(1);
/// Pause before the next reconcile if the response to a call shows an idle remote.
const UNCHANGED_AGAIN: Duration = Duration::from_secs(3);

impl Deployment<'_> {
    /// Writes the status, and returns when to observe again.
    pub(super) async fn report_no_op(
        &mut self,
        remote: &Arc<Remote>,
        inputs: &mut Inputs,
        decision: &Decision,
    ) -> Result<Next, kube::Error> {
        inputs.verified = self.verify(remote, &inputs.read, &decision.outcome).await?;
        let inputs = &*inputs;
        let record = inputs.record();
        let comparison = self.comparison(inputs, decision);
        let mut condition = self.ready_condition(inputs, decision);
        if matches!(decision.outcome, Outcome::Settled { .. } | Outcome::NotApplied { .. })
            && let Some(record) = record
            && let Err(problem) = outputs::write(self.context, &self.object, record).await?
            // A problem of the deployment itself is reported first: a deployment that failed may have no URL yet.
            && condition.reason.state() == ConditionState::Ready
        {
            condition = problem;
        }
        let findings = record.is_some_and(verification::has_findings);
        let verified = inputs.verified.as_ref();
        condition = verification::ready(condition, self.object.spec.ready_when, findings, verified);
        let reason = condition.reason;
        self.patch_status(inputs, &decision.persisted, condition, ObservedRecord::of(record), comparison).await?;
        // Only after the write: what a decision forgets is still needed if the decision could not be written.
        self.cache.transient = decision.transient.clone();
        self.annotate(&decision.persisted).await?;
        let again = self.next_poll(remote, inputs, decision);
        let refused = verified.is_some_and(|condition| condition.reason == Reason::KubernetesError);
        let refused = if refused { Reason::KubernetesError } else { reason };
        let again = self.cache.kubernetes_error_backoff.again(refused, again);
        Ok(Next::Again(again))
    }

    fn comparison(&self, inputs: &Inputs, decision: &Decision) -> Comparison {
        let drifted = match decision.outcome {
            Outcome::Settled { drifted, .. } | Outcome::NotApplied { drifted } => Some(drifted),
            _ => None,
        };
        match drifted {
            _ if self.object.spec.drift.policy == DriftPolicy::Ignore => Comparison::Ignored,
            Some(true) => Comparison::Different { values: self.differing(inputs) },
            Some(false) => Comparison::Same,
            None => Comparison::None,
        }
    }

    /// Sets how often the record is polled, and returns when to reconcile again even if no observation enqueues the
    /// resource.
    pub(super) fn next_poll(&self, remote: &Arc<Remote>, inputs: &Inputs, decision: &Decision) -> Option<Duration> {
        let interval = self.object.spec.effective_interval();
        let Some(id) = &decision.persisted.id else { return Some(decision.again.unwrap_or(interval)) };
        let busy = inputs.record().is_some_and(|record| observe::phase(&record.status).is_busy());
        if !busy {
            remote.poll(self.object_ref, id, PollRate::Settled(interval));
            // A decision that waits for a time needs a reconcile then; the poller enqueues the resource for everything
            // else.
            return decision.again;
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
    pub(super) async fn send(
        &mut self,
        remote: &Arc<Remote>,
        inputs: &Inputs,
        call: &Call,
        decision: &Decision,
        operation: PersistedOperation,
    ) -> (Done, AppliedResponse) {
        let none = Values::default();
        let values = inputs.desired.as_ref().map_or(&none, |desired| &desired.values);
        let named = |call: &CallKind| {
            let entry = needs_declarations(call).then(|| inputs.registered.declared());
            let declared = entry.as_ref().unwrap_or(&inputs.declared).as_ref();
            applications::named(values, call, declared, inputs.record())
        };
        let api = remote.api();
        let send = async |values| {
            let target = inputs.target.as_ref();
            act::send(&api, &self.object, &inputs.wanted, target, call, &values, &operation).await
        };
        let mut done = send(named(&call.kind)).await;
        if let Some(without) = act::without_added(&done, &call.kind) {
            done = send(named(&without)).await;
        }
        let now = self.context.clock.now();
        self.cache.own.last_call = Some(now);
        let cause = inputs.payload.as_ref().map(|wanted| self.cause(wanted, inputs.registered.latest()));
        let (persisted, transient) = (&decision.persisted, &decision.transient);
        let applied = decide::apply_response(persisted, transient, call, cause, &done.response, now);
        (done, applied)
    }

    fn cause(&self, wanted: &DesiredPayload, latest: Option<i64>) -> decide::Cause {
        let (generation, request) = self.asked_for();
        decide::Cause { digest: wanted.payload.digest.clone(), generation, request, latest }
    }

    /// Returns when to continue after a call.
    pub(super) fn requeue_after(&mut self, remote: &Arc<Remote>, done: &Done, applied: &AppliedResponse) -> Duration {
        let interval = self.object.spec.effective_interval();
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
        if applied.key_taken || applied.transient.refused.as_ref().is_some_and(|refused| refused.cause.is_some()) {
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
            (None, Some(error)) => {
                let needless_until = applied.persisted.operation.as_ref().and_then(decide::needless_until);
                self.pause(remote, error, needless_until)
            }
            (None, None) => Duration::from_secs(5),
        }
    }
}
