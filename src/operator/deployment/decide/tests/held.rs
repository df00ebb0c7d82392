//! What delays a call that is due: a refusal, a pause, and rule 20.

use std::time::Duration;

use clock::later;

use super::build::{ABSENT, Does, Fixture, NOW, Row, SETTLED, Stored, cause, check, does, gathered, wanted};
use crate::operator::deployment::decide::{Cause, Outcome, Pause, Refused, TransientState};
use crate::operator::deployment::persisted::{DeletionPolicy, Observation, OperationType, Phase};

const REDEPLOY: OperationType = OperationType::Redeploy;
const GATHERS: (Does, Stored, Outcome) = (Does::Rest, Stored::Nothing, Outcome::Changing);
const SENT: (Does, Stored, Outcome) = (Does::Send(REDEPLOY), Stored::Planned, Outcome::Running(REDEPLOY));

fn refused(fixture: &mut Fixture, seconds_left: u64) {
    let until = later(NOW, Duration::from_secs(seconds_left));
    fixture.transient.refused = Some(Refused { cause: cause(fixture), until, times: 1 });
}

#[test]
fn a_refusal_is_not_repeated_before_its_time_unless_its_cause_changes() {
    let live: &[Row] = &[
        ("before its time", |fixture| refused(fixture, 1), (Does::Rest, Stored::Nothing, Outcome::Refused)),
        ("after its time", |fixture| refused(fixture, 0), SENT),
        (
            "another value",
            |fixture| {
                refused(fixture, 600);
                fixture.wanted = Some(wanted("3", "secret"));
                gathered(fixture);
            },
            SENT,
        ),
        (
            "another generation",
            |fixture| {
                refused(fixture, 600);
                fixture.intent.generation = 2;
                gathered(fixture);
            },
            SENT,
        ),
        (
            "another request",
            |fixture| {
                refused(fixture, 600);
                fixture.intent.redeploy_request = Some("now".into());
                gathered(fixture);
            },
            SENT,
        ),
        (
            "a newer version of the connector",
            |fixture| {
                fixture.intent.version.latest = Some(1);
                refused(fixture, 600);
                fixture.intent.version.latest = Some(2);
                gathered(fixture);
            },
            SENT,
        ),
        (
            "a registry that cannot be read any more",
            |fixture| {
                fixture.intent.version.latest = Some(1);
                refused(fixture, 600);
                fixture.intent.version.latest = None;
                gathered(fixture);
            },
            (Does::Rest, Stored::Nothing, Outcome::Refused),
        ),
        (
            "a pause",
            |fixture| {
                fixture.transient.pause = Some(Pause { until: later(NOW, Duration::from_secs(1)), times: 1 });
            },
            GATHERS,
        ),
        ("a pause that is over", |fixture| fixture.transient.pause = Some(Pause { until: NOW, times: 1 }), SENT),
    ];
    check(
        || {
            let mut fixture = Fixture::live();
            fixture.wanted = Some(wanted("2", "secret"));
            gathered(&mut fixture);
            fixture
        },
        live,
    );
}

#[test]
fn a_refusal_delays_creates_and_repeated_calls_too() {
    let again: (Does, Stored, Outcome) = (Does::SendAgain(REDEPLOY), Stored::Planned, Outcome::Running(REDEPLOY));
    let create = OperationType::Create;
    check(
        Fixture::new,
        &[
            (
                "a create, before its time",
                |fixture| refused(fixture, 1),
                (Does::Rest, Stored::Nothing, Outcome::Refused),
            ),
            (
                "a create, after its time",
                |fixture| refused(fixture, 0),
                (Does::Send(create), Stored::Planned, Outcome::Running(create)),
            ),
        ],
    );
    check(
        Fixture::creating,
        &[(
            "a repeated create",
            |fixture| {
                refused(fixture, 1);
                fixture.aged(600);
            },
            (Does::Rest, Stored::Planned, Outcome::Refused),
        )],
    );
    check(
        Fixture::redeploying,
        &[
            (
                "a repeated redeploy",
                |fixture| {
                    refused(fixture, 1);
                    fixture.aged(600);
                },
                (Does::Rest, Stored::Planned, Outcome::Refused),
            ),
            (
                "a repeated redeploy, after its time",
                |fixture| {
                    refused(fixture, 0);
                    fixture.aged(600);
                },
                again,
            ),
        ],
    );
    check(
        Fixture::rotating,
        &[(
            "a redeploy from another version",
            |fixture| {
                refused(fixture, 1);
                fixture.aged(600).sees(Phase::Deployed).version = 6;
            },
            (Does::Rest, Stored::Planned, Outcome::Refused),
        )],
    );
}

#[test]
fn a_refused_undeploy_does_not_delay_a_redeploy_and_the_other_way_round() {
    let mut live = Fixture::live();
    live.wanted = Some(wanted("2", "secret"));
    gathered(&mut live);
    refused(&mut live, 600);
    let mut deleted = Fixture { transient: live.transient.clone(), ..live.clone() };
    deleted.intent.deletion = Some(DeletionPolicy::Delete);
    assert_eq!(does(&deleted.decide()), Does::Send(OperationType::Undeploy));
    let undeploy = Cause { digest: None, latest: None, ..cause(&live) };
    live.transient.refused.as_mut().expect("a refusal").cause = undeploy;
    assert_eq!(does(&live.decide()), Does::Send(REDEPLOY));
    deleted.transient.refused = live.transient.refused;
    assert_eq!(deleted.decide().outcome, Outcome::Refused, "what was refused is the undeploy");
}

#[test]
fn a_refusal_is_re_evaluated_after_its_time_and_forgotten_when_settled() {
    let mut fixture = Fixture::live();
    fixture.wanted = Some(wanted("2", "secret"));
    refused(&mut fixture, 600);
    assert_eq!(fixture.decide().again, Some(Duration::from_mins(10)));
    fixture.wanted = Some(wanted("1", "secret"));
    assert_eq!(fixture.decide().transient, TransientState::default(), "settled: forgotten");
}

#[test]
fn rule_20_a_suspended_resource_is_observed_and_sends_nothing() {
    let held = |stored| (Does::Rest, stored, Outcome::HeldBySuspend);
    for (fixture, expected) in [
        (Fixture::new(), held(Stored::Nothing)),
        (Fixture::live(), SETTLED),
        (Fixture::creating(), held(Stored::Planned)),
        (Fixture::redeploying(), held(Stored::Planned)),
        (Fixture::rotating(), held(Stored::Planned)),
    ] {
        let mut fixture = fixture;
        fixture.intent.suspended = true;
        if fixture.persisted.operation.is_some() {
            fixture.aged(600);
        }
        let decision = fixture.decide();
        assert_eq!((does(&decision), super::build::stored(&decision.persisted), decision.outcome), expected);
        assert_eq!(decision.persisted, fixture.persisted, "nothing is written");
    }
    let mut fixture = Fixture::redeploying();
    fixture.intent.suspended = true;
    fixture.sees(Phase::Deploying).values = super::build::visible(&[("A", "2")]);
    assert_eq!(
        super::build::stored(&fixture.decide().persisted),
        Stored::Accepted,
        "an operation that was begun is observed to its end"
    );
}

#[test]
fn rule_20_an_only_observed_deployment_is_reported_and_nothing_else() {
    let condition = |outcome| (Does::Rest, Stored::Nothing, outcome);
    let rows: &[Row] = &[
        ("deployed", |_| {}, condition(Outcome::Observed(Phase::Deployed))),
        ("failed", |fixture| _ = fixture.sees(Phase::Failed), condition(Outcome::Observed(Phase::Failed))),
        ("busy", |fixture| _ = fixture.sees(Phase::Deploying), condition(Outcome::Observed(Phase::Deploying))),
        ("absent", |fixture| fixture.observation = ABSENT, condition(Outcome::NothingToObserve)),
        (
            "replaced by another client",
            |fixture| fixture.observation = Observation::Absent { key_held_by: Some("another".into()) },
            condition(Outcome::KeyTaken),
        ),
        (
            "other values, a request, and never applied",
            |fixture| {
                fixture.persisted = super::build::Fixture::new().persisted;
                fixture.wanted = Some(wanted("2", "secret"));
                fixture.intent.redeploy_request = Some("now".into());
            },
            condition(Outcome::Observed(Phase::Deployed)),
        ),
    ];
    check(
        || {
            let mut fixture = Fixture::live();
            fixture.intent.observe_only = true;
            fixture
        },
        rows,
    );
}

#[test]
fn rule_20_an_only_observed_deployment_is_polled_often_while_it_is_busy() {
    let mut fixture = Fixture::live();
    fixture.intent.observe_only = true;
    fixture.sees(Phase::Deploying);
    let busy = fixture.decide();
    assert!(busy.again.is_some() && busy.transient.busy_since.is_some(), "{busy:?}");
    fixture.transient = busy.transient;
    fixture.sees(Phase::Deployed);
    let over = fixture.decide();
    assert_eq!((over.again, over.transient.busy_since), (None, None));
}
