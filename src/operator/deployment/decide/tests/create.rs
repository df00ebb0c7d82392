//! The rows *Create* of the table, and rules 1, 2 and 5.

use super::build::{
    ABSENT, Does, Fixture, NOW, Row, SETTLED, Stored, ago, check, observed, visible, wanted, without_secrets,
};
use crate::operator::deployment::decide::{CallKind, Outcome, Step, Version};
use crate::operator::deployment::persisted::{Observation, OperationState, OperationType, Phase};

const CREATE: OperationType = OperationType::Create;
const WAITS: (Does, Stored, Outcome) = (Does::Rest, Stored::Planned, Outcome::Running(CREATE));
const AGAIN: (Does, Stored, Outcome) = (Does::SendAgain(CREATE), Stored::Planned, Outcome::Running(CREATE));
const RUNS: (Does, Stored, Outcome) = (Does::Rest, Stored::Accepted, Outcome::Running(CREATE));
const TAKEN: (Does, Stored, Outcome) = (Does::Rest, Stored::Nothing, Outcome::KeyTaken);

#[test]
fn rule_1_a_create_is_persisted_first_and_sent_once() {
    check(
        Fixture::new,
        &[
            ("the key is free", |_| {}, (Does::Send(CREATE), Stored::Planned, Outcome::Running(CREATE))),
            (
                "the values are unknown",
                |fixture| fixture.wanted = None,
                (Does::Rest, Stored::Nothing, Outcome::ValuesUnknown),
            ),
        ],
    );
    let operation = Fixture::new().decide().persisted.operation.expect("the operation is persisted first");
    assert_eq!((operation.attempt, operation.payload), (1, Some(wanted("1", "secret").payload)));
}

#[test]
fn create_planned_and_absent() {
    let rows: &[Row] = &[
        ("before 2 L", |fixture| _ = fixture.aged(59), WAITS),
        ("after 2 L", |fixture| _ = fixture.aged(60), AGAIN),
        (
            "changed, before the quiet period",
            |fixture| {
                fixture.aged(119);
                fixture.wanted = Some(wanted("1", "other"));
            },
            WAITS,
        ),
        (
            "changed, after the quiet period",
            |fixture| {
                fixture.aged(120);
                fixture.wanted = Some(wanted("1", "other"));
            },
            AGAIN,
        ),
        (
            "values unknown",
            |fixture| {
                fixture.aged(500);
                fixture.wanted = None;
            },
            WAITS,
        ),
        (
            "a read of the id that was taken for gone, as long as it may be stale",
            |fixture| {
                fixture.aged(89).sees(Phase::Deployed);
                fixture.persisted.id = Some("id-1".into());
            },
            WAITS,
        ),
        (
            "a read of the id that was taken for gone, later: it is there",
            |fixture| {
                fixture.aged(90).sees(Phase::Deployed);
                fixture.persisted.id = Some("id-1".into());
            },
            (Does::Rest, Stored::Nothing, Outcome::Changing),
        ),
        (
            "the fifth time, before its pause",
            |fixture| {
                fixture.aged(95).operation().attempt = 5;
            },
            WAITS,
        ),
        (
            "the fifth time, after its pause",
            |fixture| {
                fixture.aged(96).operation().attempt = 5;
            },
            AGAIN,
        ),
        (
            "the hundredth time, before the longest pause",
            |fixture| {
                fixture.aged(299).operation().attempt = 100;
            },
            WAITS,
        ),
        (
            "the hundredth time, after the longest pause",
            |fixture| {
                fixture.aged(300).operation().attempt = 100;
            },
            AGAIN,
        ),
    ];
    check(Fixture::creating, rows);
}

#[test]
fn a_repeated_create_sends_the_current_values_and_keeps_the_id_that_is_gone() {
    let mut fixture = Fixture::creating();
    fixture.aged(120).wanted = Some(wanted("2", "secret"));
    fixture.intent.generation = 2;
    fixture.persisted.id = Some("old".into());
    let decision = fixture.decide();
    let Step::Send(call) = decision.step else { panic!("the call is sent again") };
    assert_eq!(call.kind, CallKind::Create);
    let operation = decision.persisted.operation.expect("the operation is persisted again");
    assert_eq!((operation.attempt, operation.generation), (2, 2));
    assert_eq!(operation.payload, Some(wanted("2", "secret").payload));
}

#[test]
fn rule_2_a_deployment_that_fits_a_create_whose_response_was_lost_belongs_to_the_resource() {
    let rows: &[Row] = &[
        ("fits", |fixture| _ = fixture.sees(Phase::Queued), RUNS),
        (
            "fits, and the old id is known",
            |fixture| {
                fixture.persisted.id = Some("old".into());
                fixture.sees(Phase::Queued);
            },
            RUNS,
        ),
        (
            "other values, before the quiet period",
            |fixture| fixture.aged(119).sees(Phase::Deployed).values = visible(&[("A", "2")]),
            WAITS,
        ),
        (
            "other values, after the quiet period",
            |fixture| fixture.aged(120).sees(Phase::Deployed).values = visible(&[("A", "2")]),
            TAKEN,
        ),
        ("other region", |fixture| fixture.aged(120).sees(Phase::Deployed).region = "other".into(), TAKEN),
        ("other type", |fixture| fixture.aged(120).sees(Phase::Deployed).kind = "other".into(), TAKEN),
        (
            "other connector",
            |fixture| {
                fixture.aged(120).sees(Phase::Deployed).connector_key = Some("other".into());
            },
            TAKEN,
        ),
        ("a record without the connector's key", |fixture| fixture.sees(Phase::Deployed).connector_key = None, RUNS),
        (
            "fits what was sent, not what is desired now",
            |fixture| {
                fixture.sees(Phase::Queued);
                fixture.wanted = Some(wanted("2", "secret"));
            },
            RUNS,
        ),
    ];
    check(Fixture::creating, rows);

    let mut fixture = Fixture::creating();
    fixture.sees(Phase::Queued);
    let decision = fixture.decide();
    assert_eq!(decision.persisted.id.as_deref(), Some("id-1"));
    assert!(decision.persisted.unverified, "it is not known which secured values arrived");
    assert!(decision.persisted.operation.expect("an operation runs").seen_busy);
    without_secrets(&mut fixture);
    assert!(!fixture.decide().persisted.unverified, "there are no secured values");
}

#[test]
fn create_accepted() {
    fn accepted() -> Fixture {
        let mut fixture = Fixture::creating();
        fixture.accepted().persisted.id = Some("id-1".into());
        fixture
    }
    let failed = Outcome::Settled { phase: Phase::Failed, drifted: false };
    let rows: &[Row] = &[
        ("busy", |fixture| _ = fixture.sees(Phase::Deploying), RUNS),
        ("an unknown status", |fixture| _ = fixture.sees(Phase::Other), RUNS),
        ("deployed", |fixture| _ = fixture.sees(Phase::Deployed), SETTLED),
        ("failed", |fixture| _ = fixture.sees(Phase::Failed), (Does::Rest, Stored::Nothing, failed)),
        (
            "a draft may come before the first build",
            |fixture| {
                fixture.aged(90).sees(Phase::Draft);
                fixture.rests(59);
            },
            RUNS,
        ),
        (
            "a draft that stays",
            |fixture| {
                fixture.aged(90).sees(Phase::Draft);
                fixture.rests(60);
            },
            (Does::Rest, Stored::Nothing, Outcome::Settled { phase: Phase::Draft, drifted: false }),
        ),
        (
            "suspended meanwhile, and observed to its end anyway",
            |fixture| {
                fixture.intent.suspended = true;
                fixture.sees(Phase::Deployed);
            },
            SETTLED,
        ),
        (
            "rule 18: half an hour",
            |fixture| _ = fixture.aged(1800).sees(Phase::Deploying),
            (Does::Rest, Stored::Accepted, Outcome::TakesTooLong),
        ),
        ("rule 18: nearly half an hour", |fixture| _ = fixture.aged(1799).sees(Phase::Deploying), RUNS),
    ];
    check(accepted, rows);

    let mut fixture = accepted();
    fixture.operation().redeploy_request = Some("now".into());
    fixture.sees(Phase::Deployed);
    let decision = fixture.decide();
    let applied = decision.persisted.applied.expect("the operation has ended");
    assert_eq!((applied.generation, applied.outcome, applied.at), (1, Phase::Deployed, NOW));
    assert_eq!(applied.digest, Some(wanted("1", "secret").payload.digest));
    assert_eq!(applied.names, Some(wanted("1", "secret").payload.names));
    assert!(applied.differs.is_none() && applied.retained.is_empty());
    assert_eq!(decision.persisted.handled_redeploy.as_deref(), Some("now"));
}

#[test]
fn rule_5_gone_is_two_404_half_a_minute_apart_after_the_quiet_period() {
    fn accepted() -> Fixture {
        let mut fixture = Fixture::creating();
        fixture.accepted().persisted.id = Some("id-1".into());
        fixture
    }
    let missing = (Does::Rest, Stored::Accepted, Outcome::Missing);
    let gone = (Does::Rest, Stored::Nothing, Outcome::Disappeared);
    for (name, age, absent_since, expected) in [
        ("before the quiet period", 119, Some(ago(100)), missing),
        ("the first one", 200, None, missing),
        ("too soon after the first", 200, Some(ago(29)), missing),
        ("the second one", 200, Some(ago(30)), gone),
    ] {
        for planned in [false, true] {
            let mut fixture = if planned { Fixture::redeploying() } else { accepted() };
            fixture.observation = ABSENT;
            fixture.aged(age).transient.absent_since = absent_since;
            let decision = fixture.decide();
            let stored = match (planned, expected.1) {
                (true, Stored::Accepted) => Stored::Planned,
                (_, stored) => stored,
            };
            let found = (super::build::does(&decision), super::build::stored(&decision.persisted), decision.outcome);
            assert_eq!(found, (expected.0, stored, expected.2), "{name}, planned: {planned}");
            let counted = if age < 120 { None } else { absent_since.or(Some(NOW)) };
            assert_eq!(decision.transient.absent_since, counted, "{name}, planned: {planned}");
        }
    }
    let mut fixture = accepted();
    fixture.transient.absent_since = Some(ago(60));
    fixture.sees(Phase::Deploying);
    assert_eq!(fixture.decide().transient.absent_since, None, "an observation of the deployment ends the row of 404");
}

#[test]
fn rule_3_once_the_id_is_known_another_deployment_under_the_key_does_not_belong_to_the_resource() {
    let mut fixture = Fixture::live();
    let mut stranger = observed(Phase::Deployed);
    stranger.id = "stranger".into();
    fixture.observation = Observation::Present(stranger);
    fixture.transient.absent_since = Some(ago(30));
    fixture.wanted = Some(wanted("2", "secret"));
    let decision = fixture.decide();
    assert_eq!((decision.step, decision.outcome), (Step::NoOp, Outcome::KeyTaken));

    let mut fixture = Fixture::creating();
    fixture.operation().state = OperationState::Accepted;
    fixture.persisted.id = Some("ours".into());
    fixture.sees(Phase::Deployed);
    assert_eq!(fixture.decide().outcome, Outcome::Missing);
}

#[test]
fn rule_5_a_deployment_that_is_gone_is_created_again_only_if_drift_is_corrected() {
    let gone = (Does::Rest, Stored::Nothing, Outcome::Disappeared);
    let missing = (Does::Rest, Stored::Nothing, Outcome::Missing);
    let rows: &[Row] = &[
        ("the first 404", |fixture| fixture.observation = ABSENT, missing),
        (
            "the second",
            |fixture| {
                fixture.observation = ABSENT;
                fixture.transient.absent_since = Some(ago(30));
            },
            gone,
        ),
        (
            "a write 89 s ago",
            |fixture| {
                fixture.observation = ABSENT;
                fixture.transient.absent_since = Some(ago(30));
                fixture.applied().at = ago(89);
            },
            missing,
        ),
        (
            "a write 90 s ago",
            |fixture| {
                fixture.observation = ABSENT;
                fixture.transient.absent_since = Some(ago(30));
                fixture.applied().at = ago(90);
            },
            gone,
        ),
        (
            "another deployment has the key",
            |fixture| {
                fixture.observation = Observation::Absent { key_held_by: Some("stranger".into()) };
                fixture.transient.absent_since = Some(ago(30));
                fixture.intent.correct_drift = true;
            },
            TAKEN,
        ),
        (
            "drift is corrected",
            |fixture| {
                fixture.observation = ABSENT;
                fixture.transient.absent_since = Some(ago(30));
                fixture.intent.correct_drift = true;
            },
            (Does::Send(CREATE), Stored::Planned, Outcome::Running(CREATE)),
        ),
    ];
    check(Fixture::live, rows);

    let mut fixture = Fixture::live();
    fixture.observation = ABSENT;
    fixture.transient.absent_since = Some(ago(30));
    assert_eq!(fixture.decide().transient.absent_since, Some(ago(30)), "the proof stays valid");
    fixture.intent.correct_drift = true;
    let Step::Send(call) = fixture.decide().step else { panic!("the deployment is created again") };
    assert_eq!(call.kind, CallKind::Create);
}

#[test]
fn rule_15_a_create_deploys_the_latest_version_and_no_other() {
    let unavailable = Outcome::VersionUnavailable { wanted: 2, latest: Some(3), drifted: false };
    let version = |wanted, latest| Version { wanted, latest, follow: false };
    for (input, version, expected) in [
        ("another one is the latest", version(Some(2), Some(3)), unavailable),
        ("the requested version is the latest", version(Some(2), Some(2)), Outcome::Running(CREATE)),
        ("no version is requested", version(None, Some(3)), Outcome::Running(CREATE)),
        ("the latest version is not known", version(Some(2), None), Outcome::Running(CREATE)),
    ] {
        let mut fixture = Fixture::new();
        fixture.intent.version = version;
        assert_eq!(fixture.decide().outcome, expected, "{input}");
    }
}
