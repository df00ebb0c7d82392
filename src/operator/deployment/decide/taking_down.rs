//! What the rows *Undeploy* and *Recreate* of the table share: a DELETE, and waiting until the deployment is gone.

use std::time::Duration;

use super::super::persisted::{ObservedDeployment, Operation, OperationState, OperationType, PersistedState, Phase};
use super::input::forget_digest;
use super::timing::{left, pace, repeat_after};
use super::{CallKind, Cause, Decision, Input, Outcome, TOO_LONG};

/// Which of the two rows applies.
pub(super) struct Purpose {
    /// The persisted operation.
    pub(super) kind: OperationType,
    /// The call that is sent.
    pub(super) call: CallKind,
    /// The cause for which a refusal is remembered.
    pub(super) cause: Cause,
}

/// The deployment still exists.
pub(super) fn present(input: &Input<'_>, observed: &ObservedDeployment, purpose: &Purpose) -> Decision {
    let operation = input.persisted.operation.as_ref().filter(|operation| operation.kind == purpose.kind);
    let is_accepted = |operation: &Operation| operation.state == OperationState::Accepted;
    if observed.phase == Phase::Undeploying || (observed.phase.is_busy() && operation.is_some_and(is_accepted)) {
        let (since, age) = input.busy();
        let mut decision = wait(input, pace(age), purpose);
        if age >= TOO_LONG {
            decision.outcome = Outcome::TakesTooLong;
        }
        decision.transient.busy_since = Some(since);
        return decision;
    }
    if let Some(operation) = operation.filter(|operation| is_accepted(operation)) {
        // The DELETE was accepted, but the deployment still exists: repeat it with growing pauses.
        let (age, pause) = (input.age(operation), repeat_after(operation.attempt.saturating_add(1)));
        if age < pause {
            let mut decision = wait(input, left(age, pause).min(Duration::from_secs(15)), purpose);
            if observed.phase == Phase::UndeployFailed {
                decision.outcome = Outcome::Settled { phase: observed.phase, drifted: false };
            }
            return decision;
        }
    }
    send(input, input.persisted.clone(), purpose)
}

fn wait(input: &Input<'_>, again: Duration, purpose: &Purpose) -> Decision {
    input.no_op(Outcome::Running(purpose.kind), Some(again))
}

/// Sends a DELETE, for the first time or again.
pub(super) fn send(input: &Input<'_>, mut persisted: PersistedState, purpose: &Purpose) -> Decision {
    if let Some(held) = input.held(&purpose.cause) {
        return held;
    }
    let mut operation = input.operation(purpose.kind, None);
    operation.redeploy_request = None;
    match persisted.operation.take() {
        Some(before) if before.kind == purpose.kind => {
            let (age, pause) = (input.age(&before), repeat_after(before.attempt));
            if before.state == OperationState::Planned && age < pause {
                return wait(input, left(age, pause), purpose);
            }
            operation.attempt = before.attempt.saturating_add(1);
        }
        // Gives up a redeploy that may have been sent: it is not known what it left behind.
        Some(_) => forget_digest(&mut persisted),
        None => {}
    }
    input.send(persisted, operation, purpose.call, purpose.cause.clone())
}
