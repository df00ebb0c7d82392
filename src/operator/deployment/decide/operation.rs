//! An operation is persisted: the rows *Create* and *Redeploy* of the table.
//!
//! A reconcile finds *Planned* only after a lost response or a restart: otherwise the response ends that state, in the status
//! or in the memory of this process.

use std::cmp::Ordering;
use std::time::Duration;

use clock::between;

use super::super::persisted::{
    Observation, ObservedDeployment, Operation, OperationState, OperationType, PersistedState, Phase,
};
use super::input::{forget_digest, serve};
use super::recreating;
use super::timing::{left, pace, repeat_after};
use super::{CallKind, Decision, DesiredPayload, Input, LAG, LIMIT, Outcome, QUIET_PERIOD, Step, TOO_LONG};
use crate::operator::values::digest::Comparison;
use crate::operator::values::names::differences;

/// Shortest pause before a redeploy is sent again whose response was lost. The next observation follows at once, so an
/// attempt is a read, the call, the call that probes whether the service works again, and a read: at most 6 calls in
/// any 10 s.
const REDEPLOY_AGAIN: Duration = Duration::from_secs(10);

pub(super) fn decide(input: &Input<'_>, operation: &Operation) -> Decision {
    match (operation.kind, operation.state) {
        (OperationType::Create, OperationState::Planned) => create_planned(input, operation),
        // The status was edited: the operation names no deployment.
        (OperationType::Redeploy | OperationType::Recreate, _) if input.persisted.id.is_none() => input.give_up(),
        (OperationType::Redeploy, OperationState::Planned) => redeploy_planned(input, operation),
        (OperationType::Create | OperationType::Redeploy, OperationState::Accepted) => accepted(input, operation),
        (OperationType::Recreate, _) => recreating::decide(input, operation),
        // The deletion that began it is over: the finalizer was removed, and a restored backup brought the resource
        // back. Evaluate again once its call can no longer arrive.
        (OperationType::Undeploy, _) if input.age(operation) < QUIET_PERIOD => wait(input, operation, QUIET_PERIOD),
        (OperationType::Undeploy, _) => input.give_up(),
    }
}

/// Whether the operation sends what would be sent now.
fn unchanged(operation: &Operation, wanted: &DesiredPayload) -> bool {
    operation.payload.as_ref().is_some_and(|payload| payload.digest.compare(&wanted.payload.digest) == Comparison::Same)
}

/// Waits until the operation has this age, and observes meanwhile.
fn wait(input: &Input<'_>, operation: &Operation, age: Duration) -> Decision {
    running(input, operation, left(input.age(operation), age).min(Duration::from_secs(10)))
}

/// Waits for an observation; no time ends the wait.
fn observation(input: &Input<'_>, operation: &Operation) -> Decision {
    running(input, operation, pace(input.age(operation)))
}

fn running(input: &Input<'_>, operation: &Operation, again: Duration) -> Decision {
    let outcome =
        if input.age(operation) >= TOO_LONG { Outcome::TakesTooLong } else { Outcome::Running(operation.kind) };
    input.no_op(outcome, Some(again))
}

/// Persists the operation again, with a new start, and sends its call again.
fn again(input: &Input<'_>, operation: &Operation, wanted: &DesiredPayload, call: CallKind) -> Decision {
    let repeated = Operation {
        attempt: operation.attempt.saturating_add(1),
        seen_busy: false,
        started_at: input.now,
        ..operation.clone()
    };
    input.send(input.persisted.clone(), repeated, call, input.cause(wanted))
}

fn create_planned(input: &Input<'_>, operation: &Operation) -> Decision {
    let old = input.persisted.id.as_deref();
    match input.observation {
        Observation::Present(observed) if old != Some(observed.id.as_str()) => create_found(input, operation, observed),
        // Either the read is stale, or those were wrong that proved the record to be gone: nothing is sent meanwhile. The service
        // gives a key once, so once what this operation may have created had to be visible, it has created nothing.
        Observation::Present(_) if input.age(operation) < LIMIT + LAG => wait(input, operation, LIMIT + LAG),
        Observation::Present(_) => input.re_evaluate(PersistedState { operation: None, ..input.persisted.clone() }),
        Observation::Absent { .. } => create_absent(input, operation),
    }
}

fn create_absent(input: &Input<'_>, operation: &Operation) -> Decision {
    let Some(wanted) = input.wanted else { return observation(input, operation) };
    let same = unchanged(operation, wanted);
    let pause = if same { repeat_after(operation.attempt).max(2 * LIMIT) } else { QUIET_PERIOD };
    if input.age(operation) < pause {
        return wait(input, operation, pause);
    }
    if same {
        return again(input, operation, wanted, CallKind::Create);
    }
    let mut renewed = operation.clone();
    renewed.payload = Some(wanted.payload.clone());
    renewed.generation = input.intent.generation;
    again(input, &renewed, wanted, CallKind::Create)
}

fn create_found(input: &Input<'_>, operation: &Operation, observed: &ObservedDeployment) -> Decision {
    let fits = input.sent(operation).is_some_and(|sent| observed.is_what_was_sent(sent, input.digests));
    if fits && input.intent.identity.fits(observed) {
        let mut persisted = input.persisted.clone();
        persisted.id = Some(observed.id.clone());
        persisted.unverified = unverified(input);
        persisted.operation = Some(Operation {
            state: OperationState::Accepted,
            seen_busy: observed.phase.is_busy(),
            ..operation.clone()
        });
        return input.decision(persisted, Step::NoOp, Outcome::Running(operation.kind), Some(Duration::from_secs(1)));
    }
    if input.age(operation) < QUIET_PERIOD {
        return wait(input, operation, QUIET_PERIOD);
    }
    let mut persisted = input.persisted.clone();
    persisted.operation = None;
    input.decision(persisted, Step::NoOp, Outcome::KeyTaken, None)
}

/// Whether secured values are unverified after a lost response: it is not known whether they are those that were sent.
fn unverified(input: &Input<'_>) -> bool {
    input.wanted.is_none_or(DesiredPayload::has_secured)
}

/// Rule 5, counted from the end of the quiet period.
fn absent(input: &Input<'_>) -> Decision {
    input.missing(QUIET_PERIOD).unwrap_or_else(|| Decision { outcome: Outcome::Disappeared, ..input.give_up() })
}

fn redeploy_planned(input: &Input<'_>, operation: &Operation) -> Decision {
    let Observation::Present(observed) = input.observation else { return absent(input) };
    if !observed.phase.is_busy() && operation.from_version == Some(observed.version) {
        return redeploy_same_version(input, operation, observed);
    }
    let fits = input.sent(operation).is_some_and(|sent| observed.shows_as_sent(sent, input.digests));
    // Visible values that it does not change, as far as is known, prove nothing.
    let (has_arrived, may_have_arrived) = (fits && operation.changes_visible, fits && !operation.changes_visible);
    let (age, is_busy) = (input.age(operation), observed.phase.is_busy());
    if has_arrived && (is_busy || age >= LAG) {
        return accept(input, operation, observed, false);
    }
    match input.wanted {
        // Only while this operation can be the reason.
        _ if is_busy && age < QUIET_PERIOD => noted_busy(input, operation),
        _ if is_busy => observation(input, operation),
        _ if age < LAG => wait(input, operation, LAG),
        _ if may_have_arrived && (operation.seen_busy || (age < QUIET_PERIOD && rebuilt(operation, observed))) => {
            accept(input, operation, observed, unverified(input))
        }
        _ if age < QUIET_PERIOD => wait(input, operation, QUIET_PERIOD),
        Some(wanted) if may_have_arrived => renew(input, operation, observed, wanted, false),
        None if may_have_arrived => observation(input, operation),
        _ => input.give_up(),
    }
}

/// Whether the build differs from the one before the operation.
fn rebuilt(operation: &Operation, observed: &ObservedDeployment) -> bool {
    observed.build.is_some() && observed.build != operation.from_build
}

/// Idle, at the version before the operation: it has not arrived, and of two calls from one version the service accepts
/// only one.
fn redeploy_same_version(input: &Input<'_>, operation: &Operation, observed: &ObservedDeployment) -> Decision {
    let Some(wanted) = input.wanted else { return observation(input, operation) };
    let call = redeploy_call(input, observed);
    let needless = is_needless(input, operation, observed, wanted, call);
    let same = unchanged(operation, wanted) && !needless;
    let pause = if same { repeat_after(operation.attempt).max(REDEPLOY_AGAIN) } else { QUIET_PERIOD };
    if input.age(operation) < pause {
        return wait(input, operation, pause);
    }
    if needless {
        // The call can no longer arrive, so the operation never happened.
        return input.re_evaluate(PersistedState { operation: None, ..input.persisted.clone() });
    }
    if same {
        return again(input, operation, wanted, call);
    }
    renew(input, operation, observed, wanted, true)
}

/// Whether the operation was only to move to another version, and no version to move to exists or is known.
fn is_needless(
    input: &Input<'_>,
    operation: &Operation,
    observed: &ObservedDeployment,
    wanted: &DesiredPayload,
    call: CallKind,
) -> bool {
    let digest = input.persisted.applied.as_ref().and_then(|applied| applied.digest.as_ref());
    let applied = digest.is_some_and(|digest| digest.compare(&wanted.payload.digest) == Comparison::Same);
    let served = operation.redeploy_request == input.persisted.handled_redeploy;
    call != CallKind::Move && applied && served && differences(&wanted.values, &observed.values).is_empty()
}

fn redeploy_call(input: &Input<'_>, observed: &ObservedDeployment) -> CallKind {
    let version = &input.intent.version;
    let target = if version.follow { version.latest } else { version.wanted };
    let moves = target.is_some_and(|target| target > observed.connector_version) && target == version.latest;
    if moves { CallKind::Move } else { CallKind::Redeploy }
}

/// Sends the current values from the version just read; it is not known what the first call left behind. `new`: it is
/// another operation, so its refusal proves that nothing happened.
fn renew(
    input: &Input<'_>,
    operation: &Operation,
    observed: &ObservedDeployment,
    wanted: &DesiredPayload,
    new: bool,
) -> Decision {
    let mut persisted = input.persisted.clone();
    forget_digest(&mut persisted);
    let mut renewed = input.operation(OperationType::Redeploy, Some(wanted));
    renewed.attempt = if new { 1 } else { operation.attempt.saturating_add(1) };
    renewed.from_version = Some(observed.version);
    renewed.from_build.clone_from(&observed.build);
    renewed.changes_visible = !observed.shows_as_sent(&wanted.payload, input.digests);
    input.send(persisted, renewed, redeploy_call(input, observed), input.cause(wanted))
}

/// Notes that a call whose response was lost has arrived.
fn accept(input: &Input<'_>, operation: &Operation, observed: &ObservedDeployment, unverified: bool) -> Decision {
    let mut persisted = input.persisted.clone();
    persisted.unverified = unverified;
    let seen_busy = operation.seen_busy || observed.phase.is_busy();
    persisted.operation = Some(Operation { state: OperationState::Accepted, seen_busy, ..operation.clone() });
    let mut decision =
        input.decision(persisted, Step::NoOp, Outcome::Running(operation.kind), Some(Duration::from_secs(1)));
    decision.transient.resting = (!observed.phase.is_busy()).then(|| input.resting(observed, false));
    decision
}

fn noted_busy(input: &Input<'_>, operation: &Operation) -> Decision {
    let mut decision = observation(input, operation);
    decision.persisted.operation = Some(Operation { seen_busy: true, ..operation.clone() });
    decision
}

fn accepted(input: &Input<'_>, operation: &Operation) -> Decision {
    let Observation::Present(observed) = input.observation else { return absent(input) };
    if observed.phase.is_busy() {
        return noted_busy(input, operation);
    }
    let resting = input.resting(observed, false);
    // A lower version is a stale read.
    let moved = match operation.from_version.map(|from| observed.version.cmp(&from)) {
        None | Some(Ordering::Greater) => true,
        Some(Ordering::Equal) => operation.from_build != observed.build,
        Some(Ordering::Less) => false,
    };
    // At most the time since the call: what was read before it proves nothing.
    let long = between(resting.since, input.observed_at).min(input.age(operation)) >= LAG;
    // `Draft` is not documented and may come before the first build, so it counts as a result only if it stays.
    let over =
        observed.phase != Phase::Draft && (operation.kind == OperationType::Create || (operation.seen_busy && moved));
    if !(over || long) {
        let mut decision = observation(input, operation);
        decision.transient.resting = Some(resting);
        return decision;
    }
    let mut persisted = input.persisted.clone();
    persisted.operation = None;
    persisted.applied = input.ended(operation, observed);
    serve(&mut persisted, operation.redeploy_request.as_ref());
    input.re_evaluate(persisted)
}
