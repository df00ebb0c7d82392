//! Rule 16: visible values that differ from those that the last operation left; and rule 15, as far as this table
//! decides it.

use super::build::{
    self, Expected, Fixture, SETTLED, Stored, check, differing, idle, redeploying, result, sends, stored, visible,
};
use crate::operator::deployment::decide::{CallKind, Outcome, Step, Version};
use crate::operator::deployment::persisted::OperationType::Redeploy;
use crate::operator::deployment::persisted::Phase::{Deployed, Failed};

const SENT: Expected = sends(Redeploy);
const DRIFTED: Expected = idle(Outcome::Settled { phase: Deployed, drifted: true });
const NOT_APPLIED: Expected = idle(Outcome::NotApplied { drifted: false });

/// A running deployment, with no change for longer than changes are collected.
fn live() -> Fixture {
    build::live().gathered()
}

/// The last operation ended although its `1` shows as this value.
fn left(value: &str) -> Fixture {
    live().with(|it| it.applied().differs = differing(&[("A", "1")], &[("A", value)])).shows(value)
}

/// The last operation ended with version 3 of the connector, and another client went back to version 1.
fn rolled_back() -> Fixture {
    live().with(|it| it.applied().connector_version = Some(3))
}

#[test]
fn rule_16_drift_is_a_difference_from_what_the_last_operation_left() {
    let accepted = left("one").with(|it| it.applied().accepted = it.applied().differs.clone());
    let more = live().seeing(|seen| seen.values = visible(&[("A", "1"), ("B", "9")]));
    let not_known = live().shows("9").with(|it| it.applied().names = None);
    let none = |fixture: Fixture| fixture.seeing(|seen| seen.values.clear());
    check(vec![
        ("no difference", live(), SETTLED),
        ("somebody changed it", live().shows("9"), DRIFTED),
        ("somebody changed it, and it is corrected", live().shows("9").corrects_drift(), SENT),
        ("the server shows another value than was sent", left("one"), NOT_APPLIED),
        ("the server shows another value: it is sent once more", left("one").corrects_drift(), SENT),
        ("the server shows the same again: sending it would not help", accepted.corrects_drift(), NOT_APPLIED),
        ("the server shows another value, and somebody changed it since", left("one").shows("9"), DRIFTED),
        ("the server shows a key that was not sent", more.corrects_drift(), SETTLED),
        ("the server does not show it any more", none(live()), DRIFTED),
        ("what was sent is not known", not_known, SETTLED),
    ]);
}

#[test]
fn what_an_operation_left_is_compared_once_its_values_are_desired_again() {
    let ended = redeploying().accepted().seen_busy().sees(Deployed).at_version(6).shows("two");
    let other = ended.clone().wants("3", "secret");
    let decision = other.decide();
    assert_eq!(stored(&decision.persisted), Stored::Nothing, "it has ended, and other values are desired");
    assert_eq!(result(&ended.after(decision).decide()), NOT_APPLIED, "not attributed to somebody else");
}

/// Lets `decide` begin a redeploy and ends it with this visible value; returns whether a redeploy was begun.
fn redeployed(fixture: &mut Fixture, shows: &str) -> bool {
    let begun = fixture.clone().gathered().decide();
    if !matches!(begun.step, Step::Send(_)) {
        return false;
    }
    let mut running = fixture.clone().after(begun).accepted().aged(100).seen_busy();
    let version = running.operation().from_version.expect("it starts from a version") + 1;
    let running = running.sees(Deployed).at_version(version).shows(shows);
    let ended = running.decide();
    assert_eq!(stored(&ended.persisted), Stored::Nothing, "the operation has ended");
    *fixture = Fixture { persisted: ended.persisted, ..running };
    true
}

/// Returns how many redeploys follow until none does any more.
fn redeploys(fixture: &mut Fixture, shows: &str) -> usize {
    std::iter::repeat_with(|| redeployed(fixture, shows)).take(5).filter(|sent| *sent).count()
}

#[test]
fn rule_16_each_difference_is_corrected_once_and_then_accepted() {
    for (input, others, after, sent, expected) in [
        ("it shows what was sent", "9", "1", 1, SETTLED),
        ("it shows the same difference again", "9", "9", 1, NOT_APPLIED),
        ("it shows another difference, twice", "9", "8", 2, NOT_APPLIED),
    ] {
        let mut fixture = live().corrects_drift().shows(others);
        assert_eq!(redeploys(&mut fixture, after), sent, "{input}");
        assert_eq!(fixture.outcome(), expected.2, "{input}: reported as long as it lasts");
    }
}

#[test]
fn rule_16_a_server_that_normalizes_values_is_corrected_once_and_not_after_each_rotation() {
    let mut fixture = live().corrects_drift();
    for (secret, sent) in [("rotated", 2), ("rotated again", 1), ("and again", 1)] {
        fixture = fixture.wants("1", secret);
        assert_eq!(redeploys(&mut fixture, "one"), sent, "{secret}: the difference is corrected the first time only");
    }
}

#[test]
fn rule_16_a_normalized_value_is_still_accepted_after_somebody_changed_it() {
    let mut fixture = left("one").corrects_drift();
    assert_eq!(redeploys(&mut fixture, "one"), 1, "once for the difference that shows at the end");
    fixture = fixture.sees(Deployed).at_version(20).shows("9");
    assert_eq!(redeploys(&mut fixture, "one"), 1, "once for the change by another client, not for what is accepted");
    fixture = fixture.sees(Deployed).at_version(30).shows("1");
    assert_eq!(redeploys(&mut fixture, "1"), 0, "the value that was sent is no drift, whatever showed before");
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
    let unavailable = |latest| idle(Outcome::VersionUnavailable { wanted: 2, latest, drifted: false });
    let mismatch = |wanted| idle(Outcome::VersionMismatch { wanted, running: 1, drifted: false });
    let edited = |wanted, latest| live().version(wanted, latest).generation(2).gathered();
    let followed = live().follows(Some(2)).with(|it| it.persisted.followed = Some(2));
    let rows = vec![
        ("the running version", edited(Some(1), Some(2)), SETTLED),
        ("no version", edited(None, Some(2)), SETTLED),
        ("the latest", edited(Some(2), Some(2)), SENT),
        ("not the latest", edited(Some(2), Some(3)), unavailable(Some(3))),
        ("the registry was not read", edited(Some(2), None), unavailable(None)),
        ("a lower version", edited(Some(0), Some(2)), mismatch(0)),
        ("it was sent, and another version runs", live().version(Some(2), Some(2)), mismatch(2)),
        ("follow a higher version", live().follows(Some(2)), SENT),
        ("follow the running version", live().follows(Some(1)), SETTLED),
        ("follow, and the registry was not read", live().follows(None), SETTLED),
        (
            "followed once, although another version runs",
            followed,
            idle(Outcome::NotMoved { latest: 2, running: 1, drifted: false }),
        ),
    ];
    for (input, fixture, _) in rows.iter().filter(|row| row.2 == SENT) {
        assert_eq!((fixture.sent(), fixture.decide().persisted.followed), (CallKind::Move, Some(2)), "{input}");
    }
    check(rows);
    let aged = |seconds, wanted, latest| redeploying().aged(seconds).version(Some(wanted), Some(latest));
    for (case, fixture, kind) in [
        ("sent again", aged(60, 2, 2), CallKind::Move),
        ("a value has changed", aged(120, 1, 2).wants("3", "secret"), CallKind::Redeploy),
        ("the version runs already", aged(120, 1, 1).wants("3", "secret"), CallKind::Redeploy),
    ] {
        assert_eq!(fixture.sent(), kind, "{case}");
    }
}

#[test]
fn a_rollback_stays_unless_drift_is_corrected() {
    let follows = |latest| rolled_back().follows(Some(latest));
    let pinned = |latest| follows(latest).with(|it| it.intent.version.follow = false);
    let older = follows(1).with(|it| it.applied().connector_version = Some(1));
    let rows = vec![
        ("it follows, and nothing new was published", follows(3), DRIFTED),
        ("it follows, and a newer version was published", follows(4), SENT),
        ("it is pinned", pinned(3), DRIFTED),
        ("it is pinned, and a newer version was published", pinned(4), DRIFTED),
        ("corrected", follows(3).corrects_drift(), SENT),
        ("corrected, although it does not follow", pinned(3).corrects_drift(), SENT),
        ("corrected, but a redeploy would move beyond the earlier version", pinned(4).corrects_drift(), DRIFTED),
        ("the last operation ended with the older version", older, SETTLED),
    ];
    for (input, fixture, _) in rows.iter().filter(|row| row.2 == SENT) {
        assert_eq!(fixture.sent(), CallKind::Move, "{input}");
    }
    check(rows);
}

#[test]
fn rule_15_another_version_than_the_pinned_one_is_reported_and_changes_are_sent() {
    let pinned = |wanted, latest| rolled_back().version(Some(wanted), Some(latest));
    let unavailable = |wanted| idle(Outcome::VersionUnavailable { wanted, latest: Some(4), drifted: true });
    let mismatch = |wanted, drifted| idle(Outcome::VersionMismatch { wanted, running: 1, drifted });
    let lower = pinned(0, 4).with(|it| it.applied().connector_version = Some(1));
    for (case, fixture, reported, sends) in [
        ("rolled back from the latest", pinned(3, 3), mismatch(3, true), SENT),
        ("rolled back, and a newer one was published", pinned(3, 4), unavailable(3), SENT),
        ("the same, and the spec has changed since", pinned(3, 4).generation(2), unavailable(3), SENT),
        ("the spec names a version to come", pinned(5, 4).generation(2), unavailable(5), unavailable(5)),
        ("a lower one", lower, mismatch(0, false), SENT),
    ] {
        assert_eq!(result(&fixture.decide()), reported, "{case}");
        for changed in [fixture.clone().wants("1", "other"), fixture.clone().requests("now")] {
            let changed = changed.gathered();
            assert_eq!(result(&changed.decide()), sends, "{case}");
            assert!(sends != SENT || changed.sent() == CallKind::Redeploy, "{case}");
        }
        // A failure is reported as such.
        let failed = fixture.sees(Failed).outcome();
        assert!(matches!(failed, Outcome::Settled { phase: Failed, .. }) || sends != SENT, "{case}: {failed:?}");
    }
}

#[test]
fn rule_15_the_first_redeploy_after_a_rollback_resumes_following() {
    let follows = || rolled_back().follows(Some(3));
    let followed = |fixture: Fixture| fixture.with(|it| it.persisted.followed = Some(3));
    let older = followed(follows()).with(|it| it.applied().connector_version = Some(1));
    let revision = follows().seeing(|seen| (seen.connector_version, seen.rollback) = (3, Some("revision".into())));
    for (case, fixture, kind) in [
        ("rolled back to an older version", follows(), CallKind::Move),
        ("rolled back from a version that was followed", followed(follows()), CallKind::Move),
        ("pinned", rolled_back().version(None, Some(3)), CallKind::Redeploy),
        ("not rolled back: the older version was the result of the last redeploy", older, CallKind::Redeploy),
        ("to an earlier revision of the latest version", revision, CallKind::Redeploy),
        ("the registry was not read", rolled_back().follows(None), CallKind::Redeploy),
    ] {
        assert_eq!(fixture.wants("2", "secret").gathered().sent(), kind, "{case}");
    }
}

#[test]
fn other_values_that_somebody_deployed_after_a_failure_do_not_make_it_settled() {
    let failed = || live().with(|it| it.applied().outcome = Failed);
    check(vec![
        ("the same values, deployed once more by another client", failed(), SETTLED),
        ("other values", failed().shows("9"), idle(Outcome::Settled { phase: Failed, drifted: true })),
    ]);
}

#[test]
fn a_rollback_that_shows_only_its_revision_leaves_secured_values_unverified() {
    let rolled_back = || live().seeing(|seen| seen.rollback = Some("revision-1".into()));
    // The record still names the revision after the redeploy.
    let corrected = || rolled_back().corrects_drift().with(|it| it.applied().rollback = Some("revision-1".into()));
    assert!(rolled_back().decide().persisted.unverified, "the secured values of the revision are in force");
    assert!(!corrected().decide().persisted.unverified);
    check(vec![
        ("rolled back", rolled_back(), DRIFTED),
        ("rolled back, and drift is corrected", rolled_back().corrects_drift(), SENT),
        ("corrected", corrected(), SETTLED),
    ]);
}
