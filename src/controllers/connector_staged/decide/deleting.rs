//! The resource is being deleted: rules 22 and 23.

use std::time::Duration;

use super::super::ledger::{Ledger, Look, Operation, OperationKind, Phase, Seen};
use super::{CallKind, Case, Decision, Deletion, Verdict};
use crate::controllers::operations::{CALM, TOO_LONG, left, repeat_after};

pub(super) fn decide(case: &Case<'_>, deletion: Deletion) -> Decision {
    if deletion == Deletion::LetGo {
        return case.release();
    }
    let operation = case.ledger.operation.as_ref();
    match (&case.ledger.id, operation, case.look) {
        (None, Some(operation), _) if operation.kind == OperationKind::Create => outstanding_create(case, operation),
        // Rule 3: the status was lost with a restored backup, and the annotation says that this one is ours.
        (None, _, Look::Present(seen)) if case.intent.remote_id.as_ref() == Some(&seen.id) => claim(case, seen),
        (None, _, _) => case.release(),
        // One 404 is enough once a DELETE was answered.
        (Some(_), Some(operation), Look::Absent) if operation.kind == OperationKind::Delete && operation.accepted => {
            case.release()
        }
        (Some(id), _, Look::Absent) => delete(case, case.ledger.clone(), id),
        (Some(id), _, Look::Present(seen)) => present(case, id, seen),
    }
}

/// A create of ours may still arrive: absence counts when calm, and so does somebody else's connector.
fn outstanding_create(case: &Case<'_>, operation: &Operation) -> Decision {
    if let Look::Present(seen) = case.look
        && operation.digest.as_ref() == Some(&seen.digest)
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
    if matches!(seen.phase, Phase::Processing | Phase::Other) {
        // Nothing is accepted meanwhile.
        let busy = case.busy();
        let verdict = if busy.verdict == Verdict::TakesTooLong {
            Verdict::TakesTooLong
        } else {
            Verdict::Running(OperationKind::Delete)
        };
        return Decision { verdict, ..busy };
    }
    let taken = case.ledger.operation.as_ref().filter(|before| before.kind == OperationKind::Delete && before.accepted);
    if let Some(before) = taken {
        // Accepted, and there it is again: longer and longer pauses.
        let (age, pause) = (case.age(before), repeat_after(before.attempt.saturating_add(1)));
        if age < pause {
            let mut decision = wait(case, left(age, pause).min(Duration::from_secs(15)));
            if age >= TOO_LONG {
                decision.verdict = Verdict::TakesTooLong;
            }
            return decision;
        }
    }
    delete(case, case.ledger.clone(), id)
}

fn wait(case: &Case<'_>, again: Duration) -> Decision {
    case.rest(Verdict::Running(OperationKind::Delete), Some(again))
}

/// It is ours, and its id was not known.
fn claim(case: &Case<'_>, seen: &Seen) -> Decision {
    delete(case, Ledger { id: Some(seen.id.clone()), ..case.ledger.clone() }, &seen.id)
}

/// DELETE, for the first time or again.
fn delete(case: &Case<'_>, mut ledger: Ledger, id: &str) -> Decision {
    if let Some(held) = case.held(OperationKind::Delete) {
        return held;
    }
    let mut operation = case.operation(OperationKind::Delete, None);
    operation.request = None;
    if let Some(before) = ledger.operation.take().filter(|before| before.kind == OperationKind::Delete) {
        let (age, pause) = (case.age(&before), repeat_after(before.attempt));
        if !before.accepted && age < pause {
            return wait(case, left(age, pause));
        }
        operation.attempt = before.attempt.saturating_add(1);
    }
    let first = operation.attempt == 1;
    case.send(ledger, operation, CallKind::Delete { id: id.to_owned() }, first)
}
