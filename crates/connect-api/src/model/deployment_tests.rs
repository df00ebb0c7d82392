//! Tables of deployments in odd forms, written from contract sections 4.4, 13 and 15.1.

use serde_json::{Value, json};

use super::*;
use crate::model::{Connector, ConnectorStaged, EntryType};

/// A record in which nothing is odd.
fn record() -> Value {
    json!({
        "id": "1", "key": "tax", "version": 7, "type": "production", "status": "Deployed", "preview": false,
        "deployedRegion": "europe-west1.gcp",
        "connector": {
            "id": "2", "key": "tax", "version": 3, "name": "Tax", "description": "d", "integrationTypes": ["tax"],
            "creator": {"email": "dev@example.com", "noOfContributors": 5}, "certified": true,
            "repository": {"url": "https://example.com/tax.git", "tag": "v1"}, "documentationUrl": "https://a.test",
            "configurations": [{"applicationName": "events", "applicationType": "event"}],
        },
        "apiClient": {"name": "3", "scopes": ["view_products"]},
        "details": {"build": {"id": "4", "report": {"entries": [
            {"type": "Error", "title": "t", "message": "m", "application": "events", "createdAt": "now"},
        ]}}},
        "applications": [{
            "id": "5", "applicationName": "events",
            "standardConfiguration": [{"key": "LEVEL", "value": "info"}],
            "retryPolicy": {"strategy": "exponential-backoff", "minBackoffSeconds": 10, "maxBackoffSeconds": 600},
        }],
    })
}

/// The record with this JSON text as the member at `pointer`; a text, because no [`Value`] has half a surrogate pair.
fn with(pointer: &str, member: &str) -> String {
    let mut record = record();
    *record.pointer_mut(pointer).unwrap_or_else(|| panic!("the record has no {pointer}")) = json!("<here>");
    record.to_string().replace("\"<here>\"", member)
}

/// What an odd member changes: at most that member.
fn read(text: &str) -> Value {
    let deployment: Deployment = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    serde_json::to_value(deployment).expect("JSON")
}

const HALF_PAIR: &str = r#""cut \ud83d""#;

#[test]
fn a_member_that_no_decision_needs_counts_as_absent_in_any_other_form() {
    let policy = "/applications/0/retryPolicy";
    let entry = "/details/build/report/entries/0";
    for (pointer, members) in [
        (policy, &[r#""immediate""#, "5", "[1]", r#"{"strategy": {}}"#, r#"{"strategy": "\ud83d"}"#][..]),
        (policy, &[r#"{"strategy": "immediate", "maxAttempts": "5"}"#, r#"{"minBackoffSeconds": "10s"}"#]),
        (policy, &[r#"{"strategy": "immediate", "maxAttempts": {"of": 5}}"#, r#"{"maxAttempts": 5.5}"#]),
        ("/connector/name", &[HALF_PAIR, "7", "{}"]),
        ("/connector/description", &[HALF_PAIR, "false", "[]"]),
        ("/connector/integrationTypes", &[r#""tax""#, "[1]", r#"["\ud83d"]"#]),
        ("/connector/creator", &[r#""me""#, r#"{"noOfContributors": "many"}"#, r#"{"email": "\ud83d"}"#]),
        ("/connector/certified", &[r#""yes""#, "1"]),
        ("/connector/documentationUrl", &["{}", HALF_PAIR]),
        ("/apiClient", &[r#""3""#, r#"{"scopes": "view_products"}"#]),
        ("/details/build/report", &[r#""failed""#, r#"{"entries": {}}"#]),
        (&format!("{entry}/type"), &["null", "7", HALF_PAIR]),
        (&format!("{entry}/title"), &["null", "7", HALF_PAIR]),
        (&format!("{entry}/message"), &["null", r#"{"text": "m"}"#, HALF_PAIR]),
        (&format!("{entry}/application"), &["null", r#"["events"]"#, HALF_PAIR]),
        (&format!("{entry}/createdAt"), &["null", "1700000000", HALF_PAIR]),
    ] {
        let (parent, member) = pointer.rsplit_once('/').expect("a member");
        let mut absent = record();
        absent.pointer_mut(parent).and_then(Value::as_object_mut).expect("an object").remove(member);
        let absent = read(&absent.to_string());
        assert_ne!(absent, read(&record().to_string()), "{pointer} is read in its usual form");
        for odd in members {
            assert_eq!(read(&with(pointer, odd)), absent, "{pointer}: {odd}");
        }
    }
}

#[test]
fn what_decisions_need_is_never_guessed() {
    for (pointer, odd) in [
        ("/id", "7"),
        ("/id", HALF_PAIR),
        ("/key", "7"),
        ("/version", r#""7""#),
        ("/version", "null"),
        ("/status", "null"),
        ("/status", HALF_PAIR),
        ("/type", "7"),
        ("/preview", r#""no""#),
        ("/deployedRegion", "7"),
        ("/connector/id", "2"),
        ("/connector/version", r#""3""#),
        ("/connector/configurations/0/applicationType", "7"),
        ("/applications/0/applicationName", "null"),
        // As text, 1.50 and 1.5 would differ: a redeploy without a reason.
        ("/applications/0/standardConfiguration/0/value", "5"),
        ("/applications/0/standardConfiguration/0/value", "true"),
        ("/applications/0/standardConfiguration/0/value", HALF_PAIR),
    ] {
        serde_json::from_str::<Deployment>(&with(pointer, odd)).expect_err(pointer);
    }
}

#[test]
fn a_type_that_is_absent_is_that_of_the_kind_of_connector() {
    for (kind, preview, expected) in [
        (json!("preview"), json!(true), DeploymentType::Preview),
        (json!("production"), json!(true), DeploymentType::Production),
        (json!("trial"), json!(false), DeploymentType::Other("trial".into())),
        (Value::Null, json!(true), DeploymentType::Preview),
        (Value::Null, json!(false), DeploymentType::Sandbox),
        (Value::Null, Value::Null, DeploymentType::Sandbox),
    ] {
        let mut record = record();
        (record["type"], record["preview"]) = (kind.clone(), preview.clone());
        let read: Deployment = serde_json::from_value(record.clone()).expect("a deployment");
        assert_eq!(*read.kind(), expected, "{kind} {preview}");
        if kind.is_null() {
            record.as_object_mut().expect("an object").remove("type");
            let read: Deployment = serde_json::from_value(record).expect("a deployment");
            assert_eq!(*read.kind(), expected, "absent {preview}");
        }
    }
}

#[test]
fn a_type_of_application_that_is_null_is_absent() {
    let read: Deployment =
        serde_json::from_str(&with("/connector/configurations/0/applicationType", "null")).expect("read");
    let declared = read.connector.configurations.expect("declarations");
    assert_eq!(declared[0].application_type, crate::model::ApplicationType::Service);
    assert_eq!(EntryType::default(), EntryType::Information);
}

#[test]
fn connectors_are_read_as_well_but_what_is_compared_with_a_spec_is_not_guessed() {
    let connector =
        |member: &str| format!(r#"{{"id": "1", "version": 1, "repository": {{"url": "u", "tag": "v1"}}, {member}}}"#);
    for (member, published, staged) in [
        (r#""apiClient": "none""#, true, true),
        (r#""publishingReport": {"entries": [{"type": null, "message": 7}]}"#, true, true),
        (r#""certificationInfo": "none""#, true, true),
        (r#""certified": "yes""#, true, true),
        (r#""documentationUrl": {}"#, true, false),
        (r#""integrationTypes": "tax""#, true, false),
        (r#""creator": {"email": 7}"#, true, false),
        (r#""creator": {"email": "e", "noOfContributors": 5.5}"#, true, false),
        (r#""supportedRegions": "all""#, false, false),
    ] {
        let text = connector(member);
        assert_eq!(serde_json::from_str::<Connector>(&text).is_ok(), published, "{member}");
        assert_eq!(serde_json::from_str::<ConnectorStaged>(&text).is_ok(), staged, "{member}");
    }
}
