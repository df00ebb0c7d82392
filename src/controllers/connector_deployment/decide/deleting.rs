//! The resource is being deleted: rules 22 and 23, and the rows *Undeploy* of the table.
//!
//! Needs no desired values: what could never be deployed can still be deleted.

use std::time::Duration;

use super::super::ledger::{Ledger, Look, Operation, OperationKind, OperationState, Phase, Seen};
use super::case::forget_digest;
use super::{CALM, CallKind, Case, Decision, Deletion, TOO_LONG, Verdict};
use crate::controllers::operations::{left, pace, repeat_after};

pub(super) fn decide(case: &Case<'_>, deletion: Deletion) -> Decision {
    if deletion == Deletion::LetGo || case.intent.observe_only {
        return case.release();
    }
    match (&case.ledger.id, &case.ledger.operation, case.look) {
        (_, Some(operation), _)
            if operation.kind == OperationKind::Create && operation.state == OperationState::Planned =>
        {
            outstanding_create(case, operation)
        }
        (None, _, Look::Present(seen)) if restored(case, seen) => claim(case, seen),
        (None, _, _) => case.release(),
        // One 404 is enough once a DELETE was answered.
        (Some(_), Some(operation), Look::Absent { .. }) if answered(operation) => case.release(),
        (Some(id), _, Look::Absent { .. }) => undeploy(case, case.ledger.clone(), id),
        (Some(id), _, Look::Present(seen)) => present(case, id, seen),
    }
}

/// Rule 3: the status was lost with a restored backup, and the annotation says that this one is ours.
fn restored(case: &Case<'_>, seen: &Seen) -> bool {
    case.intent.remote_id.as_ref() == Some(&seen.id) && case.intent.identity.fits(seen)
}

fn answered(operation: &Operation) -> bool {
    operation.kind == OperationKind::Undeploy && operation.state == OperationState::Accepted
}

/// A create of ours may still arrive: absence counts when calm, and so does somebody else's deployment.
fn outstanding_create(case: &Case<'_>, operation: &Operation) -> Decision {
    if let Look::Present(seen) = case.look
        && case.ledger.id.as_ref() != Some(&seen.id)
        && operation.payload.as_ref().is_some_and(|payload| seen.is_what_was_sent(&payload.tags))
        && case.intent.identity.fits(seen)
    {
        return claim(case, seen);
    }
    let age = case.age(operation);
    if age >= CALM {
        return case.release();
    }
    wait(case, left(age, CALM).min(Duration::from_secs(10)))
}

fn present(case: &Case<'_>, id: &str, seen: &Seen) -> Decision {
    let operation = case.ledger.operation.as_ref().filter(|operation| operation.kind == OperationKind::Undeploy);
    if seen.phase == Phase::Undeploying || (seen.phase.is_busy() && operation.is_some_and(answered)) {
        let (since, age) = case.busy();
        let mut decision = wait(case, pace(age));
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
            let mut decision = wait(case, left(age, pause).min(Duration::from_secs(15)));
            if seen.phase == Phase::UndeployFailed {
                decision.verdict = Verdict::Settled { phase: seen.phase, drifted: false };
            }
            return decision;
        }
    }
    undeploy(case, case.ledger.clone(), id)
}

fn wait(case: &Case<'_>, again: Duration) -> Decision {
    case.rest(Verdict::Running(OperationKind::Undeploy), Some(again))
}

/// It is ours, and its id was not known.
fn claim(case: &Case<'_>, seen: &Seen) -> Decision {
    undeploy(case, Ledger { id: Some(seen.id.clone()), ..case.ledger.clone() }, &seen.id)
}

/// DELETE, for the first time or again.
fn undeploy(case: &Case<'_>, mut ledger: Ledger, id: &str) -> Decision {
    if let Some(held) = case.held(None) {
        return held;
    }
    let mut operation = case.operation(OperationKind::Undeploy, None);
    operation.redeploy_request = None;
    match ledger.operation.take() {
        Some(before) if before.kind == OperationKind::Undeploy => {
            let (age, pause) = (case.age(&before), repeat_after(before.attempt));
            if before.state == OperationState::Planned && age < pause {
                return wait(case, left(age, pause));
            }
            operation.attempt = before.attempt.saturating_add(1);
        }
        // A redeploy that may have been sent is given up: what it left behind is not known.
        Some(_) => forget_digest(&mut ledger),
        None => {}
    }
    let first = operation.attempt == 1;
    case.send(ledger, operation, CallKind::Undeploy { id: id.to_owned() }, first)
}
