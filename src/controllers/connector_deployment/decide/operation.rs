//! An operation is stored: the rows *Create* and *Redeploy* of the table.
//!
//! *Planned* is met after a lost answer or a restart, since the run that wrote it learns from the answer itself first.

use std::cmp::Ordering;
use std::time::Duration;

use clock::between;

use super::super::ledger::{Ledger, Look, Operation, OperationKind, OperationState, Phase, Seen};
use super::case::{ended, forget_digest, serve};
use super::recreating;
use super::{CALM, CallKind, Case, Decision, LAG, LIMIT, Step, TOO_LONG, Verdict, Wanted};
use crate::controllers::digest::Comparison;
use crate::controllers::operations::{Gone, left, pace, repeat_after};

/// Shortest pause before a redeploy is sent again whose answer was lost. It is looked for at once, so an attempt is a look,
/// the call, the call that finds out whether the service works again, and a look: at most 6 calls in any 10 s.
const REDEPLOY_AGAIN: Duration = Duration::from_secs(10);

pub(super) fn decide(case: &Case<'_>, operation: &Operation) -> Decision {
    match (operation.kind, operation.state) {
        (OperationKind::Create, OperationState::Planned) => create_planned(case, operation),
        // A status that was edited: what it is about is not known.
        (OperationKind::Redeploy | OperationKind::Recreate, _) if case.ledger.id.is_none() => case.give_up(),
        (OperationKind::Redeploy, OperationState::Planned) => redeploy_planned(case, operation),
        (OperationKind::Create | OperationKind::Redeploy, OperationState::Accepted) => accepted(case, operation),
        (OperationKind::Recreate, _) => recreating::decide(case, operation),
        // The deletion that began it is over: the resource was let go and came back by a restored backup. Look anew,
        // once its call can no longer arrive.
        (OperationKind::Undeploy, _) if case.age(operation) < CALM => wait(case, operation, CALM),
        (OperationKind::Undeploy, _) => case.give_up(),
    }
}

/// Whether what would be sent now is what the operation sends.
fn unchanged(operation: &Operation, wanted: &Wanted) -> bool {
    operation.payload.as_ref().is_some_and(|payload| payload.digest.compare(&wanted.payload.digest) == Comparison::Same)
}

/// Waits for an age, and looks meanwhile.
fn wait(case: &Case<'_>, operation: &Operation, age: Duration) -> Decision {
    running(case, operation, left(case.age(operation), age).min(Duration::from_secs(10)))
}

/// Waits for something that has no time.
fn look(case: &Case<'_>, operation: &Operation) -> Decision {
    running(case, operation, pace(case.age(operation)))
}

fn running(case: &Case<'_>, operation: &Operation, again: Duration) -> Decision {
    let verdict =
        if case.age(operation) >= TOO_LONG { Verdict::TakesTooLong } else { Verdict::Running(operation.kind) };
    case.rest(verdict, Some(again))
}

/// Writes the operation again, with a new start, and sends its call again.
fn again(case: &Case<'_>, operation: &Operation, wanted: &Wanted, call: CallKind) -> Decision {
    if let Some(held) = case.held(Some(&case.cause(wanted))) {
        return held;
    }
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
    let Some(wanted) = case.wanted else { return look(case, operation) };
    let call = CallKind::Create { gone: case.ledger.id.clone() };
    let same = unchanged(operation, wanted);
    let pause = if same { repeat_after(operation.attempt).max(2 * LIMIT) } else { CALM };
    if case.age(operation) < pause {
        return wait(case, operation, pause);
    }
    if same {
        return again(case, operation, wanted, call);
    }
    let mut renewed = operation.clone();
    renewed.payload = Some(wanted.payload.clone());
    renewed.generation = case.intent.generation;
    again(case, &renewed, wanted, call)
}

fn create_found(case: &Case<'_>, operation: &Operation, seen: &Seen) -> Decision {
    let fits = operation.payload.as_ref().is_some_and(|payload| seen.is_what_was_sent(&payload.tags));
    if fits && case.intent.identity.fits(seen) {
        let mut ledger = case.ledger.clone();
        ledger.id = Some(seen.id.clone());
        ledger.unverified = unverified(case);
        ledger.operation =
            Some(Operation { state: OperationState::Accepted, seen_busy: seen.phase.is_busy(), ..operation.clone() });
        return case.decision(ledger, Step::Rest, Verdict::Running(operation.kind), Some(Duration::from_secs(1)));
    }
    if case.age(operation) < CALM {
        return wait(case, operation, CALM);
    }
    let mut ledger = case.ledger.clone();
    ledger.operation = None;
    case.decision(ledger, Step::Rest, Verdict::KeyTaken, None)
}

/// What a lost answer leaves open: whether the secured values, if there are any, are those that we sent.
fn unverified(case: &Case<'_>) -> bool {
    case.wanted.is_none_or(|wanted| wanted.secured)
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
    let evidence = evidence(operation, seen);
    let age = case.age(operation);
    match evidence {
        Evidence::Arrived if seen.phase.is_busy() || age >= LAG => accept(case, operation, seen, false),
        // Only while ours can be the reason.
        _ if seen.phase.is_busy() && age < CALM => noted_busy(case, operation),
        _ if seen.phase.is_busy() => look(case, operation),
        _ if age < LAG => wait(case, operation, LAG),
        Evidence::Silent if operation.seen_busy || (age < CALM && rebuilt(operation, seen)) => {
            accept(case, operation, seen, unverified(case))
        }
        _ if age < CALM => wait(case, operation, CALM),
        Evidence::Silent => match case.wanted {
            Some(wanted) => renew(case, operation, seen, wanted, false),
            None => look(case, operation),
        },
        Evidence::Arrived | Evidence::Other => case.give_up(),
    }
}

fn evidence(operation: &Operation, seen: &Seen) -> Evidence {
    match &operation.payload {
        Some(payload) if payload.tags.fits(&seen.values) => {
            if operation.changes_visible {
                Evidence::Arrived
            } else {
                Evidence::Silent
            }
        }
        _ => Evidence::Other,
    }
}

/// Whether another build is seen than the one that it starts from.
fn rebuilt(operation: &Operation, seen: &Seen) -> bool {
    seen.build.is_some() && seen.build != operation.from_build
}

/// What the visible values say of a redeploy whose answer was lost.
#[derive(Clone, Copy)]
enum Evidence {
    /// It changes them, and they are as it sends them.
    Arrived,
    /// It does not change them, as far as is known, so they say nothing.
    Silent,
    /// They are others.
    Other,
}

/// Idle, at the version that it starts from: it has not arrived, and a second one cannot follow a first.
fn redeploy_same_version(case: &Case<'_>, operation: &Operation, seen: &Seen) -> Decision {
    let Some(wanted) = case.wanted else { return look(case, operation) };
    let call = redeploy_call(case, seen);
    let needless = is_needless(case, operation, seen, wanted, &call);
    let same = unchanged(operation, wanted) && !needless;
    let pause = if same { repeat_after(operation.attempt).max(REDEPLOY_AGAIN) } else { CALM };
    if case.age(operation) < pause {
        return wait(case, operation, pause);
    }
    if needless {
        // Nothing of it can arrive any more, so it never was.
        return case.anew(Ledger { operation: None, ..case.ledger.clone() });
    }
    if same {
        return again(case, operation, wanted, call);
    }
    renew(case, operation, seen, wanted, true)
}

/// Whether it was to move to another version only, and there is none to move to, or none is known.
fn is_needless(case: &Case<'_>, operation: &Operation, seen: &Seen, wanted: &Wanted, call: &CallKind) -> bool {
    let moves = matches!(call, CallKind::Redeploy { update_connector: true, .. });
    let digest = case.ledger.applied.as_ref().and_then(|applied| applied.digest.as_ref());
    let applied = digest.is_some_and(|digest| digest.compare(&wanted.payload.digest) == Comparison::Same);
    let served = operation.redeploy_request == case.ledger.handled_redeploy;
    !moves && applied && served && wanted.payload.tags.fits(&seen.values)
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
    if let Some(held) = case.held(Some(&case.cause(wanted))) {
        return held;
    }
    let mut ledger = case.ledger.clone();
    forget_digest(&mut ledger);
    let mut renewed = case.operation(OperationKind::Redeploy, Some(wanted));
    renewed.attempt = operation.attempt.saturating_add(1);
    renewed.from_version = Some(seen.version);
    renewed.from_build.clone_from(&seen.build);
    renewed.changes_visible = !wanted.payload.tags.fits(&seen.values);
    case.send(ledger, renewed, redeploy_call(case, seen), new)
}

/// A call whose answer was lost is known to have arrived.
fn accept(case: &Case<'_>, operation: &Operation, seen: &Seen, unverified: bool) -> Decision {
    let mut ledger = case.ledger.clone();
    ledger.unverified = unverified;
    let seen_busy = operation.seen_busy || seen.phase.is_busy();
    ledger.operation = Some(Operation { state: OperationState::Accepted, seen_busy, ..operation.clone() });
    let mut decision =
        case.decision(ledger, Step::Rest, Verdict::Running(operation.kind), Some(Duration::from_secs(1)));
    decision.memory.resting = (!seen.phase.is_busy()).then(|| case.resting(seen, false));
    decision
}

fn noted_busy(case: &Case<'_>, operation: &Operation) -> Decision {
    let mut decision = look(case, operation);
    decision.ledger.operation = Some(Operation { seen_busy: true, ..operation.clone() });
    decision
}

fn accepted(case: &Case<'_>, operation: &Operation) -> Decision {
    let Look::Present(seen) = case.look else { return absent(case) };
    if seen.phase.is_busy() {
        return noted_busy(case, operation);
    }
    let rest = case.resting(seen, false);
    // An older version is an older view.
    let moved = match operation.from_version.map(|from| seen.version.cmp(&from)) {
        None | Some(Ordering::Greater) => true,
        Some(Ordering::Equal) => operation.from_build != seen.build,
        Some(Ordering::Less) => false,
    };
    // Never longer than since the call: what was read before it says nothing.
    let long = between(rest.since, case.now).min(case.age(operation)) >= LAG;
    // `Draft` is not described and may come before the first build, so it is an outcome only if it stays.
    let over =
        seen.phase != Phase::Draft && (operation.kind == OperationKind::Create || (operation.seen_busy && moved));
    if !(over || long) {
        let mut decision = look(case, operation);
        decision.memory.resting = Some(rest);
        return decision;
    }
    let mut ledger = case.ledger.clone();
    ledger.operation = None;
    ledger.applied = ended(operation, case.ledger.applied.as_ref(), seen, case.now);
    serve(&mut ledger, operation.redeploy_request.as_ref());
    let mut decision = case.anew(ledger);
    decision.memory.absent_since = None;
    decision
}
