//! What follows from the response to the one call of a reconcile: the rows *definite refusal* of the table.

use jiff::Timestamp;

use super::super::persisted::{OperationState, OperationType, PersistedState, Phase};
use super::{Call, Outcome, Pause, Refused, TransientState};

/// What the response to a call means for the change that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Response {
    /// Accepted.
    Accepted(Accepted),
    /// Nothing happened, and the input has to change.
    Refused,
    /// Nothing happened, and the same call may work soon: busy, throttled, not sent.
    Retryable,
    /// Nothing was sent: the key exists.
    Duplicate,
    /// The record does not exist.
    NotFound,
    /// The change may have happened.
    Unknown,
}

/// A deployment as the response to an accepted call shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// Its id.
    pub id: String,
    /// Where it is in its life.
    pub phase: Phase,
}

/// The state after the response to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppliedResponse {
    /// State to persist.
    pub persisted: PersistedState,
    /// State that only this process keeps.
    pub transient: TransientState,
    /// Whether the finalizer can be removed.
    pub remove_finalizer: bool,
    /// What the condition reports, unless the call failed.
    pub outcome: Outcome,
}

/// Applies the response to `call`, for which `persisted` was written.
pub fn apply_response(
    persisted: &PersistedState,
    transient: &TransientState,
    call: &Call,
    answer: &Response,
    now: Timestamp,
) -> AppliedResponse {
    let mut applied = AppliedResponse {
        persisted: persisted.clone(),
        transient: transient.clone(),
        remove_finalizer: false,
        outcome: Outcome::Released,
    };
    let Some(operation) = &mut applied.persisted.operation else { return applied };
    let kind = operation.kind;
    applied.outcome = Outcome::Running(kind);
    let is_first = operation.is_first();
    match answer {
        Response::Accepted(Accepted { id, phase }) => {
            operation.state = OperationState::Accepted;
            operation.seen_busy |= phase.is_busy();
            if kind == OperationType::Create {
                applied.persisted.id = Some(id.clone());
            }
            applied.persisted.unverified &= kind.takes_down();
            applied.transient.refused = None;
            applied.transient.pause = None;
        }
        Response::NotFound if kind == OperationType::Undeploy => applied.remove_finalizer = true,
        // The deployment does not exist any more: the create follows.
        Response::NotFound if kind == OperationType::Recreate => operation.state = OperationState::Accepted,
        Response::Unknown => {}
        Response::Duplicate if kind == OperationType::Create => {
            settle(&mut applied);
            if is_first {
                applied.outcome = Outcome::KeyTaken;
            }
        }
        Response::NotFound if kind == OperationType::Redeploy => passing(&mut applied, is_first, now),
        Response::Retryable => passing(&mut applied, is_first, now),
        Response::Refused | Response::Duplicate | Response::NotFound => {
            settle(&mut applied);
            applied.transient.refused = Some(Refused::after(transient.refused.as_ref(), call.cause.clone(), now));
        }
    }
    applied
}

/// Removes the operation, because nothing happened. The refusal of a repeated call proves nothing about the first one.
fn settle(applied: &mut AppliedResponse) {
    match applied.persisted.operation.take_if(|operation| operation.is_first()).map(|operation| operation.kind) {
        // The create was to replace a deployment that is gone, so this resource has no deployment any more.
        Some(OperationType::Create) => {
            applied.persisted.id = None;
            applied.persisted.applied = None;
        }
        // Rule 15: nothing was moved to the latest version either.
        Some(OperationType::Redeploy) => applied.persisted.followed = None,
        _ => {}
    }
}

/// Notes a refusal that passes by itself. A repeated call needs no pause here: it waits longer with each attempt
/// anyway.
fn passing(applied: &mut AppliedResponse, is_first: bool, now: Timestamp) {
    settle(applied);
    if is_first {
        applied.transient.pause = Some(Pause::after(applied.transient.pause, now));
    }
}
