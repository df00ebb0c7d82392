//! The maximum size of a status: every field of every kind filled as far as its schema or its writer allows, then
//! bounded as the
//! operator bounds what it writes.

use connect_operator::operator::deployment;
use connect_operator::operator::project;
use connect_operator::operator::reporting::bounds::{LARGEST_STATUS, size};
use connect_operator::operator::reporting::conditions::{ConditionUpdate, Extra, conditions};
use connect_operator::operator::staged;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::prelude::*;

/// Returns the largest value that a schema allows. Texts within lists come from other systems and count as they are
/// encoded, so they are filled with characters that JSON escapes; the others are names, addresses and digests.
fn largest(path: &str, schema: &Value, listed: bool) -> Value {
    if let Some(words) = schema["enum"].as_array() {
        return words.iter().max_by_key(|word| word.to_string().len()).expect("an enum has words").clone();
    }
    match (schema["type"].as_str(), schema["format"].as_str()) {
        // Digests by key: such maps are bounded in bytes, and small entries fill them best.
        (Some("object"), _) if schema["additionalProperties"].is_object() => {
            let value = largest(path, &schema["additionalProperties"], false);
            [("A_KEY".to_owned(), value)].into_iter().collect::<Map<_, _>>().into()
        }
        (Some("object"), _) => {
            let members = schema["properties"].as_object().unwrap_or_else(|| panic!("{path} has unbounded members"));
            let member =
                |(name, schema): (&String, &Value)| (name.clone(), largest(&format!("{path}.{name}"), schema, listed));
            // Conditions are written below, by the code that writes them; the state of the operator is never cut.
            let elsewhere = ["conditions", "state"];
            members
                .iter()
                .filter(|(name, _)| path.contains('.') || !elsewhere.contains(&name.as_str()))
                .map(member)
                .collect::<Map<_, _>>()
                .into()
        }
        (Some("array"), _) => {
            let most = schema["maxItems"].as_u64().unwrap_or_else(|| panic!("{path} is an unbounded list"));
            let entry = largest(path, &schema["items"], true);
            vec![entry; usize::try_from(most).expect("it fits")].into()
        }
        (Some("string"), Some("date-time")) => json!("2026-01-01T00:00:00Z"),
        (Some("string"), _) => {
            let most = schema["maxLength"].as_u64().unwrap_or_else(|| longest(path));
            json!(if listed { "\"" } else { "x" }.repeat(usize::try_from(most).expect("it fits")))
        }
        (Some("integer"), _) if schema["maximum"].is_number() => {
            // The API's types have floating point numbers for bounds.
            json!(format!("{}", schema["maximum"].as_f64().unwrap_or_default()).parse::<i64>().expect("it is whole"))
        }
        (Some("integer"), Some("int32")) => json!(i32::MAX),
        (Some("integer"), _) => json!(i64::MAX),
        (Some("boolean"), _) => json!(false),
        other => panic!("{path}: {other:?}"),
    }
}

/// Returns the length to which the operator cuts a text of the service, which no schema bounds.
fn longest(path: &str) -> u64 {
    match path.rsplit('.').next().unwrap_or_default() {
        "url" => 2048,
        "title" | "message" | "comment" | "topic" => 1024,
        "schedule" => 100,
        "type" | "state" | "project" | "at" => 64,
        _ => 256,
    }
}

fn status_schema(kind: &str) -> Value {
    let crd = crd::all().into_iter().find(|crd| crd.spec.names.kind == kind).expect(kind);
    let schema = serde_json::to_value(&crd.spec.versions[0].schema).expect("it is JSON");
    schema["openAPIV3Schema"]["properties"]["status"].clone()
}

fn fits<S: DeserializeOwned + Serialize>(kind: &str, bounded: impl Fn(S) -> S) {
    let mut status = largest(kind, &status_schema(kind), false);
    let condition = ConditionUpdate::new(Reason::DeploymentFailed, "\"".repeat(5_000));
    let main = [names::READY, names::RECONCILING, names::STALLED];
    let beside = names::CONDITIONS.iter().filter(|type_| !main.contains(type_));
    let beside = beside.map(|type_| Extra::new(type_, &"r".repeat(64), "x".repeat(512)));
    status["conditions"] = json!(conditions(&[], &condition, beside, i64::MAX, Timestamp::UNIX_EPOCH));
    let whole: S = serde_json::from_value(status).unwrap_or_else(|error| panic!("{kind}: {error}"));
    let bytes = size(&bounded(whole));
    assert!(bytes <= LARGEST_STATUS, "{kind}: {bytes} bytes");
    assert!(bytes > 1024, "{kind}: {bytes} bytes, so the fields were filled");
}

#[test]
fn the_largest_status_of_each_kind_is_small() {
    fits::<crd::ConnectorDeploymentStatus>("ConnectorDeployment", deployment::status::bounded);
    fits::<crd::ConnectorStagedStatus>("ConnectorStaged", staged::status::bounded);
    fits::<crd::ConnectProjectStatus>("ConnectProject", project::status::bounded);
    fits::<crd::ActionCheckStatus>("ActionCheck", |status| status);
}
