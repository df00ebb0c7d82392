//! What delays a call that is due: a refusal, a pause, and rule 20.

use std::time::Duration;

use clock::later;

use super::build::{
    Does, Expected, Fixture, NOW, SETTLED, Stored, again, cause, check, creating, fresh, idle, live, redeploying,
    rotating, sends, stored,
};
use crate::operator::deployment::decide::{Cause, Outcome, Pause, TransientState};
use crate::operator::deployment::persisted::DeletionPolicy::Delete;
use crate::operator::deployment::persisted::OperationType::{Create, Redeploy, Undeploy};
use crate::operator::deployment::persisted::Phase::{Deployed, Deploying, Failed};

const SENT: Expected = sends(Redeploy);
const REFUSED: Expected = idle(Outcome::Refused);

fn changed() -> Fixture {
    live().wants("2", "secret").gathered()
}

#[test]
fn a_refusal_is_not_repeated_before_its_time_unless_its_cause_changes() {
    let latest = |fixture: Fixture, latest| fixture.with(|it| it.intent.version.latest = latest);
    let refused = || changed().refused(600);
    let refused_at_1 = || latest(changed(), Some(1)).refused(600);
    let pause = |seconds| {
        let until = later(NOW, Duration::from_secs(seconds));
        changed().with(|it| it.transient.pause = Some(Pause { until, times: 1 }))
    };
    check(vec![
        ("before its time", changed().refused(1), REFUSED),
        ("after its time", changed().refused(0), SENT),
        ("another value", refused().wants("3", "secret").gathered(), SENT),
        ("another generation", refused().generation(2).gathered(), SENT),
        ("another request", refused().requests("now").gathered(), SENT),
        ("a newer version of the connector", latest(refused_at_1(), Some(2)).gathered(), SENT),
        ("a registry that cannot be read any more", latest(refused_at_1(), None).gathered(), REFUSED),
        ("a pause", pause(1), idle(Outcome::Changing)),
        ("a pause that is over", pause(0), SENT),
    ]);
}

#[test]
fn a_refusal_delays_creates_and_repeated_calls_too() {
    let held: Expected = (Does::Rest, Stored::Planned, Outcome::Refused);
    let moved = rotating().refused(1).aged(600).sees(Deployed).at_version(6);
    check(vec![
        ("a create, before its time", fresh().refused(1), REFUSED),
        ("a create, after its time", fresh().refused(0), sends(Create)),
        ("a repeated create", creating().refused(1).aged(600), held),
        ("a repeated redeploy", redeploying().refused(1).aged(600), held),
        ("a repeated redeploy, after its time", redeploying().refused(0).aged(600), again(Redeploy)),
        ("a redeploy from another version", moved, held),
    ]);
}

#[test]
fn a_refused_undeploy_does_not_delay_a_redeploy_and_the_other_way_round() {
    let undeploy = Cause { digest: None, latest: None, ..cause(&changed()) };
    let refused =
        || changed().refused(600).with(|it| it.transient.refused.as_mut().expect("set").cause = undeploy.clone());
    check(vec![
        ("a refused redeploy, deleted", changed().refused(600).deletion(Delete), sends(Undeploy)),
        ("a refused undeploy, and a redeploy is due", refused(), SENT),
        ("a refused undeploy", refused().deletion(Delete), REFUSED),
    ]);
}

#[test]
fn a_refusal_is_re_evaluated_after_its_time_and_forgotten_when_settled() {
    let fixture = live().wants("2", "secret").refused(600);
    assert_eq!(fixture.decide().again, Some(Duration::from_mins(10)));
    assert_eq!(fixture.wants("1", "secret").decide().transient, TransientState::default(), "settled: forgotten");
}

#[test]
fn rule_20_a_suspended_resource_is_observed_and_sends_nothing() {
    let held = (Does::Rest, Stored::Planned, Outcome::HeldBySuspend);
    let rows = [
        ("nothing was created", fresh(), idle(Outcome::HeldBySuspend)),
        ("settled", live(), SETTLED),
        ("a create", creating().aged(600), held),
        ("a redeploy", redeploying().aged(600), held),
        ("another secured value", rotating().aged(600), held),
    ]
    .map(|(name, fixture, expected)| (name, fixture.suspended(), expected));
    for (name, fixture, _) in &rows {
        assert_eq!(fixture.decide().persisted, fixture.persisted, "{name}: nothing is written");
    }
    check(rows.into());
    let accepted = redeploying().suspended().sees(Deploying).shows("2").decide();
    assert_eq!(stored(&accepted.persisted), Stored::Accepted, "an operation that was begun is observed to its end");
}

#[test]
fn rule_20_an_only_observed_deployment_is_reported_and_nothing_else() {
    let observed = || live().observes_only();
    let never_applied = fresh().sees(Deployed).observes_only().wants("2", "secret").requests("now");
    check(vec![
        ("deployed", observed(), idle(Outcome::Observed(Deployed))),
        ("failed", observed().sees(Failed), idle(Outcome::Observed(Failed))),
        ("busy", observed().sees(Deploying), idle(Outcome::Observed(Deploying))),
        ("absent", observed().absent(), idle(Outcome::NothingToObserve)),
        ("replaced by another client", observed().key_held(), idle(Outcome::KeyTaken)),
        ("other values, a request, and never applied", never_applied, idle(Outcome::Observed(Deployed))),
    ]);
}

#[test]
fn rule_20_an_only_observed_deployment_is_polled_often_while_it_is_busy() {
    let fixture = live().observes_only().sees(Deploying);
    let busy = fixture.decide();
    assert!(busy.again.is_some() && busy.transient.busy_since.is_some(), "{busy:?}");
    let over = fixture.after(busy).sees(Deployed).decide();
    assert_eq!((over.again, over.transient.busy_since), (None, None));
}
