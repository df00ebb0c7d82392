//! `decide` and `apply_response` with any persisted state, desired values, observation and transient state: invariants
//! of every single decision.

use std::time::Duration;

use clock::{between, later};
use connect_operator::operator::deployment::decide::{
    ABSENCE, AppliedResponse, Call, CallKind, Decision, Outcome, QUIET_PERIOD, Refused, Response, Step, apply_response,
};
use connect_operator::operator::deployment::persisted::{
    DeletionPolicy, Observation, Operation, OperationState, OperationType, Phase,
};
use connect_operator::operator::values::digest::Comparison;

use super::bytes::Bytes;
use super::inputs::{Inputs, answer, digests};

/// Number of successive decisions, with any answer to each call.
const ROUNDS: usize = 6;

pub(crate) fn decisions(data: &[u8]) {
    let mut bytes = Bytes::new(data);
    let mut inputs = Inputs::any(&mut bytes);
    for _ in 0..ROUNDS {
        let decision = inputs.decide();
        check(&inputs, &decision);
        let Decision { persisted, transient, step, .. } = decision;
        (inputs.persisted, inputs.transient) = (persisted, transient);
        match step {
            Step::RemoveFinalizer => return,
            Step::NoOp => {}
            Step::Send(call) => {
                let answer = answer(&mut bytes);
                let outcome = apply_response(&inputs.persisted, &inputs.transient, &call, &answer, inputs.now);
                check_outcome(&inputs, &call, &answer, &outcome);
                if outcome.remove_finalizer {
                    return;
                }
                (inputs.persisted, inputs.transient) = (outcome.persisted, outcome.transient);
            }
        }
        inputs.move_on(&mut bytes);
    }
}

fn check(inputs: &Inputs, decision: &Decision) {
    let intent = &inputs.intent;
    match &decision.step {
        Step::NoOp => {}
        Step::RemoveFinalizer => check_finalizer_removal(inputs, decision),
        Step::Send(call) => check_call(inputs, decision, call),
    }
    if intent.observe_only || intent.suspended || intent.deletion == Some(DeletionPolicy::Orphan) {
        assert!(!matches!(decision.step, Step::Send(_)), "nothing may be sent: {inputs:#?}\n{decision:#?}");
    }
    assert_ne!(decision.again, Some(Duration::ZERO), "no loop without a pause: {inputs:#?}\n{decision:#?}");
    if let (Outcome::Settled { phase, .. }, Some(operation)) = (decision.outcome, &decision.persisted.operation) {
        let undeploys = operation.kind == OperationType::Undeploy && intent.deletion.is_some();
        let takes_down = undeploys || operation.kind == OperationType::Recreate;
        assert!(
            takes_down && phase == Phase::UndeployFailed,
            "settled, though an operation is in progress: {inputs:#?}\n{decision:#?}"
        );
    }
}

/// A call is persisted before it is sent, uses the stored id, and carries what is desired now.
fn check_call(inputs: &Inputs, decision: &Decision, call: &Call) {
    let context = || format!("{inputs:#?}\n{decision:#?}");
    let written = decision.persisted.operation.as_ref().unwrap_or_else(|| panic!("no operation: {}", context()));
    assert_eq!((written.state, written.started_at), (OperationState::Planned, inputs.now), "{}", context());
    assert_ne!(
        inputs.persisted.operation.as_ref(),
        Some(written),
        "the write always changes the object: {}",
        context()
    );
    let before = inputs.persisted.operation.as_ref();
    let again = before.is_some_and(|before| written.attempt == before.attempt.saturating_add(1));
    assert!(written.attempt == 1 || again, "attempts are counted: {}", context());
    assert_eq!(kind(call), written.kind, "{}", context());
    assert_eq!(written.kind == OperationType::Undeploy, inputs.intent.deletion.is_some(), "{}", context());
    let id = &decision.persisted.id;
    assert!(call.kind == CallKind::Create || id.is_some(), "{}", context());
    match call.kind {
        CallKind::Create => {
            let gone = id;
            assert_eq!(*gone, inputs.persisted.id, "{}", context());
            let free = match &inputs.observation {
                Observation::Absent { .. } => true,
                // Either an old observation of the deployment that disappeared, or, after the disappearance was proven,
                // a foreign one, which the reconcile detects.
                Observation::Present(seen) => gone.as_ref() == Some(&seen.id) && is_planned_create(before),
            };
            assert!(free, "nothing is created while the key is in use: {}", context());
            assert!(!(written.is_first() && is_planned_create(before)), "it may have been sent before: {}", context());
            let recreates = before.is_some_and(|before| before.kind == OperationType::Recreate);
            let replaces = is_planned_create(before) || recreates || inputs.intent.correct_drift;
            assert!(gone.is_none() || replaces, "created again only if requested: {}", context());
        }
        CallKind::Redeploy | CallKind::Move => {
            let Observation::Present(seen) = &inputs.observation else {
                panic!("the deployment does not exist: {}", context())
            };
            assert_eq!(Some(&seen.id), id.as_ref(), "{}", context());
            assert_eq!(written.from_version, Some(seen.version), "{}", context());
            assert!(!seen.phase.is_busy(), "it is busy: {}", context());
        }
        CallKind::Undeploy => {
            let own = inputs.persisted.id == *id || id.as_ref().is_some_and(|id| is_claimed(inputs, id));
            assert!(own, "no foreign deployment is undeployed: {}", context());
            return;
        }
        CallKind::Recreate => {
            assert_eq!(inputs.persisted.id, *id, "no foreign deployment is undeployed: {}", context());
            let begun = before.is_some_and(|before| before.kind == OperationType::Recreate);
            assert!(begun || inputs.intent.recreate, "only if requested: {}", context());
            assert!(inputs.wanted.is_some(), "the values of the create that follows are unknown: {}", context());
            return;
        }
    }
    let wanted = inputs.wanted.as_ref().unwrap_or_else(|| panic!("the values are unknown: {}", context()));
    let sent = written.payload.as_ref().unwrap_or_else(|| panic!("it has no payload: {}", context()));
    assert_eq!(sent.digest.compare(&wanted.payload.digest), Comparison::Same, "{}", context());
}

fn kind(call: &Call) -> OperationType {
    match call.kind {
        CallKind::Create => OperationType::Create,
        CallKind::Redeploy | CallKind::Move => OperationType::Redeploy,
        CallKind::Undeploy => OperationType::Undeploy,
        CallKind::Recreate => OperationType::Recreate,
    }
}

fn is_planned_create(operation: Option<&Operation>) -> bool {
    operation
        .is_some_and(|operation| operation.kind == OperationType::Create && operation.state == OperationState::Planned)
}

/// Whether the observed deployment belongs to the resource though its id is not stored: by the annotation, or by a
/// create whose answer was lost.
fn is_claimed(inputs: &Inputs, id: &str) -> bool {
    let Observation::Present(seen) = &inputs.observation else { return false };
    let created = inputs.persisted.operation.as_ref().filter(|operation| is_planned_create(Some(operation)));
    let fits = created
        .and_then(|operation| operation.payload.as_ref())
        // What is desired today takes the place of what cannot be compared (rule 7).
        .map(|sent| match &inputs.wanted {
            Some(wanted) if sent.digest.compare(&wanted.payload.digest) == Comparison::Unknown => &wanted.payload,
            _ => sent,
        })
        .is_some_and(|it| seen.is_what_was_sent(it, &digests()));
    seen.id == id && inputs.intent.identity.fits(seen) && (inputs.intent.remote_id.as_deref() == Some(id) || fits)
}

/// Rules 5, 20 and 22: the service refuses the DELETE, or none may be sent, and two reads have shown that the deployment is
/// gone.
fn is_gone_without_a_delete(inputs: &Inputs) -> bool {
    let refused = inputs.intent.suspended || inputs.transient.refused.as_ref().is_some_and(Refused::is_of_deletion);
    let found =
        matches!(&inputs.observation, Observation::Present(seen) if Some(&seen.id) == inputs.persisted.id.as_ref());
    let since = inputs.transient.absent_since;
    refused && !found && since.is_some_and(|since| between(since, inputs.now) >= ABSENCE)
}

/// Rule 22: the finalizer is not removed while a deployment of the resource exists, or may still be created.
fn check_finalizer_removal(inputs: &Inputs, decision: &Decision) {
    let context = || format!("{inputs:#?}\n{decision:#?}");
    assert!(inputs.intent.deletion.is_some(), "it is not being deleted: {}", context());
    if inputs.intent.deletion == Some(DeletionPolicy::Orphan) || inputs.intent.observe_only {
        return;
    }
    if is_gone_without_a_delete(inputs) && !is_planned_create(inputs.persisted.operation.as_ref()) {
        return;
    }
    let Some(operation) = &inputs.persisted.operation else {
        assert!(inputs.persisted.id.is_none(), "it was never undeployed: {}", context());
        return;
    };
    if is_planned_create(Some(operation)) {
        assert!(between(operation.started_at, inputs.now) >= QUIET_PERIOD, "it may still arrive: {}", context());
        return;
    }
    if inputs.persisted.id.is_some() {
        let known = operation.state == OperationState::Accepted;
        let accepted = operation.kind == OperationType::Undeploy && known;
        assert!(accepted, "no DELETE was answered: {}", context());
        let there =
            matches!(&inputs.observation, Observation::Present(seen) if Some(&seen.id) == inputs.persisted.id.as_ref());
        assert!(!there, "it still exists: {}", context());
    }
}

fn check_outcome(inputs: &Inputs, call: &Call, answer: &Response, outcome: &AppliedResponse) {
    let context = || format!("{call:?} {answer:?} {:#?}\n{outcome:#?}", inputs.persisted);
    let kind = kind(call);
    let is_first = inputs.persisted.operation.as_ref().is_none_or(Operation::is_first);
    if outcome.remove_finalizer {
        assert_eq!((kind, answer), (OperationType::Undeploy, &Response::NotFound), "{}", context());
    }
    if outcome.outcome == Outcome::KeyTaken {
        assert!(is_first && kind == OperationType::Create && *answer == Response::Duplicate, "{}", context());
    }
    if *answer == Response::Unknown {
        assert_eq!((&outcome.persisted, &outcome.transient), (&inputs.persisted, &inputs.transient), "{}", context());
    }
    match &outcome.persisted.operation {
        None => assert!(is_first, "a refusal of a repeated call says nothing about the first one: {}", context()),
        Some(operation) => {
            // A deployment that is to be created again is gone already.
            let gone = operation.kind == OperationType::Recreate && *answer == Response::NotFound;
            let accepted = matches!(answer, Response::Accepted(_)) || gone;
            assert_eq!(operation.state == OperationState::Accepted, accepted, "{}", context());
        }
    }
    let (pause, refused) = (outcome.transient.pause, &outcome.transient.refused);
    let latest = later(inputs.now, Duration::from_hours(1));
    if inputs.transient.pause != pause {
        assert!(pause.is_none_or(|pause| pause.until <= latest), "{}", context());
    }
    if inputs.transient.refused != *refused {
        assert!(refused.as_ref().is_none_or(|refused| refused.until <= latest), "{}", context());
    }
}
