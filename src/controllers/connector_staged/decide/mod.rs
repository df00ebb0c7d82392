//! What to do next with a staged connector, by what is stored and what is seen: a table, and nothing beside it.
//!
//! Pure: no cluster, no network, no clock, no memory of its own. [`decide`] plans and [`apply_response`] takes in what came
//! back from the one call that a run may send. It is simpler than the table of deployments for two reasons: everything
//! that is sent can be read back, and every change names the version that was read (contract section 10), so that of two
//! calls from one version at most one is accepted, however late they arrive. Only creating has no such guard, and keeps
//! the rows and times of a deployment. `docs/rules.md` has the table.

mod answer;
mod deleting;
mod idle;
mod input;
mod operation;
#[cfg(test)]
mod tests;

use std::time::Duration;

use jiff::Timestamp;

pub use answer::{AppliedResponse, Response, apply_response};

use super::persisted::{Observation, OperationKind, PersistedState, Phase};
use crate::controllers::operations::{self, Ahead, PASSING_AT_MOST, Pause, REFUSED_AGAIN_AT_MOST};

/// What people asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a field of the spec")]
pub struct Intent {
    /// Generation of the resource.
    pub generation: i64,
    /// Digest of what the connector is to be.
    pub digest: String,
    /// The tag that it is to come from.
    pub tag: String,
    /// Id of the staged connector in the annotation, which survives a restored backup (rule 3).
    pub remote_id: Option<String>,
    /// Value of the annotation that asks to try again what failed (rule 11).
    pub request: Option<String>,
    /// `Some` while the resource is being deleted.
    pub deletion: Option<Deletion>,
    /// `adoptionPolicy: Adopt`.
    pub adopt: bool,
    /// `suspend: true`.
    pub suspended: bool,
    /// `previewable: true`.
    pub previewable: bool,
    /// Whether it is to be published; `true`: with certification.
    pub publish: Option<bool>,
    /// Digest of what is to be published, and how; `None`: nothing is.
    pub publication: Option<String>,
    /// Whether everything is proven that publishing waits for.
    pub proven: bool,
}

/// What becomes of the staged connector when the resource is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// It is deleted.
    Delete,
    /// It stays.
    Orphan,
}

/// What a call is sent for: the same cause is refused once, not in a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// What was to be done.
    pub kind: OperationKind,
    /// Digest of what was asked for.
    pub digest: String,
    /// Generation that was asked for.
    pub generation: i64,
    /// Version of the connector that it was asked of: another one may take it.
    pub version: Option<i64>,
    /// Request that was asked for.
    pub request: Option<String>,
}

/// A definite refusal.
pub type Refused = operations::Refused<Cause>;

/// What this process has seen so far. Losing it costs time, never correctness.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransientState {
    /// When the first 404 of an unbroken row was seen.
    pub absent_since: Option<Timestamp>,
    /// The last definite refusal, for as long as nothing has changed since.
    pub refused: Option<Refused>,
    /// Nothing is sent for a while, after a refusal that passes by itself.
    pub pause: Option<Pause>,
    /// Since when it was seen busy without an operation of ours.
    pub busy_since: Option<Timestamp>,
    /// Our last write, if its time was seen to lie in the future.
    pub ahead: Option<Ahead>,
}

impl TransientState {
    /// The same without times in the future, which a clock that was set back leaves behind.
    fn at(&self, last_write: Option<Timestamp>, now: Timestamp) -> Self {
        let mut transient = self.clone();
        for time in [transient.absent_since.as_mut(), transient.busy_since.as_mut()].into_iter().flatten() {
            *time = now.min(*time);
        }
        if let Some(refused) = &mut transient.refused {
            refused.until = refused.until.min(clock::later(now, REFUSED_AGAIN_AT_MOST));
        }
        if let Some(pause) = &mut transient.pause {
            pause.until = pause.until.min(clock::later(now, PASSING_AT_MOST));
        }
        transient.ahead = Ahead::at(transient.ahead, last_write, now);
        transient
    }
}

/// What to do.
pub type Decision = operations::Decision<PersistedState, TransientState, CallKind, Outcome>;
/// What to send.
pub type Step = operations::Step<CallKind>;
/// A call that changes something at the remote.
pub type Call = operations::Call<CallKind>;

/// What to call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallKind {
    /// Look the key up once more, then create.
    Create,
    /// Change what differs, all in one update.
    Update {
        /// By id.
        id: String,
        /// The version that was read.
        version: i64,
    },
    /// Ask for permission to deploy it while staged.
    Preview {
        /// By id.
        id: String,
        /// The version that was read.
        version: i64,
    },
    /// Publish.
    Publish {
        /// By id.
        id: String,
        /// The version that was read.
        version: i64,
        /// With certification.
        certification: bool,
    },
    /// Delete it.
    Delete {
        /// By id.
        id: String,
    },
}

impl CallKind {
    /// The operation that this is the call of.
    #[must_use]
    pub fn operation(&self) -> OperationKind {
        match self {
            Self::Create => OperationKind::Create,
            Self::Update { .. } => OperationKind::Update,
            Self::Preview { .. } => OperationKind::Preview,
            Self::Publish { .. } => OperationKind::Publish,
            Self::Delete { .. } => OperationKind::Delete,
        }
    }
}

/// What to tell people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// An operation of ours runs.
    Running(OperationKind),
    /// It runs for more than [`operations::TOO_LONG`].
    TakesTooLong,
    /// Busy by somebody else.
    Busy,
    /// It waits for certification, or is being certified.
    Certifying,
    /// It is published once what has to be proven before is proven.
    AwaitingProof,
    /// Nothing runs, and it is as far as it is to go.
    Settled(Rest),
    /// Something differs that cannot be changed.
    CannotChange,
    /// The permission for a preview was not given.
    PreviewRefused,
    /// Publishing did not work.
    PublishingFailed,
    /// A staged connector of this key exists and is not ours.
    KeyTaken,
    /// It does not show, which is not yet proof that it is gone.
    Missing,
    /// Somebody deleted it.
    Disappeared,
    /// The call was refused; what is remembered of the refusal says why.
    Refused,
    /// Something would be sent if it were not suspended.
    HeldBySuspend,
    /// The resource may go.
    Released,
}

/// How far a connector has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// It is staged.
    Staged,
    /// It may be deployed while staged.
    Previewable,
    /// It is published.
    Published,
}

/// Everything that a decision is made from.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// What is stored.
    pub persisted: &'a PersistedState,
    /// What people asked for.
    pub intent: &'a Intent,
    /// What is seen.
    pub observation: &'a Observation,
    /// What this process has seen before.
    pub transient: &'a TransientState,
    /// The time of the look.
    pub now: Timestamp,
}

/// Most steps that one look can lead to: an operation ends, a request is served, and what follows.
const STEPS: usize = 4;

/// Decides what to do next. What a look ends is decided anew from the same look, so that it is one write.
#[must_use]
pub fn decide(input: &Input<'_>) -> Decision {
    let transient = input.transient.at(input::last_write(input.persisted), input.now);
    let input = &Input { transient: &transient, ..*input };
    let mut decision = decide_once(input);
    for _ in 1..STEPS {
        if decision.again != Some(Duration::ZERO) || decision.persisted == *input.persisted {
            break;
        }
        let (persisted, transient) = (decision.persisted.clone(), decision.transient.clone());
        decision = decide_once(&Input { persisted: &persisted, transient: &transient, ..*input });
    }
    decision
}

fn decide_once(input: &Input<'_>) -> Decision {
    let mut decision = match (input.intent.deletion, &input.persisted.operation) {
        (Some(deletion), _) => deleting::decide(input, deletion),
        (None, None) => idle::decide(input),
        (None, Some(operation)) => operation::decide(input, operation),
    };
    if input.intent.suspended && input.intent.deletion.is_none() && matches!(decision.step, Step::Send(_)) {
        decision = input.no_op(Outcome::HeldBySuspend, None);
    }
    if let Observation::Present(_) = input.observation {
        decision.transient.absent_since = None;
    }
    decision
}

/// Where an attempt to publish may leave a connector for good.
fn is_failure(phase: Phase) -> bool {
    matches!(phase, Phase::Failed | Phase::Draft)
}
