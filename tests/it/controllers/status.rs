//! The status of a deployment: what it shows of a report, and what it hides.

use connect_api::mask::{LEFT_OUT, Masker};
use connect_operator::crd::DeletionPolicy;
use connect_operator::crd::connector_deployment_status::{ConnectorDeploymentStatus, REPORT_ENTRIES};
use connect_operator::operator::deployment::persisted::PersistedState;
use connect_operator::operator::deployment::status::{Comparison, DeploymentFacts, Newer, Texts, summarize};
use connect_operator::operator::object_ref::ObjectRef;
use connect_operator::operator::reporting::conditions::ConditionUpdate;
use connect_operator::operator::reporting::observed_record::ObservedRecord;
use connect_operator::operator::reporting::reason::Reason;
use jiff::Timestamp;
use serde_json::{Value, json};

const SECRET: &str = "a-token-that-nobody-may-see";

/// Returns the status after an observation of a record with this report.
fn shown(report: &[Value], texts: Texts<'_>) -> ConnectorDeploymentStatus {
    let record = serde_json::from_value(json!({
        "id": "6f9619ff-8b86-4011-b42d-00c04fc964ff", "version": 3, "status": "Failed",
        "details": {"build": {"id": "build", "report": {"entries": report}}},
    }));
    let facts = DeploymentFacts {
        object_ref: &ObjectRef::deployment("shop", "tax"),
        generation: 4,
        persisted: &PersistedState::default(),
        condition: ConditionUpdate::new(Reason::Deployed, "Deployed"),
        comparison: Comparison::Same,
        retained: None,
        secured: true,
        suspended: false,
        newer: Newer::No,
        wanted: None,
        deletion_policy: DeletionPolicy::Delete,
        record: ObservedRecord::Present(&record.unwrap()),
        texts,
        handled_reconcile: None,
        verified: None,
    };
    summarize(&ConnectorDeploymentStatus::default(), &facts, Timestamp::UNIX_EPOCH)
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
