//! Rules 2, 3 and 13: what exists under the key before anything is known of it.

use super::build::{Does, NOW, Row, SETTLED, Scene, Stored, ago, check, does, wanted};
use crate::controllers::connector_deployment::decide::{Outcome, Version};
use crate::controllers::connector_deployment::persisted::Phase;
use crate::controllers::tags::Item;
use crate::controllers::values::RETRY_STRATEGY;

const TAKEN: (Does, Stored, Outcome) = (Does::Rest, Stored::Nothing, Outcome::KeyTaken);
const CANNOT: (Does, Stored, Outcome) = (Does::Rest, Stored::Nothing, Outcome::NotAdoptable);
const WAITS: (Does, Stored, Outcome) = (Does::Rest, Stored::Nothing, Outcome::TakingOver);
const REDEPLOYS: (Does, Stored, Outcome) = (Does::Rest, Stored::Nothing, Outcome::Changing);

/// The status was lost, and the annotation names what is found.
fn restored() -> Scene {
    let mut scene = Scene::new();
    scene.intent.remote_id = Some("id-1".into());
    scene.sees(Phase::Deployed);
    scene.rests(60);
    scene
}

#[test]
fn rule_2_what_exists_is_not_ours_unless_people_say_so() {
    let rows: &[Row] = &[
        ("nobody says so", |scene| scene.intent.remote_id = None, TAKEN),
        ("the annotation names another one", |scene| scene.intent.remote_id = Some("id-2".into()), TAKEN),
        ("the annotation names it", |_| {}, SETTLED),
        (
            "adoptionPolicy: Adopt",
            |scene| {
                scene.intent.remote_id = None;
                scene.intent.adopt = true;
            },
            SETTLED,
        ),
        (
            "another region",
            |scene| {
                scene.intent.adopt = true;
                scene.sees(Phase::Deployed).region = "other".into();
            },
            CANNOT,
        ),
        (
            "another connector",
            |scene| {
                scene.intent.adopt = true;
                scene.sees(Phase::Deployed).connector_key = Some("other".into());
            },
            CANNOT,
        ),
        (
            "another type",
            |scene| {
                scene.intent.adopt = true;
                scene.sees(Phase::Deployed).kind = "production".into();
            },
            CANNOT,
        ),
        (
            "the annotation names it, and its region is another",
            |scene| scene.sees(Phase::Deployed).region = "other".into(),
            CANNOT,
        ),
    ];
    check(restored, rows);
}

#[test]
fn rule_13_taken_over_once_it_was_quiet_for_a_minute() {
    let rows: &[Row] = &[
        ("the first look", |scene| scene.transient.resting = None, WAITS),
        ("before 60 s", |scene| _ = scene.rests(59), WAITS),
        ("after 60 s", |_| {}, SETTLED),
        (
            "another version than before",
            |scene| {
                scene.transient.resting.as_mut().expect("it rests").version = 4;
            },
            WAITS,
        ),
        (
            "another status than before",
            |scene| {
                scene.transient.resting.as_mut().expect("it rests").phase = Phase::Failed;
            },
            WAITS,
        ),
        ("busy", |scene| _ = scene.sees(Phase::Deploying), WAITS),
        ("values unknown", |scene| scene.wanted = None, (Does::Rest, Stored::Nothing, Outcome::ValuesUnknown)),
        (
            "a retry policy is wanted that the record does not show",
            |scene| {
                let tags = &mut scene.wanted.as_mut().expect("it is wanted").payload.tags;
                tags.set(Item::retry_policy("service", RETRY_STRATEGY), "immediate");
            },
            REDEPLOYS,
        ),
        ("visible values differ", |scene| scene.wanted = Some(wanted("2", "secret")), REDEPLOYS),
        (
            "failed",
            |scene| {
                scene.sees(Phase::Failed);
                scene.rests(60);
            },
            (Does::Rest, Stored::Nothing, Outcome::Settled { phase: Phase::Failed, drifted: false }),
        ),
        (
            "a higher version is wanted",
            |scene| {
                scene.intent.version = Version { wanted: Some(2), latest: Some(2), follow: false };
            },
            REDEPLOYS,
        ),
    ];
    check(restored, rows);

    let mut scene = restored();
    scene.transient.resting = None;
    scene.transient = scene.decide().transient;
    assert_eq!(scene.transient.resting.map(|no_op| no_op.since), Some(NOW));
    scene.wanted = None;
    assert!(
        scene.rests(3600).decide().transient.resting.is_some(),
        "it need not be quiet anew once the values are known"
    );
    scene.sees(Phase::Queued);
    assert_eq!(scene.decide().transient.resting, None, "busy breaks the row");
}

#[test]
fn rule_13_what_is_taken_over_is_unverified_and_its_request_handled() {
    for (input, value, secured, known) in
        [("the same", "1", true, true), ("no secrets", "1", false, true), ("visible values differ", "2", true, false)]
    {
        let mut scene = restored();
        let mut wanted = wanted(value, "secret");
        wanted.secured = secured;
        scene.wanted = Some(wanted.clone());
        scene.intent.redeploy_request = Some("now".into());
        let decision = scene.decide();
        assert_eq!(does(&decision), Does::Rest, "{input}");
        let persisted = decision.persisted;
        assert_eq!(persisted.id.as_deref(), Some("id-1"), "{input}");
        assert_eq!(persisted.unverified, secured, "{input}");
        assert_eq!(persisted.handled_redeploy.as_deref(), Some("now"), "{input}");
        let applied = persisted.applied.expect("it was taken over");
        assert_eq!(applied.digest, known.then_some(wanted.payload.digest), "{input}");
        assert_eq!(applied.sent, known.then_some(wanted.payload.tags), "{input}");
        assert_eq!((applied.outcome, applied.at), (Phase::Deployed, NOW), "{input}");
    }
    let mut scene = restored();
    scene.wanted = Some(wanted("2", "secret"));
    let mut next = Scene { persisted: scene.decide().persisted, transient: scene.decide().transient, ..scene };
    next.transient.change.as_mut().expect("the difference is gathered").first = ago(10);
    let decision = next.decide();
    assert!(matches!(does(&decision), Does::Send(_)), "visible values that differ are one redeploy");
}
