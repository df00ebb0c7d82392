//! Rules 2, 3 and 13: a deployment that exists under the key while nothing about it is persisted.

use super::build::{Does, Fixture, NOW, Row, SETTLED, Stored, ago, check, does, wanted, without_secrets};
use crate::operator::deployment::decide::{Outcome, Version};
use crate::operator::deployment::persisted::Phase;
use crate::operator::values::RETRY_STRATEGY;
use crate::operator::values::names::Item;

const TAKEN: (Does, Stored, Outcome) = (Does::Rest, Stored::Nothing, Outcome::KeyTaken);
const CANNOT: (Does, Stored, Outcome) = (Does::Rest, Stored::Nothing, Outcome::NotAdoptable);
const WAITS: (Does, Stored, Outcome) = (Does::Rest, Stored::Nothing, Outcome::TakingOver);
const REDEPLOYS: (Does, Stored, Outcome) = (Does::Rest, Stored::Nothing, Outcome::Changing);

/// The status was lost, and the annotation names the deployment that exists.
fn restored() -> Fixture {
    let mut fixture = Fixture::new();
    fixture.intent.remote_id = Some("id-1".into());
    fixture.sees(Phase::Deployed);
    fixture.rests(60);
    fixture
}

#[test]
fn rule_2_an_existing_deployment_is_not_taken_over_unless_the_user_asks_for_it() {
    let rows: &[Row] = &[
        ("neither annotation nor policy", |fixture| fixture.intent.remote_id = None, TAKEN),
        ("the annotation names another deployment", |fixture| fixture.intent.remote_id = Some("id-2".into()), TAKEN),
        ("the annotation names the deployment", |_| {}, SETTLED),
        (
            "adoptionPolicy: Adopt",
            |fixture| {
                fixture.intent.remote_id = None;
                fixture.intent.adopt = true;
            },
            SETTLED,
        ),
        (
            "another region",
            |fixture| {
                fixture.intent.adopt = true;
                fixture.sees(Phase::Deployed).region = "other".into();
            },
            CANNOT,
        ),
        (
            "another connector",
            |fixture| {
                fixture.intent.adopt = true;
                fixture.sees(Phase::Deployed).connector_key = Some("other".into());
            },
            CANNOT,
        ),
        (
            "another type",
            |fixture| {
                fixture.intent.adopt = true;
                fixture.sees(Phase::Deployed).kind = "production".into();
            },
            CANNOT,
        ),
        (
            "the annotation names the deployment, and its region differs",
            |fixture| fixture.sees(Phase::Deployed).region = "other".into(),
            CANNOT,
        ),
    ];
    check(restored, rows);
}

#[test]
fn rule_13_a_deployment_is_taken_over_after_a_minute_without_changes() {
    let rows: &[Row] = &[
        ("the first observation", |fixture| fixture.transient.resting = None, WAITS),
        ("before 60 s", |fixture| _ = fixture.rests(59), WAITS),
        ("after 60 s", |_| {}, SETTLED),
        (
            "another version than before",
            |fixture| {
                fixture.transient.resting.as_mut().expect("a final state was read").version = 4;
            },
            WAITS,
        ),
        (
            "another status than before",
            |fixture| {
                fixture.transient.resting.as_mut().expect("a final state was read").phase = Phase::Failed;
            },
            WAITS,
        ),
        ("busy", |fixture| _ = fixture.sees(Phase::Deploying), WAITS),
        ("values unknown", |fixture| fixture.wanted = None, (Does::Rest, Stored::Nothing, Outcome::ValuesUnknown)),
        (
            "a retry policy is desired that the record does not show",
            |fixture| {
                let names = &mut fixture.wanted.as_mut().expect("values are desired").payload.names;
                names.insert(Item::retry_policy("service", RETRY_STRATEGY));
            },
            REDEPLOYS,
        ),
        ("visible values differ", |fixture| fixture.wanted = Some(wanted("2", "secret")), REDEPLOYS),
        (
            "failed",
            |fixture| {
                fixture.sees(Phase::Failed);
                fixture.rests(60);
            },
            (Does::Rest, Stored::Nothing, Outcome::Settled { phase: Phase::Failed, drifted: false }),
        ),
        (
            "a higher version is requested",
            |fixture| {
                fixture.intent.version = Version { wanted: Some(2), latest: Some(2), follow: false };
            },
            REDEPLOYS,
        ),
    ];
    check(restored, rows);

    let mut fixture = restored();
    fixture.transient.resting = None;
    fixture.transient = fixture.decide().transient;
    assert_eq!(fixture.transient.resting.map(|resting| resting.since), Some(NOW));
    fixture.wanted = None;
    assert!(
        fixture.rests(3600).decide().transient.resting.is_some(),
        "the minute does not start again once the values are known"
    );
    fixture.sees(Phase::Queued);
    assert_eq!(fixture.decide().transient.resting, None, "a busy deployment ends the row");
}

#[test]
fn rule_13_an_adopted_deployment_is_unverified_and_its_request_is_handled() {
    for (input, value, secured, known) in
        [("the same", "1", true, true), ("no secrets", "1", false, true), ("visible values differ", "2", true, false)]
    {
        let mut fixture = restored();
        fixture.wanted = Some(wanted(value, "secret"));
        if !secured {
            without_secrets(&mut fixture);
        }
        let desired = fixture.wanted.clone().expect("values are desired");
        fixture.intent.redeploy_request = Some("now".into());
        let decision = fixture.decide();
        assert_eq!(does(&decision), Does::Rest, "{input}");
        let persisted = decision.persisted;
        assert_eq!(persisted.id.as_deref(), Some("id-1"), "{input}");
        assert_eq!(persisted.unverified, secured, "{input}");
        assert_eq!(persisted.handled_redeploy.as_deref(), Some("now"), "{input}");
        let applied = persisted.applied.expect("the deployment was taken over");
        assert_eq!(applied.digest, known.then_some(desired.payload.digest), "{input}");
        assert_eq!(applied.names, known.then_some(desired.payload.names), "{input}");
        assert_eq!((applied.outcome, applied.at), (Phase::Deployed, NOW), "{input}");
    }
    for (input, phase, serves) in [("it runs", Phase::Deployed, true), ("it failed", Phase::Failed, false)] {
        let mut fixture = restored();
        fixture.sees(phase);
        let applied = fixture.rests(60).decide().persisted.applied.expect("the deployment was taken over");
        assert_eq!(applied.serves, serves, "{input}");
    }
    let mut fixture = restored();
    fixture.wanted = Some(wanted("2", "secret"));
    let mut next = Fixture { persisted: fixture.decide().persisted, transient: fixture.decide().transient, ..fixture };
    next.transient.change.as_mut().expect("the difference is collected").first = ago(10);
    let decision = next.decide();
    assert!(matches!(does(&decision), Does::Send(_)), "visible values that differ cause one redeploy");
}
