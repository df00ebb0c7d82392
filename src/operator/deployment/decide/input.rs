//! What the rows of the table share: common decisions, ages, and the proof of absence.

use std::time::Duration;

use clock::between;
use jiff::Timestamp;

use super::super::persisted::{
    Applied, ObservedDeployment, Operation, OperationState, OperationType, Payload, PersistedState, Phase,
};
use super::retained;
use super::timing::left;
use super::{
    ABSENCE, Call, CallKind, Cause, Decision, DesiredPayload, Input, Outcome, Refused, Resting, Step, TransientState,
};
use crate::operator::values::digest::{Comparison, Digest};
use crate::operator::values::names::differences;

impl Input<'_> {
    /// Returns a decision that starts the row of equal readings again; a row of the table that continues it sets
    /// `resting`.
    pub(super) fn decision(
        &self,
        persisted: PersistedState,
        step: Step,
        outcome: Outcome,
        again: Option<Duration>,
    ) -> Decision {
        Decision {
            persisted,
            transient: TransientState { resting: None, ..self.transient.clone() },
            step,
            outcome,
            again,
        }
    }

    /// Nothing to send and nothing to persist.
    pub(super) fn no_op(&self, outcome: Outcome, again: Option<Duration>) -> Decision {
        self.decision(self.persisted.clone(), Step::NoOp, outcome, again)
    }

    /// Removes the finalizer.
    pub(super) fn remove_finalizer(&self) -> Decision {
        self.decision(self.persisted.clone(), Step::RemoveFinalizer, Outcome::Released, None)
    }

    /// Something ended: decides again from the same observation.
    pub(super) fn re_evaluate(&self, persisted: PersistedState) -> Decision {
        self.decision(persisted, Step::NoOp, Outcome::Changing, Some(Duration::ZERO))
    }

    /// Gives up an operation that may have been sent, so that it is not known what the remote has.
    pub(super) fn give_up(&self) -> Decision {
        let mut persisted = self.persisted.clone();
        forget_digest(&mut persisted);
        persisted.operation = None;
        self.re_evaluate(persisted)
    }

    /// Persists `operation` and then sends its call, unless a call for this cause is held back.
    pub(super) fn send(
        &self,
        mut persisted: PersistedState,
        operation: Operation,
        kind: CallKind,
        cause: Cause,
    ) -> Decision {
        if let Some(held) = self.held(&cause) {
            return held;
        }
        let outcome = Outcome::Running(operation.kind);
        persisted.operation = Some(operation);
        if kind == CallKind::Move {
            persisted.followed = self.intent.version.latest;
        }
        let again = Some(Duration::from_secs(1));
        let mut decision = self.decision(persisted, Step::Send(Call { kind, cause }), outcome, again);
        decision.transient.change = None;
        decision.transient.absent_since = None;
        decision
    }

    /// Returns a new operation that starts now.
    pub(super) fn operation(&self, kind: OperationType, wanted: Option<&DesiredPayload>) -> Operation {
        Operation {
            kind,
            state: OperationState::Planned,
            attempt: 1,
            generation: self.intent.generation,
            payload: wanted.map(|wanted| wanted.payload.clone()),
            from_version: None,
            from_build: None,
            changes_visible: false,
            seen_busy: false,
            redeploy_request: self.intent.redeploy_request.clone(),
            started_at: self.now,
        }
    }

    /// Returns why a call cannot be sent now: it was refused before for the same cause, or a pause is not over.
    pub(super) fn held(&self, cause: &Cause) -> Option<Decision> {
        if let Some(until) = self.refused_until(cause) {
            return Some(self.no_op(Outcome::Refused, Some(between(self.now, until))));
        }
        let pause = self.transient.pause?.left(self.now)?;
        let outcome = match &self.persisted.operation {
            _ if cause.digest.is_none() => Outcome::Running(OperationType::Undeploy),
            Some(operation) => Outcome::Running(operation.kind),
            None => Outcome::Changing,
        };
        Some(self.no_op(outcome, Some(pause)))
    }

    /// Returns until when a call for this cause is not sent again, because the service has refused it.
    pub(super) fn refused_until(&self, cause: &Cause) -> Option<Timestamp> {
        let covers = |refused: &&Refused| refused.cause.covers(cause);
        let refused = self.transient.refused.as_ref().filter(covers)?;
        Some(refused.until).filter(|until| self.now < *until)
    }

    /// Returns what is asked for now.
    pub(super) fn cause(&self, wanted: &DesiredPayload) -> Cause {
        Cause {
            digest: Some(wanted.payload.digest.clone()),
            generation: self.intent.generation,
            request: self.intent.redeploy_request.clone(),
            latest: self.intent.version.latest,
        }
    }

    /// Returns what a DELETE is sent for while the resource is being deleted.
    pub(super) fn cause_of_undeploy(&self) -> Cause {
        Cause {
            digest: None,
            generation: self.intent.generation,
            request: self.intent.reconcile_request.clone(),
            latest: None,
        }
    }

    /// Returns the time since the call of this operation was about to be sent, at the observation.
    pub(super) fn age(&self, operation: &Operation) -> Duration {
        between(operation.started_at, self.observed_at)
    }

    /// Returns for how long the deployment has been busy without an operation of this resource.
    pub(super) fn busy_for(&self) -> Duration {
        self.transient.busy_since.map_or(Duration::ZERO, |since| between(since, self.now))
    }

    /// Returns the time since the last write of this resource at the remote, as far as it is known.
    pub(super) fn since_write(&self) -> Duration {
        self.persisted.last_write().map_or(Duration::MAX, |stamp| between(stamp, self.observed_at))
    }

    /// Rule 5: a deployment is gone if reading it answers 404 twice, [`ABSENCE`] apart, while no write of this resource may be
    /// under way: until `quiet_after` has passed since the last one. Waits for the second 404; `None`: it is proven.
    pub(super) fn missing(&self, quiet_after: Duration) -> Option<Decision> {
        let counts = self.since_write() >= quiet_after;
        let since = counts.then(|| self.transient.absent_since.unwrap_or(self.observed_at));
        if since.is_some_and(|since| between(since, self.observed_at) >= ABSENCE) {
            return None;
        }
        let again = since.map_or(Duration::from_secs(10), |since| left(between(since, self.now), ABSENCE));
        let mut decision = self.no_op(Outcome::Missing, Some(again));
        decision.transient.absent_since = since;
        Some(decision)
    }

    /// Returns since when this final state is read; another state starts now.
    pub(super) fn resting(&self, observed: &ObservedDeployment, same_version: bool) -> Resting {
        match self.transient.resting {
            Some(resting)
                if resting.phase == observed.phase && (!same_version || resting.version == observed.version) =>
            {
                resting
            }
            _ => Resting { phase: observed.phase, version: observed.version, since: self.observed_at },
        }
    }
}

/// Forgets what the remote has, so that the next observation finds a redeploy due. Values of the operation that is
/// given up may have arrived anyway, so they count as retained.
pub(super) fn forget_digest(persisted: &mut PersistedState) {
    let begun = persisted.operation.as_ref().and_then(|operation| operation.payload.as_ref());
    let Some(applied) = &mut persisted.applied else { return };
    applied.digest = None;
    let sent = applied.names.get_or_insert_default();
    for item in begun.into_iter().flat_map(|payload| payload.names.iter()).filter(|item| !sent.has(item)) {
        applied.retained.insert(item.clone());
    }
}

/// Notes that a redeploy request was served. Its removal afterwards is not a new request.
pub(super) fn serve(persisted: &mut PersistedState, request: Option<&String>) {
    if let Some(request) = request {
        persisted.handled_redeploy = Some(request.clone());
    }
}

impl Input<'_> {
    /// Returns what an operation sends. If its digests have another key, it is not known any more, and what is desired today
    /// takes its place (rule 7).
    pub(super) fn sent<'o>(&'o self, operation: &'o Operation) -> Option<&'o Payload> {
        let payload = operation.payload.as_ref()?;
        let today = self.wanted.map(|wanted| &wanted.payload);
        let today = today.filter(|today| payload.digest.compare(&today.digest) == Comparison::Unknown);
        Some(today.unwrap_or(payload))
    }

    /// Returns how the deployment differs from the desired visible values; `None`: it does not.
    pub(super) fn differs(&self, wanted: &DesiredPayload, observed: &ObservedDeployment) -> Option<Digest> {
        self.digests.of_differences(&differences(&wanted.values, &observed.values))
    }

    /// Returns what is persisted after an operation has ended.
    pub(super) fn ended(&self, operation: &Operation, observed: &ObservedDeployment) -> Option<Applied> {
        let payload = operation.payload.as_ref()?;
        // A deployment that was created again has none of the earlier values.
        let before = self.persisted.applied.as_ref().filter(|_| operation.kind != OperationType::Create);
        // Once something else is desired, a redeploy is due anyway.
        let wanted = self.wanted.filter(|wanted| wanted.payload.digest == payload.digest);
        let differs = wanted.and_then(|wanted| self.differs(wanted, observed));
        Some(Applied {
            generation: operation.generation,
            digest: Some(payload.digest.clone()),
            outcome: observed.phase,
            serves: observed.phase == Phase::Deployed || before.is_some_and(|before| before.serves),
            from_version: operation.from_version,
            connector_version: Some(observed.connector_version),
            rollback: observed.rollback.clone(),
            names: Some(payload.names.clone()),
            accepted: before.and_then(|before| accepted(before, differs.as_ref())),
            differs,
            uncompared: wanted.is_none(),
            retained: before.map(|before| retained::left(before, &payload.names)).unwrap_or_default(),
            sources: payload.sources.clone(),
            at: self.now,
        })
    }
}

/// Returns the difference that shows now if it showed before, too, so that it stayed after the values were sent again (rule 16).
fn accepted(before: &Applied, differs: Option<&Digest>) -> Option<Digest> {
    differs
        .filter(|differs| [&before.differs, &before.accepted].into_iter().flatten().any(|known| known == *differs))
        .cloned()
}
