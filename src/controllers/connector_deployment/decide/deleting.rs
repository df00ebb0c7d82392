//! The resource is being deleted: rules 22 and 23, and the rows *Undeploy* of the table.
//!
//! Needs no desired values: what could never be deployed can still be deleted.

use std::time::Duration;

use super::super::ledger::{Ledger, Look, Operation, OperationKind, OperationState, Seen};
use super::taking_down::{self, UNDEPLOY};
use super::{CALM, Case, Decision, Deletion, Verdict};
use crate::controllers::operations::left;

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
        (Some(id), _, Look::Absent { .. }) => taking_down::send(case, case.ledger.clone(), id, &UNDEPLOY),
        (Some(id), _, Look::Present(seen)) => taking_down::present(case, id, seen, &UNDEPLOY),
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
    case.rest(Verdict::Running(OperationKind::Undeploy), Some(left(age, CALM).min(Duration::from_secs(10))))
}

/// It is ours, and its id was not known.
fn claim(case: &Case<'_>, seen: &Seen) -> Decision {
    taking_down::send(case, Ledger { id: Some(seen.id.clone()), ..case.ledger.clone() }, &seen.id, &UNDEPLOY)
}
