//! The rows *Redeploy* of the table.

use super::build::{
    Expected, Fixture, SETTLED, again, check, idle, redeploying, rotating, runs, sends, visible, waits, wanted,
};
use crate::operator::deployment::decide::{CallKind, Outcome};
use crate::operator::deployment::persisted::OperationType::{Create, Recreate, Redeploy};
use crate::operator::deployment::persisted::Phase::{Deployed, Deploying, Queued};
use crate::operator::deployment::persisted::{OperationState, OperationType};

const WAITS: Expected = waits(Redeploy);
const AGAIN: Expected = again(Redeploy);
const ANEW: Expected = sends(Redeploy);
const RUNS: Expected = runs(Redeploy);

#[test]
fn redeploy_planned_at_the_same_version() {
    check(vec![
        ("before its pause", redeploying().aged(9), WAITS),
        ("after its pause", redeploying().aged(10), AGAIN),
        ("the third time, before its pause", redeploying().aged(23).attempt(3), WAITS),
        ("the third time, after its pause", redeploying().aged(24).attempt(3), AGAIN),
        ("values unknown", redeploying().aged(500).unknown(), WAITS),
        ("changed, before the quiet period", redeploying().aged(119).wants("3", "secret"), WAITS),
        ("changed, after the quiet period", redeploying().aged(120).wants("3", "secret"), ANEW),
    ]);
}

/// The redeploy was begun to move to another version of the connector, and changes no value.
#[test]
fn a_planned_move_without_a_version_to_move_to_is_never_sent() {
    let moving = |seconds| {
        let payload = Some(wanted("1", "secret").payload);
        redeploying().aged(seconds).wants("1", "secret").with(|it| it.operation().payload = payload)
    };
    let requested = moving(10).with(|it| it.operation().redeploy_request = Some("now".into())).requests("now");
    let follows = moving(10).with(|it| (it.intent.version.follow, it.intent.version.latest) = (true, Some(9)));
    check(vec![
        ("it may still arrive", moving(119), WAITS),
        ("after the quiet period", moving(120), SETTLED),
        ("a later version exists", follows, AGAIN),
        ("the redeploy serves a request", requested, AGAIN),
        ("a value differs", moving(10).sees(Deployed).shows("3"), AGAIN),
    ]);
}

/// The status was edited: nothing is known of a deployment, and none exists.
#[test]
fn an_operation_without_a_deployment_is_given_up() {
    let lost = |kind: OperationType, state: OperationState| {
        let fixture = redeploying().absent().with(|it| it.persisted.id = None);
        fixture.with(|it| (it.operation().kind, it.operation().state) = (kind, state))
    };
    check(vec![
        ("a redeploy, planned", lost(Redeploy, OperationState::Planned), sends(Create)),
        ("a redeploy, accepted", lost(Redeploy, OperationState::Accepted), sends(Create)),
        ("a recreation, planned", lost(Recreate, OperationState::Planned), sends(Create)),
        ("a recreation, accepted", lost(Recreate, OperationState::Accepted), sends(Create)),
    ]);
}

#[test]
fn a_repeated_redeploy_keeps_its_starting_version_and_a_new_one_does_not() {
    let fixture = redeploying().aged(60).seen_busy();
    assert_eq!(fixture.sent(), CallKind::Redeploy);
    let operation = fixture.next_operation();
    assert_eq!((operation.attempt, operation.seen_busy, operation.from_version), (2, false, Some(5)));
    assert!(fixture.next_applied().digest.is_some());

    let fixture = fixture.aged(120).wants("3", "secret").requests("now");
    let operation = fixture.next_operation();
    assert_eq!((operation.attempt, operation.seen_busy, operation.changes_visible), (1, false, true));
    assert_eq!(operation.redeploy_request.as_deref(), Some("now"));
    assert_eq!(operation.payload, Some(wanted("3", "secret").payload));
    assert_eq!(fixture.next_applied().digest, None, "the first call may have been sent");
}

#[test]
fn redeploy_planned_and_busy() {
    check(vec![
        ("changes visible values, and they fit", redeploying().sees(Deploying).shows("2"), RUNS),
        ("the change does not show", redeploying().sees(Deploying), WAITS),
        ("proves nothing", rotating().sees(Deploying), WAITS),
    ]);
    for (name, fixture, age, noted) in [
        ("proves nothing", rotating(), 119, true),
        ("proves nothing, too late", rotating(), 120, false),
        ("other values", redeploying(), 119, true),
        ("other values, too late", redeploying(), 120, false),
    ] {
        assert_eq!(fixture.aged(age).sees(Queued).next_operation().seen_busy, noted, "{name}");
    }
    let fixture = redeploying().sees(Deploying).shows("2").with(|it| it.persisted.unverified = true);
    assert!(fixture.next_operation().seen_busy);
    assert!(!fixture.decide().persisted.unverified, "the secured values arrived with the visible ones");
}

#[test]
fn redeploy_planned_at_another_version() {
    let other_build = |fixture: Fixture, build: Option<&str>| fixture.seeing(|seen| seen.build = build.map(Into::into));
    check(vec![
        ("the visible values prove it, before 60 s", redeploying().moved(59, "2"), WAITS),
        ("the visible values prove it, after 60 s", redeploying().moved(60, "2"), RUNS),
        ("the visible values prove it, hours later", redeploying().moved(86_000, "2"), RUNS),
        ("before 60 s, busy was observed", rotating().moved(59, "1").seen_busy(), WAITS),
        ("busy was observed", rotating().moved(60, "1").seen_busy(), RUNS),
        ("busy was observed, hours later", rotating().moved(86_000, "1").seen_busy(), RUNS),
        ("another build within 2 minutes", other_build(rotating().moved(119, "1"), Some("build-2")), RUNS),
        ("another build after 2 minutes", other_build(rotating().moved(120, "1"), Some("build-2")), AGAIN),
        ("a missing build is not another build", other_build(rotating().moved(119, "1"), None), WAITS),
        ("no other evidence, before the quiet period", rotating().moved(119, "1"), WAITS),
        ("no other evidence, after the quiet period", rotating().moved(120, "1"), AGAIN),
        ("no other evidence, after the quiet period, values unknown", rotating().moved(120, "1").unknown(), WAITS),
        ("other values, before the quiet period", redeploying().moved(119, "3"), WAITS),
        ("other values, after the quiet period", redeploying().moved(120, "3"), idle(Outcome::Changing)),
    ]);
    let fixture = rotating().moved(120, "1");
    assert_eq!(fixture.sent(), CallKind::Redeploy);
    let operation = fixture.next_operation();
    assert_eq!((operation.from_version, operation.changes_visible), (Some(6), false));
    assert_eq!(fixture.next_applied().digest, None);
    let given_up = redeploying().moved(120, "3").next_applied();
    assert_eq!(given_up.digest, None, "given up, although it may have been sent");
}

#[test]
fn a_lost_response_to_a_change_of_secured_values_leaves_them_unverified() {
    let busy = || rotating().moved(60, "1").seen_busy();
    for (name, fixture, unverified) in [
        ("there are some", busy(), true),
        ("there are none", busy().without_secrets(), false),
        ("the visible values prove it", redeploying().moved(60, "2"), false),
    ] {
        assert_eq!(fixture.decide().persisted.unverified, unverified, "{name}");
    }
}

#[test]
fn a_change_of_secured_values_only_proves_nothing() {
    let secured = redeploying().moved(60, "2").with(|it| it.operation().changes_visible = false);
    let more = redeploying().moved(60, "2").seeing(|seen| seen.values = visible(&[("A", "2"), ("B", "9")]));
    check(vec![
        ("only secured values change", secured, WAITS),
        ("it changes values that count", redeploying().moved(60, "2"), RUNS),
        ("visible values that were not sent prove nothing", more, RUNS),
    ]);
}

#[test]
fn a_redeploy_whose_end_is_observed_first_is_read_for_another_minute() {
    let idle = rotating().moved(90, "1").seen_busy().decide();
    assert!(idle.transient.resting.is_some(), "{idle:?}");
    let busy = redeploying().moved(90, "2").seeing(|seen| seen.phase = Deploying);
    assert_eq!(busy.next_operation().state, OperationState::Accepted);
    assert_eq!(busy.decide().transient.resting, None);
}
