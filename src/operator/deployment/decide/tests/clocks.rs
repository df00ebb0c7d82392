//! Clocks that were set back, and leaders whose clocks differ: what was written has a time in the future.

use std::time::Duration;

use clock::later;

use super::build::{ABSENT, Does, Fixture, NOW, does, wanted};
use crate::operator::deployment::decide::Outcome;
use crate::operator::deployment::persisted::DeletionPolicy;

/// Decides at each of these seconds after now, and returns what is sent.
fn over_time<const N: usize>(mut fixture: Fixture, seconds: [u64; N]) -> [Does; N] {
    seconds.map(|seconds| {
        let decision = fixture.decide_at(later(NOW, Duration::from_secs(seconds)));
        if does(&decision) == Does::Rest {
            assert!(decision.again.is_none_or(|again| again <= Duration::from_secs(15)), "{:?}", decision.again);
            (fixture.persisted, fixture.transient) = (decision.persisted.clone(), decision.transient.clone());
        }
        does(&decision)
    })
}

#[test]
fn an_operation_that_starts_in_the_future_ages_from_when_it_is_first_seen() {
    use crate::operator::deployment::persisted::OperationType::{Create, Redeploy, Undeploy};
    let ahead = |mut fixture: Fixture| {
        fixture.operation().started_at = later(NOW, Duration::from_hours(5));
        fixture
    };
    let changed = |mut fixture: Fixture| {
        fixture.wanted = Some(wanted("7", "secret"));
        fixture
    };
    let deleted = |mut fixture: Fixture| {
        fixture.intent.deletion = Some(DeletionPolicy::Delete);
        fixture
    };
    let rest = Does::Rest;
    assert_eq!(over_time(ahead(Fixture::creating()), [0, 59, 60]), [rest, rest, Does::SendAgain(Create)]);
    assert_eq!(over_time(changed(ahead(Fixture::creating())), [0, 119, 120]), [rest, rest, Does::SendAgain(Create)]);
    assert_eq!(over_time(ahead(Fixture::redeploying()), [0, 9, 10]), [rest, rest, Does::SendAgain(Redeploy)]);
    assert_eq!(over_time(changed(ahead(Fixture::redeploying())), [0, 119, 120]), [rest, rest, Does::Send(Redeploy)]);
    assert_eq!(over_time(deleted(ahead(Fixture::creating())), [0, 119, 120]), [rest, rest, Does::Release]);
    let mut undeploying = deleted(ahead(Fixture::creating()));
    undeploying.persisted.id = Some("id-1".into());
    undeploying.operation().kind = Undeploy;
    assert_eq!(over_time(undeploying, [0, 5, 6]), [rest, rest, Does::SendAgain(Undeploy)]);
}

#[test]
fn a_clock_that_is_set_back_again_restarts_the_age() {
    let mut fixture = Fixture::creating();
    fixture.operation().started_at = later(NOW, Duration::from_hours(5));
    fixture.persisted = fixture.decide_at(later(NOW, Duration::from_mins(50))).persisted;
    fixture.persisted = fixture.decide().persisted;
    assert_eq!(does(&fixture.decide_at(later(NOW, Duration::from_secs(59)))), Does::Rest);
    assert_eq!(
        does(&fixture.decide_at(later(NOW, Duration::from_mins(1)))),
        Does::SendAgain(crate::operator::deployment::persisted::OperationType::Create)
    );
}

#[test]
fn absence_is_proven_even_if_the_last_write_lies_in_the_future() {
    let mut fixture = Fixture::live();
    fixture.observation = ABSENT;
    fixture.applied().at = later(NOW, Duration::from_hours(5));
    for (seconds, expected) in
        [(0, Outcome::Missing), (90, Outcome::Missing), (119, Outcome::Missing), (120, Outcome::Disappeared)]
    {
        let decision = fixture.decide_at(later(NOW, Duration::from_secs(seconds)));
        assert_eq!(decision.outcome, expected, "{seconds} s");
        (fixture.persisted, fixture.transient) = (decision.persisted, decision.transient);
    }
}
