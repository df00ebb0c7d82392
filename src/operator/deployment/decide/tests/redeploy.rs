//! The rows *Redeploy* of the table.

use super::build::{ABSENT, Does, Fixture, Row, SETTLED, Stored, check, does, moved, visible, wanted, without_secrets};
use crate::operator::deployment::decide::{CallKind, Outcome, Step};
use crate::operator::deployment::persisted::{Observation, OperationState, OperationType, Phase};

const REDEPLOY: OperationType = OperationType::Redeploy;
const WAITS: (Does, Stored, Outcome) = (Does::Rest, Stored::Planned, Outcome::Running(REDEPLOY));
const AGAIN: (Does, Stored, Outcome) = (Does::SendAgain(REDEPLOY), Stored::Planned, Outcome::Running(REDEPLOY));
const ANEW: (Does, Stored, Outcome) = (Does::Send(REDEPLOY), Stored::Planned, Outcome::Running(REDEPLOY));
const RUNS: (Does, Stored, Outcome) = (Does::Rest, Stored::Accepted, Outcome::Running(REDEPLOY));

#[test]
fn redeploy_planned_at_the_same_version() {
    let rows: &[Row] = &[
        ("before its pause", |fixture| _ = fixture.aged(9), WAITS),
        ("after its pause", |fixture| _ = fixture.aged(10), AGAIN),
        ("the third time, before its pause", |fixture| fixture.aged(23).operation().attempt = 3, WAITS),
        ("the third time, after its pause", |fixture| fixture.aged(24).operation().attempt = 3, AGAIN),
        (
            "values unknown",
            |fixture| {
                fixture.aged(500);
                fixture.wanted = None;
            },
            WAITS,
        ),
        (
            "changed, before the quiet period",
            |fixture| {
                fixture.aged(119);
                fixture.wanted = Some(wanted("3", "secret"));
            },
            WAITS,
        ),
        (
            "changed, after the quiet period",
            |fixture| {
                fixture.aged(120);
                fixture.wanted = Some(wanted("3", "secret"));
            },
            ANEW,
        ),
    ];
    check(Fixture::redeploying, rows);
}

/// The redeploy was begun to move to another version of the connector, and changes no value.
#[test]
fn a_planned_move_without_a_version_to_move_to_is_never_sent() {
    fn moving() -> Fixture {
        let mut fixture = Fixture::redeploying();
        let applied = wanted("1", "secret");
        fixture.operation().payload = Some(applied.payload.clone());
        fixture.wanted = Some(applied);
        fixture
    }
    fn follows(fixture: &mut Fixture, latest: i64) {
        (fixture.intent.version.follow, fixture.intent.version.latest) = (true, Some(latest));
    }
    let rows: &[Row] = &[
        ("it may still arrive", |fixture| _ = fixture.aged(119), WAITS),
        ("after the quiet period", |fixture| _ = fixture.aged(120), SETTLED),
        (
            "a later version exists",
            |fixture| {
                fixture.aged(10);
                follows(fixture, 9);
            },
            AGAIN,
        ),
        (
            "the redeploy serves a request",
            |fixture| {
                fixture.aged(10).operation().redeploy_request = Some("now".into());
                fixture.intent.redeploy_request = Some("now".into());
            },
            AGAIN,
        ),
        ("a value differs", |fixture| fixture.aged(10).sees(Phase::Deployed).values = visible(&[("A", "3")]), AGAIN),
    ];
    check(moving, rows);
}

/// The status was edited: nothing is known of a deployment, and none exists.
#[test]
fn an_operation_without_a_deployment_is_given_up() {
    let create = OperationType::Create;
    for kind in [REDEPLOY, OperationType::Recreate] {
        for state in [OperationState::Planned, OperationState::Accepted] {
            let mut fixture = Fixture { observation: ABSENT, ..Fixture::redeploying() };
            fixture.persisted.id = None;
            (fixture.operation().kind, fixture.operation().state) = (kind, state);
            let decision = fixture.decide();
            assert_eq!((does(&decision), decision.outcome), (Does::Send(create), Outcome::Running(create)), "{kind:?}");
        }
    }
}

#[test]
fn a_repeated_redeploy_keeps_its_starting_version_and_a_new_one_does_not() {
    let mut fixture = Fixture::redeploying();
    fixture.aged(60).operation().seen_busy = true;
    let decision = fixture.decide();
    let Step::Send(call) = &decision.step else { panic!("the call is sent again") };
    assert_eq!(call.kind, CallKind::Redeploy);
    let again = decision.persisted.operation.expect("the operation is persisted again");
    assert_eq!((again.attempt, again.seen_busy, again.from_version), (2, false, Some(5)));
    assert!(decision.persisted.applied.expect("the applied state is kept").digest.is_some());

    fixture.aged(120).wanted = Some(wanted("3", "secret"));
    fixture.intent.redeploy_request = Some("now".into());
    let decision = fixture.decide();
    let re_evaluate = decision.persisted.operation.expect("the operation is persisted");
    assert_eq!(
        (re_evaluate.attempt, re_evaluate.seen_busy, re_evaluate.redeploy_request.as_deref()),
        (1, false, Some("now"))
    );
    assert_eq!(re_evaluate.payload, Some(wanted("3", "secret").payload));
    assert!(re_evaluate.changes_visible);
    assert_eq!(
        decision.persisted.applied.expect("the applied state is kept").digest,
        None,
        "the first call may have been sent"
    );
}

#[test]
fn redeploy_planned_and_busy() {
    let rows: &[Row] = &[
        (
            "changes visible values, and they fit",
            |fixture| {
                fixture.sees(Phase::Deploying).values = visible(&[("A", "2")]);
            },
            RUNS,
        ),
        ("the change does not show", |fixture| _ = fixture.sees(Phase::Deploying), WAITS),
    ];
    check(Fixture::redeploying, rows);
    check(Fixture::rotating, &[("proves nothing", |fixture| _ = fixture.sees(Phase::Deploying), WAITS)]);

    for (name, fixture, age, noted) in [
        ("proves nothing", Fixture::rotating(), 119, true),
        ("proves nothing, too late", Fixture::rotating(), 120, false),
        ("other values", Fixture::redeploying(), 119, true),
        ("other values, too late", Fixture::redeploying(), 120, false),
    ] {
        let mut fixture = fixture;
        fixture.aged(age).sees(Phase::Queued);
        assert_eq!(fixture.decide().persisted.operation.expect("the operation stays").seen_busy, noted, "{name}");
    }
    let mut fixture = Fixture::redeploying();
    fixture.persisted.unverified = true;
    fixture.sees(Phase::Deploying).values = visible(&[("A", "2")]);
    let persisted = fixture.decide().persisted;
    assert!(persisted.operation.expect("an operation runs").seen_busy);
    assert!(!persisted.unverified, "the secured values arrived with the visible ones");
}

#[test]
fn redeploy_planned_at_another_version_and_the_visible_values_prove_it() {
    let rows: &[Row] = &[
        ("before 60 s", |fixture| moved(fixture, 59, "2"), WAITS),
        ("after 60 s", |fixture| moved(fixture, 60, "2"), RUNS),
        ("hours later", |fixture| moved(fixture, 86_000, "2"), RUNS),
    ];
    check(Fixture::redeploying, rows);
}

#[test]
fn redeploy_planned_at_another_version_and_the_visible_values_prove_nothing() {
    let rows: &[Row] = &[
        (
            "before 60 s, busy was observed",
            |fixture| {
                moved(fixture, 59, "1");
                fixture.operation().seen_busy = true;
            },
            WAITS,
        ),
        (
            "busy was observed",
            |fixture| {
                moved(fixture, 60, "1");
                fixture.operation().seen_busy = true;
            },
            RUNS,
        ),
        (
            "busy was observed, hours later",
            |fixture| {
                moved(fixture, 86_000, "1");
                fixture.operation().seen_busy = true;
            },
            RUNS,
        ),
        (
            "another build within 2 minutes",
            |fixture| {
                moved(fixture, 119, "1");
                fixture.sees_build(Some("build-2"));
            },
            RUNS,
        ),
        (
            "another build after 2 minutes",
            |fixture| {
                moved(fixture, 120, "1");
                fixture.sees_build(Some("build-2"));
            },
            AGAIN,
        ),
        (
            "a missing build is not another build",
            |fixture| {
                moved(fixture, 119, "1");
                fixture.sees_build(None);
            },
            WAITS,
        ),
        ("no other evidence, before the quiet period", |fixture| moved(fixture, 119, "1"), WAITS),
        ("no other evidence, after the quiet period", |fixture| moved(fixture, 120, "1"), AGAIN),
        (
            "no other evidence, after the quiet period, values unknown",
            |fixture| {
                moved(fixture, 120, "1");
                fixture.wanted = None;
            },
            WAITS,
        ),
    ];
    check(Fixture::rotating, rows);

    let mut fixture = Fixture::rotating();
    moved(&mut fixture, 120, "1");
    let decision = fixture.decide();
    let Step::Send(call) = &decision.step else { panic!("the call is sent again") };
    assert_eq!(call.kind, CallKind::Redeploy);
    let operation = decision.persisted.operation.expect("the operation is persisted");
    assert_eq!((operation.from_version, operation.changes_visible), (Some(6), false));
    assert_eq!(decision.persisted.applied.expect("the applied state is kept").digest, None);
}

#[test]
fn a_lost_response_to_a_change_of_secured_values_leaves_them_unverified() {
    for (name, secured, unverified) in [("there are some", true, true), ("there are none", false, false)] {
        let mut fixture = Fixture::rotating();
        moved(&mut fixture, 60, "1");
        fixture.operation().seen_busy = true;
        if !secured {
            without_secrets(&mut fixture);
        }
        assert_eq!(fixture.decide().persisted.unverified, unverified, "{name}");
    }
    let mut fixture = Fixture::redeploying();
    moved(&mut fixture, 60, "2");
    assert!(!fixture.decide().persisted.unverified, "the visible values prove it");
}

#[test]
fn redeploy_planned_at_another_version_with_other_values() {
    let rows: &[Row] = &[
        ("before the quiet period", |fixture| moved(fixture, 119, "3"), WAITS),
        (
            "after the quiet period",
            |fixture| moved(fixture, 120, "3"),
            (Does::Rest, Stored::Nothing, Outcome::Changing),
        ),
    ];
    check(Fixture::redeploying, rows);
    let mut fixture = Fixture::redeploying();
    moved(&mut fixture, 120, "3");
    assert_eq!(
        fixture.decide().persisted.applied.expect("the applied state is kept").digest,
        None,
        "given up, although it may have been sent"
    );
}

#[test]
fn a_change_of_ignored_values_only_proves_nothing() {
    let rows: &[Row] = &[
        (
            "only ignored values change",
            |fixture| {
                fixture.operation().changes_visible = false;
                moved(fixture, 60, "2");
            },
            WAITS,
        ),
        ("it changes values that count", |fixture| moved(fixture, 60, "2"), RUNS),
        (
            "visible values that were not sent prove nothing",
            |fixture| {
                moved(fixture, 60, "2");
                let Observation::Present(observed) = &mut fixture.observation else { panic!("the deployment exists") };
                observed.values = visible(&[("A", "2"), ("B", "9")]);
            },
            RUNS,
        ),
    ];
    check(Fixture::redeploying, rows);
}

#[test]
fn a_redeploy_whose_end_is_observed_first_is_read_for_another_minute() {
    let mut fixture = Fixture::rotating();
    moved(&mut fixture, 90, "1");
    fixture.operation().seen_busy = true;
    let idle = fixture.decide();
    assert!(idle.transient.resting.is_some(), "{idle:?}");
    let mut fixture = Fixture::redeploying();
    moved(&mut fixture, 90, "2");
    let Observation::Present(observed) = &mut fixture.observation else { panic!("the deployment exists") };
    observed.phase = Phase::Deploying;
    let busy = fixture.decide();
    assert_eq!(busy.persisted.operation.as_ref().map(|operation| operation.state), Some(OperationState::Accepted));
    assert_eq!(busy.transient.resting, None);
}
