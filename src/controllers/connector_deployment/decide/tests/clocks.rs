//! Clocks that were set back, and leaders whose clocks differ: what was written has a time in the future.

use std::time::Duration;

use clock::later;

use super::build::{ABSENT, Does, Fixture, NOW, Stored, does, stored, wanted};
use crate::controllers::connector_deployment::decide::{Cause, Change, Outcome, Pause, Refused};
use crate::controllers::connector_deployment::persisted::{DeletionPolicy, Phase};

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
fn an_operation_that_starts_in_the_future_ages_from_when_this_process_first_saw_it() {
    use crate::controllers::connector_deployment::persisted::OperationType::{Create, Redeploy, Undeploy};
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
    fixture.transient = fixture.decide_at(later(NOW, Duration::from_mins(50))).transient;
    fixture.transient = fixture.decide().transient;
    assert_eq!(does(&fixture.decide_at(later(NOW, Duration::from_secs(59)))), Does::Rest);
    assert_eq!(
        does(&fixture.decide_at(later(NOW, Duration::from_mins(1)))),
        Does::SendAgain(crate::controllers::connector_deployment::persisted::OperationType::Create)
    );
}

#[test]
fn the_age_continues_when_the_clock_has_caught_up() {
    let mut fixture = Fixture::redeploying();
    fixture.operation().started_at = later(NOW, Duration::from_secs(100));
    fixture.wanted = Some(wanted("7", "secret"));
    fixture.transient = fixture.decide().transient;
    assert_eq!(does(&fixture.decide_at(later(NOW, Duration::from_secs(119)))), Does::Rest);
    assert_ne!(does(&fixture.decide_at(later(NOW, Duration::from_mins(2)))), Does::Rest);
}

#[test]
fn absence_is_proven_even_if_the_last_write_lies_in_the_future() {
    let mut fixture = Fixture::live();
    fixture.observation = ABSENT;
    fixture.applied().at = later(NOW, Duration::from_hours(5));
    fixture.transient.absent_since = Some(later(NOW, Duration::from_hours(5)));
    for (seconds, expected) in
        [(0, Outcome::Missing), (90, Outcome::Missing), (119, Outcome::Missing), (120, Outcome::Disappeared)]
    {
        let decision = fixture.decide_at(later(NOW, Duration::from_secs(seconds)));
        assert_eq!(decision.outcome, expected, "{seconds} s");
        fixture.transient = decision.transient;
    }
}

#[test]
fn times_in_the_future_delay_nothing_for_long() {
    let far = later(NOW, Duration::from_hours(500));
    let asked = wanted("2", "secret");
    let cause = Cause { digest: Some(asked.payload.digest.clone()), generation: 1, request: None, latest: None };
    let mut fixture = Fixture::live();
    fixture.wanted = Some(asked);
    fixture.transient.change = Some(Change { cause: cause.clone(), first: far, last: far });
    let decision = fixture.decide();
    assert_eq!((does(&decision), decision.again), (Does::Rest, Some(Duration::from_secs(2))));

    fixture.transient.change = None;
    fixture.transient.refused = Some(Refused { cause, until: far, times: 1 });
    assert_eq!(fixture.decide().again, Some(Duration::from_hours(1)));

    fixture.transient.refused = None;
    fixture.transient.pause = Some(Pause { until: far, times: 1 });
    assert_eq!(fixture.decide().again, Some(Duration::from_mins(1)));

    let mut fixture = Fixture::redeploying();
    fixture.accepted().aged(3600).rests(0).transient.resting.as_mut().expect("a final state was read").since = far;
    fixture.transient = fixture.decide().transient;
    let decision = fixture.decide_at(later(NOW, Duration::from_mins(1)));
    assert_eq!(stored(&decision.persisted), Stored::Nothing, "ended after a minute");
    assert_eq!(fixture.decide_at(later(NOW, Duration::from_secs(59))).persisted.operation, fixture.persisted.operation);
    assert_eq!(decision.persisted.applied.expect("the operation has ended").outcome, Phase::Deployed);
}
