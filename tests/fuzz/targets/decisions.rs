//! `decide` and `answered`, whatever is stored, wanted, seen and remembered: what must hold for every single decision.

use std::time::Duration;

use clock::{between, later};
use connect_operator::controllers::connector_deployment::decide::{
    Answer, CALM, Call, CallKind, Decision, Deletion, Outcome, Step, Verdict, answered,
};
use connect_operator::controllers::connector_deployment::ledger::{
    Look, Operation, OperationKind, OperationState, Phase,
};
use connect_operator::controllers::digest::Comparison;

use super::bytes::Bytes;
use super::scene::{Scene, answer};

/// Decisions that follow one another, with any answer to each call.
const ROUNDS: usize = 6;

pub(crate) fn decisions(data: &[u8]) {
    let mut bytes = Bytes::new(data);
    let mut scene = Scene::any(&mut bytes);
    for _ in 0..ROUNDS {
        let decision = scene.decide();
        check(&scene, &decision);
        let Decision { ledger, memory, step, .. } = decision;
        (scene.ledger, scene.memory) = (ledger, memory);
        match step {
            Step::Release => return,
            Step::Rest => {}
            Step::Send(call) => {
                let answer = answer(&mut bytes);
                let outcome = answered(&scene.ledger, &scene.memory, &call, scene.cause(), &answer, scene.now);
                check_outcome(&scene, &call, &answer, &outcome);
                if outcome.release {
                    return;
                }
                (scene.ledger, scene.memory) = (outcome.ledger, outcome.memory);
            }
        }
        scene.move_on(&mut bytes);
    }
}

fn check(scene: &Scene, decision: &Decision) {
    let intent = &scene.intent;
    match &decision.step {
        Step::Rest => {}
        Step::Release => check_release(scene, decision),
        Step::Send(call) => check_call(scene, decision, call),
    }
    if intent.observe_only
        || (intent.suspended && intent.deletion.is_none())
        || intent.deletion == Some(Deletion::LetGo)
    {
        assert!(!matches!(decision.step, Step::Send(_)), "nothing may be sent: {scene:#?}\n{decision:#?}");
    }
    assert_ne!(decision.again, Some(Duration::ZERO), "no loop without a pause: {scene:#?}\n{decision:#?}");
    if let (Verdict::Settled { phase, .. }, Some(operation)) = (decision.verdict, &decision.ledger.operation) {
        let undeploys = operation.kind == OperationKind::Undeploy && intent.deletion.is_some();
        let takes_down = undeploys || operation.kind == OperationKind::Recreate;
        assert!(takes_down && phase == Phase::UndeployFailed, "settled, though it runs: {scene:#?}\n{decision:#?}");
    }
}

/// A call is written before it is sent, goes by the stored id, and carries what is wanted now.
fn check_call(scene: &Scene, decision: &Decision, call: &Call) {
    let told = || format!("{scene:#?}\n{decision:#?}");
    let written = decision.ledger.operation.as_ref().unwrap_or_else(|| panic!("no operation: {}", told()));
    assert_eq!((written.state, written.started_at), (OperationState::Planned, scene.now), "{}", told());
    assert_ne!(scene.ledger.operation.as_ref(), Some(written), "the object always changes: {}", told());
    let before = scene.ledger.operation.as_ref();
    let again = before.is_some_and(|before| written.attempt == before.attempt.saturating_add(1));
    assert!(written.attempt == 1 || again, "attempts are counted: {}", told());
    assert_eq!(kind(call), written.kind, "{}", told());
    assert_eq!(written.kind == OperationKind::Undeploy, scene.intent.deletion.is_some(), "{}", told());
    if let CallKind::Redeploy { id, .. } | CallKind::Undeploy { id } | CallKind::Recreate { id } = &call.kind {
        assert_eq!(decision.ledger.id.as_ref(), Some(id), "{}", told());
    }
    match &call.kind {
        CallKind::Create { gone } => {
            assert_eq!(*gone, scene.ledger.id, "{}", told());
            let free = match &scene.look {
                Look::Absent { .. } => true,
                // An old view of the one that is gone; or, after that was proven, a stranger's, which the run finds itself.
                Look::Present(seen) => gone.as_ref() == Some(&seen.id) && is_planned_create(before),
            };
            assert!(free, "nothing is created where something is: {}", told());
            assert!(!(call.first && is_planned_create(before)), "it may have been sent before: {}", told());
            let recreates = before.is_some_and(|before| before.kind == OperationKind::Recreate);
            let replaces = is_planned_create(before) || recreates || scene.intent.correct_drift;
            assert!(gone.is_none() || replaces, "created anew only if asked to: {}", told());
        }
        CallKind::Redeploy { id, version, .. } => {
            let Look::Present(seen) = &scene.look else { panic!("nothing is there: {}", told()) };
            assert_eq!((&seen.id, seen.version), (id, *version), "{}", told());
            assert_eq!(written.from_version, Some(*version), "{}", told());
            assert!(!seen.phase.is_busy(), "it is busy: {}", told());
        }
        CallKind::Undeploy { id } => {
            let ours = scene.ledger.id.as_ref() == Some(id) || is_claimed(scene, id);
            assert!(ours, "nothing of others is taken down: {}", told());
            return;
        }
        CallKind::Recreate { id } => {
            assert_eq!(scene.ledger.id.as_ref(), Some(id), "nothing of others is taken down: {}", told());
            let begun = before.is_some_and(|before| before.kind == OperationKind::Recreate);
            assert!(begun || scene.intent.recreate, "only if asked to: {}", told());
            assert!(scene.wanted.is_some(), "what is to follow is not known: {}", told());
            return;
        }
    }
    let wanted = scene.wanted.as_ref().unwrap_or_else(|| panic!("the values are not known: {}", told()));
    let sent = written.payload.as_ref().unwrap_or_else(|| panic!("it carries nothing: {}", told()));
    assert_eq!(sent.digest.compare(&wanted.payload.digest), Comparison::Same, "{}", told());
}

fn kind(call: &Call) -> OperationKind {
    match call.kind {
        CallKind::Create { .. } => OperationKind::Create,
        CallKind::Redeploy { .. } => OperationKind::Redeploy,
        CallKind::Undeploy { .. } => OperationKind::Undeploy,
        CallKind::Recreate { .. } => OperationKind::Recreate,
    }
}

fn is_planned_create(operation: Option<&Operation>) -> bool {
    operation
        .is_some_and(|operation| operation.kind == OperationKind::Create && operation.state == OperationState::Planned)
}

/// What is seen is ours though its id is not stored: by the annotation, or by a create whose answer was lost.
fn is_claimed(scene: &Scene, id: &str) -> bool {
    let Look::Present(seen) = &scene.look else { return false };
    let created = scene.ledger.operation.as_ref().filter(|operation| is_planned_create(Some(operation)));
    let fits =
        created.and_then(|operation| operation.payload.as_ref()).is_some_and(|it| seen.is_what_was_sent(&it.tags));
    seen.id == id && scene.intent.identity.fits(seen) && (scene.intent.remote_id.as_deref() == Some(id) || fits)
}

/// Rule 22: nothing goes while something of ours is, or may still come to be.
fn check_release(scene: &Scene, decision: &Decision) {
    let told = || format!("{scene:#?}\n{decision:#?}");
    assert!(scene.intent.deletion.is_some(), "it is not being deleted: {}", told());
    if scene.intent.deletion == Some(Deletion::LetGo) || scene.intent.observe_only {
        return;
    }
    let Some(operation) = &scene.ledger.operation else {
        assert!(scene.ledger.id.is_none(), "it was never taken down: {}", told());
        return;
    };
    if is_planned_create(Some(operation)) {
        // A time that lay in the future counts from when it was met.
        let met = scene.memory.ahead.filter(|ahead| ahead.stamp == operation.started_at);
        let since = met.map_or(operation.started_at, |ahead| ahead.since.min(ahead.stamp));
        assert!(between(since, scene.now) >= CALM, "it may still arrive: {}", told());
        return;
    }
    if scene.ledger.id.is_some() {
        let answered = operation.kind == OperationKind::Undeploy && operation.state == OperationState::Accepted;
        assert!(answered, "no DELETE was answered: {}", told());
        let there = matches!(&scene.look, Look::Present(seen) if Some(&seen.id) == scene.ledger.id.as_ref());
        assert!(!there, "it is still there: {}", told());
    }
}

fn check_outcome(scene: &Scene, call: &Call, answer: &Answer, outcome: &Outcome) {
    let told = || format!("{call:?} {answer:?} {:#?}\n{outcome:#?}", scene.ledger);
    let kind = kind(call);
    if outcome.release {
        assert_eq!((kind, answer), (OperationKind::Undeploy, &Answer::NotFound), "{}", told());
    }
    if outcome.key_taken {
        assert!(call.first && kind == OperationKind::Create && *answer == Answer::Duplicate, "{}", told());
    }
    if *answer == Answer::Unknown {
        assert_eq!((&outcome.ledger, &outcome.memory), (&scene.ledger, &scene.memory), "{}", told());
    }
    match &outcome.ledger.operation {
        None => assert!(call.first, "a refusal of a repeated call says nothing of the first: {}", told()),
        Some(operation) => {
            let accepted = matches!(answer, Answer::Accepted { .. });
            assert_eq!(operation.state == OperationState::Accepted, accepted, "{}", told());
        }
    }
    let (pause, refused) = (outcome.memory.pause, &outcome.memory.refused);
    let latest = later(scene.now, Duration::from_hours(1));
    if scene.memory.pause != pause {
        assert!(pause.is_none_or(|pause| pause.until <= latest), "{}", told());
    }
    if scene.memory.refused != *refused {
        assert!(refused.as_ref().is_none_or(|refused| refused.until <= latest), "{}", told());
    }
}
