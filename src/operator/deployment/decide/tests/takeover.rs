//! Rules 2, 3 and 13: a deployment that exists under the key while nothing about it is persisted.

use super::build::{Does, Expected, FAILED, Fixture, NOW, SETTLED, ago, check, fresh, idle};
use crate::operator::deployment::decide::Outcome;
use crate::operator::deployment::persisted::Phase::{Deployed, Deploying, Failed, Queued};
use crate::operator::values::RETRY_STRATEGY;
use crate::operator::values::names::Item;

const TAKEN: Expected = idle(Outcome::KeyTaken);
const CANNOT: Expected = idle(Outcome::NotAdoptable);
const WAITS: Expected = idle(Outcome::TakingOver);
const REDEPLOYS: Expected = idle(Outcome::Changing);

/// The status was lost, and the annotation names the deployment that exists.
fn restored() -> Fixture {
    fresh().with(|it| it.intent.remote_id = Some("id-1".into())).sees(Deployed).rests(60)
}

#[test]
fn rule_2_an_existing_deployment_is_not_taken_over_unless_the_user_asks_for_it() {
    let named = |id: Option<&str>| restored().with(|it| it.intent.remote_id = id.map(Into::into));
    let adopts = || named(None).with(|it| it.intent.adopt = true);
    check(vec![
        ("neither annotation nor policy", named(None), TAKEN),
        ("the annotation names another deployment", named(Some("id-2")), TAKEN),
        ("the annotation names the deployment", restored(), SETTLED),
        ("adoptionPolicy: Adopt", adopts(), SETTLED),
        ("another region", adopts().seeing(|seen| seen.region = "other".into()), CANNOT),
        ("another connector", adopts().seeing(|seen| seen.connector_key = Some("other".into())), CANNOT),
        ("another type", adopts().seeing(|seen| seen.kind = "production".into()), CANNOT),
        ("named, and its region differs", restored().seeing(|seen| seen.region = "other".into()), CANNOT),
    ]);
}

#[test]
fn rule_13_a_deployment_is_taken_over_after_a_minute_without_changes() {
    let retries = Item::retry_policy("service", RETRY_STRATEGY);
    let retries = restored().with(|it| it.payload().names.insert(retries));
    let before = |phase, version| {
        restored().with(|it| {
            let resting = it.transient.resting.as_mut().expect("a final state was read");
            (resting.phase, resting.version) = (phase, version);
        })
    };
    check(vec![
        ("the first observation", restored().with(|it| it.transient.resting = None), WAITS),
        ("before 60 s", restored().rests(59), WAITS),
        ("after 60 s", restored(), SETTLED),
        ("another version than before", before(Deployed, 4), WAITS),
        ("another status than before", before(Failed, 5), WAITS),
        ("busy", restored().sees(Deploying), WAITS),
        ("values unknown", restored().unknown(), idle(Outcome::ValuesUnknown)),
        ("a retry policy is desired that the record does not show", retries, REDEPLOYS),
        ("visible values differ", restored().wants("2", "secret"), REDEPLOYS),
        ("failed", restored().sees(Failed).rests(60), FAILED),
        ("a higher version is requested", restored().version(Some(2), Some(2)), REDEPLOYS),
    ]);
    let first = restored().with(|it| it.transient.resting = None).decide();
    assert_eq!(first.transient.resting.map(|resting| resting.since), Some(NOW));
    let unknown = restored().unknown().rests(3600).decide();
    assert!(unknown.transient.resting.is_some(), "the minute does not start again once the values are known");
    assert_eq!(restored().sees(Queued).decide().transient.resting, None, "a busy deployment ends the row");
}

#[test]
fn rule_13_an_adopted_deployment_is_unverified_and_its_request_is_handled() {
    for (input, fixture, unverified, known) in [
        ("the same", restored(), true, true),
        ("no secrets", restored().without_secrets(), false, true),
        ("visible values differ", restored().wants("2", "secret"), true, false),
    ] {
        let mut fixture = fixture.requests("now");
        assert_eq!(fixture.does(), Does::Rest, "{input}");
        let persisted = fixture.decide().persisted;
        assert_eq!((persisted.id.as_deref(), persisted.unverified), (Some("id-1"), unverified), "{input}");
        assert_eq!(persisted.handled_redeploy.as_deref(), Some("now"), "{input}");
        let (applied, desired) = (fixture.next_applied(), fixture.payload().clone());
        assert_eq!(applied.digest, known.then_some(desired.digest), "{input}");
        assert_eq!(applied.names, known.then_some(desired.names), "{input}");
        assert_eq!((applied.outcome, applied.at), (Deployed, NOW), "{input}");
    }
    for (phase, serves) in [(Deployed, true), (Failed, false)] {
        assert_eq!(restored().sees(phase).rests(60).next_applied().serves, serves, "{phase:?}");
    }
    let fixture = restored().wants("2", "secret");
    let decision = fixture.decide();
    let next =
        fixture.after(decision).with(|it| it.transient.change.as_mut().expect("it is collected").first = ago(10));
    assert!(matches!(next.does(), Does::Send(_)), "visible values that differ cause one redeploy");
}
