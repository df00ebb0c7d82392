//! The rows *Redeploy* of the table.

use super::build::{Does, Row, SETTLED, Scene, Stored, check, moved, visible, wanted};
use crate::controllers::connector_deployment::decide::{CallKind, Outcome, Step};
use crate::controllers::connector_deployment::persisted::{Observation, OperationKind, OperationState, Phase};

const REDEPLOY: OperationKind = OperationKind::Redeploy;
const WAITS: (Does, Stored, Outcome) = (Does::Rest, Stored::Planned, Outcome::Running(REDEPLOY));
const AGAIN: (Does, Stored, Outcome) = (Does::SendAgain(REDEPLOY), Stored::Planned, Outcome::Running(REDEPLOY));
const ANEW: (Does, Stored, Outcome) = (Does::Send(REDEPLOY), Stored::Planned, Outcome::Running(REDEPLOY));
const RUNS: (Does, Stored, Outcome) = (Does::Rest, Stored::Accepted, Outcome::Running(REDEPLOY));

#[test]
fn redeploy_planned_at_the_same_version() {
    let rows: &[Row] = &[
        ("before its pause", |scene| _ = scene.aged(9), WAITS),
        ("after its pause", |scene| _ = scene.aged(10), AGAIN),
        ("the third time, before its pause", |scene| scene.aged(23).operation().attempt = 3, WAITS),
        ("the third time, after its pause", |scene| scene.aged(24).operation().attempt = 3, AGAIN),
        (
            "values unknown",
            |scene| {
                scene.aged(500);
                scene.wanted = None;
            },
            WAITS,
        ),
        (
            "changed, before calm",
            |scene| {
                scene.aged(119);
                scene.wanted = Some(wanted("3", "secret"));
            },
            WAITS,
        ),
        (
            "changed, calm",
            |scene| {
                scene.aged(120);
                scene.wanted = Some(wanted("3", "secret"));
            },
            ANEW,
        ),
    ];
    check(Scene::redeploying, rows);
}

/// It was begun to move to another version of the connector, and changes no value.
#[test]
fn a_planned_move_that_has_nowhere_to_go_is_never_sent_as_a_redeploy_of_the_same() {
    fn moving() -> Scene {
        let mut scene = Scene::redeploying();
        let applied = wanted("1", "secret");
        scene.operation().payload = Some(applied.payload.clone());
        scene.wanted = Some(applied);
        scene
    }
    fn follows(scene: &mut Scene, latest: i64) {
        (scene.intent.version.follow, scene.intent.version.latest) = (true, Some(latest));
    }
    let rows: &[Row] = &[
        ("it may still arrive", |scene| _ = scene.aged(119), WAITS),
        ("calm", |scene| _ = scene.aged(120), SETTLED),
        (
            "there is a later version",
            |scene| {
                scene.aged(10);
                follows(scene, 9);
            },
            AGAIN,
        ),
        (
            "it serves a request",
            |scene| {
                scene.aged(10).operation().redeploy_request = Some("now".into());
                scene.intent.redeploy_request = Some("now".into());
            },
            AGAIN,
        ),
        (
            "a value shows otherwise",
            |scene| scene.aged(10).sees(Phase::Deployed).values = visible(&[("A", "3")]),
            AGAIN,
        ),
    ];
    check(moving, rows);
}

#[test]
fn a_repeated_redeploy_keeps_what_it_starts_from_and_a_new_one_does_not() {
    let mut scene = Scene::redeploying();
    scene.aged(60).operation().seen_busy = true;
    let decision = scene.decide();
    let Step::Send(call) = &decision.step else { panic!("it is sent again") };
    assert_eq!(call.kind, CallKind::Redeploy { id: "id-1".into(), version: 5, update_connector: false });
    let again = decision.persisted.operation.expect("it is written again");
    assert_eq!((again.attempt, again.seen_busy, again.from_version), (2, false, Some(5)));
    assert!(decision.persisted.applied.expect("it is kept").digest.is_some());

    scene.aged(120).wanted = Some(wanted("3", "secret"));
    scene.intent.redeploy_request = Some("now".into());
    let decision = scene.decide();
    let re_evaluate = decision.persisted.operation.expect("it is written");
    assert_eq!(
        (re_evaluate.attempt, re_evaluate.seen_busy, re_evaluate.redeploy_request.as_deref()),
        (2, false, Some("now"))
    );
    assert_eq!(re_evaluate.payload, Some(wanted("3", "secret").payload));
    assert_eq!(decision.persisted.applied.expect("it is kept").digest, None, "the first one may have been sent");
}

#[test]
fn redeploy_planned_and_busy() {
    let rows: &[Row] = &[
        (
            "changes what is seen, and it fits",
            |scene| {
                scene.sees(Phase::Deploying).values = visible(&[("A", "2")]);
            },
            RUNS,
        ),
        ("it does not show", |scene| _ = scene.sees(Phase::Deploying), WAITS),
    ];
    check(Scene::redeploying, rows);
    check(Scene::rotating, &[("says nothing", |scene| _ = scene.sees(Phase::Deploying), WAITS)]);

    for (name, scene, age, noted) in [
        ("says nothing", Scene::rotating(), 119, true),
        ("says nothing, too late", Scene::rotating(), 120, false),
        ("other values", Scene::redeploying(), 119, true),
        ("other values, too late", Scene::redeploying(), 120, false),
    ] {
        let mut scene = scene;
        scene.aged(age).sees(Phase::Queued);
        assert_eq!(scene.decide().persisted.operation.expect("it stays").seen_busy, noted, "{name}");
    }
    let mut scene = Scene::redeploying();
    scene.persisted.unverified = true;
    scene.sees(Phase::Deploying).values = visible(&[("A", "2")]);
    let persisted = scene.decide().persisted;
    assert!(persisted.operation.expect("it runs").seen_busy);
    assert!(!persisted.unverified, "the secrets came with what is seen");
}

#[test]
fn redeploy_planned_at_another_version_and_what_is_seen_proves_it() {
    let rows: &[Row] = &[
        ("before 60 s", |scene| moved(scene, 59, "2"), WAITS),
        ("after 60 s", |scene| moved(scene, 60, "2"), RUNS),
        ("hours later", |scene| moved(scene, 86_000, "2"), RUNS),
    ];
    check(Scene::redeploying, rows);
}

#[test]
fn redeploy_planned_at_another_version_and_what_is_seen_says_nothing() {
    let rows: &[Row] = &[
        (
            "before 60 s, busy was seen",
            |scene| {
                moved(scene, 59, "1");
                scene.operation().seen_busy = true;
            },
            WAITS,
        ),
        (
            "busy was seen",
            |scene| {
                moved(scene, 60, "1");
                scene.operation().seen_busy = true;
            },
            RUNS,
        ),
        (
            "busy was seen, hours later",
            |scene| {
                moved(scene, 86_000, "1");
                scene.operation().seen_busy = true;
            },
            RUNS,
        ),
        (
            "another build within 2 minutes",
            |scene| {
                moved(scene, 119, "1");
                scene.sees_build(Some("build-2"));
            },
            RUNS,
        ),
        (
            "another build after 2 minutes",
            |scene| {
                moved(scene, 120, "1");
                scene.sees_build(Some("build-2"));
            },
            AGAIN,
        ),
        (
            "no build is no other build",
            |scene| {
                moved(scene, 119, "1");
                scene.sees_build(None);
            },
            WAITS,
        ),
        ("nothing else was seen, before calm", |scene| moved(scene, 119, "1"), WAITS),
        ("nothing else was seen, calm", |scene| moved(scene, 120, "1"), AGAIN),
        (
            "nothing else was seen, calm, values unknown",
            |scene| {
                moved(scene, 120, "1");
                scene.wanted = None;
            },
            WAITS,
        ),
    ];
    check(Scene::rotating, rows);

    let mut scene = Scene::rotating();
    moved(&mut scene, 120, "1");
    let decision = scene.decide();
    let Step::Send(call) = &decision.step else { panic!("it is sent again") };
    assert_eq!(call.kind, CallKind::Redeploy { id: "id-1".into(), version: 6, update_connector: false });
    assert_eq!(decision.persisted.operation.expect("it is written").from_version, Some(6));
    assert_eq!(decision.persisted.applied.expect("it is kept").digest, None);
}

#[test]
fn a_lost_answer_to_a_change_of_secrets_leaves_them_unverified() {
    for (name, secured, unverified) in [("there are some", true, true), ("there are none", false, false)] {
        let mut scene = Scene::rotating();
        moved(&mut scene, 60, "1");
        scene.operation().seen_busy = true;
        scene.wanted.as_mut().expect("it is wanted").secured = secured;
        assert_eq!(scene.decide().persisted.unverified, unverified, "{name}");
    }
    let mut scene = Scene::redeploying();
    moved(&mut scene, 60, "2");
    assert!(!scene.decide().persisted.unverified, "what is seen proves it");
}

#[test]
fn redeploy_planned_at_another_version_with_other_values() {
    let rows: &[Row] = &[
        ("before calm", |scene| moved(scene, 119, "3"), WAITS),
        ("calm", |scene| moved(scene, 120, "3"), (Does::Rest, Stored::Nothing, Outcome::Changing)),
    ];
    check(Scene::redeploying, rows);
    let mut scene = Scene::redeploying();
    moved(&mut scene, 120, "3");
    assert_eq!(
        scene.decide().persisted.applied.expect("it is kept").digest,
        None,
        "given up, though it may have been sent"
    );
}

#[test]
fn a_change_of_what_is_ignored_only_proves_nothing() {
    let rows: &[Row] = &[
        (
            "only what is ignored changes",
            |scene| {
                scene.operation().changes_visible = false;
                moved(scene, 60, "2");
            },
            WAITS,
        ),
        ("it changes what counts", |scene| moved(scene, 60, "2"), RUNS),
        (
            "what shows beside what was sent says nothing",
            |scene| {
                moved(scene, 60, "2");
                let Observation::Present(observed) = &mut scene.observation else { panic!("it is there") };
                observed.values = visible(&[("A", "2"), ("B", "9")]);
            },
            RUNS,
        ),
    ];
    check(Scene::redeploying, rows);
}

#[test]
fn a_redeploy_that_is_found_at_its_end_is_read_for_a_minute_from_then_on() {
    let mut scene = Scene::rotating();
    moved(&mut scene, 90, "1");
    scene.operation().seen_busy = true;
    let idle = scene.decide();
    assert!(idle.transient.resting.is_some(), "{idle:?}");
    let mut scene = Scene::redeploying();
    moved(&mut scene, 90, "2");
    let Observation::Present(observed) = &mut scene.observation else { panic!("it is there") };
    observed.phase = Phase::Deploying;
    let busy = scene.decide();
    assert_eq!(busy.persisted.operation.as_ref().map(|operation| operation.state), Some(OperationState::Accepted));
    assert_eq!(busy.transient.resting, None);
}
