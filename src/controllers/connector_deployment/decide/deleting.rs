//! The resource is being deleted: rules 22 and 23, and the rows *Undeploy* of the table.
//!
//! Needs no desired values: what could never be deployed can still be deleted.

use std::time::Duration;

use super::{
    CALM, CallKind, Case, Decision, Deletion, Look, Operation, OperationKind, OperationState, Seen, Verdict,
    forget_digest,
};
use crate::clock::between;
use crate::controllers::connector_deployment::ledger::{Ledger, Phase};

/// First pause before a DELETE is sent again after it was accepted and did not work; doubles with each attempt.
const AGAIN: Duration = Duration::from_secs(10);
/// Longest such pause.
const AGAIN_AT_MOST: Duration = Duration::from_mins(10);

pub(super) fn decide(case: &Case<'_>, deletion: Deletion) -> Decision {
    if deletion == Deletion::LetGo || case.intent.observe_only {
        return case.release();
    }
    if let Some(operation) = &case.ledger.operation
        && operation.kind == OperationKind::Create
        && operation.state == OperationState::Planned
    {
        return outstanding_create(case, operation);
    }
    match (&case.ledger.id, case.look) {
        (None, _) => case.release(),
        (Some(id), Look::Absent { .. }) => match &case.ledger.operation {
            // One 404 is enough once a DELETE was answered.
            Some(Operation { kind: OperationKind::Undeploy, state: OperationState::Accepted, .. }) => case.release(),
            _ => undeploy(case, id),
        },
        (Some(id), Look::Present(seen)) => present(case, id, seen),
    }
}

/// A create of ours may still arrive: absence counts when calm.
fn outstanding_create(case: &Case<'_>, operation: &Operation) -> Decision {
    let old = case.ledger.id.as_deref();
    match case.look {
        Look::Present(seen) if old != Some(seen.id.as_str()) => {
            let fits = operation.payload.as_ref().is_some_and(|payload| payload.visible.fits(&seen.values));
            if !(fits && case.intent.identity.fits(seen)) {
                return case.release();
            }
            let mut ledger = case.ledger.clone();
            ledger.id = Some(seen.id.clone());
            start(case, ledger, &seen.id)
        }
        _ if case.age(operation) >= CALM => case.release(),
        _ => case.rest(Verdict::Running(OperationKind::Undeploy), Some(case.until(operation.started_at, CALM))),
    }
}

fn present(case: &Case<'_>, id: &str, seen: &Seen) -> Decision {
    let wait = |again| case.rest(Verdict::Running(OperationKind::Undeploy), Some(again));
    if seen.phase == Phase::Undeploying {
        let start = case.ledger.operation.as_ref().map_or(case.now, |operation| operation.started_at);
        return wait(case.pace(start));
    }
    match &case.ledger.operation {
        Some(operation) if operation.kind == OperationKind::Undeploy && operation.state == OperationState::Accepted => {
            if seen.phase.is_busy() {
                return wait(case.pace(operation.started_at));
            }
            let pause = AGAIN.saturating_mul(1 << operation.attempt.min(6)).min(AGAIN_AT_MOST);
            if between(operation.started_at, case.now) < pause {
                let verdict = match seen.phase {
                    Phase::UndeployFailed => settled(seen.phase),
                    _ => Verdict::Running(OperationKind::Undeploy),
                };
                return case.rest(verdict, Some(case.until(operation.started_at, pause).min(Duration::from_secs(15))));
            }
            undeploy(case, id)
        }
        // Busy refused it: what is busy ends some time.
        _ if seen.phase.is_busy() && case.refused(None) => wait(Duration::from_secs(5)),
        _ => undeploy(case, id),
    }
}

fn settled(phase: Phase) -> Verdict {
    Verdict::Settled { phase, drifted: false }
}

/// DELETE, for the first time or again.
fn undeploy(case: &Case<'_>, id: &str) -> Decision {
    start(case, case.ledger.clone(), id)
}

fn start(case: &Case<'_>, mut ledger: Ledger, id: &str) -> Decision {
    let mut operation = case.operation(OperationKind::Undeploy, None);
    operation.redeploy_request = None;
    match ledger.operation.take() {
        Some(before) if before.kind == OperationKind::Undeploy => operation.attempt = before.attempt.saturating_add(1),
        // A redeploy that may have been sent is given up: what it left behind is not known.
        Some(_) => forget_digest(&mut ledger),
        None => {}
    }
    let first = operation.attempt == 1;
    case.send(ledger, operation, CallKind::Undeploy { id: id.to_owned() }, first)
}
