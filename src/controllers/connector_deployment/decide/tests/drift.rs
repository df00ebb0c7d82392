//! Rule 16: visible values that are others than those that our last operation left; and rule 15, as far as it is
//! decided here.

use super::build::{
    Does, Row, SETTLED, Scene, Stored, ago, check, does, ignoring, status_conversion, tags, visible, wanted,
};
use crate::controllers::connector_deployment::decide::{CallKind, Cause, Change, Outcome, Step, Version};
use crate::controllers::connector_deployment::persisted::{OperationKind, Phase};

const REDEPLOY: OperationKind = OperationKind::Redeploy;
const SENT: (Does, Stored, Outcome) = (Does::Send(REDEPLOY), Stored::Planned, Outcome::Running(REDEPLOY));
const DRIFTED: (Does, Stored, Outcome) =
    (Does::Rest, Stored::Nothing, Outcome::Settled { phase: Phase::Deployed, drifted: true });

const NOT_APPLIED: (Does, Stored, Outcome) = (Does::Rest, Stored::Nothing, Outcome::NotApplied { drifted: false });

/// Live, and nothing changes for longer than changes are gathered.
fn live() -> Scene {
    let mut scene = Scene::live();
    let digest = scene.wanted.as_ref().expect("it is wanted").payload.digest.clone();
    let cause = Cause { digest, generation: 1, request: None, latest: None };
    scene.transient.change = Some(Change { cause, first: ago(10), last: ago(10) });
    scene
}

#[test]
fn rule_16_drift_is_what_differs_from_what_our_last_operation_left() {
    let rows: &[Row] = &[
        ("as it was left", |_| {}, SETTLED),
        ("somebody changed it", |scene| scene.sees(Phase::Deployed).values = visible(&[("A", "9")]), DRIFTED),
        (
            "somebody changed it, and it is corrected",
            |scene| {
                scene.sees(Phase::Deployed).values = visible(&[("A", "9")]);
                scene.intent.correct_drift = true;
            },
            SENT,
        ),
        (
            "the server shows it otherwise than it was sent",
            |scene| {
                scene.applied().shown = tags(&[("A", "one")]);
                scene.sees(Phase::Deployed).values = visible(&[("A", "one")]);
            },
            NOT_APPLIED,
        ),
        (
            "the server shows it otherwise: it is sent once more",
            |scene| {
                scene.applied().shown = tags(&[("A", "one")]);
                scene.sees(Phase::Deployed).values = visible(&[("A", "one")]);
                scene.intent.correct_drift = true;
            },
            SENT,
        ),
        (
            "the server shows it otherwise again: sending it again would not help",
            |scene| {
                scene.applied().shown = tags(&[("A", "one")]);
                scene.applied().accepted = tags(&[("A", "one")]);
                scene.sees(Phase::Deployed).values = visible(&[("A", "one")]);
                scene.intent.correct_drift = true;
            },
            NOT_APPLIED,
        ),
        (
            "the server shows it otherwise, and somebody changed it since",
            |scene| {
                scene.applied().shown = tags(&[("A", "one")]);
                scene.sees(Phase::Deployed).values = visible(&[("A", "9")]);
            },
            DRIFTED,
        ),
        (
            "the server shows a key that was not sent",
            |scene| {
                scene.sees(Phase::Deployed).values = visible(&[("A", "1"), ("B", "9")]);
                scene.intent.correct_drift = true;
            },
            SETTLED,
        ),
        ("the server does not show it any more", |scene| scene.sees(Phase::Deployed).values = visible(&[]), DRIFTED),
        (
            "what was sent is not known",
            |scene| {
                scene.applied().sent = None;
                scene.sees(Phase::Deployed).values = visible(&[("A", "9")]);
            },
            SETTLED,
        ),
    ];
    check(live, rows);
}

/// Lets `decide` begin a redeploy and end it with these visible values; returns whether there was one to begin.
fn redeployed(scene: &mut Scene, shows: &str) -> bool {
    let digest = scene.wanted.as_ref().expect("it is wanted").payload.digest.clone();
    let cause = Cause { digest, generation: 1, request: None, latest: None };
    scene.transient.change = Some(Change { cause, first: ago(10), last: ago(10) });
    let begun = scene.decide();
    if !matches!(begun.step, Step::Send(_)) {
        return false;
    }
    (scene.persisted, scene.transient) = (begun.persisted, begun.transient);
    let operation = scene.accepted().aged(100).operation();
    operation.seen_busy = true;
    let version = operation.from_version.expect("it starts from a version") + 1;
    let observed = scene.sees(Phase::Deployed);
    (observed.version, observed.values) = (version, visible(&[("A", shows)]));
    let ended = scene.decide();
    assert_eq!(ended.persisted.operation, None, "it has ended");
    scene.persisted = ended.persisted;
    true
}

#[test]
fn rule_16_each_difference_is_corrected_once_and_then_it_is_what_counts() {
    for (input, others, after, redeploys) in [
        ("it is back to what was sent", "9", "1", 1),
        ("it shows the same difference again", "9", "9", 1),
        ("it shows another difference, twice", "9", "8", 2),
    ] {
        let mut scene = live();
        scene.intent.correct_drift = true;
        scene.sees(Phase::Deployed).values = visible(&[("A", others)]);
        let sent = std::iter::repeat_with(|| redeployed(&mut scene, after)).take(5).filter(|sent| *sent).count();
        assert_eq!(sent, redeploys, "{input}");
        let expected = if after == "1" { SETTLED.2 } else { NOT_APPLIED.2 };
        assert_eq!(scene.decide().outcome, expected, "{input}: said for as long as it is so");
    }
}

#[test]
fn rule_16_a_server_that_writes_values_its_own_way_is_corrected_once_and_not_after_each_rotation() {
    let mut scene = live();
    scene.intent.correct_drift = true;
    for (secret, redeploys) in [("rotated", 2), ("rotated again", 1), ("and again", 1)] {
        scene.wanted = Some(wanted("1", secret));
        let sent = std::iter::repeat_with(|| redeployed(&mut scene, "one")).take(5).filter(|sent| *sent).count();
        assert_eq!(sent, redeploys, "{secret}: the difference is corrected the first time only");
    }
}

#[test]
fn rule_16_what_a_server_writes_its_own_way_is_known_after_somebody_changed_it() {
    let mut scene = live();
    scene.intent.correct_drift = true;
    scene.applied().shown = tags(&[("A", "one")]);
    scene.sees(Phase::Deployed).values = visible(&[("A", "one")]);
    assert!(redeployed(&mut scene, "one"), "once for the difference that is there at once");
    assert!(!redeployed(&mut scene, "one"));
    let changes = |scene: &mut Scene, version, shows| {
        let observed = scene.sees(Phase::Deployed);
        (observed.version, observed.values) = (version, visible(&[("A", shows)]));
    };
    changes(&mut scene, 20, "9");
    assert!(redeployed(&mut scene, "one"), "once for what somebody changed");
    assert!(!redeployed(&mut scene, "one"), "and not again for what is known");
    changes(&mut scene, 30, "1");
    assert!(!redeployed(&mut scene, "1"), "what was sent is no drift, whatever showed before");
}

#[test]
fn rule_16_what_is_ignored_counts_again_once_it_is_not() {
    let rows: &[Row] = &[
        (
            "what is ignored differs",
            |scene| scene.sees(Phase::Deployed).values = ignoring(&[("A", "9")], &["A"]),
            SETTLED,
        ),
        (
            "what is not ignored any more differs",
            |scene| scene.sees(Phase::Deployed).values = ignoring(&[("A", "9")], &["B"]),
            DRIFTED,
        ),
        (
            "it differed already when our last operation ended",
            |scene| {
                scene.applied().shown = tags(&[("A", "9")]);
                scene.sees(Phase::Deployed).values = ignoring(&[("A", "9")], &["B"]);
            },
            NOT_APPLIED,
        ),
    ];
    check(live, rows);
}

#[test]
fn rule_15_a_higher_version_is_sent_only_if_it_is_the_latest() {
    let latest = |wanted, latest| Version { wanted, latest, follow: false };
    let follow = |latest| Version { wanted: None, latest, follow: true };
    let cannot = |outcome| (Does::Rest, Stored::Nothing, outcome);
    for (input, version, generation, expected) in [
        ("the running one", latest(Some(1), Some(2)), 2, SETTLED),
        ("whichever runs", latest(None, Some(2)), 2, SETTLED),
        ("the latest", latest(Some(2), Some(2)), 2, SENT),
        (
            "not the latest",
            latest(Some(2), Some(3)),
            2,
            cannot(Outcome::VersionUnavailable { wanted: 2, latest: Some(3) }),
        ),
        (
            "the registry was not read",
            latest(Some(2), None),
            2,
            cannot(Outcome::VersionUnavailable { wanted: 2, latest: None }),
        ),
        ("a lower one", latest(Some(0), Some(2)), 2, cannot(Outcome::VersionMismatch { wanted: 0, running: 1 })),
        (
            "it was sent, and another one runs",
            latest(Some(2), Some(2)),
            1,
            cannot(Outcome::VersionMismatch { wanted: 2, running: 1 }),
        ),
        ("follow a higher one", follow(Some(2)), 1, SENT),
        ("follow the running one", follow(Some(1)), 1, SETTLED),
        ("follow, and the registry was not read", follow(None), 1, SETTLED),
    ] {
        let mut scene = live();
        scene.intent.version = version;
        scene.intent.generation = generation;
        scene.transient.change.as_mut().expect("it is gathered").cause.generation = generation;
        let decision = scene.decide();
        let found =
            (super::build::does(&decision), super::build::status_conversion(&decision.persisted), decision.outcome);
        assert_eq!(found, expected, "{input}");
        if let Step::Send(call) = decision.step {
            let CallKind::Redeploy { update_connector, .. } = call.kind else { panic!("{input}") };
            assert!(update_connector, "{input}");
            assert_eq!(decision.transient.followed, Some(2), "{input}");
        }
    }
    let mut scene = live();
    scene.intent.version = follow(Some(2));
    scene.transient.followed = Some(2);
    assert_eq!(scene.decide().step, Step::NoOp, "followed once: another connector ran all the same");

    let mut scene = Scene::redeploying();
    scene.intent.version = latest(Some(2), Some(2));
    let Step::Send(call) = scene.aged(60).decide().step else { panic!("it is sent again") };
    assert_eq!(call.kind, CallKind::Redeploy { id: "id-1".into(), version: 5, update_connector: true });
    scene.wanted = Some(wanted("3", "secret"));
    scene.intent.version = latest(Some(1), Some(2));
    let Step::Send(call) = scene.aged(120).decide().step else { panic!("it is sent anew") };
    assert_eq!(call.kind, CallKind::Redeploy { id: "id-1".into(), version: 5, update_connector: false });
    scene.intent.version = latest(Some(1), Some(1));
    let Step::Send(call) = scene.decide().step else { panic!("it is sent anew") };
    let stays = CallKind::Redeploy { id: "id-1".into(), version: 5, update_connector: false };
    assert_eq!(call.kind, stays, "it runs already");
}

#[test]
fn what_somebody_rolled_back_is_left_so_unless_drift_is_corrected() {
    type Input = (&'static str, fn(&mut Scene), i64, (Does, Stored, Outcome));
    let rolled_back = |scene: &mut Scene, latest: i64| {
        scene.applied().connector_version = Some(3);
        scene.sees(Phase::Deployed).connector_version = 1;
        scene.intent.version = Version { wanted: None, latest: Some(latest), follow: true };
    };
    let rows: [Input; 8] = [
        ("it follows, and nothing new was published", |_| {}, 3, DRIFTED),
        ("it follows, and a newer version was published", |_| {}, 4, SENT),
        ("it stays where it is", |scene| scene.intent.version.follow = false, 3, DRIFTED),
        (
            "it stays where it is, and a newer version was published",
            |scene| scene.intent.version.follow = false,
            4,
            DRIFTED,
        ),
        ("corrected", |scene| scene.intent.correct_drift = true, 3, SENT),
        (
            "corrected, though it does not follow",
            |scene| (scene.intent.correct_drift, scene.intent.version.follow) = (true, false),
            3,
            SENT,
        ),
        (
            "it would be corrected, but a redeploy would go further than it was",
            |scene| (scene.intent.correct_drift, scene.intent.version.follow) = (true, false),
            4,
            DRIFTED,
        ),
        (
            "an operation of ours ended with the older version",
            |scene| scene.applied().connector_version = Some(1),
            1,
            SETTLED,
        ),
    ];
    for (input, change, latest, expected) in rows {
        let mut scene = live();
        rolled_back(&mut scene, latest);
        change(&mut scene);
        let decision = scene.decide();
        assert_eq!(
            (does(&decision), status_conversion(&decision.persisted), decision.outcome),
            expected,
            "{input}: {decision:#?}"
        );
        if let Step::Send(call) = decision.step {
            assert!(matches!(call.kind, CallKind::Redeploy { update_connector: true, .. }), "{input}: {call:?}");
        }
    }
}

#[test]
fn what_somebody_deployed_after_ours_failed_is_not_what_is_wanted() {
    let mut scene = live();
    scene.applied().outcome = Phase::Failed;
    assert_eq!(scene.decide().outcome, SETTLED.2, "ours, deployed once more by somebody");
    scene.sees(Phase::Deployed).values = visible(&[("A", "9")]);
    assert_eq!(scene.decide().outcome, Outcome::Settled { phase: Phase::Failed, drifted: true });
}

#[test]
fn what_was_followed_before_a_rollback_is_followed_again_by_the_next_redeploy_of_ours() {
    let mut scene = live();
    scene.applied().connector_version = Some(3);
    scene.sees(Phase::Deployed).connector_version = 1;
    scene.intent.version = Version { wanted: None, latest: Some(3), follow: true };
    scene.transient.followed = Some(3);
    scene.wanted = Some(wanted("1", "other"));
    super::build::gathered(&mut scene);
    let Step::Send(call) = scene.decide().step else { panic!("a secret has changed") };
    assert!(matches!(call.kind, CallKind::Redeploy { update_connector: true, .. }), "{call:?}");
}

#[test]
fn a_rollback_that_only_shows_by_its_revision_leaves_secrets_unverified() {
    let rolled_back = || {
        let mut scene = live();
        scene.sees(Phase::Deployed).rollback = Some("revision-1".into());
        scene
    };
    let condition = rolled_back().decide();
    assert_eq!((does(&condition), status_conversion(&condition.persisted), condition.outcome), DRIFTED);
    assert!(condition.persisted.unverified, "those of the revision are in force");
    let mut corrected = rolled_back();
    corrected.intent.correct_drift = true;
    assert_eq!(corrected.decide().outcome, SENT.2);
    // The record goes on naming it after the redeploy.
    corrected.applied().rollback = Some("revision-1".into());
    let settled = corrected.decide();
    assert_eq!((does(&settled), status_conversion(&settled.persisted), settled.outcome), SETTLED);
    assert!(!settled.persisted.unverified);
}
