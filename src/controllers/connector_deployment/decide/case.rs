//! What the rows of the table share: decisions in their usual shapes, ages, and what counts as gone.

use std::time::Duration;

use clock::between;
use jiff::Timestamp;

use super::super::ledger::{Applied, Ledger, Operation, OperationKind, OperationState, Phase, Seen};
use super::retained;
use super::{ABSENCE, Call, CallKind, Case, Cause, Decision, Memory, Refused, Resting, Step, Verdict, Wanted};
use crate::controllers::operations::{self, Gone, left};
use crate::controllers::tags::{Tags, UNKNOWN};

impl Case<'_> {
    /// A row of equal readings is broken by every row of the table that does not go on with it.
    pub(super) fn decision(&self, ledger: Ledger, step: Step, verdict: Verdict, again: Option<Duration>) -> Decision {
        Decision { ledger, memory: Memory { resting: None, ..self.memory.clone() }, step, verdict, again }
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
        self.decision(ledger, Step::Rest, Verdict::Changing, Some(Duration::ZERO))
    }

    /// The operation is given up though it may have been sent, so what the remote has is unknown.
    pub(super) fn give_up(&self) -> Decision {
        let mut ledger = self.ledger.clone();
        forget_digest(&mut ledger);
        ledger.operation = None;
        self.anew(ledger)
    }

    /// Writes `operation` and then sends its call.
    pub(super) fn send(&self, mut ledger: Ledger, operation: Operation, kind: CallKind, first: bool) -> Decision {
        let verdict = Verdict::Running(operation.kind);
        ledger.operation = Some(operation);
        let again = Some(Duration::from_secs(1));
        let mut decision = self.decision(ledger, Step::Send(Call { kind, first }), verdict, again);
        decision.memory.change = None;
        decision.memory.absent_since = None;
        decision.memory.busy_since = None;
        decision
    }

    /// A new operation that starts now.
    pub(super) fn operation(&self, kind: OperationKind, wanted: Option<&Wanted>) -> Operation {
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

    /// What cannot be sent now: refused before for the same cause, or to pause for a while.
    pub(super) fn held(&self, cause: Option<&Cause>) -> Option<Decision> {
        let memory = self.memory;
        let covers = |refused: &&Refused| match (&refused.cause, cause) {
            (Some(before), Some(asked)) => before.covers(asked),
            (before, asked) => before.is_none() && asked.is_none(),
        };
        if let Some(refused) = memory.refused.as_ref().filter(covers)
            && self.now < refused.until
        {
            return Some(self.rest(Verdict::Refused, Some(between(self.now, refused.until))));
        }
        let pause = memory.pause.filter(|pause| self.now < pause.until)?;
        let verdict = match (cause, &self.ledger.operation) {
            (None, _) => Verdict::Running(OperationKind::Undeploy),
            (Some(_), Some(operation)) => Verdict::Running(operation.kind),
            (Some(_), None) => Verdict::Changing,
        };
        Some(self.rest(verdict, Some(between(self.now, pause.until))))
    }

    /// What is asked for now.
    pub(super) fn cause(&self, wanted: &Wanted) -> Cause {
        Cause {
            digest: wanted.payload.digest.clone(),
            generation: self.intent.generation,
            request: self.intent.redeploy_request.clone(),
            latest: self.intent.version.latest,
        }
    }

    /// Time since a write of ours.
    fn since(&self, stamp: Timestamp) -> Duration {
        operations::since(stamp, self.memory.ahead, self.now)
    }

    /// How long ago the call of this operation was about to be sent.
    pub(super) fn age(&self, operation: &Operation) -> Duration {
        self.since(operation.started_at)
    }

    /// When the next look is due at something that is busy without an operation of ours, and since when it is.
    pub(super) fn busy(&self) -> (Timestamp, Duration) {
        let since = self.memory.busy_since.unwrap_or(self.now);
        (since, between(since, self.now))
    }

    /// Time since our last write at the remote, as far as it is known.
    pub(super) fn since_write(&self) -> Duration {
        last_write(self.ledger).map_or(Duration::MAX, |stamp| self.since(stamp))
    }

    /// Rule 5: gone is what answers 404 twice, [`ABSENCE`] apart, and not while a write of ours may be under way.
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

    /// Since when this final state is read; a new state starts now.
    pub(super) fn resting(&self, seen: &Seen, same_version: bool) -> Resting {
        match self.memory.resting {
            Some(rest) if rest.phase == seen.phase && (!same_version || rest.version == seen.version) => rest,
            _ => Resting { phase: seen.phase, version: seen.version, since: self.now },
        }
    }
}

/// When we wrote last at the remote, as far as it is known.
pub(super) fn last_write(ledger: &Ledger) -> Option<Timestamp> {
    let started = ledger.operation.as_ref().map(|operation| operation.started_at);
    started.or(ledger.applied.as_ref().map(|applied| applied.at))
}

/// Forgets what the remote has: the next look finds a redeploy due. What an operation that is given up may have sent may be
/// there all the same.
pub(super) fn forget_digest(ledger: &mut Ledger) {
    let begun = ledger.operation.as_ref().and_then(|operation| operation.payload.as_ref());
    let Some(applied) = &mut ledger.applied else { return };
    applied.digest = None;
    let sent = applied.sent.get_or_insert_default();
    for (item, _) in begun.into_iter().flat_map(|payload| payload.tags.iter()) {
        if !sent.has(item) && !applied.retained.has(item) {
            applied.retained.set(item.clone(), UNKNOWN);
        }
    }
}

/// A redeploy request was served; that it was taken back since does not make it a new one.
pub(super) fn serve(ledger: &mut Ledger, request: Option<&String>) {
    if let Some(request) = request {
        ledger.handled_redeploy = Some(request.clone());
    }
}

/// What is remembered once an operation has ended; `before`: what the one before it has left.
pub(super) fn ended(operation: &Operation, before: Option<&Applied>, seen: &Seen, now: Timestamp) -> Option<Applied> {
    let payload = operation.payload.as_ref()?;
    // What was created anew has nothing of what was there before.
    let before = before.filter(|_| operation.kind != OperationKind::Create);
    let shown = payload.tags.shown_otherwise(&seen.values);
    let accepted = accepted(&payload.tags, &shown, before);
    Some(Applied {
        generation: operation.generation,
        digest: Some(payload.digest.clone()),
        outcome: seen.phase,
        serves: seen.phase == Phase::Deployed || before.is_some_and(|before| before.serves),
        from_version: operation.from_version,
        connector_version: Some(seen.connector_version),
        rollback: seen.rollback.clone(),
        sent: Some(payload.tags.clone()),
        shown,
        accepted,
        retained: before.map(|before| retained::retained(before, &payload.tags, seen)).unwrap_or_default(),
        sources: payload.sources.clone(),
        at: now,
    })
}

/// What was sent before is sent once more: what shows again in its place is all that there will be (rule 16).
fn accepted(sent: &Tags, shown: &Tags, before: Option<&Applied>) -> Tags {
    let Some(before) = before else { return Tags::default() };
    let Some(earlier) = &before.sent else { return Tags::default() };
    let mut accepted = before.accepted.clone();
    accepted.retain(|item, _| sent.has(item) && sent.get(item) == earlier.get(item));
    for (item, now) in shown.iter().filter(|(item, now)| before.shown.get(item) == Some(now)) {
        if sent.get(item) == earlier.get(item) {
            accepted.set(item.clone(), now);
        }
    }
    accepted
}
