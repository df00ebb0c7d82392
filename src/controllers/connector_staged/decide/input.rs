//! What the rows of the table share: decisions in their usual shapes, ages, and what counts as gone.

use std::cmp::Ordering;
use std::time::Duration;

use clock::between;
use jiff::Timestamp;

use super::super::persisted::{Observation, ObservedConnector, Operation, OperationKind, PersistedState};
use super::{Call, CallKind, Cause, Decision, Input, Outcome, Step};
use crate::controllers::operations::{self, ABSENCE, Gone, LAG, LIMIT, TOO_LONG, left, pace};

impl Input<'_> {
    fn decision(&self, persisted: PersistedState, step: Step, outcome: Outcome, again: Option<Duration>) -> Decision {
        Decision { persisted, transient: self.transient.clone(), step, outcome, again }
    }

    /// Nothing to send and nothing to remember.
    pub(super) fn no_op(&self, outcome: Outcome, again: Option<Duration>) -> Decision {
        self.decision(self.persisted.clone(), Step::NoOp, outcome, again)
    }

    /// The resource may go.
    pub(super) fn remove_finalizer(&self) -> Decision {
        self.decision(self.persisted.clone(), Step::RemoveFinalizer, Outcome::Released, None)
    }

    /// Something ended: what follows is decided from the same look.
    pub(super) fn re_evaluate(&self, persisted: PersistedState) -> Decision {
        self.decision(persisted, Step::NoOp, Outcome::Running(OperationKind::Update), Some(Duration::ZERO))
    }

    /// The operation is over, or was never taken: what is seen says what is to be done.
    pub(super) fn over(&self) -> Decision {
        self.re_evaluate(PersistedState { operation: None, ..self.persisted.clone() })
    }

    /// Writes `operation` and then sends its call.
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

    /// A new operation that starts now.
    pub(super) fn operation(&self, kind: OperationKind, observed: Option<&ObservedConnector>) -> Operation {
        Operation {
            kind,
            accepted: false,
            attempt: 1,
            generation: self.intent.generation,
            digest: (kind != OperationKind::Delete).then(|| self.about(kind)),
            tag: (kind != OperationKind::Delete).then(|| self.intent.tag.clone()),
            from_version: observed.map(|observed| observed.version),
            from_phase: observed.map(|observed| observed.phase),
            seen_busy: false,
            request: self.intent.request.clone(),
            started_at: self.now,
        }
    }

    /// Digest of what an operation of this kind is about.
    pub(super) fn about(&self, kind: OperationKind) -> String {
        let publication = self.intent.publication.clone().filter(|_| kind == OperationKind::Publish);
        publication.unwrap_or_else(|| self.intent.digest.clone())
    }

    /// What is asked for now, if it needs an operation of this kind.
    pub(super) fn cause(&self, kind: OperationKind) -> Option<Cause> {
        (kind != OperationKind::Delete).then(|| Cause {
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

    /// What cannot be sent now: refused before for the same cause, or to pause for a while.
    pub(super) fn held(&self, kind: OperationKind) -> Option<Decision> {
        let cause = self.cause(kind);
        if let Some(refused) = self.transient.refused.as_ref().filter(|refused| refused.cause == cause)
            && self.now < refused.until
        {
            return Some(self.no_op(Outcome::Refused, Some(between(self.now, refused.until))));
        }
        let pause = self.transient.pause.filter(|pause| self.now < pause.until)?;
        Some(self.no_op(Outcome::Running(kind), Some(between(self.now, pause.until))))
    }

    /// How long ago the call of this operation was about to be sent.
    pub(super) fn age(&self, operation: &Operation) -> Duration {
        operations::since(operation.started_at, self.transient.ahead, self.now)
    }

    /// Time since our last write at the remote, as far as it is known.
    pub(super) fn since_write(&self) -> Duration {
        last_write(self.persisted)
            .map_or(Duration::MAX, |stamp| operations::since(stamp, self.transient.ahead, self.now))
    }

    /// Rule 5.
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

    /// Whether a look may be older than our last write: it shows the version before it, or an older one.
    pub(super) fn is_old(&self, observed: &ObservedConnector) -> bool {
        let from = self.persisted.applied.as_ref().and_then(|applied| applied.from_version);
        from.is_some_and(|from| observed.version <= from) && self.since_write() < LAG + LIMIT
    }

    /// What was sent is what is wanted, and what shows is what showed afterwards: the service writes it in another way.
    pub(super) fn is_all_there_will_be(&self, observed: &ObservedConnector) -> bool {
        self.persisted.applied.as_ref().is_some_and(|applied| {
            applied.digest.as_ref() == Some(&self.intent.digest) && applied.remote.as_ref() == Some(&observed.digest)
        })
    }

    /// Whether the repository and the tag that are wanted stand there.
    pub(super) fn has_repository(&self, observed: &ObservedConnector) -> bool {
        observed.repository_met || self.is_all_there_will_be(observed)
    }

    /// Something moves, and no operation of ours is the reason.
    pub(super) fn busy(&self) -> Decision {
        let since = self.transient.busy_since.unwrap_or(self.now);
        let age = between(since, self.now);
        let outcome = if age >= TOO_LONG { Outcome::TakesTooLong } else { Outcome::Busy };
        let mut decision = self.no_op(outcome, Some(pace(age)));
        decision.transient.busy_since = Some(since);
        decision
    }
}

/// When we wrote last at the remote, as far as it is known.
pub(super) fn last_write(persisted: &PersistedState) -> Option<Timestamp> {
    let started = persisted.operation.as_ref().map(|operation| operation.started_at);
    started.or(persisted.applied.as_ref().map(|applied| applied.at))
}

/// Takes note that a write of ours has ended.
pub(super) fn note_end(persisted: &mut PersistedState, operation: &Operation, now: Timestamp) {
    persisted.operation = None;
    let applied = persisted.applied.get_or_insert_default();
    applied.from_version = operation.from_version;
    applied.at = now;
    if let Some(request) = &operation.request {
        persisted.handled_request = Some(request.clone());
    }
}

/// Takes note that a create or an update is known to have been taken, and what shows after it.
pub(super) fn note_taken(
    persisted: &mut PersistedState,
    operation: &Operation,
    digest: Option<String>,
    shown: &str,
    now: Timestamp,
) {
    note_end(persisted, operation, now);
    // Whatever was published, by us or meanwhile by somebody else, it was not this.
    persisted.publication = None;
    let applied = persisted.applied.get_or_insert_default();
    applied.generation = operation.generation;
    applied.digest = digest;
    applied.remote = Some(shown.to_owned());
}

/// How the version that is seen stands to the one that an operation starts from.
pub(super) fn moved(operation: &Operation, observed: &ObservedConnector) -> Ordering {
    operation.from_version.map_or(Ordering::Greater, |from| observed.version.cmp(&from))
}
