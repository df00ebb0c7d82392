//! What to do next, by what is stored and what is seen: the operation table of the design, and nothing beside it.
//!
//! Pure: no cluster, no network, no clock, no memory of its own. [`decide`] plans and [`apply_response`] takes in what came
//! back from the one call that a run may send. Rows that may not be concluded from what is *not* seen wait until it is
//! [`QUIET_PERIOD`]. Whoever changes a rule here explores what follows: `tests/explore/` says how
//! (`EXPLORE=full cargo test --remove_finalizer --lib explore`).

mod answer;
mod deleting;
mod idle;
mod input;
mod operation;
mod recreating;
mod retained;
mod taking_down;
#[cfg(test)]
mod tests;
mod transient;

use std::time::Duration;

use jiff::Timestamp;

pub use answer::{Accepted, AppliedResponse, Response, apply_response};
pub use idle::not_applied;
pub use retained::holds;
pub use transient::{Cause, Change, Refused, Resting, TransientState};

use crate::controllers::operations;
pub use crate::controllers::operations::{ABSENCE, Ahead, LAG, LIMIT, Pause, QUIET_PERIOD, TOO_LONG};

use super::persisted::{Identity, Observation, OperationKind, OperationState, Payload, PersistedState, Phase};

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
    /// `removedValues: Recreate`.
    pub recreate: bool,
    /// Which version of the connector is to run (rule 15).
    pub version: Version,
}

/// What becomes of the remote deployment when the resource is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// It is taken down.
    Undeploy,
    /// It stays.
    Orphan,
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

impl Version {
    /// Whether a redeploy takes a deployment to a version that it did not have when our last operation ended with `before`.
    #[must_use]
    pub fn rises(&self, running: i64, before: Option<i64>) -> bool {
        let newer = self.latest.is_some_and(|latest| latest > running.max(before.unwrap_or(running)));
        newer && (self.follow || self.wanted == self.latest)
    }

    /// Whether a redeploy takes a deployment back to what it had then, because somebody has rolled it back since.
    #[must_use]
    pub fn restores(&self, running: i64, before: Option<i64>) -> bool {
        before.is_some_and(|before| before > running && Some(self.wanted.unwrap_or(before)) == self.latest)
    }
}

/// The desired values, without showing any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DesiredPayload {
    /// Digests and sources of what would be sent.
    pub payload: Payload,
    /// Whether there are secured values among them.
    pub secured: bool,
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
    /// Take it down, to create it anew.
    Recreate {
        /// By id.
        id: String,
    },
}

impl CallKind {
    /// The operation that this is the call of.
    #[must_use]
    pub fn operation(&self) -> OperationKind {
        match self {
            Self::Create { .. } => OperationKind::Create,
            Self::Redeploy { .. } => OperationKind::Redeploy,
            Self::Undeploy { .. } => OperationKind::Undeploy,
            Self::Recreate { .. } => OperationKind::Recreate,
        }
    }

    /// Whether a deployment comes of it, at once or once the one before it is gone.
    #[must_use]
    pub fn creates(&self) -> bool {
        matches!(self, Self::Create { .. } | Self::Recreate { .. })
    }
}

/// What to tell people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
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
    /// The same and live, but it shows other values than those that were sent.
    NotApplied {
        /// Whether visible values are others than those that it showed then.
        drifted: bool,
    },
    /// A deployment of this key exists and is not ours.
    KeyTaken,
    /// The same, and it may be taken over, but its connector, region or type are others and cannot change.
    NotAdoptable,
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
pub struct Input<'a> {
    /// What is stored.
    pub persisted: &'a PersistedState,
    /// What people asked for.
    pub intent: &'a Intent,
    /// The desired values; `None` if they cannot be known now.
    pub wanted: Option<&'a DesiredPayload>,
    /// What is seen.
    pub observation: &'a Observation,
    /// What this process has seen before.
    pub transient: &'a TransientState,
    /// The time of the look.
    pub now: Timestamp,
}

/// Most steps that one look can lead to: an operation ends, a digest is made again, what is retained is noted, and what
/// follows.
const STEPS: usize = 6;

/// Decides what to do next. What a look ends (an operation, an adoption) is decided anew from the same look, so that
/// it is one write.
#[must_use]
pub fn decide(input: &Input<'_>) -> Decision {
    let transient = input.transient.at(input::last_write(input.persisted), input.now);
    let observation = by_id(input);
    let input = &Input { transient: &transient, observation: &observation, ..*input };
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

/// Rule 3: once the id is known, another deployment under the key is not ours, whatever it looks like; only a create
/// goes by the key again.
fn by_id(input: &Input<'_>) -> Observation {
    let creating =
        input.persisted.operation.as_ref().is_some_and(|operation| {
            operation.kind == OperationKind::Create && operation.state == OperationState::Planned
        });
    match (&input.persisted.id, input.observation) {
        (Some(id), Observation::Present(observed)) if observed.id != *id && !creating => {
            Observation::Absent { key_held_by: Some(observed.id.clone()) }
        }
        (_, observation) => observation.clone(),
    }
}

fn decide_once(input: &Input<'_>) -> Decision {
    let mut decision = if let Some(deletion) = input.intent.deletion {
        deleting::decide(input, deletion)
    } else if input.intent.observe_only {
        idle::observe(input)
    } else {
        match &input.persisted.operation {
            None => idle::decide(input),
            Some(operation) => operation::decide(input, operation),
        }
    };
    if input.intent.suspended && input.intent.deletion.is_none() && matches!(decision.step, Step::Send(_)) {
        decision = input.no_op(Outcome::HeldBySuspend, None);
    }
    if let Observation::Present(_) = input.observation {
        decision.transient.absent_since = None;
    }
    decision
}
