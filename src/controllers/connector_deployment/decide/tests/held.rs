//! What delays a call that is due: a refusal, a pause, and rule 20.

use std::time::Duration;

use clock::later;

use super::build::{ABSENT, Does, Fixture, NOW, Row, SETTLED, Stored, cause, check, does, gathered, wanted};
use crate::controllers::connector_deployment::decide::{Deletion, Outcome, Pause, Refused, TransientState};
use crate::controllers::connector_deployment::persisted::{Observation, OperationKind, Phase};

const REDEPLOY: OperationKind = OperationKind::Redeploy;
const GATHERS: (Does, Stored, Outcome) = (Does::Rest, Stored::Nothing, Outcome::Changing);
const SENT: (Does, Stored, Outcome) = (Does::Send(REDEPLOY), Stored::Planned, Outcome::Running(REDEPLOY));

fn refused(scene: &mut Fixture, seconds_left: u64) {
    let until = later(NOW, Duration::from_secs(seconds_left));
    scene.transient.refused = Some(Refused { cause: Some(cause(scene)), until, times: 1 });
}

#[test]
fn a_refusal_is_not_repeated_before_its_time_unless_its_cause_changes() {
    let live: &[Row] = &[
        ("before its time", |scene| refused(scene, 1), (Does::Rest, Stored::Nothing, Outcome::Refused)),
        ("after its time", |scene| refused(scene, 0), SENT),
        (
            "another value",
            |scene| {
                refused(scene, 600);
                scene.wanted = Some(wanted("3", "secret"));
                gathered(scene);
            },
            SENT,
        ),
        (
            "another generation",
            |scene| {
                refused(scene, 600);
                scene.intent.generation = 2;
                gathered(scene);
            },
            SENT,
        ),
        (
            "another request",
            |scene| {
                refused(scene, 600);
                scene.intent.redeploy_request = Some("now".into());
                gathered(scene);
            },
            SENT,
        ),
        (
            "a newer version of the connector",
            |scene| {
                scene.intent.version.latest = Some(1);
                refused(scene, 600);
                scene.intent.version.latest = Some(2);
                gathered(scene);
            },
            SENT,
        ),
        (
            "a registry that cannot be read any more",
            |scene| {
                scene.intent.version.latest = Some(1);
                refused(scene, 600);
                scene.intent.version.latest = None;
                gathered(scene);
            },
            (Does::Rest, Stored::Nothing, Outcome::Refused),
        ),
        (
            "a pause",
            |scene| {
                scene.transient.pause = Some(Pause { until: later(NOW, Duration::from_secs(1)), times: 1 });
            },
            GATHERS,
        ),
        ("a pause that is over", |scene| scene.transient.pause = Some(Pause { until: NOW, times: 1 }), SENT),
    ];
    check(
        || {
            let mut scene = Fixture::live();
            scene.wanted = Some(wanted("2", "secret"));
            gathered(&mut scene);
            scene
        },
        live,
    );
}

#[test]
fn a_refusal_delays_creates_and_repeated_calls_too() {
    let again: (Does, Stored, Outcome) = (Does::SendAgain(REDEPLOY), Stored::Planned, Outcome::Running(REDEPLOY));
    let create = OperationKind::Create;
    check(
        Fixture::new,
        &[
            ("a create, before its time", |scene| refused(scene, 1), (Does::Rest, Stored::Nothing, Outcome::Refused)),
            (
                "a create, after its time",
                |scene| refused(scene, 0),
                (Does::Send(create), Stored::Planned, Outcome::Running(create)),
            ),
        ],
    );
    check(
        Fixture::creating,
        &[(
            "a repeated create",
            |scene| {
                refused(scene, 1);
                scene.aged(600);
            },
            (Does::Rest, Stored::Planned, Outcome::Refused),
        )],
    );
    check(
        Fixture::redeploying,
        &[
            (
                "a repeated redeploy",
                |scene| {
                    refused(scene, 1);
                    scene.aged(600);
                },
                (Does::Rest, Stored::Planned, Outcome::Refused),
            ),
            (
                "a repeated redeploy, after its time",
                |scene| {
                    refused(scene, 0);
                    scene.aged(600);
                },
                again,
            ),
        ],
    );
    check(
        Fixture::rotating,
        &[(
            "a redeploy from another version",
            |scene| {
                refused(scene, 1);
                scene.aged(600).sees(Phase::Deployed).version = 6;
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
    deleted.intent.deletion = Some(Deletion::Undeploy);
    assert_eq!(does(&deleted.decide()), Does::Send(OperationKind::Undeploy));
    live.transient.refused.as_mut().expect("a refusal").cause = None;
    assert_eq!(does(&live.decide()), Does::Send(REDEPLOY));
    deleted.transient.refused = live.transient.refused;
    assert_eq!(deleted.decide().outcome, Outcome::Refused, "what was refused is the undeploy");
}

#[test]
fn a_refusal_is_re_evaluated_after_its_time_and_forgotten_when_settled() {
    let mut scene = Fixture::live();
    scene.wanted = Some(wanted("2", "secret"));
    refused(&mut scene, 600);
    assert_eq!(scene.decide().again, Some(Duration::from_mins(10)));
    scene.wanted = Some(wanted("1", "secret"));
    assert_eq!(scene.decide().transient, TransientState::default(), "settled: forgotten");
}

#[test]
fn rule_20_a_suspended_resource_is_observed_and_sends_nothing() {
    let held = |stored| (Does::Rest, stored, Outcome::HeldBySuspend);
    for (scene, expected) in [
        (Fixture::new(), held(Stored::Nothing)),
        (Fixture::live(), SETTLED),
        (Fixture::creating(), held(Stored::Planned)),
        (Fixture::redeploying(), held(Stored::Planned)),
        (Fixture::rotating(), held(Stored::Planned)),
    ] {
        let mut scene = scene;
        scene.intent.suspended = true;
        if scene.persisted.operation.is_some() {
            scene.aged(600);
        }
        let decision = scene.decide();
        assert_eq!((does(&decision), super::build::stored(&decision.persisted), decision.outcome), expected);
        assert_eq!(decision.persisted, scene.persisted, "nothing is written");
    }
    let mut scene = Fixture::redeploying();
    scene.intent.suspended = true;
    scene.sees(Phase::Deploying).values = super::build::visible(&[("A", "2")]);
    assert_eq!(
        super::build::stored(&scene.decide().persisted),
        Stored::Accepted,
        "an operation that was begun is observed to its end"
    );
}

#[test]
fn rule_20_an_only_observed_deployment_is_reported_and_nothing_else() {
    let condition = |outcome| (Does::Rest, Stored::Nothing, outcome);
    let rows: &[Row] = &[
        ("deployed", |_| {}, condition(Outcome::Observed(Phase::Deployed))),
        ("failed", |scene| _ = scene.sees(Phase::Failed), condition(Outcome::Observed(Phase::Failed))),
        ("busy", |scene| _ = scene.sees(Phase::Deploying), condition(Outcome::Observed(Phase::Deploying))),
        ("absent", |scene| scene.observation = ABSENT, condition(Outcome::NothingToObserve)),
        (
            "replaced by another client",
            |scene| scene.observation = Observation::Absent { key_held_by: Some("another".into()) },
            condition(Outcome::KeyTaken),
        ),
        (
            "other values, a request, and never applied",
            |scene| {
                scene.persisted = super::build::Fixture::new().persisted;
                scene.wanted = Some(wanted("2", "secret"));
                scene.intent.redeploy_request = Some("now".into());
            },
            condition(Outcome::Observed(Phase::Deployed)),
        ),
    ];
    check(
        || {
            let mut scene = Fixture::live();
            scene.intent.observe_only = true;
            scene
        },
        rows,
    );
}

#[test]
fn rule_20_an_only_observed_deployment_is_polled_often_while_it_is_busy() {
    let mut scene = Fixture::live();
    scene.intent.observe_only = true;
    scene.sees(Phase::Deploying);
    let busy = scene.decide();
    assert!(busy.again.is_some() && busy.transient.busy_since.is_some(), "{busy:?}");
    scene.transient = busy.transient;
    scene.sees(Phase::Deployed);
    let over = scene.decide();
    assert_eq!((over.again, over.transient.busy_since), (None, None));
}
