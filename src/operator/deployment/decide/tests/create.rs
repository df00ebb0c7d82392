//! The rows *Create* of the table, and rules 1, 2, 3, 5 and 15.

use super::build::{
    Expected, Fixture, NOW, SETTLED, Stored, again, ago, check, creating, fresh, idle, live, redeploying, result, runs,
    sends, waits, wanted,
};
use crate::operator::deployment::decide::{CallKind, Outcome};
use crate::operator::deployment::persisted::OperationType::Create;
use crate::operator::deployment::persisted::Phase::{Deployed, Deploying, Draft, Failed, Other, Queued};

const SENT: Expected = sends(Create);
const WAITS: Expected = waits(Create);
const AGAIN: Expected = again(Create);
const RUNS: Expected = runs(Create);
const TAKEN: Expected = idle(Outcome::KeyTaken);
const MISSING: Expected = idle(Outcome::Missing);
const GONE: Expected = idle(Outcome::Disappeared);

fn accepted() -> Fixture {
    creating().accepted().id("id-1")
}

#[test]
fn rule_1_a_create_is_persisted_first_and_sent_once() {
    check(vec![
        ("the key is free", fresh(), SENT),
        ("the values are unknown", fresh().unknown(), idle(Outcome::ValuesUnknown)),
    ]);
    let operation = fresh().next_operation();
    assert_eq!((operation.attempt, operation.payload), (1, Some(wanted("1", "secret").payload)));
}

#[test]
fn create_planned_and_absent() {
    let gone = || creating().id("id-1").sees(Deployed);
    check(vec![
        ("before 2 L", creating().aged(59), WAITS),
        ("after 2 L", creating().aged(60), AGAIN),
        ("changed, before the quiet period", creating().aged(119).wants("1", "other"), WAITS),
        ("changed, after the quiet period", creating().aged(120).wants("1", "other"), AGAIN),
        ("values unknown", creating().aged(500).unknown(), WAITS),
        ("a read of the id that was taken for gone, as long as it may be stale", gone().aged(89), WAITS),
        ("a read of the id that was taken for gone, later: it is there", gone().aged(90), idle(Outcome::Changing)),
        ("the fifth time, before its pause", creating().aged(95).attempt(5), WAITS),
        ("the fifth time, after its pause", creating().aged(96).attempt(5), AGAIN),
        ("the hundredth time, before the longest pause", creating().aged(299).attempt(100), WAITS),
        ("the hundredth time, after the longest pause", creating().aged(300).attempt(100), AGAIN),
    ]);
}

#[test]
fn a_repeated_create_sends_the_current_values_and_keeps_the_id_that_is_gone() {
    let fixture = creating().aged(120).wants("2", "secret").generation(2).id("old");
    assert_eq!(fixture.sent(), CallKind::Create);
    let operation = fixture.next_operation();
    assert_eq!((operation.attempt, operation.generation), (2, 2));
    assert_eq!(operation.payload, Some(wanted("2", "secret").payload));
}

#[test]
fn rule_2_a_deployment_that_fits_a_create_whose_response_was_lost_belongs_to_the_resource() {
    let quiet = || creating().aged(120).sees(Deployed);
    check(vec![
        ("fits", creating().sees(Queued), RUNS),
        ("fits, and the old id is known", creating().id("old").sees(Queued), RUNS),
        ("other values, before the quiet period", creating().aged(119).sees(Deployed).shows("2"), WAITS),
        ("other values, after the quiet period", quiet().shows("2"), TAKEN),
        ("other region", quiet().seeing(|seen| seen.region = "other".into()), TAKEN),
        ("other type", quiet().seeing(|seen| seen.kind = "other".into()), TAKEN),
        ("other connector", quiet().seeing(|seen| seen.connector_key = Some("other".into())), TAKEN),
        ("a record without the connector's key", quiet().seeing(|seen| seen.connector_key = None), RUNS),
        ("fits what was sent, not what is desired now", creating().sees(Queued).wants("2", "secret"), RUNS),
    ]);
    let persisted = creating().sees(Queued).decide().persisted;
    assert_eq!(persisted.id.as_deref(), Some("id-1"));
    assert!(persisted.unverified, "it is not known which secured values arrived");
    assert!(persisted.operation.expect("an operation runs").seen_busy);
    let persisted = creating().sees(Queued).without_secrets().decide().persisted;
    assert!(!persisted.unverified, "there are no secured values");
}

#[test]
fn create_accepted() {
    let stays = idle(Outcome::Settled { phase: Draft, drifted: false });
    check(vec![
        ("busy", accepted().sees(Deploying), RUNS),
        ("an unknown status", accepted().sees(Other), RUNS),
        ("deployed", accepted().sees(Deployed), SETTLED),
        ("failed", accepted().sees(Failed), super::build::FAILED),
        ("a draft may come before the first build", accepted().aged(90).sees(Draft).rests(59), RUNS),
        ("a draft that stays", accepted().aged(90).sees(Draft).rests(60), stays),
        ("suspended meanwhile, and observed to its end anyway", accepted().sees(Deployed).suspended(), SETTLED),
        ("rule 18: half an hour", accepted().aged(1800).sees(Deploying), (RUNS.0, RUNS.1, Outcome::TakesTooLong)),
        ("rule 18: nearly half an hour", accepted().aged(1799).sees(Deploying), RUNS),
    ]);
    let fixture = accepted().sees(Deployed).with(|it| it.operation().redeploy_request = Some("now".into()));
    let persisted = fixture.decide().persisted;
    assert_eq!(persisted.handled_redeploy.as_deref(), Some("now"));
    let (applied, sent) = (persisted.applied.expect("the operation has ended"), wanted("1", "secret").payload);
    assert_eq!((applied.generation, applied.outcome, applied.at), (1, Deployed, NOW));
    assert_eq!((applied.digest, applied.names), (Some(sent.digest), Some(sent.names)));
    assert!(applied.differs.is_none() && applied.retained.is_empty());
}

#[test]
fn rule_5_gone_is_two_404_half_a_minute_apart_after_the_quiet_period() {
    for (name, age, absent_since, expected) in [
        ("before the quiet period", 119, Some(ago(100)), Outcome::Missing),
        ("the first one", 200, None, Outcome::Missing),
        ("too soon after the first", 200, Some(ago(29)), Outcome::Missing),
        ("the second one", 200, Some(ago(30)), Outcome::Disappeared),
    ] {
        for (fixture, stored) in [(accepted(), Stored::Accepted), (redeploying(), Stored::Planned)] {
            let decision = fixture.aged(age).absent().with(|it| it.transient.absent_since = absent_since).decide();
            let stored = if expected == Outcome::Missing { stored } else { Stored::Nothing };
            assert_eq!(result(&decision), (RUNS.0, stored, expected), "{name}, {stored:?}");
            let counted = if age < 120 { None } else { absent_since.or(Some(NOW)) };
            assert_eq!(decision.transient.absent_since, counted, "{name}, {stored:?}");
        }
    }
    let seen = accepted().absent_for(60).sees(Deploying).decide();
    assert_eq!(seen.transient.absent_since, None, "an observation of the deployment ends the row of 404");
}

#[test]
fn rule_3_once_the_id_is_known_another_deployment_under_the_key_does_not_belong_to_the_resource() {
    let stranger = live().absent_for(30).wants("2", "secret").sees(Deployed).seeing(|seen| seen.id = "stranger".into());
    check(vec![
        ("after an operation", stranger, TAKEN),
        ("during a create", accepted().id("ours").sees(Deployed), (RUNS.0, RUNS.1, Outcome::Missing)),
    ]);
}

#[test]
fn rule_5_a_deployment_that_is_gone_is_created_again_only_if_drift_is_corrected() {
    let written = |seconds| live().absent_for(30).with(|it| it.applied().at = ago(seconds));
    check(vec![
        ("the first 404", live().absent(), MISSING),
        ("the second", live().absent_for(30), GONE),
        ("a write 89 s ago", written(89), MISSING),
        ("a write 90 s ago", written(90), GONE),
        ("another deployment has the key", live().absent_for(30).key_held().corrects_drift(), TAKEN),
        ("drift is corrected", live().absent_for(30).corrects_drift(), SENT),
    ]);
    assert_eq!(live().absent_for(30).decide().transient.absent_since, Some(ago(30)), "the proof stays valid");
    let again = live().absent_for(30).corrects_drift();
    assert_eq!(
        (again.sent(), again.decide().transient.absent_since),
        (CallKind::Create, None),
        "the next proof starts over"
    );
}

#[test]
fn rule_15_a_create_deploys_the_latest_version_and_no_other() {
    let unavailable = idle(Outcome::VersionUnavailable { wanted: 2, latest: Some(3), drifted: false });
    check(vec![
        ("another one is the latest", fresh().version(Some(2), Some(3)), unavailable),
        ("the requested version is the latest", fresh().version(Some(2), Some(2)), SENT),
        ("no version is requested", fresh().version(None, Some(3)), SENT),
        ("the latest version is not known", fresh().version(Some(2), None), SENT),
    ]);
}
