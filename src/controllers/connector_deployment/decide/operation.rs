//! An operation is stored: the rows *Create* and *Redeploy* of the table.
//!
//! *Planned* is met after a lost answer or a restart, since the run that wrote it learns from the answer itself first.

use std::time::Duration;

use super::{
    CALM, CallKind, Case, Decision, Gone, LAG, LIMIT, Look, Operation, OperationKind, OperationState, Phase, Seen,
    Step, TOO_LONG, Verdict, Wanted, ended, forget_digest,
};
use crate::clock::between;
use crate::controllers::digest::Comparison;

pub(super) fn decide(case: &Case<'_>, operation: &Operation) -> Decision {
    match (operation.kind, operation.state) {
        (OperationKind::Create, OperationState::Planned) => create_planned(case, operation),
        (OperationKind::Redeploy, OperationState::Planned) => redeploy_planned(case, operation),
        (OperationKind::Create | OperationKind::Redeploy, OperationState::Accepted) => accepted(case, operation),
        // The deletion that began it is over: the resource was let go and came back by a restored backup. Look anew.
        (OperationKind::Undeploy, _) => case.give_up(),
    }
}

/// Whether what would be sent now is what the operation sends.
fn unchanged(operation: &Operation, wanted: &Wanted) -> bool {
    operation.payload.as_ref().is_some_and(|payload| payload.digest.compare(&wanted.payload.digest) == Comparison::Same)
}

fn running(case: &Case<'_>, operation: &Operation, again: Duration) -> Decision {
    let verdict =
        if case.age(operation) >= TOO_LONG { Verdict::TakesTooLong } else { Verdict::Running(operation.kind) };
    case.rest(verdict, Some(again))
}

/// Writes the operation again, with a new start, and sends its call again.
fn again(case: &Case<'_>, operation: &Operation, call: CallKind) -> Decision {
    let repeated = Operation {
        attempt: operation.attempt.saturating_add(1),
        seen_busy: false,
        started_at: case.now,
        ..operation.clone()
    };
    case.send(case.ledger.clone(), repeated, call, false)
}

fn create_planned(case: &Case<'_>, operation: &Operation) -> Decision {
    let old = case.ledger.id.as_deref();
    match case.look {
        Look::Present(seen) if old != Some(seen.id.as_str()) => create_found(case, operation, seen),
        // Absent, or an old view of the id that was declared gone.
        _ => create_absent(case, operation),
    }
}

fn create_absent(case: &Case<'_>, operation: &Operation) -> Decision {
    let Some(wanted) = case.wanted else { return running(case, operation, Duration::from_secs(10)) };
    let call = CallKind::Create { gone: case.ledger.id.clone() };
    let age = case.age(operation);
    if unchanged(operation, wanted) {
        if age < 2 * LIMIT {
            return running(case, operation, case.until(operation.started_at, 2 * LIMIT).min(Duration::from_secs(10)));
        }
        return again(case, operation, call);
    }
    if age < CALM {
        return running(case, operation, case.until(operation.started_at, CALM).min(Duration::from_secs(10)));
    }
    let mut renewed = operation.clone();
    renewed.payload = Some(wanted.payload.clone());
    renewed.generation = case.intent.generation;
    again(case, &renewed, call)
}

fn create_found(case: &Case<'_>, operation: &Operation, seen: &Seen) -> Decision {
    let fits = operation.payload.as_ref().is_some_and(|payload| payload.visible.fits(&seen.values));
    if fits && case.intent.identity.fits(seen) {
        let mut ledger = case.ledger.clone();
        ledger.id = Some(seen.id.clone());
        ledger.unverified = true;
        ledger.operation =
            Some(Operation { state: OperationState::Accepted, seen_busy: seen.phase.is_busy(), ..operation.clone() });
        return case.decision(ledger, Step::Rest, Verdict::Running(operation.kind), Some(Duration::from_secs(1)));
    }
    if case.age(operation) < CALM {
        return running(case, operation, case.until(operation.started_at, CALM).min(Duration::from_secs(10)));
    }
    let mut ledger = case.ledger.clone();
    ledger.operation = None;
    case.decision(ledger, Step::Rest, Verdict::KeyTaken, None)
}

/// Rule 5, counted from calm.
fn absent(case: &Case<'_>) -> Decision {
    match case.gone(CALM) {
        Gone::NotYet { since } => case.missing(since),
        Gone::Proven => {
            let mut decision = case.give_up();
            decision.verdict = Verdict::Disappeared;
            decision
        }
    }
}

fn redeploy_planned(case: &Case<'_>, operation: &Operation) -> Decision {
    let Look::Present(seen) = case.look else { return absent(case) };
    if !seen.phase.is_busy() && operation.from_version == Some(seen.version) {
        return redeploy_same_version(case, operation, seen);
    }
    let Some(payload) = &operation.payload else { return case.give_up() };
    let applied = case.ledger.applied.as_ref().and_then(|applied| applied.remote.as_ref());
    let evidence = match (payload.visible.fits(&seen.values), applied != Some(&payload.visible)) {
        (true, true) => Evidence::Arrived,
        (true, false) => Evidence::Silent,
        (false, _) => Evidence::Other,
    };
    if seen.phase.is_busy() {
        return redeploy_busy(case, operation, &evidence);
    }
    let age = case.age(operation);
    if age < LAG {
        return running(case, operation, case.until(operation.started_at, LAG).min(Duration::from_secs(10)));
    }
    match evidence {
        Evidence::Arrived => accept(case, operation, seen, false),
        Evidence::Silent => {
            let moved = seen.build != operation.from_build && age < CALM;
            if operation.seen_busy || moved {
                return accept(case, operation, seen, true);
            }
            if age < CALM {
                return running(case, operation, case.until(operation.started_at, CALM).min(Duration::from_secs(10)));
            }
            let Some(wanted) = case.wanted else { return running(case, operation, Duration::from_secs(10)) };
            renew(case, operation, seen, wanted, false)
        }
        Evidence::Other if age < CALM => {
            running(case, operation, case.until(operation.started_at, CALM).min(Duration::from_secs(10)))
        }
        Evidence::Other => case.give_up(),
    }
}

/// What the visible values say of a redeploy whose answer was lost.
enum Evidence {
    /// It changes them, and they are as it sends them.
    Arrived,
    /// It does not change them, so they say nothing.
    Silent,
    /// They are others.
    Other,
}

/// Idle, at the version that it starts from: it has not arrived, and a second one cannot follow a first.
fn redeploy_same_version(case: &Case<'_>, operation: &Operation, seen: &Seen) -> Decision {
    let Some(wanted) = case.wanted else { return running(case, operation, Duration::from_secs(10)) };
    if unchanged(operation, wanted) {
        let call = redeploy_call(case, seen);
        return again(case, operation, call);
    }
    if case.age(operation) < CALM {
        return running(case, operation, case.until(operation.started_at, CALM).min(Duration::from_secs(10)));
    }
    renew(case, operation, seen, wanted, true)
}

fn redeploy_call(case: &Case<'_>, seen: &Seen) -> CallKind {
    let version = &case.intent.version;
    let target = if version.follow { version.latest } else { version.wanted };
    CallKind::Redeploy {
        id: seen.id.clone(),
        version: seen.version,
        update_connector: target.is_some_and(|target| target > seen.connector_version) && target == version.latest,
    }
}

/// Sends today's values from the version just read; what the first call left behind is not known. `new`: it is another
/// operation, so that its refusal proves that nothing happened.
fn renew(case: &Case<'_>, operation: &Operation, seen: &Seen, wanted: &Wanted, new: bool) -> Decision {
    let mut ledger = case.ledger.clone();
    forget_digest(&mut ledger);
    let mut renewed = case.operation(OperationKind::Redeploy, Some(wanted));
    renewed.attempt = operation.attempt.saturating_add(1);
    renewed.from_version = Some(seen.version);
    renewed.from_build.clone_from(&seen.build);
    case.send(ledger, renewed, redeploy_call(case, seen), new)
}

fn redeploy_busy(case: &Case<'_>, operation: &Operation, evidence: &Evidence) -> Decision {
    let look = case.pace(operation.started_at);
    match evidence {
        Evidence::Arrived => {
            let mut noted = case.ledger.clone();
            noted.operation = Some(Operation { state: OperationState::Accepted, seen_busy: true, ..operation.clone() });
            case.decision(noted, Step::Rest, Verdict::Running(operation.kind), Some(look))
        }
        // Only while ours can be the reason.
        Evidence::Silent if case.age(operation) < CALM && !operation.seen_busy => noted_busy(case, operation, look),
        Evidence::Silent | Evidence::Other => running(case, operation, look),
    }
}

fn accept(case: &Case<'_>, operation: &Operation, seen: &Seen, unverified: bool) -> Decision {
    let mut ledger = case.ledger.clone();
    ledger.unverified = unverified;
    ledger.operation = Some(Operation { state: OperationState::Accepted, ..operation.clone() });
    let mut decision =
        case.decision(ledger, Step::Rest, Verdict::Running(operation.kind), Some(Duration::from_secs(1)));
    decision.memory.resting = Some(case.resting(seen, false));
    decision
}

fn noted_busy(case: &Case<'_>, operation: &Operation, look: Duration) -> Decision {
    let mut decision = running(case, operation, look);
    decision.ledger.operation = Some(Operation { seen_busy: true, ..operation.clone() });
    decision
}

fn accepted(case: &Case<'_>, operation: &Operation) -> Decision {
    let Look::Present(seen) = case.look else { return absent(case) };
    let look = case.pace(operation.started_at);
    if seen.phase.is_busy() {
        let mut decision = noted_busy(case, operation, look);
        decision.memory.resting = None;
        return decision;
    }
    let rest = case.resting(seen, false);
    let moved = operation.from_version != Some(seen.version) || operation.from_build != seen.build;
    let long = between(rest.since, case.now) >= LAG;
    // `Draft` is not described and may come before the first build, so it is an outcome only if it stays.
    let over =
        seen.phase != Phase::Draft && (operation.kind == OperationKind::Create || (operation.seen_busy && moved));
    if !(over || long) {
        let mut decision = running(case, operation, look.min(Duration::from_secs(10)));
        decision.memory.resting = Some(rest);
        return decision;
    }
    let mut ledger = case.ledger.clone();
    ledger.operation = None;
    ledger.applied = ended(operation, seen, case.now);
    ledger.handled_redeploy.clone_from(&operation.redeploy_request);
    let mut decision = case.after(ledger);
    decision.memory.resting = None;
    decision.memory.absent_since = None;
    decision
}
