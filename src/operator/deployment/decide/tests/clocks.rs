//! Clocks that were set back, and leaders whose clocks differ: what was written has a time in the future.

use std::time::Duration;

use clock::later;

use super::build::{Does, Fixture, NOW, creating, does, live, redeploying};
use crate::operator::deployment::decide::Outcome;
use crate::operator::deployment::persisted::DeletionPolicy::Delete;
use crate::operator::deployment::persisted::OperationType::{Create, Redeploy, Undeploy};

fn ahead(fixture: Fixture) -> Fixture {
    fixture.with(|it| it.operation().started_at = later(NOW, Duration::from_hours(5)))
}

#[test]
fn an_operation_that_starts_in_the_future_ages_from_when_it_is_first_seen() {
    let undeploying = creating().id("id-1").with(|it| it.operation().kind = Undeploy);
    for (case, fixture, pause, expected) in [
        ("a create", creating(), 60, Does::SendAgain(Create)),
        ("a create, changed", creating().wants("7", "secret"), 120, Does::SendAgain(Create)),
        ("a redeploy", redeploying(), 10, Does::SendAgain(Redeploy)),
        ("a redeploy, changed", redeploying().wants("7", "secret"), 120, Does::Send(Redeploy)),
        ("a create, deleted", creating().deletion(Delete), 120, Does::Release),
        ("an undeploy", undeploying.deletion(Delete), 6, Does::SendAgain(Undeploy)),
    ] {
        let mut fixture = ahead(fixture);
        for (seconds, expected) in [(0, Does::Rest), (pause - 1, Does::Rest), (pause, expected)] {
            let decision = fixture.decide_at(later(NOW, Duration::from_secs(seconds)));
            assert_eq!(does(&decision), expected, "{case}, after {seconds} s");
            let soon = decision.again.is_none_or(|again| again <= Duration::from_secs(15));
            assert!(soon || expected != Does::Rest, "{case}: {:?}", decision.again);
            fixture = fixture.after(decision);
        }
    }
}

#[test]
fn a_clock_that_is_set_back_again_restarts_the_age() {
    let fixture = ahead(creating());
    let decision = fixture.decide_at(later(NOW, Duration::from_mins(50)));
    let fixture = fixture.after(decision);
    let decision = fixture.decide();
    let fixture = fixture.after(decision);
    let at = |seconds| does(&fixture.decide_at(later(NOW, Duration::from_secs(seconds))));
    assert_eq!((at(59), at(60)), (Does::Rest, Does::SendAgain(Create)));
}

#[test]
fn absence_is_proven_even_if_the_last_write_lies_in_the_future() {
    let mut fixture = live().absent().with(|it| it.applied().at = later(NOW, Duration::from_hours(5)));
    let missing = Outcome::Missing;
    for (seconds, expected) in [(0, missing), (90, missing), (119, missing), (120, Outcome::Disappeared)] {
        let decision = fixture.decide_at(later(NOW, Duration::from_secs(seconds)));
        assert_eq!(decision.outcome, expected, "{seconds} s");
        fixture = fixture.after(decision);
    }
}
