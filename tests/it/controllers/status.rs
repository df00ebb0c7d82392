//! The status of a deployment: what it shows of a report, and what it hides.

use connect_api::mask::{LEFT_OUT, Masker};
use connect_operator::crd::DeletionPolicy;
use connect_operator::crd::connector_deployment_status::{ConnectorDeploymentStatus, REPORT_ENTRIES};
use connect_operator::operator::deployment::persisted::PersistedState;
use connect_operator::operator::deployment::status::{Comparison, DeploymentFacts, Newer, Release, Texts, summarize};
use connect_operator::operator::object_ref::ObjectRef;
use connect_operator::operator::reporting::conditions::{self, ConditionUpdate};
use connect_operator::operator::reporting::observed_record::ObservedRecord;

use crate::prelude::*;

const SECRET: &str = "a-token-that-nobody-may-see";

fn record(status: &str, report: &[Value]) -> Deployment {
    let record = serde_json::from_value(json!({
        "id": "6f9619ff-8b86-4011-b42d-00c04fc964ff", "version": 3, "status": status,
        "details": {"build": {"id": "build", "report": {"entries": report}}},
    }));
    record.unwrap()
}

/// What is known after a record was seen and nothing else has happened.
fn facts<'a>(
    object_ref: &'a ObjectRef,
    persisted: &'a PersistedState,
    record: ObservedRecord<'a, Deployment>,
    texts: Texts<'a>,
) -> DeploymentFacts<'a> {
    DeploymentFacts {
        object_ref,
        generation: 4,
        persisted,
        condition: ConditionUpdate::new(Reason::Deployed, "Deployed"),
        comparison: Comparison::Same,
        retained: None,
        secured: true,
        suspended: false,
        newer: Newer::No,
        wanted: None,
        deletion_policy: DeletionPolicy::Delete,
        record,
        texts,
        handled_reconcile: None,
        verified: None,
    }
}

/// Returns the status after an observation of a record with this report.
fn shown(report: &[Value], texts: Texts<'_>) -> ConnectorDeploymentStatus {
    let (object_ref, persisted, record) = (tax(), PersistedState::default(), record("Failed", report));
    let facts = facts(&object_ref, &persisted, ObservedRecord::Present(&record), texts);
    summarize(&ConnectorDeploymentStatus::default(), &facts, Timestamp::UNIX_EPOCH)
}

fn tax() -> ObjectRef {
    ObjectRef::deployment("shop", "tax")
}

fn finding(title: &str, message: &str, at: &str) -> Value {
    json!({"type": "Error", "title": title, "message": message, "application": "service", "createdAt": at})
}

#[test]
fn texts_of_the_service_are_masked_or_left_out() {
    let report =
        [finding(&format!("Bad token {SECRET}"), &format!("it was {SECRET}, see log"), "2026-01-01T00:00:00Z")];
    let (masker, nothing) = (Masker::new([SECRET]), Masker::new([]));
    for (case, texts, title, message) in [
        ("values are known", Texts::Masked(&masker), Some("Bad token ***"), Some("it was ***, see log")),
        ("the Secret has changed since", Texts::LeftOut, Some(LEFT_OUT), None),
        ("nothing was observed", Texts::Unchanged, None, None),
    ] {
        let status = shown(&report, texts);
        let entry = status.report.first();
        assert_eq!(entry.map(|entry| entry.title.as_str()), title, "{case}");
        assert_eq!(entry.and_then(|entry| entry.message.as_deref()), message, "{case}");
        assert!(!serde_json::to_string(&status).unwrap().contains(SECRET), "{case}");
    }
    let bare = shown(&report, Texts::Masked(&nothing));
    assert!(bare.report[0].title.contains(SECRET), "without the masker the value is visible: the rows mean something");
}

#[test]
fn a_report_is_shown_newest_first_and_within_bounds() {
    let day = |day: usize| {
        let text = "y".repeat(if day == 30 { 5_000 } else { 1 });
        finding(&format!("day {day}"), &text, &format!("2026-01-{day:02}T00:00:00Z"))
    };
    let without_a_time = json!({"type": "Error", "title": "without a time"});
    let masker = Masker::new([]);
    let status = shown(&(1..=30).map(day).collect::<Vec<_>>(), Texts::Masked(&masker));
    let titles: Vec<_> = status.report.iter().map(|entry| entry.title.as_str()).collect();
    assert_eq!((titles.len(), titles[0], titles[REPORT_ENTRIES - 1]), (REPORT_ENTRIES, "day 30", "day 11"));
    assert!(status.report.iter().all(|entry| entry.message.as_ref().unwrap().len() <= 1024));
    let few = shown(&[without_a_time, day(1)], Texts::Masked(&masker));
    assert_eq!((few.report[0].title.as_str(), few.report[1].title.as_str()), ("day 1", "without a time"));
}

#[test]
fn rule_20_what_was_reported_stays_while_the_remote_is_not_read() {
    let (object_ref, persisted, record) = (tax(), PersistedState::default(), record("Deployed", &[]));
    let release = |version| Release { version, tag: String::new() };
    let all = DeploymentFacts {
        comparison: Comparison::Different(Vec::new()),
        newer: Newer::Yes { running: release(1), latest: release(2) },
        ..facts(&object_ref, &persisted, ObservedRecord::Present(&record), Texts::LeftOut)
    };
    let reported = summarize(&ConnectorDeploymentStatus::default(), &all, Timestamp::UNIX_EPOCH);
    for reported_condition in [names::READY, names::AVAILABLE, names::DRIFTED, names::UPDATE_AVAILABLE] {
        assert!(conditions::is_true(&reported.conditions, reported_condition), "{:?}", reported.conditions);
    }
    let unread = DeploymentFacts {
        comparison: Comparison::None,
        newer: Newer::Unknown,
        ..facts(&object_ref, &persisted, ObservedRecord::NotRead, Texts::LeftOut)
    };
    assert_eq!(summarize(&reported, &unread, Timestamp::UNIX_EPOCH).conditions, reported.conditions);
}

#[test]
fn rule_19_available_follows_what_is_known_to_serve() {
    let (object_ref, persisted) = (tax(), PersistedState::default());
    let mut status = ConnectorDeploymentStatus::default();
    for (case, seen, reason, serves) in [
        ("not read", None, Reason::Queued, false),
        ("created", Some("Deploying"), Reason::Creating, false),
        ("live", Some("Deployed"), Reason::Deployed, true),
        ("redeployed", Some("Deploying"), Reason::Redeploying, true),
        ("that failed", Some("Failed"), Reason::RedeployFailed, true),
        ("one 404", Some(""), Reason::ServiceUnavailable, true),
        ("an outage", None, Reason::ServiceUnavailable, true),
        ("undeployed, to be created again", Some("Undeploying"), Reason::Undeploying, false),
        ("gone", Some(""), Reason::Creating, false),
        ("the create is written", None, Reason::Creating, false),
        ("that is under way", Some("Deploying"), Reason::Creating, false),
        ("and fails", Some("Failed"), Reason::DeploymentFailed, false),
        ("live again", Some("Deployed"), Reason::Deployed, true),
        ("deleted by another client", Some(""), Reason::RemoteDisappeared, false),
        ("one 404 after a restart", Some(""), Reason::ServiceUnavailable, false),
        ("another client's", Some("Deployed"), Reason::KeyTaken, false),
    ] {
        let record = seen.filter(|status| !status.is_empty()).map(|status| record(status, &[]));
        let observed = match (seen, &record) {
            (None, _) => ObservedRecord::NotRead,
            (Some(_), None) => ObservedRecord::Absent,
            (Some(_), Some(record)) => ObservedRecord::Present(record),
        };
        let facts = DeploymentFacts {
            condition: ConditionUpdate::new(reason, ""),
            ..facts(&object_ref, &persisted, observed, Texts::LeftOut)
        };
        status = summarize(&status, &facts, Timestamp::UNIX_EPOCH);
        assert_eq!(conditions::is_true(&status.conditions, names::AVAILABLE), serves, "{case}");
    }
}
