//! The rows *Undeploy* of the table, and rules 22 and 23: deleting from every persisted state.

use std::time::Duration;

use super::build::{
    Does, Expected, Fixture, Stored, again, check, creating, does, fresh, idle, live, redeploying, rotating, runs,
    sends, waits,
};
use crate::operator::deployment::decide::{CallKind, Outcome, Step};
use crate::operator::deployment::persisted::DeletionPolicy::{Delete, Orphan};
use crate::operator::deployment::persisted::OperationType::Undeploy;
use crate::operator::deployment::persisted::Phase::{Deployed, Deploying, Failed, Queued, UndeployFailed, Undeploying};

const SENT: Expected = sends(Undeploy);
const AGAIN: Expected = again(Undeploy);
const WAITS: Expected = waits(Undeploy);
const RUNS: Expected = runs(Undeploy);
const REFUSED: Expected = idle(Outcome::Refused);
const MISSING: Expected = idle(Outcome::Missing);

const fn released(stored: Stored) -> Expected {
    (Does::Release, stored, Outcome::Released)
}

const FREE: Expected = released(Stored::Nothing);
const FREE_PLANNED: Expected = released(Stored::Planned);
const FREE_ACCEPTED: Expected = released(Stored::Accepted);

fn deleted(fixture: Fixture) -> Fixture {
    fixture.deletion(Delete).unknown()
}

fn undeploying() -> Fixture {
    deleted(live()).begins(Undeploy)
}

#[test]
fn rule_22_a_resource_without_a_deployment_is_removed_at_once() {
    let exists = || deleted(fresh()).sees(Deployed);
    let named = |id: &str| exists().with(|it| it.intent.remote_id = Some(id.into()));
    let other_region = named("id-1").seeing(|seen| seen.region = "other".into());
    check(vec![
        ("nothing under the key", deleted(fresh()), FREE),
        ("another client's deployment under the key", exists(), FREE),
        ("rule 3: the status was lost, and the annotation names the deployment", named("id-1"), SENT),
        ("rule 3: the annotation names another deployment", named("id-2"), FREE),
        ("rule 3: the deployment has another identity", other_region, FREE),
    ]);
}

#[test]
fn rule_22_deleting_waits_for_an_outstanding_create() {
    let aged = |seconds| deleted(creating()).aged(seconds);
    let other_region = aged(120).sees(Deployed).seeing(|seen| seen.region = "other".into());
    check(vec![
        ("absent, before the quiet period", aged(119), WAITS),
        ("absent, after the quiet period", aged(120), FREE_PLANNED),
        ("a stale read of the deployment that was gone", aged(119).sees(Deployed).id("id-1"), WAITS),
        ("fits", aged(0).sees(Queued), SENT),
        ("does not fit, before the quiet period", aged(119).sees(Deployed).shows("2"), WAITS),
        ("does not fit, after the quiet period", aged(120).sees(Deployed).shows("2"), FREE_PLANNED),
        ("other region, after the quiet period", other_region, FREE_PLANNED),
        ("accepted", aged(0).accepted().id("id-1").sees(Deploying), SENT),
    ]);
    let fixture = aged(0).sees(Queued);
    assert_eq!(fixture.decide().persisted.id.as_deref(), Some("id-1"));
    assert_eq!(fixture.sent(), CallKind::Undeploy);
}

#[test]
fn rule_22_an_existing_deployment_is_deleted_whatever_runs() {
    let live = || deleted(live());
    let redeploying = || deleted(redeploying());
    let too_long = live().busy_for(1800).sees(Undeploying);
    check(vec![
        ("live", live(), SENT),
        ("failed", live().sees(Failed), SENT),
        ("busy: the service may refuse", live().sees(Deploying), SENT),
        ("another client undeploys it", live().sees(Undeploying), idle(Outcome::Running(Undeploy))),
        ("gone: a 404 counts only after an accepted DELETE", live().absent(), SENT),
        ("suspended", live().suspended(), idle(Outcome::HeldBySuspend)),
        ("refused, too soon", live().refused(1), REFUSED),
        ("refused, after its pause", live().refused(0), SENT),
        ("refused, and undeploying", live().refused(1).sees(Undeploying), idle(Outcome::Running(Undeploy))),
        ("undeploying for half an hour", too_long, idle(Outcome::TakesTooLong)),
        ("a planned redeploy", redeploying(), SENT),
        ("a planned redeploy, gone", redeploying().absent(), SENT),
        ("an accepted redeploy", redeploying().accepted(), SENT),
        ("an accepted redeploy, gone", redeploying().accepted().absent(), SENT),
    ]);
    let undeploy = redeploying().next_operation();
    assert_eq!((undeploy.attempt, undeploy.payload), (1, None));
    assert_eq!(redeploying().next_applied().digest, None, "the redeploy may have been sent");
}

#[test]
fn rule_22_a_refused_delete_waits_for_two_404s_an_edit_or_a_request() {
    let refused = || deleted(live()).refused(3600);
    let after_redeploy = deleted(redeploying()).refused(3600).absent_for(30);
    check(vec![
        ("nothing has changed", refused(), REFUSED),
        ("an edit", refused().generation(2), SENT),
        ("a request", refused().with(|it| it.intent.reconcile_request = Some("now".into())), SENT),
        ("the first 404", refused().absent(), MISSING),
        ("another one, too soon", refused().absent_for(29), MISSING),
        ("another one, 30 s later", refused().absent_for(30), FREE_PLANNED),
        ("two 404s soon after a redeploy", after_redeploy, (Does::Rest, Stored::Planned, Outcome::Missing)),
        ("a 404 after an edit", refused().absent().generation(2), SENT),
        ("suspended, so that no DELETE may be sent", deleted(live()).suspended().absent(), MISSING),
        ("suspended, 30 s later", deleted(live()).suspended().absent_for(30), FREE_PLANNED),
    ]);
}

#[test]
fn undeploy_planned() {
    check(vec![
        ("present, before its pause", undeploying().aged(5), WAITS),
        ("present, after its pause", undeploying().aged(6), AGAIN),
        ("absent, before its pause", undeploying().aged(5).absent(), WAITS),
        ("absent, after its pause", undeploying().aged(6).absent(), AGAIN),
        ("busy", undeploying().aged(6).sees(Deploying), AGAIN),
        ("undeploying", undeploying().aged(6).sees(Undeploying), WAITS),
    ]);
    assert_eq!(undeploying().aged(6).next_operation().attempt, 2);
}

#[test]
fn a_lost_delete_is_sent_again_with_growing_pauses() {
    for (attempt, pause) in [(1, 6), (2, 12), (3, 24), (6, 192), (7, 300), (100, 300)] {
        for (case, fixture) in [("absent", undeploying().absent()), ("present", undeploying())] {
            let mut fixture = fixture.attempt(attempt);
            let until = fixture.operation().started_at + Duration::from_secs(pause);
            let found = [until - Duration::from_millis(1), until].map(|now| does(&fixture.decide_at(now)));
            assert_eq!(found, [Does::Rest, Does::SendAgain(Undeploy)], "{case}, attempt {attempt}");
        }
    }
}

#[test]
fn undeploy_accepted() {
    let aged = |seconds| undeploying().accepted().aged(seconds);
    let failed = |seconds| aged(seconds).sees(UndeployFailed);
    let reported = (RUNS.0, RUNS.1, Outcome::Settled { phase: UndeployFailed, drifted: false });
    check(vec![
        ("404", aged(0).absent(), FREE_ACCEPTED),
        ("another id under the key", aged(0).seeing(|seen| seen.id = "id-2".into()), FREE_ACCEPTED),
        ("undeploying", aged(0).sees(Undeploying), RUNS),
        ("busy with something else", aged(100).sees(Deploying), RUNS),
        ("the old status, before its pause", aged(11), RUNS),
        ("the old status, after its pause", aged(12), AGAIN),
        ("undeploying failed, before its pause", failed(11), reported),
        ("undeploying failed, after its pause", failed(12), AGAIN),
        ("the third time, before its pause", failed(47).attempt(3), reported),
        ("the third time, after its pause", failed(48).attempt(3), AGAIN),
        ("the hundredth time, after the longest pause", failed(300).attempt(100), AGAIN),
    ]);
}

#[test]
fn rule_23_orphaned_and_only_observed_resources_lose_their_finalizer_in_every_state() {
    let begun = [fresh(), creating().sees(Deploying), live(), redeploying(), rotating(), undeploying()];
    for fixture in begun.into_iter().map(deleted) {
        for fixture in [fixture.clone().deletion(Orphan), fixture.observes_only()] {
            assert_eq!(fixture.decide().step, Step::RemoveFinalizer, "{fixture:#?}");
        }
    }
}
