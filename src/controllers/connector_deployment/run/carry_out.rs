//! Carries a decision out: writes the operation, sends its one call, and says when to go on.

use std::sync::Arc;
use std::time::Duration;

use clock::{between, later};
use connect_api::{ApiError, ConnectApi};
use jiff::Timestamp;

use super::super::act::{self, Done};
use super::super::decide::{self, Answer, Call, CallKind, Decision, Outcome, Step, Verdict, Wanted};
use super::super::ledger::{Look, OperationKind, OperationState, Phase};
use super::super::observe::Looked;
use super::super::registered;
use super::super::status::{self, Comparison, Sight};
use super::super::{applications, logs, outputs, verification};
use crate::controllers::object::Next;
use crate::controllers::reason::{Reason, Stance};
use crate::controllers::remote::{Pace, Remote};
use crate::controllers::values::Values;
use crate::crd::DriftPolicy;
use crate::crd::connector_deployment_status::OperationType;

use super::registered::needs_declarations;
use super::{Known, Run};

/// Pause before the look that follows the lost answer to a redeploy (contract section 8.4): that the remote is at work,
/// which shows that the call arrived, may be over soon. What shows for a create or an undeploy stays. When to send again is
/// for the table, which keeps pauses of its own.
const LOST_AGAIN: Duration = Duration::from_secs(1);
/// Pause after which to run again if the answer to a call shows nothing at work.
const UNCHANGED_AGAIN: Duration = Duration::from_secs(3);

impl Run<'_> {
    pub(super) async fn carry_out(
        &mut self,
        remote: &Arc<Remote>,
        api: &dyn ConnectApi,
        known: Known,
        looked: Looked,
        look: &Look,
        decision: Decision,
    ) -> Result<Next, kube::Error> {
        match &decision.step {
            Step::Release => self.release(Some(&decision.ledger)).await,
            Step::Rest => self.rest(remote, api, &known, &looked, look, &decision).await,
            Step::Send(call) => {
                let told = status::tell(&decision.verdict, &known.wanted.key, None, &[]);
                self.say(&known, &decision.ledger, told, Sight::NotLooked, None, Comparison::None).await?;
                self.remembered.seen = decision.memory.clone();
                // In a box of its own: most runs send nothing.
                Box::pin(self.send(remote, api, &known, &looked, call.clone(), decision)).await
            }
        }
    }

    /// Nothing to send: says what is the case, and when to look again.
    pub(super) async fn rest(
        &mut self,
        remote: &Arc<Remote>,
        api: &dyn ConnectApi,
        known: &Known,
        looked: &Looked,
        look: &Look,
        decision: &Decision,
    ) -> Result<Next, kube::Error> {
        let record = looked.record.as_deref();
        let before = self.status();
        let log = logs::wanted(&self.object, &before, record, &decision.verdict, self.context.clock.now());
        let mut told = self.tell(known, decision, record);
        let drifted = match decision.verdict {
            Verdict::Settled { drifted, .. } | Verdict::NotApplied { drifted } => Some(drifted),
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
            && told.reason.stance() == Stance::Ready
        {
            told = problem;
        }
        self.verify(remote, looked, &decision.verdict).await?;
        let findings = record.is_some_and(verification::has_findings);
        told = verification::ready(told, self.object.spec.ready_when, findings, self.verified.as_ref());
        let deploys = |kind| matches!(kind, OperationType::Create | OperationType::Redeploy);
        let sent = before.operation.as_ref().filter(|operation| deploys(operation.operation_type));
        let reason = told.reason;
        let sight = record.map_or(Sight::Nothing, Sight::Record);
        // The lines of a failure before this one are not its own.
        let lines = log.as_ref().map(|_| Vec::new());
        self.say(known, &decision.ledger, told.clone(), sight, lines, comparison).await?;
        self.context.work.settled(self.subject, reason);
        let live = decision.ledger.applied.as_ref().is_some_and(|applied| applied.outcome == Phase::Deployed);
        if let Some(sent) = sent.filter(|_| live && decision.ledger.operation.is_none()) {
            self.context.work.live(sent.started_at.0, looked.at);
        }
        // Not before: what is forgotten because of a decision is still needed if that could not be written.
        self.remembered.seen = decision.memory.clone();
        self.annotate(&decision.ledger).await?;
        let again = self.watch(remote, look, decision);
        let verifies = self.verified.as_ref().is_some_and(|told| told.reason == Reason::KubernetesError);
        let refused = if verifies { Reason::KubernetesError } else { reason };
        let again = self.remembered.refusals.again(refused, again);
        if let Some(log) = &log {
            Box::pin(self.show_log(api, known, decision, record, log, (told, comparison))).await?;
        }
        Ok(Next::Again(again))
    }

    /// The pace of looks; and the time after which to run again whatever is seen.
    pub(super) fn watch(&self, remote: &Arc<Remote>, look: &Look, decision: &Decision) -> Option<Duration> {
        let interval = self.object.spec.effective_interval();
        let Some(id) = &decision.ledger.id else { return Some(decision.again.unwrap_or(interval)) };
        let busy = matches!(look, Look::Present(seen) if seen.phase.is_busy());
        if !busy {
            remote.watch(self.subject, id, Pace::Settled(interval));
            // A decision that waits for something has to look then; the view tells of everything else.
            return decision.again;
        }
        let now = self.context.clock.now();
        let since = decision.ledger.operation.as_ref().map(|operation| operation.started_at);
        let since = since.or(decision.memory.busy_since).unwrap_or(now);
        remote.watch(self.subject, id, Pace::Busy { since });
        // Only time can change what is told of something that stays busy (rule 18).
        let left = between(now, later(since, decide::TOO_LONG));
        (!left.is_zero()).then_some(left)
    }

    /// The operation is written; now its one call.
    pub(super) async fn send(
        &mut self,
        remote: &Arc<Remote>,
        api: &dyn ConnectApi,
        known: &Known,
        looked: &Looked,
        call: Call,
        decision: Decision,
    ) -> Result<Next, kube::Error> {
        let started =
            decision.ledger.operation.as_ref().map_or_else(Timestamp::default, |operation| operation.started_at);
        let none = Values::default();
        let values = known.desired.as_ref().map_or(&none, |desired| &desired.values);
        let record = looked.record.as_deref();
        let named = |call: &CallKind| {
            let offered = needs_declarations(call).then(|| known.registered.declared());
            applications::named(values, call, offered.as_ref().unwrap_or(&known.declared).as_ref(), record)
        };
        let send = async |values| {
            act::send(api, &self.object, &known.wanted, known.target.as_ref(), &call, &values, started).await
        };
        let mut done = send(named(&call.kind)).await;
        if let Some(without) = done.without_added(&call.kind) {
            done = send(named(&without)).await;
        }
        let deploys = matches!(call.kind, CallKind::Create { .. } | CallKind::Redeploy { .. });
        if deploys && matches!(done.answer, Answer::Accepted { .. } | Answer::Unknown) {
            self.context.work.sent(self.subject);
        }
        let now = self.context.clock.now();
        self.remembered.last_call = Some(now);
        let cause = known.payload.as_ref().map(|wanted| self.cause(wanted, known.registered.latest()));
        let outcome = decide::answered(&decision.ledger, &decision.memory, &call, cause, &done.answer, now);
        self.after_call(remote, known, &call, done, outcome).await
    }

    pub(super) fn cause(&self, wanted: &Wanted, latest: Option<i64>) -> decide::Cause {
        let (generation, request) = self.asked_for();
        decide::Cause { digest: wanted.payload.digest.clone(), generation, request, latest }
    }

    pub(super) async fn after_call(
        &mut self,
        remote: &Arc<Remote>,
        known: &Known,
        call: &Call,
        done: Done,
        outcome: Outcome,
    ) -> Result<Next, kube::Error> {
        if outcome.release {
            return self.release(Some(&outcome.ledger)).await;
        }
        self.remembered.seen = outcome.memory.clone();
        let kind = match call.kind {
            CallKind::Create { .. } => OperationKind::Create,
            CallKind::Redeploy { .. } => OperationKind::Redeploy,
            CallKind::Undeploy { .. } => OperationKind::Undeploy,
            CallKind::Recreate { .. } => OperationKind::Recreate,
        };
        let verdict = if outcome.key_taken { Verdict::KeyTaken } else { Verdict::Running(kind) };
        let suspects = registered::suspects(&call.kind, known.registered.generates_api_client());
        let told = act::told(&done, &suspects, &known.wanted.remote.project_key)
            .filter(|_| !outcome.key_taken)
            .unwrap_or_else(|| status::tell(&verdict, &known.wanted.key, done.record.as_ref(), &[]));
        self.remembered.refusal = outcome.memory.refused.as_ref().map(|_| told.clone());
        self.say_answer(known, &outcome.ledger, &told, done.record.as_ref()).await?;
        self.annotate(&outcome.ledger).await?;
        Ok(Next::Again(Some(self.after_answer(remote, &done, &outcome))))
    }

    /// When to go on after a call.
    pub(super) fn after_answer(&mut self, remote: &Arc<Remote>, done: &Done, outcome: &Outcome) -> Duration {
        let interval = self.object.spec.effective_interval();
        let accepted =
            outcome.ledger.operation.as_ref().is_some_and(|operation| operation.state == OperationState::Accepted);
        if accepted {
            self.remembered.backoff.worked();
            let now = self.context.clock.now();
            // The view tells of every change; what does not change at all has to be looked at too, and then only once.
            let busy = matches!(&done.answer, Answer::Accepted { phase, .. } if phase.is_busy());
            let pace = if busy { Pace::Busy { since: now } } else { Pace::Settled(interval) };
            if let Some(id) = &outcome.ledger.id {
                remote.watch(self.subject, id, pace);
            }
            return if busy { decide::TOO_LONG } else { UNCHANGED_AGAIN };
        }
        if outcome.key_taken || outcome.memory.refused.as_ref().is_some_and(|refused| refused.cause.is_some()) {
            return interval;
        }
        let redeploys =
            outcome.ledger.operation.as_ref().is_some_and(|operation| operation.kind == OperationKind::Redeploy);
        if redeploys && done.answer == Answer::Unknown {
            let asked = done.error.as_ref().and_then(|error| error.retry_after);
            return LOST_AGAIN.max(asked.unwrap_or_default());
        }
        match (outcome.memory.pause, &done.error) {
            (Some(pause), _) => between(self.context.clock.now(), pause.until),
            (None, Some(error)) => self.pause(error),
            (None, None) => Duration::from_secs(5),
        }
    }

    /// Holds the calls of this resource back, longer with each failure.
    pub(super) fn pause(&mut self, error: &ApiError) -> Duration {
        let asked = self.asked_for();
        self.remembered.backoff.failed(asked, error, self.context.clock.now())
    }
}
