//! Decides what to do next, from the persisted state and an observation: the operation table of the design, and nothing
//! else.
//!
//! Pure: no cluster, no network, no clock, no memory of its own. [`decide`] plans, and [`apply_response`] applies the
//! response to the one call that a reconcile may send. Rows that conclude something from what was *not* observed wait
//! for the [`QUIET_PERIOD`]. After a change of a rule, explore its consequences: `tests/explore/` describes how
//! (`EXPLORE=full cargo test --release --lib explore`).

mod answer;
mod creating;
mod debounce;
mod deleting;
mod idle;
mod input;
mod operation;
mod recreating;
mod retained;
mod taking_down;
#[cfg(test)]
mod tests;
mod timing;
mod transient;

use std::time::Duration;

use jiff::Timestamp;

pub use answer::{Accepted, AppliedResponse, Response, apply_response};
pub use retained::{holds, retained};
pub use timing::{ABSENCE, LAG, LIMIT, Pause, QUIET_PERIOD, TOO_LONG, refused_for};
pub use transient::{Cause, Change, Refused, Resting, TransientState};

use crate::operator::values::digest::DigestKey;
use crate::operator::values::names::VisibleValues;

use super::persisted::{
    DeletionPolicy, Identity, Observation, OperationState, OperationType, Payload, PersistedState, Phase,
};

/// Changes within this time become one redeploy (rule 9).
pub const GATHER: Duration = Duration::from_secs(2);
/// Changes are gathered no longer than this (rule 9).
pub const GATHER_AT_MOST: Duration = Duration::from_secs(10);

/// What a user asks for, as far as it needs no Secret.
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
    /// Value of the reconcile annotation: after a refusal, it undeploys again.
    pub reconcile_request: Option<String>,
    /// What to do with the remote deployment; `Some` while the resource is being deleted.
    pub deletion: Option<DeletionPolicy>,
    /// `adoptionPolicy: Adopt`.
    pub adopt: bool,
    /// `managementPolicy: ObserveOnly`.
    pub observe_only: bool,
    /// `suspend: true`.
    pub suspended: bool,
    /// `driftPolicy: Correct`.
    pub correct_drift: bool,
    /// `removedValuesPolicy: Recreate`.
    pub recreate: bool,
    /// Which version of the connector is to run (rule 15).
    pub version: Version,
}

/// Which version of the connector should run, and which one the registry has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Version {
    /// The requested version; `None`: any.
    pub wanted: Option<i64>,
    /// `updatePolicy: Latest`.
    pub follow: bool,
    /// The latest version in the registry, if it was read.
    pub latest: Option<i64>,
}

impl Version {
    /// Whether a redeploy moves a deployment to a version that it did not have when its last operation ended with
    /// `before`.
    pub fn rises(&self, running: i64, before: Option<i64>) -> bool {
        let newer = self.latest.is_some_and(|latest| latest > running.max(before.unwrap_or(running)));
        newer && (self.follow || self.wanted == self.latest)
    }

    /// Whether a redeploy moves a deployment back to the version `before`, because somebody has rolled it back since.
    pub fn restores(&self, running: i64, before: Option<i64>) -> bool {
        before.is_some_and(|before| before > running && Some(self.wanted.unwrap_or(before)) == self.latest)
    }
}

/// The digests that stand for the desired values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DesiredPayload {
    /// Digests, names and sources of what would be sent.
    pub payload: Payload,
    /// Its visible values.
    pub values: VisibleValues,
}

impl DesiredPayload {
    /// Whether some of the values are secured.
    pub fn has_secured(&self) -> bool {
        self.payload.names.has_secured()
    }
}

/// The result of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// State to persist: written before the call, if there is one.
    pub persisted: PersistedState,
    /// State that only this process keeps.
    pub transient: TransientState,
    /// What to do at the remote or with the finalizer.
    pub step: Step,
    /// What the condition reports.
    pub outcome: Outcome,
    /// When to reconcile again. `None`: at the interval of the spec; zero: immediately, from the same observation.
    pub again: Option<Duration>,
}

/// What to do at the remote or with the finalizer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Sends nothing.
    NoOp,
    /// Sends one call.
    Send(Call),
    /// Sends nothing, and removes the finalizer.
    RemoveFinalizer,
}

/// A call that changes something at the remote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Which call.
    pub kind: CallKind,
    /// What it is sent for.
    pub cause: Cause,
}

/// The kind of a call. Id and version are those of the persisted state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallKind {
    /// Look the key up once more, then create.
    Create,
    /// Redeploy with all values.
    Redeploy,
    /// The same, and move to the latest version of the connector.
    Move,
    /// Delete.
    Undeploy,
    /// Delete, to create again.
    Recreate,
}

impl CallKind {
    /// Whether the operation creates a deployment, at once or after the existing one is gone.
    pub fn creates(self) -> bool {
        matches!(self, Self::Create | Self::Recreate)
    }

    /// Whether the operation deploys the latest version of the connector, and has to name every application that it declares.
    pub fn deploys_latest(self) -> bool {
        self.creates() || self == Self::Move
    }
}

/// What a decision reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// An operation of this resource runs.
    Running(OperationType),
    /// It has been running for longer than [`TOO_LONG`].
    TakesTooLong,
    /// A change was found and will be sent.
    Changing,
    /// Another client keeps the deployment busy.
    Busy,
    /// No operation runs, and the desired values were applied; the phase says how the operation ended.
    Settled {
        /// How it ended.
        phase: Phase,
        /// Whether visible values differ from those that were applied.
        drifted: bool,
    },
    /// The same, and the deployment runs, but it shows other values than those that were sent.
    NotApplied {
        /// Whether visible values differ from those that it showed then.
        drifted: bool,
    },
    /// A deployment with this key exists, and this resource did not create it.
    KeyTaken,
    /// The same, and the resource may take it over, but connector, region or type differ and cannot change.
    NotAdoptable,
    /// The deployment is taken over after it has not changed for long enough.
    TakingOver,
    /// The deployment was not found, which does not prove yet that it is gone.
    Missing,
    /// Another client deleted the deployment.
    Disappeared,
    /// The call was refused; the local cache has the reason.
    Refused,
    /// The desired values are not known, so nothing can be sent.
    ValuesUnknown,
    /// Something would be sent if the resource were not suspended.
    HeldBySuspend,
    /// The resource only observes.
    Observed(Phase),
    /// The resource only observes, and the deployment does not exist.
    NothingToObserve,
    /// The requested version is not the latest one in the registry.
    VersionUnavailable {
        /// The requested version.
        wanted: i64,
        /// The latest version in the registry, if it could be read.
        latest: Option<i64>,
        /// Whether visible values differ from those that were applied.
        drifted: bool,
    },
    /// Another version of the connector runs than the requested one.
    VersionMismatch {
        /// The requested version.
        wanted: i64,
        /// The running version.
        running: i64,
        /// Whether visible values differ from those that were applied.
        drifted: bool,
    },
    /// The deployment was moved to the latest version, and runs an older one.
    NotMoved {
        /// The latest version in the registry.
        latest: i64,
        /// The running version.
        running: i64,
        /// Whether visible values differ from those that were applied.
        drifted: bool,
    },
    /// The finalizer is removed.
    Released,
}

impl Outcome {
    /// Whether visible values differ from those that were applied; `None`: they were not compared.
    pub fn drifted(self) -> Option<bool> {
        match self {
            Self::Settled { drifted, .. }
            | Self::NotApplied { drifted }
            | Self::VersionUnavailable { drifted, .. }
            | Self::VersionMismatch { drifted, .. }
            | Self::NotMoved { drifted, .. } => Some(drifted),
            _ => None,
        }
    }
}

/// Everything that a decision is made from.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The persisted state.
    pub persisted: &'a PersistedState,
    /// What a user asks for.
    pub intent: &'a Intent,
    /// The desired values; `None` if they are not known now.
    pub wanted: Option<&'a DesiredPayload>,
    /// The observation.
    pub observation: &'a Observation,
    /// What this process has observed before.
    pub transient: &'a TransientState,
    /// Key of the digests of the namespace.
    pub digests: &'a DigestKey,
    /// When the observation began: what it shows, or does not show, is as old as that.
    pub observed_at: Timestamp,
    /// The time of the decision.
    pub now: Timestamp,
}

/// Maximum number of rows that one observation can pass: an operation ends, a digest is computed again, retained values
/// are noted, and what follows.
const STEPS: usize = 6;

/// Decides what to do next. If a row ends something (an operation, an adoption), the next row is evaluated with the
/// same observation, so that both become one write.
pub fn decide(input: &Input<'_>) -> Decision {
    let persisted = input.persisted.until(input.now);
    let observation = by_id(input);
    let input = &Input { persisted: &persisted, observation: &observation, ..*input };
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

/// Rule 3: once the id is known, another deployment under the key does not belong to this resource, whatever it looks
/// like. Only a create goes by the key again.
fn by_id(input: &Input<'_>) -> Observation {
    let creating =
        input.persisted.operation.as_ref().is_some_and(|operation| {
            operation.kind == OperationType::Create && operation.state == OperationState::Planned
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
    if input.intent.suspended && matches!(decision.step, Step::Send(_)) {
        decision = input.no_op(Outcome::HeldBySuspend, None);
    }
    let mut is_busy = false;
    if let Observation::Present(observed) = input.observation {
        decision.transient.absent_since = None;
        let operation = decision.persisted.operation.as_ref();
        is_busy = observed.phase.is_busy() && operation.is_none_or(|operation| operation.kind.takes_down());
    }
    decision.transient.busy_since = is_busy.then(|| input.transient.busy_since.unwrap_or(input.now));
    decision
}
