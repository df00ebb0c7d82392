//! What the rows of the table share: common decisions, ages, and the proof of absence.

use std::cmp::Ordering;
use std::time::Duration;

use clock::between;
use jiff::Timestamp;

use super::super::persisted::{Observation, ObservedConnector, Operation, OperationType, PersistedState};
use super::{Call, CallKind, Cause, Decision, Input, Outcome, Step};
use crate::controllers::driver::operations::{self, ABSENCE, Gone, LAG, LIMIT, TOO_LONG, left, pace};

impl Input<'_> {
    fn decision(&self, persisted: PersistedState, step: Step, outcome: Outcome, again: Option<Duration>) -> Decision {
        Decision { persisted, transient: self.transient.clone(), step, outcome, again }
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
        self.decision(persisted, Step::NoOp, Outcome::Running(OperationType::Update), Some(Duration::ZERO))
    }

    /// Removes an operation that is over or was never accepted: the observation decides what to do.
    pub(super) fn over(&self) -> Decision {
        self.re_evaluate(PersistedState { operation: None, ..self.persisted.clone() })
    }

    /// Persists `operation` and then sends its call.
    pub(super) fn send(
        &self,
        mut persisted: PersistedState,
        operation: Operation,
        kind: CallKind,
        first: bool,
    ) -> Decision {
        let outcome = Outcome::Running(operation.kind);
        persisted.operation = Some(operation);
        let again = Some(Duration::from_secs(1));
        let mut decision = self.decision(persisted, Step::Send(Call { kind, first }), outcome, again);
        decision.transient.absent_since = None;
        decision.transient.busy_since = None;
        decision
    }

    /// Returns a new operation that starts now.
    pub(super) fn operation(&self, kind: OperationType, observed: Option<&ObservedConnector>) -> Operation {
        Operation {
            kind,
            accepted: false,
            attempt: 1,
            generation: self.intent.generation,
            digest: (kind != OperationType::Delete).then(|| self.about(kind)),
            tag: (kind != OperationType::Delete).then(|| self.intent.tag.clone()),
            from_version: observed.map(|observed| observed.version),
            from_phase: observed.map(|observed| observed.phase),
            seen_busy: false,
            request: self.intent.request.clone(),
            started_at: self.now,
        }
    }

    /// Returns the digest of what an operation of this kind sends.
    pub(super) fn about(&self, kind: OperationType) -> String {
        let publication = self.intent.publication.clone().filter(|_| kind == OperationType::Publish);
        publication.unwrap_or_else(|| self.intent.digest.clone())
    }

    /// Returns what is asked for now, if an operation of this kind has a cause.
    pub(super) fn cause(&self, kind: OperationType) -> Option<Cause> {
        (kind != OperationType::Delete).then(|| Cause {
            kind,
            digest: self.about(kind),
            generation: self.intent.generation,
            version: match self.observation {
                Observation::Present(observed) => Some(observed.version),
                Observation::Absent => None,
            },
            request: self.intent.request.clone(),
        })
    }

    /// Returns until when a call that was refused for this cause is not sent again.
    pub(super) fn refused_until(&self, cause: Option<&Cause>) -> Option<Timestamp> {
        let refused = self.transient.refused.as_ref().filter(|refused| refused.cause.as_ref() == cause)?;
        (self.now < refused.until).then_some(refused.until)
    }

    /// Returns why a call cannot be sent now: it was refused before for the same cause, or a pause is not over.
    pub(super) fn held(&self, kind: OperationType) -> Option<Decision> {
        if let Some(until) = self.refused_until(self.cause(kind).as_ref()) {
            return Some(self.no_op(Outcome::Refused, Some(between(self.now, until))));
        }
        let pause = self.transient.pause?.left(self.now)?;
        Some(self.no_op(Outcome::Running(kind), Some(pause)))
    }

    /// Returns the time since the call of this operation was about to be sent.
    pub(super) fn age(&self, operation: &Operation) -> Duration {
        operations::since(operation.started_at, self.transient.ahead, self.now)
    }

    /// Returns the time since the last write of this resource at the remote, as far as it is known.
    pub(super) fn since_write(&self) -> Duration {
        self.persisted
            .last_write()
            .map_or(Duration::MAX, |stamp| operations::since(stamp, self.transient.ahead, self.now))
    }

    /// Rule 5: whether the connector is gone.
    pub(super) fn gone(&self, quiet_after: Duration) -> Gone {
        Gone::evaluate(self.since_write(), quiet_after, self.transient.absent_since, self.now)
    }

    /// Waits for the second 404.
    pub(super) fn missing(&self, since: Option<Timestamp>) -> Decision {
        let again = since.map_or(Duration::from_secs(10), |since| left(between(since, self.now), ABSENCE));
        let mut decision = self.no_op(Outcome::Missing, Some(again));
        decision.transient.absent_since = since;
        decision
    }

    /// Whether an observation may be older than the last write: it shows the version before it, or an older one.
    pub(super) fn is_old(&self, observed: &ObservedConnector) -> bool {
        let from = self.persisted.applied.as_ref().and_then(|applied| applied.from_version);
        from.is_some_and(|from| observed.version <= from) && self.since_write() < LAG + LIMIT
    }

    /// Whether the desired connector was sent, and the remote still shows what it showed afterwards: the service
    /// normalizes it.
    pub(super) fn is_all_there_will_be(&self, observed: &ObservedConnector) -> bool {
        self.persisted.applied.as_ref().is_some_and(|applied| {
            applied.digest.as_ref() == Some(&self.intent.digest) && applied.remote.as_ref() == Some(&observed.digest)
        })
    }

    /// Whether the connector has the desired repository and tag.
    pub(super) fn has_repository(&self, observed: &ObservedConnector) -> bool {
        observed.repository_met || self.is_all_there_will_be(observed)
    }

    /// Waits while the connector is busy without an operation of this resource.
    pub(super) fn busy(&self) -> Decision {
        let since = self.transient.busy_since.unwrap_or(self.now);
        let age = between(since, self.now);
        let outcome = if age >= TOO_LONG { Outcome::TakesTooLong } else { Outcome::Busy };
        let mut decision = self.no_op(outcome, Some(pace(age)));
        decision.transient.busy_since = Some(since);
        decision
    }
}

/// Notes that a write of this resource has ended.
pub(super) fn note_end(persisted: &mut PersistedState, operation: &Operation, now: Timestamp) {
    persisted.operation = None;
    let applied = persisted.applied.get_or_insert_default();
    applied.from_version = operation.from_version;
    applied.at = now;
    if let Some(request) = &operation.request {
        persisted.handled_request = Some(request.clone());
    }
}

/// Notes that the service has accepted a create or an update, and what it shows after it.
pub(super) fn note_taken(
    persisted: &mut PersistedState,
    operation: &Operation,
    digest: Option<String>,
    shown: &str,
    now: Timestamp,
) {
    note_end(persisted, operation, now);
    // Whatever was published, by this resource or meanwhile by another client, has other content.
    persisted.publication = None;
    let applied = persisted.applied.get_or_insert_default();
    applied.generation = operation.generation;
    applied.digest = digest;
    applied.remote = Some(shown.to_owned());
}

/// Compares the observed version with the one before an operation.
pub(super) fn moved(operation: &Operation, observed: &ObservedConnector) -> Ordering {
    operation.from_version.map_or(Ordering::Greater, |from| observed.version.cmp(&from))
}
