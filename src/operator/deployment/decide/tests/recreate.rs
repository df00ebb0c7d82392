//! The rows *Recreate* of the table: `removedValues: Recreate` removes values by replacing the deployment.

use super::build::{ABSENT, Does, Fixture, NOW, Row, SETTLED, Stored, ago, check, operation, visible, wanting};
use super::retained::{live, names, observed, redeployed, wants, without_b, without_u};
use crate::operator::deployment::decide::{Call, CallKind, Outcome, Response, Version, apply_response};
use crate::operator::deployment::persisted::{DeletionPolicy, Observation, OperationState, OperationType, Phase};
use crate::operator::values::names::Names;

const RECREATE: OperationType = OperationType::Recreate;
const SENT: (Does, Stored, Outcome) = (Does::Send(RECREATE), Stored::Planned, Outcome::Running(RECREATE));
const REDEPLOYED: (Does, Stored, Outcome) =
    (Does::Send(OperationType::Redeploy), Stored::Planned, Outcome::Running(OperationType::Redeploy));
const AGAIN: (Does, Stored, Outcome) = (Does::SendAgain(RECREATE), Stored::Planned, Outcome::Running(RECREATE));
const CREATES: (Does, Stored, Outcome) =
    (Does::Send(OperationType::Create), Stored::Planned, Outcome::Running(OperationType::Create));

fn asked() -> Fixture {
    let mut fixture = live();
    fixture.intent.recreate = true;
    fixture
}

/// The DELETE was accepted.
fn begun() -> Fixture {
    let mut fixture = asked();
    wants(&mut fixture, without_u());
    fixture.persisted.operation = Some(operation(RECREATE, None));
    fixture.accepted();
    fixture
}

#[test]
fn only_a_removed_value_that_the_resource_sent_causes_a_new_deployment() {
    let rows: &[Row] = &[
        ("nothing is removed", |_| {}, SETTLED),
        ("a plain value is removed", |fixture| wants(fixture, without_b()), SENT),
        ("a secured value is removed", |fixture| wants(fixture, without_u()), SENT),
        (
            "it was removed before removedValues was set",
            |fixture| {
                fixture.intent.recreate = false;
                wants(fixture, without_b());
                redeployed(fixture);
                fixture.intent.recreate = true;
            },
            SENT,
        ),
        (
            "removed, and something else changes",
            |fixture| {
                wants(fixture, without_u());
                fixture.intent.redeploy_request = Some("now".into());
                super::build::gathered(fixture);
            },
            SENT,
        ),
        (
            "not while more changes may follow",
            |fixture| {
                wants(fixture, without_u());
                fixture.transient.change = None;
            },
            (Does::Rest, Stored::Nothing, Outcome::Changing),
        ),
        (
            "not while it is suspended",
            |fixture| {
                wants(fixture, without_u());
                fixture.intent.suspended = true;
            },
            (Does::Rest, Stored::Nothing, Outcome::HeldBySuspend),
        ),
        (
            "not while an operation runs",
            |fixture| {
                wants(fixture, without_u());
                observed(fixture).phase = Phase::Deploying;
            },
            (Does::Rest, Stored::Nothing, Outcome::Busy),
        ),
        (
            "not if the values for the create are not known",
            |fixture| fixture.wanted = None,
            (Does::Rest, Stored::Nothing, Outcome::ValuesUnknown),
        ),
        (
            "not if another version of the connector would be created",
            |fixture| {
                wants(fixture, without_u());
                fixture.intent.version = Version { wanted: Some(1), latest: Some(2), follow: false };
            },
            (Does::Rest, Stored::Nothing, Outcome::VersionUnavailable { wanted: 1, latest: Some(2), drifted: false }),
        ),
        (
            "not without removedValues: Recreate",
            |fixture| {
                wants(fixture, without_u());
                fixture.intent.recreate = false;
            },
            REDEPLOYED,
        ),
    ];
    check(asked, rows);
}

#[test]
fn nothing_more_is_deleted_once_removed_values_is_set_back() {
    let waits = (Does::Rest, Stored::Accepted, Outcome::Running(RECREATE));
    let rows: &[Row] = &[
        (
            "it exists again, and removedValues was set back",
            |fixture| {
                fixture.aged(119);
                fixture.intent.recreate = false;
            },
            waits,
        ),
        (
            "undeploying, and removedValues was set back",
            |fixture| {
                fixture.aged(600);
                fixture.intent.recreate = false;
                observed(fixture).phase = Phase::Undeploying;
            },
            waits,
        ),
        (
            "it exists after the quiet period, and removedValues was set back",
            |fixture| {
                fixture.aged(120);
                fixture.intent.recreate = false;
            },
            REDEPLOYED,
        ),
        (
            "its DELETE may have been lost, and removedValues was set back",
            |fixture| {
                fixture.persisted.operation = Some(operation(RECREATE, None));
                fixture.aged(120);
                fixture.intent.recreate = false;
            },
            REDEPLOYED,
        ),
        (
            "gone, and removedValues was set back",
            |fixture| {
                fixture.intent.recreate = false;
                fixture.observation = ABSENT;
            },
            CREATES,
        ),
    ];
    check(begun, rows);
}

#[test]
fn the_deployment_is_created_once_it_is_gone() {
    let waits = (Does::Rest, Stored::Accepted, Outcome::Running(RECREATE));
    let rows: &[Row] = &[
        ("undeploying", |fixture| observed(fixture).phase = Phase::Undeploying, waits),
        ("it exists again", |_| {}, waits),
        ("it exists again, for a long time", |fixture| _ = fixture.aged(600), AGAIN),
        ("gone", |fixture| fixture.observation = ABSENT, CREATES),
        (
            "gone, and the values are not known now",
            |fixture| {
                fixture.observation = ABSENT;
                fixture.wanted = None;
            },
            (Does::Rest, Stored::Accepted, Outcome::ValuesUnknown),
        ),
        (
            "gone, and suspended",
            |fixture| {
                fixture.observation = ABSENT;
                fixture.intent.suspended = true;
            },
            (Does::Rest, Stored::Accepted, Outcome::HeldBySuspend),
        ),
        (
            "gone, but its DELETE was not accepted: one 404 proves nothing",
            |fixture| {
                fixture.observation = ABSENT;
                fixture.aged(600).operation().state = OperationState::Planned;
            },
            (Does::Rest, Stored::Planned, Outcome::Missing),
        ),
        (
            "gone, and its DELETE may still arrive",
            |fixture| {
                fixture.observation = ABSENT;
                fixture.aged(89).operation().state = OperationState::Planned;
                fixture.transient.absent_since = Some(ago(60));
            },
            (Does::Rest, Stored::Planned, Outcome::Missing),
        ),
        (
            "gone for a long time, and its DELETE was not accepted",
            |fixture| {
                fixture.observation = ABSENT;
                fixture.aged(600).operation().state = OperationState::Planned;
                fixture.transient.absent_since = Some(ago(60));
            },
            CREATES,
        ),
        (
            "gone, and another deployment has the key",
            |fixture| fixture.observation = Observation::Absent { key_held_by: Some("id-9".into()) },
            (Does::Rest, Stored::Accepted, Outcome::KeyTaken),
        ),
        (
            "the response was lost, and the deployment still exists",
            |fixture| fixture.aged(600).operation().state = OperationState::Planned,
            AGAIN,
        ),
        (
            "the resource is deleted meanwhile",
            |fixture| fixture.intent.deletion = Some(DeletionPolicy::Delete),
            (Does::Send(OperationType::Undeploy), Stored::Planned, Outcome::Running(OperationType::Undeploy)),
        ),
    ];
    check(begun, rows);
}

#[test]
fn the_created_deployment_has_no_removed_values() {
    let mut fixture = begun();
    fixture.observation = ABSENT;
    let mut created = fixture.decide();
    assert_eq!(created.persisted.id.as_deref(), Some("id-1"), "a stale read may still show it");
    created.persisted.id = Some("id-2".into());
    created.persisted.operation.as_mut().expect("a create").state = OperationState::Accepted;
    fixture.persisted = created.persisted;
    let there = fixture.sees(Phase::Deployed);
    there.id = "id-2".into();
    there.values = visible(&[("A", "1"), ("B", "2")]);
    there.secured = Names::default();
    let decision = fixture.decide();
    assert_eq!(decision.outcome, Outcome::Settled { phase: Phase::Deployed, drifted: false });
    let retained = decision.persisted.applied.expect("something was applied").retained;
    assert!(retained.is_empty(), "{retained:?}");
}

#[test]
fn a_refused_create_is_still_due_and_the_deployment_is_not_reported_as_disappeared() {
    let mut fixture = begun();
    fixture.observation = ABSENT;
    let decision = fixture.decide();
    let cause = super::build::cause(&fixture);
    let call = Call { kind: CallKind::Create, cause };
    for answer in [Response::Refused, Response::Duplicate, Response::Retryable] {
        let outcome = apply_response(&decision.persisted, &decision.transient, &call, &answer, NOW);
        let mut after = Fixture { persisted: outcome.persisted, transient: outcome.transient, ..fixture.clone() };
        after.transient.refused = None;
        after.transient.pause = None;
        let next = after.decide();
        assert_eq!(next.outcome, Outcome::Running(OperationType::Create), "{answer:?}");
    }
}

#[test]
fn retained_values_are_named_even_while_nothing_may_be_sent() {
    for recreate in [true, false] {
        let mut fixture = asked();
        fixture.intent.recreate = recreate;
        fixture.intent.suspended = true;
        for wanted in [without_u(), wanting(&[("A", "9"), ("B", "2")], &[("T", "secret")])] {
            wants(&mut fixture, wanted);
            fixture.persisted = fixture.decide().persisted;
            assert!(names(&fixture).contains(&"service/U (secured)".to_owned()), "{recreate}");
        }
    }
}
