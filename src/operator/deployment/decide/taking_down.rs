//! What the rows *Undeploy* and *Recreate* of the table share: a DELETE, and waiting until the deployment is gone.

use std::time::Duration;

use super::super::persisted::{ObservedDeployment, Operation, OperationState, OperationType, PersistedState, Phase};
use super::input::forget_digest;
use super::timing::{left, pace, repeat_after};
use super::{CallKind, Cause, Decision, Input, Outcome, TOO_LONG};

/// The deployment still exists. `kind`: which of the two rows applies; `cause`: for which a refusal is remembered.
pub(super) fn present(input: &Input<'_>, observed: &ObservedDeployment, kind: OperationType, cause: Cause) -> Decision {
    let operation = input.persisted.operation.as_ref().filter(|operation| operation.kind == kind);
    let is_accepted = |operation: &Operation| operation.state == OperationState::Accepted;
    if observed.phase == Phase::Undeploying || (observed.phase.is_busy() && operation.is_some_and(is_accepted)) {
        let age = input.busy_for();
        let outcome = if age >= TOO_LONG { Outcome::TakesTooLong } else { Outcome::Running(kind) };
        return input.no_op(outcome, Some(pace(age)));
    }
    if let Some(operation) = operation.filter(|operation| is_accepted(operation)) {
        // The DELETE was accepted, but the deployment still exists: repeat it with growing pauses.
        let (age, pause) = (input.age(operation), repeat_after(operation.attempt.saturating_add(1)));
        if age < pause {
            let failed = Outcome::Settled { phase: observed.phase, drifted: false };
            let outcome = if observed.phase == Phase::UndeployFailed { failed } else { Outcome::Running(kind) };
            return input.no_op(outcome, Some(left(age, pause).min(Duration::from_secs(15))));
        }
    }
    send(input, input.persisted.clone(), kind, cause)
}

/// Sends a DELETE, for the first time or again.
pub(super) fn send(input: &Input<'_>, mut persisted: PersistedState, kind: OperationType, cause: Cause) -> Decision {
    if let Some(held) = input.held(&cause) {
        return held;
    }
    let mut operation = input.operation(kind, None);
    match persisted.operation.take() {
        Some(before) if before.kind == kind => {
            let (age, pause) = (input.age(&before), repeat_after(before.attempt));
            if before.state == OperationState::Planned && age < pause {
                return input.no_op(Outcome::Running(kind), Some(left(age, pause)));
            }
            operation.attempt = before.attempt.saturating_add(1);
        }
        // Gives up a redeploy that may have been sent: it is not known what it left behind.
        Some(_) => forget_digest(&mut persisted),
        None => {}
    }
    let call = if kind == OperationType::Undeploy { CallKind::Undeploy } else { CallKind::Recreate };
    input.send(persisted, operation, call, cause)
}
