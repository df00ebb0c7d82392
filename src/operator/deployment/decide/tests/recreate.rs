//! The rows *Recreate* of the table: `removedValuesPolicy: Recreate` removes values by replacing the deployment.

use super::build::{
    Does, Expected, Fixture, NOW, SETTLED, Stored, again, cause, check, idle, runs, sends, visible, wanting,
};
use super::retained::{live, names, redeployed, wants, without_b, without_u};
use crate::operator::deployment::decide::{Call, CallKind, Outcome, Response, apply_response};
use crate::operator::deployment::declared::Declared;
use crate::operator::deployment::persisted::DeletionPolicy::Delete;
use crate::operator::deployment::persisted::OperationState::Planned;
use crate::operator::deployment::persisted::OperationType::{Create, Recreate, Redeploy, Undeploy};
use crate::operator::deployment::persisted::Phase::{Deployed, Deploying, Undeploying};
use crate::operator::values::names::Names;

const SENT: Expected = sends(Recreate);
const REDEPLOYED: Expected = sends(Redeploy);
const AGAIN: Expected = again(Recreate);
const WAITS: Expected = runs(Recreate);
const CREATES: Expected = sends(Create);

fn recreates(fixture: Fixture) -> Fixture {
    fixture.with(|it| it.intent.recreate = true)
}

fn set_back(fixture: Fixture) -> Fixture {
    fixture.with(|it| it.intent.recreate = false)
}

/// A secured value was removed, and the DELETE was accepted so many seconds ago.
fn begun(seconds: u64) -> Fixture {
    recreates(wants(without_u())).begins(Recreate).accepted().aged(seconds)
}

/// The same, and the DELETE was not answered.
fn planned(seconds: u64) -> Fixture {
    begun(seconds).with(|it| it.operation().state = Planned)
}

#[test]
fn only_a_removed_value_that_the_resource_sent_causes_a_new_deployment() {
    let removed = || recreates(wants(without_u()));
    let unavailable = idle(Outcome::VersionUnavailable { wanted: 1, latest: Some(2), drifted: false });
    let kept = recreates(redeployed(wants(without_b()))).version(Some(1), Some(2));
    let moved = removed().follows(Some(2)).with(|it| it.persisted.followed = Some(2));
    let busy = removed().seeing(|seen| seen.phase = Deploying);
    let undeclared = removed().seeing(|seen| seen.declared = Some(Declared::default()));
    check(vec![
        ("nothing is removed", recreates(live()), SETTLED),
        ("a plain value is removed", recreates(wants(without_b())), SENT),
        ("a secured value is removed", removed(), SENT),
        ("it was removed before removedValuesPolicy was set", recreates(redeployed(wants(without_b()))), SENT),
        ("removed, and something else changes", removed().requests("now").gathered(), SENT),
        ("not while more changes may follow", removed().with(|it| it.transient.change = None), idle(Outcome::Changing)),
        ("not while it is suspended", removed().suspended(), idle(Outcome::HeldBySuspend)),
        ("not while an operation runs", busy, idle(Outcome::Busy)),
        ("not if the values for the create are not known", recreates(live()).unknown(), idle(Outcome::ValuesUnknown)),
        ("not if another version would be created", removed().version(Some(1), Some(2)), REDEPLOYED),
        ("which is reported once nothing else is due", kept, unavailable),
        ("a newer version first", removed().follows(Some(2)), REDEPLOYED),
        ("not after a move that failed", moved, REDEPLOYED),
        ("what the version that runs does not declare is not removed", undeclared, REDEPLOYED),
        ("not without removedValuesPolicy: Recreate", wants(without_u()), REDEPLOYED),
    ]);
}

#[test]
fn nothing_more_is_deleted_once_removed_values_is_set_back() {
    let undeploying = begun(600).seeing(|seen| seen.phase = Undeploying);
    check(vec![
        ("it exists again", set_back(begun(119)), WAITS),
        ("undeploying", set_back(undeploying), WAITS),
        ("it exists after the quiet period", set_back(begun(120)), REDEPLOYED),
        ("its DELETE may have been lost", set_back(planned(120)), REDEPLOYED),
        ("gone", set_back(begun(0)).absent(), CREATES),
    ]);
}

#[test]
fn the_deployment_is_created_once_it_is_gone() {
    let accepted = |outcome| (Does::Rest, Stored::Accepted, outcome);
    let missing: Expected = (Does::Rest, Stored::Planned, Outcome::Missing);
    check(vec![
        ("undeploying", begun(0).seeing(|seen| seen.phase = Undeploying), WAITS),
        ("it exists again", begun(0), WAITS),
        ("it exists again, for a long time", begun(600), AGAIN),
        ("gone", begun(0).absent(), CREATES),
        ("gone, and the values are not known now", begun(0).absent().unknown(), accepted(Outcome::ValuesUnknown)),
        ("gone, and suspended", begun(0).absent().suspended(), accepted(Outcome::HeldBySuspend)),
        ("gone, but its DELETE was not accepted: one 404 proves nothing", planned(600).absent(), missing),
        ("gone, and its DELETE may still arrive", planned(89).absent_for(60), missing),
        ("gone for a long time, and its DELETE was not accepted", planned(600).absent_for(60), CREATES),
        ("gone, and another deployment has the key", begun(0).key_held(), accepted(Outcome::KeyTaken)),
        ("the response was lost, and the deployment still exists", planned(600), AGAIN),
        ("the resource is deleted meanwhile", begun(0).deletion(Delete), sends(Undeploy)),
    ]);
}

#[test]
fn the_created_deployment_has_no_removed_values() {
    let fixture = begun(0).absent();
    let created = fixture.decide();
    assert_eq!(created.persisted.id.as_deref(), Some("id-1"), "a stale read may still show it");
    let fixture = fixture.after(created).id("id-2").accepted().sees(Deployed).seeing(|seen| {
        seen.id = "id-2".into();
        (seen.values, seen.secured) = (visible(&[("A", "1"), ("B", "2")]), Names::default());
    });
    assert_eq!(fixture.outcome(), SETTLED.2);
    let retained = fixture.next_applied().retained;
    assert!(retained.is_empty(), "{retained:?}");
}

#[test]
fn a_refused_create_is_still_due_and_the_deployment_is_not_reported_as_disappeared() {
    let fixture = begun(0).absent();
    let (decision, call) = (fixture.decide(), Call { kind: CallKind::Create, cause: cause(&fixture) });
    for answer in [Response::Refused, Response::Duplicate, Response::Retryable] {
        let after = apply_response(&decision.persisted, &decision.transient, &call, &answer, NOW);
        let mut next = Fixture { persisted: after.persisted, transient: after.transient, ..fixture.clone() };
        (next.transient.refused, next.transient.pause) = (None, None);
        assert_eq!(next.outcome(), CREATES.2, "{answer:?}");
    }
}

#[test]
fn retained_values_are_named_even_while_nothing_may_be_sent() {
    for begin in [recreates, set_back] {
        let mut fixture = begin(live()).suspended();
        for wanted in [without_u(), wanting(&[("A", "9"), ("B", "2")], &[("T", "secret")])] {
            fixture = fixture.wanting(wanted).gathered();
            fixture.persisted = fixture.decide().persisted;
            assert!(names(&mut fixture).contains(&"service/U (secured)".to_owned()), "{fixture:#?}");
        }
    }
}
