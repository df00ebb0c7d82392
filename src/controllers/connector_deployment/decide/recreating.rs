//! The rows *Recreate* of the table: the deployment is taken down, and created without what was removed, because a redeploy
//! takes nothing away (contract section 6.1). Only for `removedValues: Recreate`: its URLs change.
//!
//! The operation stays stored until the create that follows is written in its place, so that a restart goes on with it.

use super::super::ledger::{Ledger, Look, Operation, OperationKind, OperationState, Seen};
use super::taking_down::{self, Purpose};
use super::{CallKind, Case, Decision, LAG, LIMIT, Verdict, Wanted, idle};
use crate::controllers::operations::Gone;

/// What is wanted less than the deployment has.
pub(super) fn begin(case: &Case<'_>, seen: &Seen, wanted: &Wanted) -> Decision {
    if let Some(other) = idle::other_version(case) {
        return case.rest(other, None);
    }
    if let Some(waits) = idle::gather(case, wanted) {
        return waits;
    }
    taking_down::send(case, case.ledger.clone(), &seen.id, &purpose(case, wanted))
}

pub(super) fn decide(case: &Case<'_>, operation: &Operation) -> Decision {
    // Nothing is taken down, or down for longer, than what is to follow it is known.
    let Some(wanted) = case.wanted else { return case.rest(Verdict::ValuesUnknown, None) };
    match case.look {
        // Somebody else has the key now.
        Look::Absent { key_held_by: Some(_) } => case.rest(Verdict::KeyTaken, None),
        Look::Present(seen) => taking_down::present(case, &seen.id, seen, &purpose(case, wanted)),
        // One 404 is enough once a DELETE was answered.
        Look::Absent { .. } if operation.state == OperationState::Accepted => create(case, wanted),
        Look::Absent { .. } => match case.gone(LAG + LIMIT) {
            Gone::NotYet { since } => case.missing(since),
            Gone::Proven => create(case, wanted),
        },
    }
}

fn purpose(case: &Case<'_>, wanted: &Wanted) -> Purpose {
    Purpose { kind: OperationKind::Recreate, call: |id| CallKind::Recreate { id }, cause: Some(case.cause(wanted)) }
}

fn create(case: &Case<'_>, wanted: &Wanted) -> Decision {
    if let Some(other) = idle::other_version(case) {
        return case.rest(other, None);
    }
    if let Some(held) = case.held(Some(&case.cause(wanted))) {
        return held;
    }
    let ledger = Ledger { operation: None, ..case.ledger.clone() };
    idle::create(&Case { ledger: &ledger, ..*case })
}
