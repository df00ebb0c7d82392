//! Clocks that were set back, and leaders whose clocks differ: what was written has a time in the future.

use std::time::Duration;

use clock::later;

use super::build::{ABSENT, Does, Fixture, NOW, Stored, does, stored, wanted};
use crate::controllers::connector_deployment::decide::{Cause, Change, Deletion, Outcome, Pause, Refused};
use crate::controllers::connector_deployment::persisted::Phase;

/// Decides at each of these seconds after now, and returns what is sent.
fn over_time<const N: usize>(mut scene: Fixture, seconds: [u64; N]) -> [Does; N] {
    seconds.map(|seconds| {
        let decision = scene.decide_at(later(NOW, Duration::from_secs(seconds)));
        if does(&decision) == Does::Rest {
            assert!(decision.again.is_none_or(|again| again <= Duration::from_secs(15)), "{:?}", decision.again);
            (scene.persisted, scene.transient) = (decision.persisted.clone(), decision.transient.clone());
        }
        does(&decision)
    })
}

#[test]
fn an_operation_that_starts_in_the_future_ages_from_when_this_process_first_saw_it() {
    use crate::controllers::connector_deployment::persisted::OperationKind::{Create, Redeploy, Undeploy};
    let ahead = |mut scene: Fixture| {
        scene.operation().started_at = later(NOW, Duration::from_hours(5));
        scene
    };
    let changed = |mut scene: Fixture| {
        scene.wanted = Some(wanted("7", "secret"));
        scene
    };
    let deleted = |mut scene: Fixture| {
        scene.intent.deletion = Some(Deletion::Undeploy);
        scene
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
    let mut scene = Fixture::creating();
    scene.operation().started_at = later(NOW, Duration::from_hours(5));
    scene.transient = scene.decide_at(later(NOW, Duration::from_mins(50))).transient;
    scene.transient = scene.decide().transient;
    assert_eq!(does(&scene.decide_at(later(NOW, Duration::from_secs(59)))), Does::Rest);
    assert_eq!(
        does(&scene.decide_at(later(NOW, Duration::from_mins(1)))),
        Does::SendAgain(crate::controllers::connector_deployment::persisted::OperationKind::Create)
    );
}

#[test]
fn the_age_continues_when_the_clock_has_caught_up() {
    let mut scene = Fixture::redeploying();
    scene.operation().started_at = later(NOW, Duration::from_secs(100));
    scene.wanted = Some(wanted("7", "secret"));
    scene.transient = scene.decide().transient;
    assert_eq!(does(&scene.decide_at(later(NOW, Duration::from_secs(119)))), Does::Rest);
    assert_ne!(does(&scene.decide_at(later(NOW, Duration::from_mins(2)))), Does::Rest);
}

#[test]
fn absence_is_proven_even_if_the_last_write_lies_in_the_future() {
    let mut scene = Fixture::live();
    scene.observation = ABSENT;
    scene.applied().at = later(NOW, Duration::from_hours(5));
    scene.transient.absent_since = Some(later(NOW, Duration::from_hours(5)));
    for (seconds, expected) in
        [(0, Outcome::Missing), (90, Outcome::Missing), (119, Outcome::Missing), (120, Outcome::Disappeared)]
    {
        let decision = scene.decide_at(later(NOW, Duration::from_secs(seconds)));
        assert_eq!(decision.outcome, expected, "{seconds} s");
        scene.transient = decision.transient;
    }
}

#[test]
fn times_in_the_future_delay_nothing_for_long() {
    let far = later(NOW, Duration::from_hours(500));
    let asked = wanted("2", "secret");
    let cause = Cause { digest: asked.payload.digest.clone(), generation: 1, request: None, latest: None };
    let mut scene = Fixture::live();
    scene.wanted = Some(asked);
    scene.transient.change = Some(Change { cause: cause.clone(), first: far, last: far });
    let decision = scene.decide();
    assert_eq!((does(&decision), decision.again), (Does::Rest, Some(Duration::from_secs(2))));

    scene.transient.change = None;
    scene.transient.refused = Some(Refused { cause: Some(cause), until: far, times: 1 });
    assert_eq!(scene.decide().again, Some(Duration::from_hours(1)));

    scene.transient.refused = None;
    scene.transient.pause = Some(Pause { until: far, times: 1 });
    assert_eq!(scene.decide().again, Some(Duration::from_mins(1)));

    let mut scene = Fixture::redeploying();
    scene.accepted().aged(3600).rests(0).transient.resting.as_mut().expect("a final state was read").since = far;
    scene.transient = scene.decide().transient;
    let decision = scene.decide_at(later(NOW, Duration::from_mins(1)));
    assert_eq!(stored(&decision.persisted), Stored::Nothing, "ended after a minute");
    assert_eq!(scene.decide_at(later(NOW, Duration::from_secs(59))).persisted.operation, scene.persisted.operation);
    assert_eq!(decision.persisted.applied.expect("the operation has ended").outcome, Phase::Deployed);
}
