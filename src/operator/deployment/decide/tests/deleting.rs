//! The rows *Undeploy* of the table, and rules 22 and 23: deleting from every persisted state.

use std::time::Duration;

use super::build::{ABSENT, Does, Fixture, Row, Stored, ago, check, does, operation, visible};
use crate::operator::deployment::decide::{CallKind, Cause, Outcome, Refused, Step};
use crate::operator::deployment::persisted::{DeletionPolicy, OperationState, OperationType, Phase};

const UNDEPLOY: OperationType = OperationType::Undeploy;
const SENT: (Does, Stored, Outcome) = (Does::Send(UNDEPLOY), Stored::Planned, Outcome::Running(UNDEPLOY));
const AGAIN: (Does, Stored, Outcome) = (Does::SendAgain(UNDEPLOY), Stored::Planned, Outcome::Running(UNDEPLOY));
const FREE: Outcome = Outcome::Released;

const fn waits(stored: Stored) -> (Does, Stored, Outcome) {
    (Does::Rest, stored, Outcome::Running(UNDEPLOY))
}

const fn released(stored: Stored) -> (Does, Stored, Outcome) {
    (Does::Release, stored, FREE)
}

fn deleted(mut fixture: Fixture) -> Fixture {
    fixture.intent.deletion = Some(DeletionPolicy::Delete);
    fixture.wanted = None;
    fixture
}

fn undeploying() -> Fixture {
    let mut fixture = deleted(Fixture::live());
    fixture.persisted.operation = Some(operation(UNDEPLOY, None));
    fixture
}

#[test]
fn rule_22_a_resource_without_a_deployment_is_removed_at_once() {
    check(
        || deleted(Fixture::new()),
        &[
            ("nothing under the key", |_| {}, released(Stored::Nothing)),
            (
                "another client's deployment under the key",
                |fixture| _ = fixture.sees(Phase::Deployed),
                released(Stored::Nothing),
            ),
            (
                "rule 3: the status was lost, and the annotation names the deployment",
                |fixture| {
                    fixture.sees(Phase::Deployed);
                    fixture.intent.remote_id = Some("id-1".into());
                },
                SENT,
            ),
            (
                "rule 3: the annotation names another deployment",
                |fixture| {
                    fixture.sees(Phase::Deployed);
                    fixture.intent.remote_id = Some("id-2".into());
                },
                released(Stored::Nothing),
            ),
            (
                "rule 3: the deployment has another identity",
                |fixture| {
                    fixture.sees(Phase::Deployed).region = "other".into();
                    fixture.intent.remote_id = Some("id-1".into());
                },
                released(Stored::Nothing),
            ),
        ],
    );
}

#[test]
fn rule_22_deleting_waits_for_an_outstanding_create() {
    let rows: &[Row] = &[
        ("absent, before the quiet period", |fixture| _ = fixture.aged(119), waits(Stored::Planned)),
        ("absent, after the quiet period", |fixture| _ = fixture.aged(120), released(Stored::Planned)),
        (
            "a stale read of the deployment that was gone",
            |fixture| {
                fixture.aged(119).sees(Phase::Deployed);
                fixture.persisted.id = Some("id-1".into());
            },
            waits(Stored::Planned),
        ),
        ("fits", |fixture| _ = fixture.sees(Phase::Queued), SENT),
        (
            "does not fit, before the quiet period",
            |fixture| {
                fixture.aged(119).sees(Phase::Deployed).values = visible(&[("A", "2")]);
            },
            waits(Stored::Planned),
        ),
        (
            "does not fit, after the quiet period",
            |fixture| {
                fixture.aged(120).sees(Phase::Deployed).values = visible(&[("A", "2")]);
            },
            released(Stored::Planned),
        ),
        (
            "other region, after the quiet period",
            |fixture| fixture.aged(120).sees(Phase::Deployed).region = "other".into(),
            released(Stored::Planned),
        ),
        (
            "accepted",
            |fixture| {
                fixture.accepted().persisted.id = Some("id-1".into());
                fixture.sees(Phase::Deploying);
            },
            SENT,
        ),
    ];
    check(|| deleted(Fixture::creating()), rows);

    let mut fixture = deleted(Fixture::creating());
    fixture.sees(Phase::Queued);
    let decision = fixture.decide();
    assert_eq!(decision.persisted.id.as_deref(), Some("id-1"));
    let Step::Send(call) = decision.step else { panic!("a DELETE is sent") };
    assert_eq!(call.kind, CallKind::Undeploy);
}

#[test]
fn rule_22_an_existing_deployment_is_deleted_whatever_runs() {
    let rows: &[Row] = &[
        ("live", |_| {}, SENT),
        ("failed", |fixture| _ = fixture.sees(Phase::Failed), SENT),
        ("busy: the service may refuse", |fixture| _ = fixture.sees(Phase::Deploying), SENT),
        ("another client undeploys it", |fixture| _ = fixture.sees(Phase::Undeploying), waits(Stored::Nothing)),
        ("gone: a 404 counts only after an accepted DELETE", |fixture| fixture.observation = ABSENT, SENT),
        ("suspended", |fixture| fixture.intent.suspended = true, SENT),
        (
            "refused, too soon",
            |fixture| {
                fixture.transient.refused =
                    Some(Refused { cause: asked(1, None), until: ago(0) + Duration::from_secs(1), times: 1 });
            },
            (Does::Rest, Stored::Nothing, Outcome::Refused),
        ),
        (
            "refused, after its pause",
            |fixture| {
                fixture.transient.refused = Some(Refused { cause: asked(1, None), until: ago(0), times: 1 });
            },
            SENT,
        ),
        (
            "refused, and undeploying",
            |fixture| {
                fixture.transient.refused =
                    Some(Refused { cause: asked(1, None), until: ago(0) + Duration::from_secs(1), times: 1 });
                fixture.sees(Phase::Undeploying);
            },
            waits(Stored::Nothing),
        ),
        (
            "undeploying for half an hour",
            |fixture| {
                fixture.transient.busy_since = Some(ago(1800));
                fixture.sees(Phase::Undeploying);
            },
            (Does::Rest, Stored::Nothing, Outcome::TakesTooLong),
        ),
    ];
    check(|| deleted(Fixture::live()), rows);
    let running: &[Row] = &[
        ("planned", |_| {}, SENT),
        ("planned, gone", |fixture| fixture.observation = ABSENT, SENT),
        ("accepted", |fixture| _ = fixture.accepted(), SENT),
        (
            "accepted, gone",
            |fixture| {
                fixture.accepted();
                fixture.observation = ABSENT;
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

/// What a DELETE is sent for.
fn asked(generation: i64, request: Option<&str>) -> Cause {
    Cause { digest: None, generation, request: request.map(ToOwned::to_owned), latest: None }
}

#[test]
fn rule_22_a_refused_delete_waits_for_two_404s_an_edit_or_a_request() {
    fn refused() -> Fixture {
        let mut fixture = deleted(Fixture::live());
        let until = ago(0) + Duration::from_hours(1);
        fixture.transient.refused = Some(Refused { cause: asked(1, None), until, times: 4 });
        fixture
    }
    let missing = (Does::Rest, Stored::Nothing, Outcome::Missing);
    let rows: &[Row] = &[
        ("nothing has changed", |_| {}, (Does::Rest, Stored::Nothing, Outcome::Refused)),
        ("an edit", |fixture| fixture.intent.generation = 2, SENT),
        ("a request", |fixture| fixture.intent.reconcile_request = Some("now".into()), SENT),
        ("the first 404", |fixture| fixture.observation = ABSENT, missing),
        (
            "another one, too soon",
            |fixture| {
                fixture.observation = ABSENT;
                fixture.transient.absent_since = Some(ago(29));
            },
            missing,
        ),
        (
            "another one, 30 s later",
            |fixture| {
                fixture.observation = ABSENT;
                fixture.transient.absent_since = Some(ago(30));
            },
            (Does::Release, Stored::Planned, FREE),
        ),
        (
            "a 404 after an edit",
            |fixture| {
                fixture.observation = ABSENT;
                fixture.intent.generation = 2;
            },
            SENT,
        ),
    ];
    check(refused, rows);
}

#[test]
fn undeploy_planned() {
    let rows: &[Row] = &[
        ("present, before its pause", |fixture| _ = fixture.aged(5), waits(Stored::Planned)),
        ("present, after its pause", |fixture| _ = fixture.aged(6), AGAIN),
        ("absent, before its pause", |fixture| fixture.aged(5).observation = ABSENT, waits(Stored::Planned)),
        ("absent, after its pause", |fixture| fixture.aged(6).observation = ABSENT, AGAIN),
        ("busy", |fixture| _ = fixture.aged(6).sees(Phase::Deploying), AGAIN),
        ("undeploying", |fixture| _ = fixture.aged(6).sees(Phase::Undeploying), waits(Stored::Planned)),
        (
            "the third time, before its pause",
            |fixture| fixture.aged(23).operation().attempt = 3,
            waits(Stored::Planned),
        ),
        ("the third time, after its pause", |fixture| fixture.aged(24).operation().attempt = 3, AGAIN),
    ];
    check(undeploying, rows);
    let mut fixture = undeploying();
    fixture.aged(6);
    assert_eq!(fixture.decide().persisted.operation.expect("the operation is persisted again").attempt, 2);
}

#[test]
fn a_lost_delete_is_sent_again_with_growing_pauses() {
    for (attempt, pause) in [(1, 6), (2, 12), (3, 24), (6, 192), (7, 300), (100, 300)] {
        for (case, observation) in [("absent", ABSENT), ("present", Fixture::live().observation)] {
            let mut fixture = undeploying();
            fixture.operation().attempt = attempt;
            fixture.observation = observation;
            let until = fixture.operation().started_at + Duration::from_secs(pause);
            let (early, due) = (fixture.decide_at(until - Duration::from_millis(1)), fixture.decide_at(until));
            assert_eq!(
                (does(&early), does(&due)),
                (Does::Rest, Does::SendAgain(UNDEPLOY)),
                "{case}, attempt {attempt}"
            );
        }
    }
}

#[test]
fn undeploy_accepted() {
    fn accepted() -> Fixture {
        let mut fixture = undeploying();
        fixture.operation().state = OperationState::Accepted;
        fixture
    }
    let failed = (Does::Rest, Stored::Accepted, Outcome::Settled { phase: Phase::UndeployFailed, drifted: false });
    let rows: &[Row] = &[
        ("404", |fixture| fixture.observation = ABSENT, released(Stored::Accepted)),
        (
            "another id under the key",
            |fixture| fixture.sees(Phase::Deployed).id = "id-2".into(),
            released(Stored::Accepted),
        ),
        ("undeploying", |fixture| _ = fixture.sees(Phase::Undeploying), waits(Stored::Accepted)),
        ("busy with something else", |fixture| _ = fixture.aged(100).sees(Phase::Deploying), waits(Stored::Accepted)),
        ("the old status, before its pause", |fixture| _ = fixture.aged(11), waits(Stored::Accepted)),
        ("the old status, after its pause", |fixture| _ = fixture.aged(12), AGAIN),
        ("undeploying failed, before its pause", |fixture| _ = fixture.aged(11).sees(Phase::UndeployFailed), failed),
        ("undeploying failed, after its pause", |fixture| _ = fixture.aged(12).sees(Phase::UndeployFailed), AGAIN),
        (
            "the third time, before its pause",
            |fixture| {
                fixture.aged(47).sees(Phase::UndeployFailed);
                fixture.operation().attempt = 3;
            },
            failed,
        ),
        (
            "the third time, after its pause",
            |fixture| {
                fixture.aged(48).sees(Phase::UndeployFailed);
                fixture.operation().attempt = 3;
            },
            AGAIN,
        ),
        (
            "the hundredth time, after the longest pause",
            |fixture| {
                fixture.aged(300).sees(Phase::UndeployFailed);
                fixture.operation().attempt = 100;
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
    for fixture in scenes {
        let mut orphan = deleted(fixture.clone());
        orphan.intent.deletion = Some(DeletionPolicy::Orphan);
        let mut observed = deleted(fixture);
        observed.intent.observe_only = true;
        for fixture in [orphan, observed] {
            assert_eq!(fixture.decide().step, Step::RemoveFinalizer, "{fixture:#?}");
        }
    }
}
