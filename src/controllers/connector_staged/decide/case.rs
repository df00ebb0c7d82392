//! What the rows of the table share: decisions in their usual shapes, ages, and what counts as gone.

use std::cmp::Ordering;
use std::time::Duration;

use clock::between;
use jiff::Timestamp;

use super::super::ledger::{Ledger, Look, Operation, OperationKind, Seen};
use super::{Call, CallKind, Case, Cause, Decision, Step, Verdict};
use crate::controllers::operations::{self, ABSENCE, Gone, LAG, LIMIT, TOO_LONG, left, pace};

impl Case<'_> {
    fn decision(&self, ledger: Ledger, step: Step, verdict: Verdict, again: Option<Duration>) -> Decision {
        Decision { ledger, memory: self.memory.clone(), step, verdict, again }
    }

    /// Nothing to send and nothing to remember.
    pub(super) fn rest(&self, verdict: Verdict, again: Option<Duration>) -> Decision {
        self.decision(self.ledger.clone(), Step::Rest, verdict, again)
    }

    /// The resource may go.
    pub(super) fn release(&self) -> Decision {
        self.decision(self.ledger.clone(), Step::Release, Verdict::Released, None)
    }

    /// Something ended: what follows is decided from the same look.
    pub(super) fn anew(&self, ledger: Ledger) -> Decision {
        self.decision(ledger, Step::Rest, Verdict::Running(OperationKind::Update), Some(Duration::ZERO))
    }

    /// The operation is over, or was never taken: what is seen says what is to be done.
    pub(super) fn over(&self) -> Decision {
        self.anew(Ledger { operation: None, ..self.ledger.clone() })
    }

    /// Writes `operation` and then sends its call.
    pub(super) fn send(&self, mut ledger: Ledger, operation: Operation, kind: CallKind, first: bool) -> Decision {
        let verdict = Verdict::Running(operation.kind);
        ledger.operation = Some(operation);
        let again = Some(Duration::from_secs(1));
        let mut decision = self.decision(ledger, Step::Send(Call { kind, first }), verdict, again);
        decision.memory.absent_since = None;
        decision.memory.busy_since = None;
        decision
    }

    /// A new operation that starts now.
    pub(super) fn operation(&self, kind: OperationKind, seen: Option<&Seen>) -> Operation {
        Operation {
            kind,
            accepted: false,
            attempt: 1,
            generation: self.intent.generation,
            digest: (kind != OperationKind::Delete).then(|| self.about(kind)),
            tag: (kind != OperationKind::Delete).then(|| self.intent.tag.clone()),
            from_version: seen.map(|seen| seen.version),
            from_phase: seen.map(|seen| seen.phase),
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
            version: match self.look {
                Look::Present(seen) => Some(seen.version),
                Look::Absent => None,
            },
            request: self.intent.request.clone(),
        })
    }

    /// What cannot be sent now: refused before for the same cause, or to pause for a while.
    pub(super) fn held(&self, kind: OperationKind) -> Option<Decision> {
        let cause = self.cause(kind);
        if let Some(refused) = self.memory.refused.as_ref().filter(|refused| refused.cause == cause)
            && self.now < refused.until
        {
            return Some(self.rest(Verdict::Refused, Some(between(self.now, refused.until))));
        }
        let pause = self.memory.pause.filter(|pause| self.now < pause.until)?;
        Some(self.rest(Verdict::Running(kind), Some(between(self.now, pause.until))))
    }

    /// How long ago the call of this operation was about to be sent.
    pub(super) fn age(&self, operation: &Operation) -> Duration {
        operations::since(operation.started_at, self.memory.ahead, self.now)
    }

    /// Time since our last write at the remote, as far as it is known.
    pub(super) fn since_write(&self) -> Duration {
        last_write(self.ledger).map_or(Duration::MAX, |stamp| operations::since(stamp, self.memory.ahead, self.now))
    }

    /// Rule 5.
    pub(super) fn gone(&self, quiet_after: Duration) -> Gone {
        Gone::judge(self.since_write(), quiet_after, self.memory.absent_since, self.now)
    }

    /// Waits for the second 404.
    pub(super) fn missing(&self, since: Option<Timestamp>) -> Decision {
        let again = since.map_or(Duration::from_secs(10), |since| left(between(since, self.now), ABSENCE));
        let mut decision = self.rest(Verdict::Missing, Some(again));
        decision.memory.absent_since = since;
        decision
    }

    /// Whether a look may be older than our last write: it shows the version before it, or an older one.
    pub(super) fn is_old(&self, seen: &Seen) -> bool {
        let from = self.ledger.applied.as_ref().and_then(|applied| applied.from_version);
        from.is_some_and(|from| seen.version <= from) && self.since_write() < LAG + LIMIT
    }

    /// What was sent is what is wanted, and what shows is what showed afterwards: the service writes it in another way.
    pub(super) fn is_all_there_will_be(&self, seen: &Seen) -> bool {
        self.ledger.applied.as_ref().is_some_and(|applied| {
            applied.digest.as_ref() == Some(&self.intent.digest) && applied.remote.as_ref() == Some(&seen.digest)
        })
    }

    /// Whether the repository and the tag that are wanted stand there.
    pub(super) fn has_repository(&self, seen: &Seen) -> bool {
        seen.repository_met || self.is_all_there_will_be(seen)
    }

    /// Something moves, and no operation of ours is the reason.
    pub(super) fn busy(&self) -> Decision {
        let since = self.memory.busy_since.unwrap_or(self.now);
        let age = between(since, self.now);
        let verdict = if age >= TOO_LONG { Verdict::TakesTooLong } else { Verdict::Busy };
        let mut decision = self.rest(verdict, Some(pace(age)));
        decision.memory.busy_since = Some(since);
        decision
    }
}

/// When we wrote last at the remote, as far as it is known.
pub(super) fn last_write(ledger: &Ledger) -> Option<Timestamp> {
    let started = ledger.operation.as_ref().map(|operation| operation.started_at);
    started.or(ledger.applied.as_ref().map(|applied| applied.at))
}

/// Takes note that a write of ours has ended.
pub(super) fn note_end(ledger: &mut Ledger, operation: &Operation, now: Timestamp) {
    ledger.operation = None;
    let applied = ledger.applied.get_or_insert_default();
    applied.from_version = operation.from_version;
    applied.at = now;
    if let Some(request) = &operation.request {
        ledger.handled_request = Some(request.clone());
    }
}

/// Takes note that a create or an update is known to have been taken, and what shows after it.
pub(super) fn note_taken(
    ledger: &mut Ledger,
    operation: &Operation,
    digest: Option<String>,
    shown: &str,
    now: Timestamp,
) {
    note_end(ledger, operation, now);
    // Whatever was published, by us or meanwhile by somebody else, it was not this.
    ledger.publication = None;
    let applied = ledger.applied.get_or_insert_default();
    applied.generation = operation.generation;
    applied.digest = digest;
    applied.remote = Some(shown.to_owned());
}

/// How the version that is seen stands to the one that an operation starts from.
pub(super) fn moved(operation: &Operation, seen: &Seen) -> Ordering {
    operation.from_version.map_or(Ordering::Greater, |from| seen.version.cmp(&from))
}
