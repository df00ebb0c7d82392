//! Decides what to do next with a staged connector, from the persisted state and an observation: a table, and nothing
//! else.
//!
//! Pure: no cluster, no network, no clock, no memory of its own. [`decide`] plans, and [`apply_response`] applies the
//! response to the one call that a reconcile may send. It is simpler than the table of deployments for two reasons:
//! everything that is sent can be read back, and every change names the version that was read (contract section 10), so
//! that the service accepts at most one of two calls from one version, however late they arrive. Only creating has no
//! such guard, and keeps the rows and times of a deployment. `docs/rules.md` has the table.

mod answer;
mod deleting;
mod idle;
mod input;
mod operation;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::time::Duration;

use jiff::Timestamp;

pub use answer::{AppliedResponse, Response, apply_response};
pub use deleting::needless_until;

use super::persisted::{DeletionPolicy, Observation, Operation, OperationType, PersistedState, Phase};
use crate::controllers::driver::operations::{self, Ahead, PASSING_AT_MOST, Pause, REFUSED_AGAIN_AT_MOST};

/// What a user asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a field of the spec")]
pub struct Intent {
    /// Generation of the resource.
    pub generation: i64,
    /// Digest of the desired connector.
    pub digest: String,
    /// The desired Git tag.
    pub tag: String,
    /// Id of the staged connector in the annotation, which survives a restored backup (rule 3).
    pub remote_id: Option<String>,
    /// Value of the annotation that requests a retry of what failed (rule 11).
    pub request: Option<String>,
    /// What to do with the staged connector; `Some` while the resource is being deleted.
    pub deletion: Option<DeletionPolicy>,
    /// `adoptionPolicy: Adopt`.
    pub adopt: bool,
    /// `suspend: true`.
    pub suspended: bool,
    /// `previewable: true`.
    pub previewable: bool,
    /// Whether to publish it; `true`: with certification.
    pub publish: Option<bool>,
    /// Digest of what should be published, and how; `None`: nothing should be.
    pub publication: Option<String>,
    /// Whether everything that publishing waits for is proven.
    pub proven: bool,
}

/// What a call is sent for: a call that was refused is not repeated in a loop for the same cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The operation.
    pub kind: OperationType,
    /// Digest of what was asked for.
    pub digest: String,
    /// Generation that was asked for.
    pub generation: i64,
    /// Version of the connector that refused it: another one may accept it.
    pub version: Option<i64>,
    /// Request that was asked for.
    pub request: Option<String>,
}

impl Cause {
    /// What the calls of this operation are sent for; `version`: that of the connector.
    #[must_use]
    pub fn of(operation: &Operation, version: Option<i64>) -> Self {
        Self {
            kind: operation.kind,
            digest: operation.digest.clone().unwrap_or_default(),
            generation: operation.generation,
            version,
            request: operation.request.clone(),
        }
    }
}

/// A definite refusal.
pub type Refused = operations::Refused<Cause>;

/// What this process has observed so far. Losing it costs time, never correctness.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransientState {
    /// When the first 404 of an unbroken row was read.
    pub absent_since: Option<Timestamp>,
    /// The last definite refusal, as long as nothing has changed since.
    pub refused: Option<Refused>,
    /// Nothing is sent for a while, after a refusal that passes by itself.
    pub pause: Option<Pause>,
    /// Since when the connector is busy without an operation of this resource.
    pub busy_since: Option<Timestamp>,
    /// The last write of this resource, if its time lies in the future.
    pub ahead: Option<Ahead>,
    /// The attempt of the last DELETE that was accepted. The status shows it after the next observation, which usually finds
    /// nothing any more.
    pub deleted: Option<u32>,
}

impl TransientState {
    /// Returns the persisted state with what only this process knows: that the DELETE of its operation was accepted.
    fn complete<'a>(&self, persisted: &'a PersistedState) -> Cow<'a, PersistedState> {
        let mut persisted = Cow::Borrowed(persisted);
        let accepted =
            |operation: &Operation| operation.kind == OperationType::Delete && Some(operation.attempt) == self.deleted;
        if persisted.operation.as_ref().is_some_and(accepted)
            && let Some(operation) = &mut persisted.to_mut().operation
        {
            operation.accepted = true;
        }
        persisted
    }

    /// Returns the same without times in the future, which a clock that was set back leaves behind.
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

/// A decision of this table.
pub type Decision = operations::Decision<PersistedState, TransientState, CallKind, Outcome>;
/// A step of this table.
pub type Step = operations::Step<CallKind>;
/// A call that changes something at the remote.
pub type Call = operations::Call<CallKind>;

/// The kind of a call.
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
    /// Request permission to deploy the connector while it is staged.
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
    /// Returns the operation to which this call belongs.
    #[must_use]
    pub fn operation(&self) -> OperationType {
        match self {
            Self::Create => OperationType::Create,
            Self::Update { .. } => OperationType::Update,
            Self::Preview { .. } => OperationType::Preview,
            Self::Publish { .. } => OperationType::Publish,
            Self::Delete { .. } => OperationType::Delete,
        }
    }
}

/// What a decision reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// An operation of this resource runs.
    Running(OperationType),
    /// It has been running for longer than [`operations::TOO_LONG`].
    TakesTooLong,
    /// Another client keeps the connector busy.
    Busy,
    /// It waits for certification, or is being certified.
    Certifying,
    /// It is published after everything that `publishAfter` requires is proven.
    AwaitingProof,
    /// No operation runs, and the connector is as far as the spec asks for.
    Settled(ReachedStep),
    /// A difference cannot be changed.
    CannotChange,
    /// The permission for a preview was refused.
    PreviewRefused,
    /// Publishing failed.
    PublishingFailed,
    /// A staged connector with this key exists, and this resource did not create it.
    KeyTaken,
    /// The connector was not found, which does not prove yet that it is gone.
    Missing,
    /// Another client deleted the connector.
    Disappeared,
    /// The call was refused; the local cache has the reason.
    Refused,
    /// Something would be sent if the resource were not suspended.
    HeldBySuspend,
    /// The finalizer is removed.
    Released,
}

/// The step that a connector has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReachedStep {
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
    /// The persisted state.
    pub persisted: &'a PersistedState,
    /// What a user asks for.
    pub intent: &'a Intent,
    /// The observation.
    pub observation: &'a Observation,
    /// What this process has observed before.
    pub transient: &'a TransientState,
    /// The time of the observation.
    pub now: Timestamp,
}

/// Maximum number of rows that one observation can pass: an operation ends, a request is served, and what follows.
const STEPS: usize = 4;

/// Decides what to do next. If a row ends something, the next row is evaluated with the same observation, so that both
/// become one write.
#[must_use]
pub fn decide(input: &Input<'_>) -> Decision {
    let transient = input.transient.at(input.persisted.last_write(), input.now);
    let persisted = transient.complete(input.persisted);
    let input = &Input { persisted: &persisted, transient: &transient, ..*input };
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

/// Whether an attempt to publish may leave a connector in this status for good.
fn is_failure(phase: Phase) -> bool {
    matches!(phase, Phase::Failed | Phase::Draft)
}
