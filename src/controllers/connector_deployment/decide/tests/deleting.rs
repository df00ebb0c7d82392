//! The rows *Undeploy* of the table, and rules 22 and 23: deleting from every persisted state.

use super::build::{ABSENT, Does, Fixture, Row, Stored, ago, check, operation, visible};
use crate::controllers::connector_deployment::decide::{CallKind, Deletion, Outcome, Refused, Step};
use crate::controllers::connector_deployment::persisted::{OperationKind, OperationState, Phase};

const UNDEPLOY: OperationKind = OperationKind::Undeploy;
const SENT: (Does, Stored, Outcome) = (Does::Send(UNDEPLOY), Stored::Planned, Outcome::Running(UNDEPLOY));
const AGAIN: (Does, Stored, Outcome) = (Does::SendAgain(UNDEPLOY), Stored::Planned, Outcome::Running(UNDEPLOY));
const FREE: Outcome = Outcome::Released;

const fn waits(stored: Stored) -> (Does, Stored, Outcome) {
    (Does::Rest, stored, Outcome::Running(UNDEPLOY))
}

const fn released(stored: Stored) -> (Does, Stored, Outcome) {
    (Does::Release, stored, FREE)
}

fn deleted(mut scene: Fixture) -> Fixture {
    scene.intent.deletion = Some(Deletion::Undeploy);
    scene.wanted = None;
    scene
}

fn undeploying() -> Fixture {
    let mut scene = deleted(Fixture::live());
    scene.persisted.operation = Some(operation(UNDEPLOY, None));
    scene
}

#[test]
fn rule_22_a_resource_without_a_deployment_is_removed_at_once() {
    check(
        || deleted(Fixture::new()),
        &[
            ("nothing under the key", |_| {}, released(Stored::Nothing)),
            (
                "another client's deployment under the key",
                |scene| _ = scene.sees(Phase::Deployed),
                released(Stored::Nothing),
            ),
            (
                "rule 3: the status was lost, and the annotation names the deployment",
                |scene| {
                    scene.sees(Phase::Deployed);
                    scene.intent.remote_id = Some("id-1".into());
                },
                SENT,
            ),
            (
                "rule 3: the annotation names another deployment",
                |scene| {
                    scene.sees(Phase::Deployed);
                    scene.intent.remote_id = Some("id-2".into());
                },
                released(Stored::Nothing),
            ),
            (
                "rule 3: the deployment has another identity",
                |scene| {
                    scene.sees(Phase::Deployed).region = "other".into();
                    scene.intent.remote_id = Some("id-1".into());
                },
                released(Stored::Nothing),
            ),
        ],
    );
}

#[test]
fn rule_22_deleting_waits_for_an_outstanding_create() {
    let rows: &[Row] = &[
        ("absent, before the quiet period", |scene| _ = scene.aged(119), waits(Stored::Planned)),
        ("absent, after the quiet period", |scene| _ = scene.aged(120), released(Stored::Planned)),
        (
            "a stale read of the deployment that was gone",
            |scene| {
                scene.aged(119).sees(Phase::Deployed);
                scene.persisted.id = Some("id-1".into());
            },
            waits(Stored::Planned),
        ),
        ("fits", |scene| _ = scene.sees(Phase::Queued), SENT),
        (
            "does not fit, before the quiet period",
            |scene| {
                scene.aged(119).sees(Phase::Deployed).values = visible(&[("A", "2")]);
            },
            waits(Stored::Planned),
        ),
        (
            "does not fit, after the quiet period",
            |scene| {
                scene.aged(120).sees(Phase::Deployed).values = visible(&[("A", "2")]);
            },
            released(Stored::Planned),
        ),
        (
            "other region, after the quiet period",
            |scene| scene.aged(120).sees(Phase::Deployed).region = "other".into(),
            released(Stored::Planned),
        ),
        (
            "accepted",
            |scene| {
                scene.accepted().persisted.id = Some("id-1".into());
                scene.sees(Phase::Deploying);
            },
            SENT,
        ),
    ];
    check(|| deleted(Fixture::creating()), rows);

    let mut scene = deleted(Fixture::creating());
    scene.sees(Phase::Queued);
    let decision = scene.decide();
    assert_eq!(decision.persisted.id.as_deref(), Some("id-1"));
    let Step::Send(call) = decision.step else { panic!("a DELETE is sent") };
    assert_eq!(call.kind, CallKind::Undeploy { id: "id-1".into() });
}

#[test]
fn rule_22_an_existing_deployment_is_deleted_whatever_runs() {
    let rows: &[Row] = &[
        ("live", |_| {}, SENT),
        ("failed", |scene| _ = scene.sees(Phase::Failed), SENT),
        ("busy: the service may refuse", |scene| _ = scene.sees(Phase::Deploying), SENT),
        ("another client undeploys it", |scene| _ = scene.sees(Phase::Undeploying), waits(Stored::Nothing)),
        ("gone: a 404 counts only after an accepted DELETE", |scene| scene.observation = ABSENT, SENT),
        ("suspended", |scene| scene.intent.suspended = true, SENT),
        (
            "refused, too soon",
            |scene| {
                scene.transient.refused =
                    Some(Refused { cause: None, until: ago(0) + std::time::Duration::from_secs(1), times: 1 });
            },
            (Does::Rest, Stored::Nothing, Outcome::Refused),
        ),
        (
            "refused, after its pause",
            |scene| {
                scene.transient.refused = Some(Refused { cause: None, until: ago(0), times: 1 });
            },
            SENT,
        ),
        (
            "refused, and undeploying",
            |scene| {
                scene.transient.refused =
                    Some(Refused { cause: None, until: ago(0) + std::time::Duration::from_secs(1), times: 1 });
                scene.sees(Phase::Undeploying);
            },
            waits(Stored::Nothing),
        ),
        (
            "undeploying for half an hour",
            |scene| {
                scene.transient.busy_since = Some(ago(1800));
                scene.sees(Phase::Undeploying);
            },
            (Does::Rest, Stored::Nothing, Outcome::TakesTooLong),
        ),
    ];
    check(|| deleted(Fixture::live()), rows);
    let running: &[Row] = &[
        ("planned", |_| {}, SENT),
        ("planned, gone", |scene| scene.observation = ABSENT, SENT),
        ("accepted", |scene| _ = scene.accepted(), SENT),
        (
            "accepted, gone",
            |scene| {
                scene.accepted();
                scene.observation = ABSENT;
            },
            SENT,
        ),
    ];
    check(|| deleted(Fixture::redeploying()), running);
    let decision = deleted(Fixture::redeploying()).decide();
    let undeploy = decision.persisted.operation.expect("the operation is persisted first");
    assert_eq!((undeploy.attempt, undeploy.payload, undeploy.redeploy_request), (1, None, None));
    assert_eq!(
        decision.persisted.applied.expect("the applied state is kept").digest,
        None,
        "the redeploy may have been sent"
    );
}

#[test]
fn undeploy_planned() {
    let rows: &[Row] = &[
        ("present, before its pause", |scene| _ = scene.aged(5), waits(Stored::Planned)),
        ("present, after its pause", |scene| _ = scene.aged(6), AGAIN),
        ("absent, before its pause", |scene| scene.aged(5).observation = ABSENT, waits(Stored::Planned)),
        ("absent, after its pause", |scene| scene.aged(6).observation = ABSENT, AGAIN),
        ("busy", |scene| _ = scene.aged(6).sees(Phase::Deploying), AGAIN),
        ("undeploying", |scene| _ = scene.aged(6).sees(Phase::Undeploying), waits(Stored::Planned)),
        ("the third time, before its pause", |scene| scene.aged(23).operation().attempt = 3, waits(Stored::Planned)),
        ("the third time, after its pause", |scene| scene.aged(24).operation().attempt = 3, AGAIN),
    ];
    check(undeploying, rows);
    let mut scene = undeploying();
    scene.aged(6);
    assert_eq!(scene.decide().persisted.operation.expect("the operation is persisted again").attempt, 2);
}

#[test]
fn undeploy_accepted_as_only_this_process_knows() {
    fn remembered() -> Fixture {
        let mut scene = undeploying();
        scene.transient.undeployed = Some(1);
        scene
    }
    let rows: &[Row] = &[
        ("404", |scene| scene.observation = ABSENT, released(Stored::Accepted)),
        ("undeploying", |scene| _ = scene.sees(Phase::Undeploying), waits(Stored::Accepted)),
        ("the old status, before its pause", |scene| _ = scene.aged(11), waits(Stored::Accepted)),
        ("the old status, after its pause", |scene| _ = scene.aged(12), AGAIN),
        (
            "404, and a later attempt has no response yet",
            |scene| {
                scene.operation().attempt = 2;
                scene.aged(5).observation = ABSENT;
            },
            waits(Stored::Planned),
        ),
    ];
    check(remembered, rows);
    let another_operation: Row =
        ("404", |scene| (scene.observation, scene.transient.undeployed) = (ABSENT, Some(1)), SENT);
    check(|| deleted(Fixture::redeploying()), &[another_operation]);
}

#[test]
fn undeploy_accepted() {
    fn accepted() -> Fixture {
        let mut scene = undeploying();
        scene.operation().state = OperationState::Accepted;
        scene
    }
    let failed = (Does::Rest, Stored::Accepted, Outcome::Settled { phase: Phase::UndeployFailed, drifted: false });
    let rows: &[Row] = &[
        ("404", |scene| scene.observation = ABSENT, released(Stored::Accepted)),
        (
            "another id under the key",
            |scene| scene.sees(Phase::Deployed).id = "id-2".into(),
            released(Stored::Accepted),
        ),
        ("undeploying", |scene| _ = scene.sees(Phase::Undeploying), waits(Stored::Accepted)),
        ("busy with something else", |scene| _ = scene.aged(100).sees(Phase::Deploying), waits(Stored::Accepted)),
        ("the old status, before its pause", |scene| _ = scene.aged(11), waits(Stored::Accepted)),
        ("the old status, after its pause", |scene| _ = scene.aged(12), AGAIN),
        ("undeploying failed, before its pause", |scene| _ = scene.aged(11).sees(Phase::UndeployFailed), failed),
        ("undeploying failed, after its pause", |scene| _ = scene.aged(12).sees(Phase::UndeployFailed), AGAIN),
        (
            "the third time, before its pause",
            |scene| {
                scene.aged(47).sees(Phase::UndeployFailed);
                scene.operation().attempt = 3;
            },
            failed,
        ),
        (
            "the third time, after its pause",
            |scene| {
                scene.aged(48).sees(Phase::UndeployFailed);
                scene.operation().attempt = 3;
            },
            AGAIN,
        ),
        (
            "the hundredth time, after the longest pause",
            |scene| {
                scene.aged(300).sees(Phase::UndeployFailed);
                scene.operation().attempt = 100;
            },
            AGAIN,
        ),
    ];
    check(accepted, rows);
}

#[test]
fn rule_23_orphaned_and_only_observed_resources_lose_their_finalizer_in_every_state() {
    let mut creating = Fixture::creating();
    creating.sees(Phase::Deploying);
    let scenes =
        [Fixture::new(), creating, Fixture::live(), Fixture::redeploying(), Fixture::rotating(), undeploying()];
    for scene in scenes {
        let mut orphan = deleted(scene.clone());
        orphan.intent.deletion = Some(Deletion::Orphan);
        let mut observed = deleted(scene);
        observed.intent.observe_only = true;
        for scene in [orphan, observed] {
            assert_eq!(scene.decide().step, Step::RemoveFinalizer, "{scene:#?}");
        }
    }
}
