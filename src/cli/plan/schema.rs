//! Checks manifests against the schemas of the CRDs without an API server: names and types of fields, and required
//! ones. Bounds and rules between fields (CEL) are not evaluated. Pure.
//!
//! Manifests may contain secrets, so no problem quotes a value.

use serde_json::{Map, Value, json};

use crate::crd;

/// Returns what the API server would refuse about an object, as far as the schema tells; nothing for a kind without a CRD.
pub(super) fn problems(kind: &str, object: &Value) -> Vec<String> {
    let mut problems = Vec::new();
    let Some((version, mut schema)) = schema(kind) else { return problems };
    schema["properties"]["apiVersion"] = json!({"enum": [format!("{}/{version}", crate::names::GROUP)]});
    // Members of every object that a schema of a CRD does not describe.
    for name in ["kind", "metadata"] {
        schema["properties"][name] = Value::Null;
    }
    check(object, &schema, "", &mut problems);
    problems
}

/// Returns the version of a kind, and its schema.
fn schema(kind: &str) -> Option<(String, Value)> {
    let crd = crd::all().into_iter().find(|crd| crd.spec.names.kind == kind)?;
    let version = crd.spec.versions.into_iter().next()?;
    Some((version.name, serde_json::to_value(version.schema?.open_api_v3_schema?).ok()?))
}

fn check(value: &Value, schema: &Value, path: &str, problems: &mut Vec<String>) {
    if let Some(expected) = schema["type"].as_str()
        && !is_of(expected, value)
    {
        problems.push(format!("{path}: it must be of type {expected}{}", hint(expected, value)));
        return;
    }
    if let Some(allowed) = schema["enum"].as_array()
        && !allowed.contains(value)
    {
        let words: Vec<_> = allowed.iter().filter_map(Value::as_str).collect();
        problems.push(format!("{path}: it must be one of {}", words.join(", ")));
    }
    match value {
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                check(item, &schema["items"], &format!("{path}[{at}]"), problems);
            }
        }
        Value::Object(members) => of_object(members, schema, path, problems),
        _ => {}
    }
}

fn is_of(expected: &str, value: &Value) -> bool {
    match expected {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        // JSON has one type of numbers, and 1.0 is a whole one.
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" => value.is_number(),
        _ => true,
    }
}

fn hint(expected: &str, value: &Value) -> &'static str {
    if expected == "string" && (value.is_number() || value.is_boolean()) { "; put it into quotes" } else { "" }
}

fn of_object(members: &Map<String, Value>, schema: &Value, path: &str, problems: &mut Vec<String>) {
    // The API server drops members that are null.
    let present = |name: &str| members.get(name).is_some_and(|value| !value.is_null());
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !present(name) {
            problems.push(format!("{}: it is required", joined(path, name)));
        }
    }
    for (name, value) in members.iter().filter(|(_, value)| !value.is_null()) {
        let place = joined(path, name);
        match schema["properties"].get(name).or(schema.get("additionalProperties")) {
            Some(Value::Null) => {}
            Some(schema) => check(value, schema, &place, problems),
            None => problems.push(format!("{place}: there is no such field")),
        }
    }
}

fn joined(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deployment(spec: &Value) -> Value {
        let mut object = json!({
            "apiVersion": "connect-operator.io/v1alpha1", "kind": "ConnectorDeployment", "metadata": {"name": "tax"},
            "spec": {"projectRef": {"name": "shop"}, "connector": {"key": "tax"}, "configurations": []},
        });
        for (name, value) in spec.as_object().into_iter().flatten() {
            object["spec"][name] = value.clone();
        }
        object
    }

    #[test]
    fn what_the_schema_does_not_allow_is_named_with_its_place_and_without_its_value() {
        let number = json!([{"applicationName": "a", "standardConfiguration": [{"key": "A", "value": 5}]}]);
        for (case, spec, expected) in [
            ("nothing", json!({}), ""),
            ("null is as good as absent", json!({"region": null}), ""),
            ("a typing error", json!({"conector": {"key": "canary"}}), "spec.conector: there is no such field"),
            ("another field", json!({"canaryField": 1}), "spec.canaryField: there is no such field"),
            (
                "a number",
                json!({"configurations": number}),
                "standardConfiguration[0].value: it must be of type string; put",
            ),
            ("a list", json!({"connector": ["canary"]}), "spec.connector: it must be of type object"),
            ("a missing field", json!({"projectRef": {}}), "spec.projectRef.name: it is required"),
            ("null in its place", json!({"projectRef": {"name": null}}), "spec.projectRef.name: it is required"),
            ("no such word", json!({"deletionPolicy": "canary"}), "spec.deletionPolicy: it must be one of "),
            (
                "no whole number",
                json!({"connector": {"key": "tax", "version": 1.5}}),
                "version: it must be of type integer",
            ),
        ] {
            let found = problems("ConnectorDeployment", &deployment(&spec)).join("; ");
            assert_eq!(found.is_empty(), expected.is_empty(), "{case}: {found}");
            assert!(found.contains(expected), "{case}: {found}");
            assert!(!found.replace("spec.canaryField", "").to_lowercase().contains("canary"), "{case}: {found}");
        }
        let mut old = deployment(&json!({}));
        old["apiVersion"] = json!("connect-operator.io/v1");
        assert!(problems("ConnectorDeployment", &old)[0].starts_with("apiVersion: "));
        assert_eq!(problems("Secret", &json!({"kind": "Secret"})), [""; 0]);
    }

    #[test]
    fn every_manifest_that_the_api_server_accepts_is_accepted() {
        for text in [
            include_str!("../../../tests/fixtures/manifests/full.yaml"),
            include_str!("../../../examples/quickstart.yaml"),
            include_str!("../../../examples/staged.yaml"),
        ] {
            let all: Vec<Value> = serde_saphyr::from_multiple(text).expect("YAML");
            for object in all.iter().filter(|object| object.is_object()) {
                let kind = object["kind"].as_str().unwrap_or_default();
                assert_eq!(problems(kind, object), [""; 0], "{kind} {}", object["metadata"]["name"]);
            }
        }
    }
}
