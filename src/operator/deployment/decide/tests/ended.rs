//! How an accepted redeploy ends, rule 17, and a persisted undeploy while nothing is being deleted.

use super::build::{
    Does, Fixture, NOW, Row, SETTLED, Stored, ago, check, differing, moved, operation, visible, wanted,
};
use crate::operator::deployment::decide::Outcome;
use crate::operator::deployment::persisted::{OperationType, Phase};

const REDEPLOY: OperationType = OperationType::Redeploy;
const RUNS: (Does, Stored, Outcome) = (Does::Rest, Stored::Accepted, Outcome::Running(REDEPLOY));

#[test]
fn redeploy_accepted() {
    let rows: &[Row] = &[
        ("busy", |fixture| _ = fixture.accepted().sees(Phase::Deploying), RUNS),
        (
            "busy observed, nothing changed",
            |fixture| {
                fixture.accepted().operation().seen_busy = true;
            },
            RUNS,
        ),
        (
            "busy observed, another version",
            |fixture| {
                fixture.accepted().operation().seen_busy = true;
                moved(fixture, 10, "2");
            },
            SETTLED,
        ),
        (
            "busy observed, another build at the same version: ended, but rule 17 waits",
            |fixture| {
                fixture.accepted().operation().seen_busy = true;
                fixture.aged(10).sees(Phase::Deployed).values = visible(&[("A", "2")]);
                fixture.sees_build(Some("build-2"));
            },
            (Does::Rest, Stored::Nothing, Outcome::Running(REDEPLOY)),
        ),
        (
            "busy observed, and a read from before its start",
            |fixture| {
                fixture.accepted().operation().seen_busy = true;
                let observed = fixture.aged(10).sees(Phase::Deployed);
                (observed.version, observed.build) = (4, Some("build-0".into()));
            },
            RUNS,
        ),
        (
            "another version, busy not observed",
            |fixture| {
                fixture.accepted();
                moved(fixture, 10, "2");
            },
            RUNS,
        ),
        (
            "busy not observed, the same for 59 s",
            |fixture| {
                fixture.accepted();
                moved(fixture, 100, "2");
                fixture.rests(59);
            },
            RUNS,
        ),
        (
            "busy not observed, the same for 60 s",
            |fixture| {
                fixture.accepted();
                moved(fixture, 100, "2");
                fixture.rests(60);
            },
            SETTLED,
        ),
        (
            "the same, read since before the call",
            |fixture| {
                fixture.accepted();
                moved(fixture, 59, "2");
                fixture.rests(1000);
            },
            RUNS,
        ),
        (
            "another final status was read before",
            |fixture| {
                fixture.accepted();
                moved(fixture, 100, "2");
                fixture.rests(60).transient.resting.as_mut().expect("a final state was read").phase = Phase::Failed;
            },
            RUNS,
        ),
        (
            "a draft, although busy was observed",
            |fixture| {
                fixture.accepted().operation().seen_busy = true;
                moved(fixture, 10, "2");
                let observed = fixture.sees(Phase::Draft);
                observed.version = 6;
            },
            RUNS,
        ),
    ];
    check(Fixture::redeploying, rows);

    let mut fixture = Fixture::redeploying();
    fixture.accepted().rests(50);
    fixture.sees(Phase::Deploying);
    let decision = fixture.decide();
    assert!(decision.persisted.operation.expect("an operation runs").seen_busy);
    assert_eq!(decision.transient.resting, None, "a busy deployment ends the row of equal readings");
}

#[test]
fn a_redeploy_that_ended_keeps_the_version_before_it() {
    let mut fixture = Fixture::redeploying();
    fixture.accepted().operation().seen_busy = true;
    moved(&mut fixture, 10, "2");
    let decision = fixture.decide();
    let applied = decision.persisted.applied.expect("the operation has ended");
    assert_eq!((applied.from_version, applied.at), (Some(5), NOW));
    assert_eq!(applied.digest, Some(wanted("2", "secret").payload.digest));
    assert_eq!(decision.transient.resting, None);
}

#[test]
fn an_earlier_build_serves_after_a_failed_redeploy_but_not_after_a_failed_create() {
    for (case, fixture, served, phase, serves) in [
        ("a redeploy", Fixture::redeploying(), true, Phase::Deployed, true),
        ("a failed redeploy", Fixture::redeploying(), true, Phase::Failed, true),
        ("a failed redeploy after a failed one", Fixture::redeploying(), false, Phase::Failed, false),
        ("a redeploy after a failed one", Fixture::redeploying(), false, Phase::Deployed, true),
        ("a create", Fixture::creating(), false, Phase::Deployed, true),
        ("a failed create", Fixture::creating(), false, Phase::Failed, false),
    ] {
        let mut fixture = fixture;
        if let Some(applied) = &mut fixture.persisted.applied {
            applied.serves = served;
        }
        fixture.persisted.id = Some("id-1".into());
        fixture.accepted().aged(100).operation().seen_busy = true;
        fixture.sees(phase).version = 6;
        let applied = fixture.decide().persisted.applied.expect("the operation has ended");
        assert_eq!((applied.outcome, applied.serves), (phase, serves), "{case}");
    }
}

#[test]
fn what_was_accepted_counts_as_long_as_the_same_difference_shows() {
    let one = differing(&[("A", "1")], &[("A", "one")]);
    for (case, value, shows, accepted) in [
        ("the same value is sent, and shows as before", "1", "one", true),
        ("it shows as it was sent", "1", "1", false),
        ("another value is sent", "2", "one", false),
    ] {
        let mut fixture = Fixture::redeploying_to(wanted(value, "other"));
        fixture.applied().accepted.clone_from(&one);
        fixture.accepted().operation().seen_busy = true;
        moved(&mut fixture, 10, shows);
        let applied = fixture.decide().persisted.applied.expect("the operation has ended");
        assert_eq!(applied.accepted == one, accepted, "{case}");
        assert_eq!(applied.accepted.is_some(), accepted, "{case}");
    }
}

#[test]
fn rule_17_a_read_with_the_version_before_the_last_redeploy_is_stale() {
    let old = (Does::Rest, Stored::Nothing, Outcome::Running(REDEPLOY));
    let rows: &[Row] = &[
        (
            "89 s after it",
            |fixture| {
                fixture.applied().from_version = Some(5);
                fixture.applied().at = ago(89);
            },
            old,
        ),
        (
            "90 s after it",
            |fixture| {
                fixture.applied().from_version = Some(5);
                fixture.applied().at = ago(90);
            },
            SETTLED,
        ),
        (
            "an older version",
            |fixture| {
                fixture.applied().from_version = Some(6);
                fixture.applied().at = ago(89);
            },
            old,
        ),
        (
            "another version",
            |fixture| {
                fixture.applied().from_version = Some(4);
                fixture.applied().at = ago(10);
            },
            SETTLED,
        ),
    ];
    check(Fixture::live, rows);
}

#[test]
fn an_undeploy_without_a_deletion_is_given_up_after_the_quiet_period() {
    let rows: &[Row] = &[
        (
            "before the quiet period",
            |fixture| _ = fixture.aged(119),
            (Does::Rest, Stored::Planned, Outcome::Running(OperationType::Undeploy)),
        ),
        ("after the quiet period", |fixture| _ = fixture.aged(120), (Does::Rest, Stored::Nothing, Outcome::Changing)),
    ];
    check(
        || {
            let mut fixture = Fixture::live();
            fixture.persisted.operation = Some(operation(OperationType::Undeploy, None));
            fixture
        },
        rows,
    );
}
