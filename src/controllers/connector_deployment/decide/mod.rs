//! What to do next, by what is stored and what is seen: the operation table of the design, and nothing beside it.
//!
//! Pure: no cluster, no network, no clock, no memory of its own. [`decide`] plans and [`answered`] takes in what came
//! back from the one call that a run may send. Rows that may not be concluded from what is *not* seen wait until it is
//! [`CALM`]. Whoever changes a rule here explores it exhaustively first (`docs/decisions/`).

mod answer;
mod deleting;
mod idle;
mod operation;
#[cfg(test)]
mod tests;

use std::time::Duration;

use jiff::Timestamp;

pub use answer::{Answer, Outcome, answered};

use super::ledger::{Applied, Identity, Ledger, Look, Operation, OperationKind, OperationState, Payload, Phase, Seen};
use crate::clock::{between, later};
use crate::controllers::digest::Digest;

/// L: the time limit of a request. A call is sent only while less than this has passed since `startedAt`.
pub const LIMIT: Duration = Duration::from_secs(30);
/// How long a read after a write may still show what was before.
pub const LAG: Duration = Duration::from_mins(1);
/// After this time nothing of an earlier write can arrive or be hidden any more: 2 L + 60 s.
pub const CALM: Duration = Duration::from_mins(2);
/// Time between the two 404 that prove absence (rule 5).
pub const ABSENCE: Duration = Duration::from_secs(30);
/// A running operation is said to take too long after this time (rule 18).
pub const TOO_LONG: Duration = Duration::from_mins(30);
/// Changes within this time become one redeploy (rule 9).
pub const GATHER: Duration = Duration::from_secs(2);
/// Changes are gathered no longer than this (rule 9).
pub const GATHER_AT_MOST: Duration = Duration::from_secs(10);

/// What people asked for, as far as it needs no Secret.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a field of the spec")]
pub struct Intent {
    /// Generation of the resource.
    pub generation: i64,
    /// What never changes.
    pub identity: Identity,
    /// Id of the remote deployment in the annotation, which survives a restored backup (rule 3).
    pub remote_id: Option<String>,
    /// Value of the redeploy annotation (rule 11).
    pub redeploy_request: Option<String>,
    /// `Some` while the resource is being deleted.
    pub deletion: Option<Deletion>,
    /// `adoptionPolicy: Adopt`.
    pub adopt: bool,
    /// `managementPolicy: ObserveOnly`.
    pub observe_only: bool,
    /// `suspend: true`.
    pub suspended: bool,
    /// `drift.policy: Correct`.
    pub correct_drift: bool,
    /// Which version of the connector is to run (rule 15).
    pub version: Version,
}

/// What becomes of the remote deployment when the resource is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// It is taken down.
    Undeploy,
    /// It stays.
    LetGo,
}

/// Which version of the connector is to run, and which one the registry has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Version {
    /// The wanted one; `None`: whichever runs.
    pub wanted: Option<i64>,
    /// `updatePolicy: Latest`.
    pub follow: bool,
    /// The registry's latest, if it was read.
    pub latest: Option<i64>,
}

/// The desired values, without showing any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Digests and sources of what would be sent.
    pub payload: Payload,
    /// Whether there are secured values among them.
    pub secured: bool,
}

/// What this process has seen so far. Losing it costs time, never correctness.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// When the first 404 of an unbroken row was seen.
    pub absent_since: Option<Timestamp>,
    /// Since when the same final state was read.
    pub resting: Option<Resting>,
    /// Changes that are being gathered.
    pub change: Option<Change>,
    /// The last definite refusal of a call, for as long as nothing has changed since.
    pub refused: Option<Refused>,
    /// The registry version that a redeploy was sent for last (`updatePolicy: Latest`).
    pub followed: Option<i64>,
    /// Since when the deployment was seen busy without an operation of ours.
    pub busy_since: Option<Timestamp>,
}

/// The same final state, read since a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resting {
    /// The state.
    pub phase: Phase,
    /// The version.
    pub version: i64,
    /// Read since then.
    pub since: Timestamp,
}

/// Changes that are being gathered into one redeploy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// What is asked for.
    pub cause: Cause,
    /// First change.
    pub first: Timestamp,
    /// Last change.
    pub last: Timestamp,
}

/// What a call is sent for: the same cause is refused once, not in a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// Digest of what was asked for.
    pub digest: Digest,
    /// Generation that was asked for.
    pub generation: i64,
    /// Redeploy request that was asked for.
    pub request: Option<String>,
}

/// A definite refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// What was refused; `None`: taking it down.
    pub cause: Option<Cause>,
    /// Not sent again before that.
    pub until: Timestamp,
    /// How often in a row.
    pub times: u32,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// What is to be remembered: written before the call, if there is one.
    pub ledger: Ledger,
    /// What this process has seen.
    pub memory: Memory,
    /// What to send.
    pub step: Step,
    /// What to tell people.
    pub verdict: Verdict,
    /// When to look again; `None`: at the interval of the spec; zero: at once, from the same look.
    pub again: Option<Duration>,
}

/// What to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing.
    Rest,
    /// One call.
    Send(Call),
    /// Nothing; the resource may go.
    Release,
}

/// A call that changes something at the remote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// What to call.
    pub kind: CallKind,
    /// Whether it is the first call of an operation of this run: only then does a refusal prove that nothing happened.
    pub first: bool,
}

/// What to call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallKind {
    /// Look the key up once more, then create.
    Create {
        /// The id that was declared gone, which an old view may still show.
        gone: Option<String>,
    },
    /// Redeploy with all values.
    Redeploy {
        /// By id.
        id: String,
        /// The version that was read.
        version: i64,
        /// Also move to the latest connector.
        update_connector: bool,
    },
    /// Take it down.
    Undeploy {
        /// By id.
        id: String,
    },
}

/// What to tell people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// An operation of ours runs.
    Running(OperationKind),
    /// It runs for more than [`TOO_LONG`].
    TakesTooLong,
    /// A change was seen and will be sent.
    Changing,
    /// Busy by somebody else.
    Busy,
    /// Nothing runs, and what is desired was applied; the phase says how it ended.
    Settled {
        /// How it ended.
        phase: Phase,
        /// Whether visible values are others than those that were applied.
        drifted: bool,
    },
    /// A deployment of this key exists and is not ours.
    KeyTaken,
    /// It is being taken over, once it has been quiet for long enough.
    TakingOver,
    /// It does not show, which is not yet proof that it is gone.
    Missing,
    /// Somebody deleted it.
    Disappeared,
    /// The call was refused; what is remembered of the refusal says why.
    Refused,
    /// The desired values are not known, so nothing can be sent.
    ValuesUnknown,
    /// Something would be sent if it were not suspended.
    HeldBySuspend,
    /// Observed only.
    Observed(Phase),
    /// Observed only, and there is none.
    NothingToObserve,
    /// The wanted version is not the registry's latest.
    VersionUnavailable {
        /// The wanted one.
        wanted: i64,
        /// The registry's latest, if it could be read.
        latest: Option<i64>,
    },
    /// Another version of the connector runs than the wanted one.
    VersionMismatch {
        /// The wanted one.
        wanted: i64,
        /// The running one.
        running: i64,
    },
    /// The resource may go.
    Released,
}

/// Everything that a decision is made from.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// What is stored.
    pub ledger: &'a Ledger,
    /// What people asked for.
    pub intent: &'a Intent,
    /// The desired values; `None` if they cannot be known now.
    pub wanted: Option<&'a Wanted>,
    /// What is seen.
    pub look: &'a Look,
    /// What this process has seen before.
    pub memory: &'a Memory,
    /// The time of the look.
    pub now: Timestamp,
}

/// Most steps that one look can lead to: an operation ends, a digest is made again, and what follows.
const STEPS: usize = 4;

/// Decides what to do next. What a look ends (an operation, an adoption) is decided anew from the same look, so that
/// it is one write.
#[must_use]
pub fn decide(case: &Case<'_>) -> Decision {
    let mut decision = decide_once(case);
    for _ in 1..STEPS {
        if decision.again != Some(Duration::ZERO) || decision.ledger == *case.ledger {
            break;
        }
        let (ledger, memory) = (decision.ledger.clone(), decision.memory.clone());
        decision = decide_once(&Case { ledger: &ledger, memory: &memory, ..*case });
    }
    decision
}

fn decide_once(case: &Case<'_>) -> Decision {
    let mut decision = if let Some(deletion) = case.intent.deletion {
        deleting::decide(case, deletion)
    } else if case.intent.observe_only {
        idle::observe(case)
    } else {
        match &case.ledger.operation {
            None => idle::decide(case),
            Some(operation) => operation::decide(case, operation),
        }
    };
    if case.intent.suspended && case.intent.deletion.is_none() && matches!(decision.step, Step::Send(_)) {
        decision = case.rest(Verdict::HeldBySuspend, None);
    }
    if let Look::Present(_) = case.look {
        decision.memory.absent_since = None;
    }
    decision
}

impl Case<'_> {
    fn decision(&self, ledger: Ledger, step: Step, verdict: Verdict, again: Option<Duration>) -> Decision {
        Decision { ledger, memory: self.memory.clone(), step, verdict, again }
    }

    /// Nothing to send and nothing to remember.
    fn rest(&self, verdict: Verdict, again: Option<Duration>) -> Decision {
        self.decision(self.ledger.clone(), Step::Rest, verdict, again)
    }

    /// The resource may go.
    fn release(&self) -> Decision {
        self.decision(self.ledger.clone(), Step::Release, Verdict::Released, None)
    }

    /// Writes `operation` and then sends its call.
    fn send(&self, mut ledger: Ledger, operation: Operation, kind: CallKind, first: bool) -> Decision {
        let verdict = Verdict::Running(operation.kind);
        let again = Some(self.pace(operation.started_at));
        ledger.operation = Some(operation);
        let mut decision = self.decision(ledger, Step::Send(Call { kind, first }), verdict, again);
        decision.memory.resting = None;
        decision.memory.change = None;
        decision.memory.absent_since = None;
        decision
    }

    /// A new operation that starts now.
    fn operation(&self, kind: OperationKind, wanted: Option<&Wanted>) -> Operation {
        Operation {
            kind,
            state: OperationState::Planned,
            attempt: 1,
            generation: self.intent.generation,
            payload: wanted.map(|wanted| wanted.payload.clone()),
            from_version: None,
            from_build: None,
            seen_busy: false,
            redeploy_request: self.intent.redeploy_request.clone(),
            started_at: self.now,
        }
    }

    /// How long ago the call of this operation was about to be sent.
    fn age(&self, operation: &Operation) -> Duration {
        between(operation.started_at, self.now)
    }

    /// Pause until the next look at something that runs since `start`: an eighth of its age, 1 to 15 seconds.
    fn pace(&self, start: Timestamp) -> Duration {
        (between(start, self.now) / 8).clamp(Duration::from_secs(1), Duration::from_secs(15))
    }

    /// The look after a time that a row waits for.
    fn until(&self, start: Timestamp, wait: Duration) -> Duration {
        between(self.now, later(start, wait)).max(Duration::from_secs(1))
    }

    /// Time since our last write at the remote, as far as it is known.
    fn since_write(&self) -> Duration {
        let started = self.ledger.operation.as_ref().map(|operation| operation.started_at);
        let applied = self.ledger.applied.as_ref().map(|applied| applied.at);
        started.max(applied).map_or(Duration::MAX, |at| between(at, self.now))
    }

    /// Rule 5: gone is what answers 404 twice, [`ABSENCE`] apart, and not while a write of ours may be under way.
    fn gone(&self, quiet_after: Duration) -> Gone {
        if self.since_write() < quiet_after {
            return Gone::NotYet { since: None };
        }
        match self.memory.absent_since {
            Some(since) if between(since, self.now) >= ABSENCE => Gone::Proven,
            since => Gone::NotYet { since: Some(since.unwrap_or(self.now)) },
        }
    }

    /// Waits for the second 404.
    fn missing(&self, since: Option<Timestamp>) -> Decision {
        let again = since.map_or(Duration::from_secs(10), |since| self.until(since, ABSENCE));
        let mut decision = self.rest(Verdict::Missing, Some(again));
        decision.memory.absent_since = since;
        decision
    }

    /// Since when this final state is read; a new state starts now.
    fn resting(&self, seen: &Seen, same_version: bool) -> Resting {
        match self.memory.resting {
            Some(rest) if rest.phase == seen.phase && (!same_version || rest.version == seen.version) => rest,
            _ => Resting { phase: seen.phase, version: seen.version, since: self.now },
        }
    }

    /// What is asked for now.
    fn cause(&self, wanted: &Wanted) -> Cause {
        Cause {
            digest: wanted.payload.digest.clone(),
            generation: self.intent.generation,
            request: self.intent.redeploy_request.clone(),
        }
    }

    /// Whether this was refused and may not yet be sent again.
    fn refused(&self, cause: Option<&Cause>) -> bool {
        self.memory.refused.as_ref().is_some_and(|refused| refused.cause.as_ref() == cause && self.now < refused.until)
    }
}

/// What two 404 say.
enum Gone {
    Proven,
    /// `since`: when the first one that counts was seen.
    NotYet {
        since: Option<Timestamp>,
    },
}

/// Forgets what the remote has: the next look finds a redeploy due.
fn forget_digest(ledger: &mut Ledger) {
    if let Some(applied) = &mut ledger.applied {
        applied.digest = None;
    }
}

/// What is remembered once an operation has ended.
fn ended(operation: &Operation, seen: &Seen, now: Timestamp) -> Option<Applied> {
    let payload = operation.payload.as_ref()?;
    Some(Applied {
        generation: operation.generation,
        digest: Some(payload.digest.clone()),
        outcome: seen.phase,
        from_version: operation.from_version,
        remote: Some(payload.visible.again(&seen.values)),
        sources: payload.sources.clone(),
        at: now,
    })
}
