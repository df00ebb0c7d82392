//! Rule 16: visible values that differ from those that the last operation left; and rule 15, as far as this table
//! decides it.

use super::build::{
    Does, Fixture, Row, SETTLED, Stored, ago, check, differing, does, gathered, stored, visible, wanted,
};
use crate::operator::deployment::decide::{CallKind, Cause, Change, Outcome, Step, Version};
use crate::operator::deployment::persisted::{OperationType, Phase};

const REDEPLOY: OperationType = OperationType::Redeploy;
const SENT: (Does, Stored, Outcome) = (Does::Send(REDEPLOY), Stored::Planned, Outcome::Running(REDEPLOY));
const DRIFTED: (Does, Stored, Outcome) =
    (Does::Rest, Stored::Nothing, Outcome::Settled { phase: Phase::Deployed, drifted: true });

const NOT_APPLIED: (Does, Stored, Outcome) = (Does::Rest, Stored::Nothing, Outcome::NotApplied { drifted: false });

/// A running deployment, with no change for longer than changes are collected.
fn live() -> Fixture {
    let mut fixture = Fixture::live();
    let digest = fixture.wanted.as_ref().expect("values are desired").payload.digest.clone();
    let cause = Cause { digest: Some(digest), generation: 1, request: None, latest: None };
    fixture.transient.change = Some(Change { cause, first: ago(10), last: ago(10) });
    fixture
}

#[test]
fn rule_16_drift_is_a_difference_from_what_the_last_operation_left() {
    let rows: &[Row] = &[
        ("no difference", |_| {}, SETTLED),
        ("somebody changed it", |fixture| fixture.sees(Phase::Deployed).values = visible(&[("A", "9")]), DRIFTED),
        (
            "somebody changed it, and it is corrected",
            |fixture| {
                fixture.sees(Phase::Deployed).values = visible(&[("A", "9")]);
                fixture.intent.correct_drift = true;
            },
            SENT,
        ),
        (
            "the server shows another value than was sent",
            |fixture| {
                fixture.applied().differs = differing(&[("A", "1")], &[("A", "one")]);
                fixture.sees(Phase::Deployed).values = visible(&[("A", "one")]);
            },
            NOT_APPLIED,
        ),
        (
            "the server shows another value: it is sent once more",
            |fixture| {
                fixture.applied().differs = differing(&[("A", "1")], &[("A", "one")]);
                fixture.sees(Phase::Deployed).values = visible(&[("A", "one")]);
                fixture.intent.correct_drift = true;
            },
            SENT,
        ),
        (
            "the server shows the same again: sending it once more would not help",
            |fixture| {
                fixture.applied().differs = differing(&[("A", "1")], &[("A", "one")]);
                fixture.applied().accepted = differing(&[("A", "1")], &[("A", "one")]);
                fixture.sees(Phase::Deployed).values = visible(&[("A", "one")]);
                fixture.intent.correct_drift = true;
            },
            NOT_APPLIED,
        ),
        (
            "the server shows another value, and somebody changed it since",
            |fixture| {
                fixture.applied().differs = differing(&[("A", "1")], &[("A", "one")]);
                fixture.sees(Phase::Deployed).values = visible(&[("A", "9")]);
            },
            DRIFTED,
        ),
        (
            "the server shows a key that was not sent",
            |fixture| {
                fixture.sees(Phase::Deployed).values = visible(&[("A", "1"), ("B", "9")]);
                fixture.intent.correct_drift = true;
            },
            SETTLED,
        ),
        (
            "the server does not show it any more",
            |fixture| fixture.sees(Phase::Deployed).values = visible(&[]),
            DRIFTED,
        ),
        (
            "what was sent is not known",
            |fixture| {
                fixture.applied().names = None;
                fixture.sees(Phase::Deployed).values = visible(&[("A", "9")]);
            },
            SETTLED,
        ),
    ];
    check(live, rows);
}

/// Lets `decide` begin a redeploy and ends it with these visible values; returns whether a redeploy was begun.
fn redeployed(fixture: &mut Fixture, shows: &str) -> bool {
    let digest = fixture.wanted.as_ref().expect("values are desired").payload.digest.clone();
    let cause = Cause { digest: Some(digest), generation: 1, request: None, latest: None };
    fixture.transient.change = Some(Change { cause, first: ago(10), last: ago(10) });
    let begun = fixture.decide();
    if !matches!(begun.step, Step::Send(_)) {
        return false;
    }
    (fixture.persisted, fixture.transient) = (begun.persisted, begun.transient);
    let operation = fixture.accepted().aged(100).operation();
    operation.seen_busy = true;
    let version = operation.from_version.expect("it starts from a version") + 1;
    let observed = fixture.sees(Phase::Deployed);
    (observed.version, observed.values) = (version, visible(&[("A", shows)]));
    let ended = fixture.decide();
    assert_eq!(ended.persisted.operation, None, "the operation has ended");
    fixture.persisted = ended.persisted;
    true
}

#[test]
fn rule_16_each_difference_is_corrected_once_and_then_accepted() {
    for (input, others, after, redeploys) in [
        ("it shows what was sent", "9", "1", 1),
        ("it shows the same difference again", "9", "9", 1),
        ("it shows another difference, twice", "9", "8", 2),
    ] {
        let mut fixture = live();
        fixture.intent.correct_drift = true;
        fixture.sees(Phase::Deployed).values = visible(&[("A", others)]);
        let sent = std::iter::repeat_with(|| redeployed(&mut fixture, after)).take(5).filter(|sent| *sent).count();
        assert_eq!(sent, redeploys, "{input}");
        let expected = if after == "1" { SETTLED.2 } else { NOT_APPLIED.2 };
        assert_eq!(fixture.decide().outcome, expected, "{input}: reported as long as it lasts");
    }
}

#[test]
fn rule_16_a_server_that_normalizes_values_is_corrected_once_and_not_after_each_rotation() {
    let mut fixture = live();
    fixture.intent.correct_drift = true;
    for (secret, redeploys) in [("rotated", 2), ("rotated again", 1), ("and again", 1)] {
        fixture.wanted = Some(wanted("1", secret));
        let sent = std::iter::repeat_with(|| redeployed(&mut fixture, "one")).take(5).filter(|sent| *sent).count();
        assert_eq!(sent, redeploys, "{secret}: the difference is corrected the first time only");
    }
}

#[test]
fn rule_16_a_normalized_value_is_still_accepted_after_somebody_changed_it() {
    let mut fixture = live();
    fixture.intent.correct_drift = true;
    fixture.applied().differs = differing(&[("A", "1")], &[("A", "one")]);
    fixture.sees(Phase::Deployed).values = visible(&[("A", "one")]);
    assert!(redeployed(&mut fixture, "one"), "once for the difference that shows at the end");
    assert!(!redeployed(&mut fixture, "one"));
    let changes = |fixture: &mut Fixture, version, shows| {
        let observed = fixture.sees(Phase::Deployed);
        (observed.version, observed.values) = (version, visible(&[("A", shows)]));
    };
    changes(&mut fixture, 20, "9");
    assert!(redeployed(&mut fixture, "one"), "once for the change by another client");
    assert!(!redeployed(&mut fixture, "one"), "and not again for an accepted difference");
    changes(&mut fixture, 30, "1");
    assert!(!redeployed(&mut fixture, "1"), "the value that was sent is no drift, whatever showed before");
}

#[test]
fn rule_16_an_ignored_value_counts_again_once_it_is_not_ignored() {
    let rows: &[Row] = &[
        (
            "an ignored value differs",
            |fixture| {
                fixture.wanted.as_mut().expect("values are desired").values.clear();
                fixture.sees(Phase::Deployed).values.clear();
            },
            SETTLED,
        ),
        (
            "a value that is no longer ignored differs",
            |fixture| fixture.sees(Phase::Deployed).values = visible(&[("A", "9")]),
            DRIFTED,
        ),
        (
            "it differed already when the last operation ended",
            |fixture| {
                fixture.applied().differs = differing(&[("A", "1")], &[("A", "9")]);
                fixture.sees(Phase::Deployed).values = visible(&[("A", "9")]);
            },
            NOT_APPLIED,
        ),
    ];
    check(live, rows);
}

#[test]
fn rule_15_a_redeploy_only_moves_to_the_latest_version() {
    let version = |wanted, follow, latest| Version { wanted, follow, latest };
    for (case, version, running, before, rises, restores) in [
        ("follow", version(None, true, Some(3)), 2, Some(2), true, false),
        ("follow, first operation", version(None, true, Some(3)), 2, None, true, false),
        ("follow the running version", version(None, true, Some(2)), 2, Some(2), false, false),
        ("follow, rolled back from the latest", version(None, true, Some(3)), 2, Some(3), false, true),
        ("follow, rolled back from an older one", version(None, true, Some(4)), 2, Some(3), true, false),
        ("pinned to the latest", version(Some(3), false, Some(3)), 2, Some(2), true, false),
        ("pinned to another", version(Some(2), false, Some(3)), 2, Some(2), false, false),
        ("pinned, rolled back", version(Some(3), false, Some(3)), 2, Some(3), false, true),
        ("pinned to the running one, which is the latest", version(Some(2), false, Some(2)), 2, Some(2), false, false),
        ("no version is wanted", version(None, false, Some(3)), 2, Some(2), false, false),
        ("the registry was not read", version(Some(3), true, None), 2, Some(3), false, false),
    ] {
        assert_eq!((version.rises(running, before), version.restores(running, before)), (rises, restores), "{case}");
    }
}

#[test]
fn rule_15_a_higher_version_is_sent_only_if_it_is_the_latest() {
    let latest = |wanted, latest| Version { wanted, latest, follow: false };
    let follow = |latest| Version { wanted: None, latest, follow: true };
    let cannot = |outcome| (Does::Rest, Stored::Nothing, outcome);
    for (input, version, generation, expected) in [
        ("the running version", latest(Some(1), Some(2)), 2, SETTLED),
        ("no version", latest(None, Some(2)), 2, SETTLED),
        ("the latest", latest(Some(2), Some(2)), 2, SENT),
        (
            "not the latest",
            latest(Some(2), Some(3)),
            2,
            cannot(Outcome::VersionUnavailable { wanted: 2, latest: Some(3), drifted: false }),
        ),
        (
            "the registry was not read",
            latest(Some(2), None),
            2,
            cannot(Outcome::VersionUnavailable { wanted: 2, latest: None, drifted: false }),
        ),
        (
            "a lower version",
            latest(Some(0), Some(2)),
            2,
            cannot(Outcome::VersionMismatch { wanted: 0, running: 1, drifted: false }),
        ),
        (
            "it was sent, and another version runs",
            latest(Some(2), Some(2)),
            1,
            cannot(Outcome::VersionMismatch { wanted: 2, running: 1, drifted: false }),
        ),
        ("follow a higher version", follow(Some(2)), 1, SENT),
        ("follow the running version", follow(Some(1)), 1, SETTLED),
        ("follow, and the registry was not read", follow(None), 1, SETTLED),
    ] {
        let mut fixture = live();
        fixture.intent.version = version;
        fixture.intent.generation = generation;
        fixture.transient.change.as_mut().expect("a change is collected").cause.generation = generation;
        let decision = fixture.decide();
        let found = (super::build::does(&decision), super::build::stored(&decision.persisted), decision.outcome);
        assert_eq!(found, expected, "{input}");
        if let Step::Send(call) = decision.step {
            let update_connector = call.kind == CallKind::Move;
            assert!(update_connector, "{input}");
            assert_eq!(decision.persisted.followed, Some(2), "{input}");
        }
    }
    let mut fixture = live();
    fixture.intent.version = follow(Some(2));
    fixture.persisted.followed = Some(2);
    let not_moved = Outcome::NotMoved { latest: 2, running: 1, drifted: false };
    assert_eq!(fixture.decide().outcome, not_moved, "followed once, although another version runs");

    let mut fixture = Fixture::redeploying();
    fixture.intent.version = latest(Some(2), Some(2));
    let Step::Send(call) = fixture.aged(60).decide().step else { panic!("the call is sent again") };
    assert_eq!(call.kind, CallKind::Move);
    fixture.wanted = Some(wanted("3", "secret"));
    fixture.intent.version = latest(Some(1), Some(2));
    let Step::Send(call) = fixture.aged(120).decide().step else { panic!("a new call is sent") };
    assert_eq!(call.kind, CallKind::Redeploy);
    fixture.intent.version = latest(Some(1), Some(1));
    let Step::Send(call) = fixture.decide().step else { panic!("a new call is sent") };
    let stays = CallKind::Redeploy;
    assert_eq!(call.kind, stays, "the version runs already");
}

#[test]
fn a_rollback_stays_unless_drift_is_corrected() {
    type Input = (&'static str, fn(&mut Fixture), i64, (Does, Stored, Outcome));
    let rolled_back = |fixture: &mut Fixture, latest: i64| {
        fixture.applied().connector_version = Some(3);
        fixture.sees(Phase::Deployed).connector_version = 1;
        fixture.intent.version = Version { wanted: None, latest: Some(latest), follow: true };
    };
    let rows: [Input; 8] = [
        ("it follows, and nothing new was published", |_| {}, 3, DRIFTED),
        ("it follows, and a newer version was published", |_| {}, 4, SENT),
        ("it is pinned", |fixture| fixture.intent.version.follow = false, 3, DRIFTED),
        (
            "it is pinned, and a newer version was published",
            |fixture| fixture.intent.version.follow = false,
            4,
            DRIFTED,
        ),
        ("corrected", |fixture| fixture.intent.correct_drift = true, 3, SENT),
        (
            "corrected, although it does not follow",
            |fixture| (fixture.intent.correct_drift, fixture.intent.version.follow) = (true, false),
            3,
            SENT,
        ),
        (
            "drift is corrected, but a redeploy would move beyond the earlier version",
            |fixture| (fixture.intent.correct_drift, fixture.intent.version.follow) = (true, false),
            4,
            DRIFTED,
        ),
        (
            "the last operation ended with the older version",
            |fixture| fixture.applied().connector_version = Some(1),
            1,
            SETTLED,
        ),
    ];
    for (input, change, latest, expected) in rows {
        let mut fixture = live();
        rolled_back(&mut fixture, latest);
        change(&mut fixture);
        let decision = fixture.decide();
        assert_eq!(
            (does(&decision), stored(&decision.persisted), decision.outcome),
            expected,
            "{input}: {decision:#?}"
        );
        if let Step::Send(call) = decision.step {
            assert!(call.kind == CallKind::Move, "{input}: {call:?}");
        }
    }
}

#[test]
fn rule_15_another_version_than_the_pinned_one_is_reported_and_changes_are_sent() {
    type Row = (&'static str, fn(&mut Fixture), Outcome, (Does, Stored, Outcome));
    let unavailable = Outcome::VersionUnavailable { wanted: 3, latest: Some(4), drifted: true };
    let mismatch = Outcome::VersionMismatch { wanted: 3, running: 1, drifted: true };
    let waits =
        (Does::Rest, Stored::Nothing, Outcome::VersionUnavailable { wanted: 5, latest: Some(4), drifted: true });
    let rows: [Row; 5] = [
        ("rolled back from the latest", |fixture| fixture.intent.version.latest = Some(3), mismatch, SENT),
        ("rolled back, and a newer one was published", |_| {}, unavailable, SENT),
        ("the same, and the spec has changed since", |fixture| fixture.intent.generation = 2, unavailable, SENT),
        (
            "the spec names a version to come",
            |fixture| {
                fixture.intent.generation = 2;
                fixture.intent.version.wanted = Some(5);
            },
            waits.2,
            waits,
        ),
        (
            "a lower one",
            |fixture| {
                fixture.applied().connector_version = Some(1);
                fixture.intent.version.wanted = Some(0);
            },
            Outcome::VersionMismatch { wanted: 0, running: 1, drifted: false },
            SENT,
        ),
    ];
    for (case, change, reported, sends) in rows {
        let mut fixture = live();
        fixture.applied().connector_version = Some(3);
        fixture.intent.version = Version { wanted: Some(3), latest: Some(4), follow: false };
        change(&mut fixture);
        let generation = fixture.intent.generation;
        fixture.transient.change.as_mut().expect("a change is collected").cause.generation = generation;
        assert_eq!(fixture.decide().outcome, reported, "{case}");
        for redeploys in [
            |fixture: &mut Fixture| fixture.wanted = Some(wanted("1", "other")),
            |fixture: &mut Fixture| {
                fixture.intent.redeploy_request = Some("now".into());
            },
        ] {
            let mut fixture = fixture.clone();
            redeploys(&mut fixture);
            gathered(&mut fixture);
            let decision = fixture.decide();
            assert_eq!((does(&decision), stored(&decision.persisted), decision.outcome), sends, "{case}");
            if let Step::Send(call) = decision.step {
                assert!(call.kind == CallKind::Redeploy, "{case}: {call:?}");
            }
        }
        // A failure is reported as such.
        fixture.sees(Phase::Failed);
        let failed = fixture.decide().outcome;
        assert!(
            matches!(failed, Outcome::Settled { phase: Phase::Failed, .. }) || sends == waits,
            "{case}: {failed:?}"
        );
    }
}

#[test]
fn rule_15_the_first_redeploy_after_a_rollback_resumes_following() {
    type Row = (&'static str, fn(&mut Fixture), bool);
    let cases: [Row; 5] = [
        ("rolled back to an older version", |_| {}, true),
        ("pinned", |fixture| fixture.intent.version.follow = false, false),
        (
            "not rolled back: the older version was the result of the last redeploy",
            |fixture| {
                fixture.applied().connector_version = Some(1);
                fixture.persisted.followed = Some(3);
            },
            false,
        ),
        (
            "to an earlier revision of the latest version",
            |fixture| {
                let observed = fixture.sees(Phase::Deployed);
                (observed.connector_version, observed.rollback) = (3, Some("revision".into()));
            },
            false,
        ),
        ("the registry was not read", |fixture| fixture.intent.version.latest = None, false),
    ];
    for (case, change, moves) in cases {
        let mut fixture = live();
        fixture.applied().connector_version = Some(3);
        fixture.sees(Phase::Deployed).connector_version = 1;
        fixture.intent.version = Version { wanted: None, latest: Some(3), follow: true };
        change(&mut fixture);
        fixture.wanted = Some(wanted("2", "secret"));
        gathered(&mut fixture);
        let Step::Send(call) = fixture.decide().step else { panic!("{case}: a value changed") };
        let update_connector = call.kind == CallKind::Move;
        assert_eq!(update_connector, moves, "{case}");
    }
}

#[test]
fn other_values_that_somebody_deployed_after_a_failure_do_not_make_it_settled() {
    let mut fixture = live();
    fixture.applied().outcome = Phase::Failed;
    assert_eq!(fixture.decide().outcome, SETTLED.2, "the same values, deployed once more by another client");
    fixture.sees(Phase::Deployed).values = visible(&[("A", "9")]);
    assert_eq!(fixture.decide().outcome, Outcome::Settled { phase: Phase::Failed, drifted: true });
}

#[test]
fn after_a_rollback_the_next_redeploy_follows_the_latest_version_again() {
    let mut fixture = live();
    fixture.applied().connector_version = Some(3);
    fixture.sees(Phase::Deployed).connector_version = 1;
    fixture.intent.version = Version { wanted: None, latest: Some(3), follow: true };
    fixture.persisted.followed = Some(3);
    fixture.wanted = Some(wanted("1", "other"));
    super::build::gathered(&mut fixture);
    let Step::Send(call) = fixture.decide().step else { panic!("a secret has changed") };
    assert!(call.kind == CallKind::Move, "{call:?}");
}

#[test]
fn a_rollback_that_shows_only_its_revision_leaves_secured_values_unverified() {
    let rolled_back = || {
        let mut fixture = live();
        fixture.sees(Phase::Deployed).rollback = Some("revision-1".into());
        fixture
    };
    let condition = rolled_back().decide();
    assert_eq!((does(&condition), stored(&condition.persisted), condition.outcome), DRIFTED);
    assert!(condition.persisted.unverified, "the secured values of the revision are in force");
    let mut corrected = rolled_back();
    corrected.intent.correct_drift = true;
    assert_eq!(corrected.decide().outcome, SENT.2);
    // The record still names the revision after the redeploy.
    corrected.applied().rollback = Some("revision-1".into());
    let settled = corrected.decide();
    assert_eq!((does(&settled), stored(&settled.persisted), settled.outcome), SETTLED);
    assert!(!settled.persisted.unverified);
}
