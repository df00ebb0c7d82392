//! What the rows *Undeploy* and *Recreate* of the table share: a DELETE, and waiting until the deployment is gone.

use std::time::Duration;

use super::super::ledger::{Ledger, Operation, OperationKind, OperationState, Phase, Seen};
use super::case::forget_digest;
use super::{CallKind, Case, Cause, Decision, TOO_LONG, Verdict};
use crate::controllers::operations::{left, pace, repeat_after};

/// Which of the two it is.
pub(super) struct Purpose {
    /// What is stored.
    pub(super) kind: OperationKind,
    /// The call that is sent.
    pub(super) call: fn(String) -> CallKind,
    /// What a refusal would be remembered for.
    pub(super) cause: Option<Cause>,
}

/// The resource is being deleted.
pub(super) const UNDEPLOY: Purpose =
    Purpose { kind: OperationKind::Undeploy, call: |id| CallKind::Undeploy { id }, cause: None };

/// It shows.
pub(super) fn present(case: &Case<'_>, id: &str, seen: &Seen, purpose: &Purpose) -> Decision {
    let operation = case.ledger.operation.as_ref().filter(|operation| operation.kind == purpose.kind);
    let answered = |operation: &Operation| operation.state == OperationState::Accepted;
    if seen.phase == Phase::Undeploying || (seen.phase.is_busy() && operation.is_some_and(answered)) {
        let (since, age) = case.busy();
        let mut decision = wait(case, pace(age), purpose);
        if age >= TOO_LONG {
            decision.verdict = Verdict::TakesTooLong;
        }
        decision.memory.busy_since = Some(since);
        return decision;
    }
    if let Some(operation) = operation.filter(|operation| answered(operation)) {
        // Accepted, and there it is again: longer and longer pauses.
        let (age, pause) = (case.age(operation), repeat_after(operation.attempt.saturating_add(1)));
        if age < pause {
            let mut decision = wait(case, left(age, pause).min(Duration::from_secs(15)), purpose);
            if seen.phase == Phase::UndeployFailed {
                decision.verdict = Verdict::Settled { phase: seen.phase, drifted: false };
            }
            return decision;
        }
    }
    send(case, case.ledger.clone(), id, purpose)
}

fn wait(case: &Case<'_>, again: Duration, purpose: &Purpose) -> Decision {
    case.rest(Verdict::Running(purpose.kind), Some(again))
}

/// DELETE, for the first time or again.
pub(super) fn send(case: &Case<'_>, mut ledger: Ledger, id: &str, purpose: &Purpose) -> Decision {
    if let Some(held) = case.held(purpose.cause.as_ref()) {
        return held;
    }
    let mut operation = case.operation(purpose.kind, None);
    operation.redeploy_request = None;
    match ledger.operation.take() {
        Some(before) if before.kind == purpose.kind => {
            let (age, pause) = (case.age(&before), repeat_after(before.attempt));
            if before.state == OperationState::Planned && age < pause {
                return wait(case, left(age, pause), purpose);
            }
            operation.attempt = before.attempt.saturating_add(1);
        }
        // A redeploy that may have been sent is given up: what it left behind is not known.
        Some(_) => forget_digest(&mut ledger),
        None => {}
    }
    let first = operation.attempt == 1;
    case.send(ledger, operation, (purpose.call)(id.to_owned()), first)
}
