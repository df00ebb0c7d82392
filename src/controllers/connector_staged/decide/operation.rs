//! Something was begun and is not yet known to have ended.
//!
//! *Planned* is met after a lost answer or a restart, since the run that wrote it learns from the answer itself first.

use std::cmp::Ordering;
use std::time::Duration;

use super::super::ledger::{Ledger, Look, Operation, OperationKind, Phase, Preview, Publication, Seen};
use super::case::{moved, note_end, note_taken};
use super::{CallKind, Case, Decision, Verdict};
use crate::controllers::operations::{CALM, Gone, LAG, LIMIT, TOO_LONG, left, pace, repeat_after};

/// Shortest pause before a change is sent again whose answer was lost: at most 6 calls in any 10 s.
const CHANGE_AGAIN: Duration = Duration::from_secs(10);

pub(super) fn decide(case: &Case<'_>, operation: &Operation) -> Decision {
    match (operation.kind, case.look) {
        (OperationKind::Create, Look::Absent) => create_absent(case, operation),
        (OperationKind::Create, Look::Present(seen)) => create_found(case, operation, seen),
        // The deletion that began it is over: the resource was let go and came back by a restored backup. Look anew,
        // once its call can no longer arrive.
        (OperationKind::Delete, _) if case.age(operation) < CALM => wait(case, operation, CALM),
        (OperationKind::Delete, _) => case.over(),
        (_, Look::Absent) => absent(case),
        (OperationKind::Update, Look::Present(seen)) => update(case, operation, seen),
        (OperationKind::Preview, Look::Present(seen)) => preview(case, operation, seen),
        (OperationKind::Publish, Look::Present(seen)) => publish(case, operation, seen),
    }
}

/// Waits for an age, and looks meanwhile.
fn wait(case: &Case<'_>, operation: &Operation, age: Duration) -> Decision {
    running(case, operation, left(case.age(operation), age).min(Duration::from_secs(10)))
}

fn running(case: &Case<'_>, operation: &Operation, again: Duration) -> Decision {
    let verdict =
        if case.age(operation) >= TOO_LONG { Verdict::TakesTooLong } else { Verdict::Running(operation.kind) };
    case.rest(verdict, Some(again))
}

/// It is at work: that is noted, since it shows that the call was taken.
fn at_work(case: &Case<'_>, operation: &Operation) -> Decision {
    let mut decision = running(case, operation, pace(case.age(operation)));
    decision.ledger.operation = Some(Operation { accepted: true, seen_busy: true, ..operation.clone() });
    decision
}

/// Writes the operation again, with a new start, and sends its call again.
fn again(case: &Case<'_>, operation: &Operation, call: CallKind) -> Decision {
    if let Some(held) = case.held(operation.kind) {
        return held;
    }
    let repeated =
        Operation { attempt: operation.attempt.saturating_add(1), started_at: case.now, ..operation.clone() };
    case.send(case.ledger.clone(), repeated, call, false)
}

fn create_absent(case: &Case<'_>, operation: &Operation) -> Decision {
    let about = case.about(OperationKind::Create);
    let same = operation.digest.as_ref() == Some(&about);
    let pause = if same { repeat_after(operation.attempt).max(2 * LIMIT) } else { CALM };
    if case.age(operation) < pause {
        return wait(case, operation, pause);
    }
    let renewed = Operation {
        digest: Some(about),
        tag: Some(case.intent.tag.clone()),
        generation: case.intent.generation,
        ..operation.clone()
    };
    again(case, &renewed, CallKind::Create)
}

fn create_found(case: &Case<'_>, operation: &Operation, seen: &Seen) -> Decision {
    if operation.digest.as_ref() == Some(&seen.digest) {
        let mut ledger = Ledger { id: Some(seen.id.clone()), ..case.ledger.clone() };
        note_taken(&mut ledger, operation, operation.digest.clone(), &seen.digest, case.now);
        return case.anew(ledger);
    }
    if case.age(operation) < CALM {
        return wait(case, operation, CALM);
    }
    Decision { verdict: Verdict::KeyTaken, again: None, ..case.over() }
}

/// Rule 5, counted from calm.
fn absent(case: &Case<'_>) -> Decision {
    match case.gone(CALM) {
        Gone::NotYet { since } => case.missing(since),
        Gone::Proven => Decision { verdict: Verdict::Disappeared, again: None, ..case.over() },
    }
}

/// It has not arrived: the same is sent again from the same version, which takes one call at most. What is asked for
/// otherwise by now is decided anew.
fn not_arrived(case: &Case<'_>, operation: &Operation, wanted: bool, call: CallKind) -> Decision {
    if !wanted || operation.digest.as_ref() != Some(&case.about(operation.kind)) {
        return case.over();
    }
    let pause = repeat_after(operation.attempt).max(CHANGE_AGAIN);
    if case.age(operation) < pause {
        return wait(case, operation, pause);
    }
    again(case, operation, call)
}

fn update(case: &Case<'_>, operation: &Operation, seen: &Seen) -> Decision {
    match moved(operation, seen) {
        // Nothing is accepted while publishing runs, so it was not ours that began it.
        _ if seen.phase == Phase::Processing => running(case, operation, pace(case.age(operation))),
        Ordering::Less => wait(case, operation, LAG),
        // What is asked for is back to what shows. It is concluded from that once the update can neither arrive nor be hidden:
        // what is known of permission and publication is about what shows, unless that is an old view.
        Ordering::Equal if seen.met && case.age(operation) < LAG + LIMIT => wait(case, operation, LAG + LIMIT),
        Ordering::Equal => {
            let call = CallKind::Update { id: seen.id.clone(), version: seen.version };
            not_arrived(case, operation, true, call)
        }
        // Ours, or somebody else's before ours, which is refused then: what shows decides.
        Ordering::Greater => {
            let mut ledger = case.ledger.clone();
            let digest = operation.digest.clone().filter(|digest| seen.met && *digest == case.intent.digest);
            note_taken(&mut ledger, operation, digest, &seen.digest, case.now);
            case.anew(ledger)
        }
    }
}

/// Only a request whose answer was read counts: it was taken from the version that it names, in which its tag was seen.
/// Of any other nobody knows which tag it was for, so that it is sent again once nothing is at work.
fn preview(case: &Case<'_>, operation: &Operation, seen: &Seen) -> Decision {
    let moved = moved(operation, seen);
    let elsewhere = operation.tag.as_ref() == Some(&case.intent.tag) && !case.has_repository(seen);
    if moved == Ordering::Greater && elsewhere {
        // Somebody put another tag there meanwhile.
        return case.over();
    }
    match seen.preview {
        Preview::Pending if operation.accepted => at_work(case, operation),
        Preview::Pending | Preview::Other => running(case, operation, pace(case.age(operation))),
        Preview::Granted | Preview::Refused | Preview::NeverAsked => {
            if moved == Ordering::Greater && !operation.accepted {
                return case.over();
            }
            let call = CallKind::Preview { id: seen.id.clone(), version: seen.version };
            let settled = |ledger: &mut Ledger| ledger.previewed.clone_from(&operation.tag);
            ended(case, operation, seen, (false, case.intent.previewable), call, settled)
        }
    }
}

fn publish(case: &Case<'_>, operation: &Operation, seen: &Seen) -> Decision {
    let publication = operation.digest.clone().map(|digest| Publication { digest, outcome: seen.phase, at: case.now });
    let settled = |ledger: &mut Ledger| {
        ledger.publication = publication;
        if seen.phase == Phase::Published {
            ledger.published.clone_from(&operation.tag);
        }
    };
    match seen.phase {
        Phase::Processing => at_work(case, operation),
        Phase::Other => running(case, operation, pace(case.age(operation))),
        phase => {
            let call = CallKind::Publish {
                id: seen.id.clone(),
                version: seen.version,
                certification: case.intent.publish.unwrap_or_default(),
            };
            let shows = operation.from_phase != Some(phase) || (seen.listed && !seen.changed);
            ended(case, operation, seen, (shows, case.intent.publish.is_some() && case.intent.proven), call, settled)
        }
    }
}

/// Nothing is at work. `shows`: what is seen can be the outcome of the operation; `wanted`: it is still asked for.
fn ended(
    case: &Case<'_>,
    operation: &Operation,
    seen: &Seen,
    (shows, wanted): (bool, bool),
    call: CallKind,
    settle: impl FnOnce(&mut Ledger),
) -> Decision {
    let age = case.age(operation);
    let moved = moved(operation, seen);
    let over = match moved {
        Ordering::Equal if !operation.accepted => return not_arrived(case, operation, wanted, call),
        // It was taken, so this is an old view; or a service whose versions stand still.
        Ordering::Less | Ordering::Equal => operation.accepted && age >= LAG,
        Ordering::Greater => operation.seen_busy || shows || (operation.accepted && age >= LAG),
    };
    if over {
        let mut ledger = case.ledger.clone();
        note_end(&mut ledger, operation, case.now);
        settle(&mut ledger);
        return case.anew(ledger);
    }
    if age < LAG && (operation.accepted || moved == Ordering::Less) {
        return wait(case, operation, LAG);
    }
    // Somebody else changed it before our call, which is refused then.
    case.over()
}
