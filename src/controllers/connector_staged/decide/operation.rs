//! An operation is persisted and not known to have ended.
//!
//! A reconcile finds *Planned* only after a lost response or a restart: otherwise the response ends that state in the
//! reconcile that wrote it.

use std::cmp::Ordering;
use std::time::Duration;

use super::super::persisted::{
    Observation, ObservedConnector, Operation, OperationType, PersistedState, Phase, Preview, Publication,
};
use super::input::{moved, note_end, note_taken};
use super::{CallKind, Cause, Decision, Input, Outcome};
use crate::controllers::driver::operations::{Gone, LAG, LIMIT, QUIET_PERIOD, TOO_LONG, left, pace, repeat_after};

/// Shortest pause before a change is sent again whose response was lost: at most 6 calls in any 10 s.
const CHANGE_AGAIN: Duration = Duration::from_secs(10);

pub(super) fn decide(input: &Input<'_>, operation: &Operation) -> Decision {
    match (operation.kind, input.observation) {
        (OperationType::Create, Observation::Absent) => create_absent(input, operation),
        (OperationType::Create, Observation::Present(observed)) => create_found(input, operation, observed),
        // The deletion that began it is over: the finalizer was removed, and a restored backup brought the resource
        // back. Evaluate again once its call can no longer arrive.
        (OperationType::Delete, _) if input.age(operation) < QUIET_PERIOD => wait(input, operation, QUIET_PERIOD),
        (OperationType::Delete, _) => input.over(),
        (_, Observation::Absent) => absent(input),
        (OperationType::Update, Observation::Present(observed)) => update(input, operation, observed),
        (OperationType::Preview, Observation::Present(observed)) => preview(input, operation, observed),
        (OperationType::Publish, Observation::Present(observed)) => publish(input, operation, observed),
    }
}

/// Waits until the operation has this age, and observes meanwhile.
fn wait(input: &Input<'_>, operation: &Operation, age: Duration) -> Decision {
    running(input, operation, left(input.age(operation), age).min(Duration::from_secs(10)))
}

fn running(input: &Input<'_>, operation: &Operation, again: Duration) -> Decision {
    let outcome =
        if input.age(operation) >= TOO_LONG { Outcome::TakesTooLong } else { Outcome::Running(operation.kind) };
    input.no_op(outcome, Some(again))
}

/// Notes that the connector is busy, which proves that the call was accepted.
fn at_work(input: &Input<'_>, operation: &Operation) -> Decision {
    let mut decision = running(input, operation, pace(input.age(operation)));
    decision.persisted.operation = Some(Operation { accepted: true, seen_busy: true, ..operation.clone() });
    decision
}

/// Persists the operation again, with a new start, and sends its call again.
fn again(input: &Input<'_>, operation: &Operation, call: CallKind) -> Decision {
    if let Some(held) = input.held(operation.kind) {
        return held;
    }
    let repeated =
        Operation { attempt: operation.attempt.saturating_add(1), started_at: input.now, ..operation.clone() };
    input.send(input.persisted.clone(), repeated, call, false)
}

fn create_absent(input: &Input<'_>, operation: &Operation) -> Decision {
    let about = input.about(OperationType::Create);
    let same = operation.digest.as_ref() == Some(&about);
    let pause = if same { repeat_after(operation.attempt).max(2 * LIMIT) } else { QUIET_PERIOD };
    if input.age(operation) < pause {
        return wait(input, operation, pause);
    }
    let renewed = Operation {
        digest: Some(about),
        tag: Some(input.intent.tag.clone()),
        generation: input.intent.generation,
        ..operation.clone()
    };
    again(input, &renewed, CallKind::Create)
}

fn create_found(input: &Input<'_>, operation: &Operation, observed: &ObservedConnector) -> Decision {
    if operation.digest.as_ref() == Some(&observed.digest) {
        let mut persisted = PersistedState { id: Some(observed.id.clone()), ..input.persisted.clone() };
        note_taken(&mut persisted, operation, operation.digest.clone(), &observed.digest, input.now);
        return input.re_evaluate(persisted);
    }
    if input.age(operation) < QUIET_PERIOD {
        return wait(input, operation, QUIET_PERIOD);
    }
    Decision { outcome: Outcome::KeyTaken, again: None, ..input.over() }
}

/// Rule 5, counted from the end of the quiet period.
fn absent(input: &Input<'_>) -> Decision {
    match input.gone(QUIET_PERIOD) {
        Gone::NotYet { since } => input.missing(since),
        Gone::Proven => Decision { outcome: Outcome::Disappeared, again: None, ..input.over() },
    }
}

/// The call has not arrived: the same call is sent again from the same version, of which the service accepts at most
/// one call. If something else is asked for by now, it is evaluated again. So is a call that was refused when it was sent
/// again, once no earlier one can arrive or be hidden: nothing of it runs any more.
fn not_arrived(input: &Input<'_>, operation: &Operation, wanted: bool, call: CallKind) -> Decision {
    let cause = Cause::of(operation, operation.from_version);
    let refused = input.refused_until(Some(&cause)).is_some() && input.age(operation) >= LAG + LIMIT;
    if refused || !wanted || operation.digest.as_ref() != Some(&input.about(operation.kind)) {
        return input.over();
    }
    let pause = repeat_after(operation.attempt).max(CHANGE_AGAIN);
    if input.age(operation) < pause {
        return wait(input, operation, pause);
    }
    again(input, operation, call)
}

fn update(input: &Input<'_>, operation: &Operation, observed: &ObservedConnector) -> Decision {
    match moved(operation, observed) {
        // Nothing is accepted while publishing runs, so another client's call began it.
        _ if observed.phase == Phase::Processing => running(input, operation, pace(input.age(operation))),
        Ordering::Less => wait(input, operation, LAG),
        // The spec is back to what the remote shows. Nothing is concluded from that until the update can neither arrive
        // nor be hidden: what is known of permission and publication applies to what is shown, unless that is a stale
        // read.
        Ordering::Equal if observed.met && input.age(operation) < LAG + LIMIT => wait(input, operation, LAG + LIMIT),
        Ordering::Equal => {
            let call = CallKind::Update { id: observed.id.clone(), version: observed.version };
            not_arrived(input, operation, true, call)
        }
        // Either this update, or another client's before it, in which case the service refuses this one: the
        // observation decides.
        Ordering::Greater => {
            let mut persisted = input.persisted.clone();
            let digest = operation.digest.clone().filter(|digest| observed.met && *digest == input.intent.digest);
            note_taken(&mut persisted, operation, digest, &observed.digest, input.now);
            input.re_evaluate(persisted)
        }
    }
}

/// Only a request whose response was read counts: the service accepted it from the version that it names, in which its
/// tag was observed. For any other request it is not known for which tag it was, so it is sent again once the connector
/// is idle.
fn preview(input: &Input<'_>, operation: &Operation, observed: &ObservedConnector) -> Decision {
    let moved = moved(operation, observed);
    let changed_by_others = operation.tag.as_ref() == Some(&input.intent.tag) && !input.has_repository(observed);
    if moved == Ordering::Greater && changed_by_others {
        // Another client set another tag meanwhile.
        return input.over();
    }
    match observed.preview {
        Preview::Pending if operation.accepted => at_work(input, operation),
        Preview::Pending | Preview::Other => running(input, operation, pace(input.age(operation))),
        Preview::Granted | Preview::Refused | Preview::NeverAsked => {
            // The answer was removed before it was observed: another client has set the tag again.
            let forgotten = observed.preview == Preview::NeverAsked && operation.seen_busy;
            if moved == Ordering::Greater && (!operation.accepted || forgotten) {
                return input.over();
            }
            let call = CallKind::Preview { id: observed.id.clone(), version: observed.version };
            let settled = |persisted: &mut PersistedState| persisted.previewed.clone_from(&operation.tag);
            ended(input, operation, observed, (false, input.intent.previewable), call, settled)
        }
    }
}

fn publish(input: &Input<'_>, operation: &Operation, observed: &ObservedConnector) -> Decision {
    let publication =
        operation.digest.clone().map(|digest| Publication { digest, outcome: observed.phase, at: input.now });
    let settled = |persisted: &mut PersistedState| {
        persisted.publication = publication;
        if observed.phase == Phase::Published {
            persisted.published.clone_from(&operation.tag);
        }
    };
    match observed.phase {
        Phase::Processing => at_work(input, operation),
        Phase::Other => running(input, operation, pace(input.age(operation))),
        phase => {
            let call = CallKind::Publish {
                id: observed.id.clone(),
                version: observed.version,
                certification: input.intent.publish.unwrap_or_default(),
            };
            let shows = operation.from_phase != Some(phase) || (observed.listed && !observed.changed);
            let wanted = input.intent.publish.is_some() && input.intent.proven && input.is_previewed(observed);
            ended(input, operation, observed, (shows, wanted), call, settled)
        }
    }
}

/// The connector is idle. `shows`: the observation can be the result of the operation; `wanted`: it is still asked for.
fn ended(
    input: &Input<'_>,
    operation: &Operation,
    observed: &ObservedConnector,
    (shows, wanted): (bool, bool),
    call: CallKind,
    settle: impl FnOnce(&mut PersistedState),
) -> Decision {
    let age = input.age(operation);
    let moved = moved(operation, observed);
    let over = match moved {
        Ordering::Equal if !operation.accepted => return not_arrived(input, operation, wanted, call),
        // It was accepted, so this is a stale read; or the service does not increase versions.
        Ordering::Less | Ordering::Equal => operation.accepted && age >= LAG,
        Ordering::Greater => operation.seen_busy || shows || (operation.accepted && age >= LAG),
    };
    if over {
        let mut persisted = input.persisted.clone();
        note_end(&mut persisted, operation, input.now);
        settle(&mut persisted);
        return input.re_evaluate(persisted);
    }
    if age < LAG && (operation.accepted || moved == Ordering::Less) {
        return wait(input, operation, LAG);
    }
    // Another client changed the connector before this call, which the service then refuses.
    input.over()
}
