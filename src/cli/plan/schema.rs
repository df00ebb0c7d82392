//! Checks manifests against the schemas of the CRDs without an API server: names and types of fields, required fields and
//! bounds. Rules between fields (CEL) are not evaluated. Pure.
//!
//! Manifests may contain secrets, so no problem quotes a value.

use regex_automata::meta::Regex;
use serde_json::{Map, Value};

use crate::crd;

/// Members of every object that a schema of a CRD does not describe.
const OF_EVERY_OBJECT: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Returns what the API server would refuse about an object, as far as the schema tells; nothing for a kind without a CRD.
pub(super) fn problems(kind: &str, object: &Value) -> Vec<String> {
    let mut problems = Vec::new();
    let Some(schema) = schema(kind) else { return problems };
    let served = format!("{}/{}", crate::names::GROUP, crate::names::VERSION);
    if object["apiVersion"] != served.as_str() {
        problems.push(format!("apiVersion: this version of the program knows {served} only"));
    }
    let own: Map<String, Value> = object
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(name, _)| !OF_EVERY_OBJECT.contains(&name.as_str()))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    check(&Value::Object(own), &schema, "", &mut problems);
    problems
}

fn schema(kind: &str) -> Option<Value> {
    let crd = crd::all().into_iter().find(|crd| crd.spec.names.kind == kind)?;
    let version = crd.spec.versions.into_iter().next()?;
    serde_json::to_value(version.schema?.open_api_v3_schema?).ok()
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
        Value::String(text) => of_text(text, schema, path, problems),
        Value::Number(number) => of_number(number.as_f64(), schema, path, problems),
        Value::Array(items) => of_list(items, schema, path, problems),
        Value::Object(members) => of_object(members, schema, path, problems),
        Value::Null | Value::Bool(_) => {}
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

/// Returns a bound of a schema.
fn bound(schema: &Value, name: &str) -> Option<usize> {
    schema[name].as_u64().and_then(|bound| usize::try_from(bound).ok())
}

/// Reports a number of things that is outside of the bounds.
fn within(count: usize, what: &str, bounds: [Option<usize>; 2], path: &str, problems: &mut Vec<String>) {
    let [least, most] = bounds;
    if let Some(least) = least.filter(|least| count < *least) {
        problems.push(format!("{path}: it must have at least {least} {what}"));
    }
    if let Some(most) = most.filter(|most| count > *most) {
        problems.push(format!("{path}: it must have at most {most} {what}"));
    }
}

fn of_text(text: &str, schema: &Value, path: &str, problems: &mut Vec<String>) {
    let bounds = ["minLength", "maxLength"].map(|name| bound(schema, name));
    within(text.chars().count(), "characters", bounds, path, problems);
    let Some(pattern) = schema["pattern"].as_str() else { return };
    if Regex::new(pattern).is_ok_and(|regex| !regex.is_match(text)) {
        problems.push(format!("{path}: it must match {pattern}"));
    }
}

fn of_number(number: Option<f64>, schema: &Value, path: &str, problems: &mut Vec<String>) {
    let Some(number) = number else { return };
    if let Some(least) = schema["minimum"].as_f64().filter(|least| number < *least) {
        problems.push(format!("{path}: it must be at least {least}"));
    }
    if let Some(most) = schema["maximum"].as_f64().filter(|most| number > *most) {
        problems.push(format!("{path}: it must be at most {most}"));
    }
}

fn of_list(items: &[Value], schema: &Value, path: &str, problems: &mut Vec<String>) {
    within(items.len(), "entries", ["minItems", "maxItems"].map(|name| bound(schema, name)), path, problems);
    let keys: Vec<&str> =
        schema["x-kubernetes-list-map-keys"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    // Fields of an entry that are its key in a list of type map; the whole entry in a set.
    let identity = |item: &Value| match schema["x-kubernetes-list-type"].as_str() {
        Some("set") => Some(vec![item.clone()]),
        Some("map") => Some(keys.iter().map(|key| item[*key].clone()).collect()),
        _ => None,
    };
    for (at, item) in items.iter().enumerate() {
        let place = format!("{path}[{at}]");
        let own = identity(item);
        if own.is_some() && items[..at].iter().any(|other| identity(other) == own) {
            problems.push(format!("{place}: it is there twice"));
        }
        check(item, &schema["items"], &place, problems);
    }
}

fn of_object(members: &Map<String, Value>, schema: &Value, path: &str, problems: &mut Vec<String>) {
    within(members.len(), "entries", [None, bound(schema, "maxProperties")], path, problems);
    // The API server drops members that are null.
    let present = |name: &str| members.get(name).is_some_and(|value| !value.is_null());
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !present(name) {
            problems.push(format!("{}: it is required", joined(path, name)));
        }
    }
    let known = schema["properties"].as_object();
    for (name, value) in members.iter().filter(|(_, value)| !value.is_null()) {
        let place = joined(path, name);
        match known.and_then(|known| known.get(name)) {
            Some(schema) => check(value, schema, &place, problems),
            None if schema["additionalProperties"].is_object() => {
                check(value, &schema["additionalProperties"], &place, problems);
            }
            None => {
                problems.push(format!("{place}: there is no such field"));
            }
        }
    }
}

fn joined(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

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
        let application =
            |values: Value| json!({"configurations": [{"applicationName": "a", "standardConfiguration": values}]});
        let many = |count: usize| (0..count).map(|at| json!({"applicationName": format!("a{at}")})).collect::<Vec<_>>();
        for (case, spec, expected) in [
            ("nothing", json!({}), None),
            ("null is as good as absent", json!({"region": null}), None),
            (
                "a typing error",
                json!({"conector": {"key": "canary"}}),
                Some("spec.conector: there is no such field; did you mean connector?"),
            ),
            ("another field", json!({"canaryField": 1}), Some("spec.canaryField: there is no such field")),
            (
                "a number",
                application(json!([{"key": "A", "value": 5}])),
                Some(
                    "spec.configurations[0].standardConfiguration[0].value: it must be of type string; put it into quotes",
                ),
            ),
            ("a list", json!({"connector": ["canary"]}), Some("spec.connector: it must be of type object")),
            ("a missing field", json!({"projectRef": {}}), Some("spec.projectRef.name: it is required")),
            ("null in its place", json!({"projectRef": {"name": null}}), Some("spec.projectRef.name: it is required")),
            ("no such word", json!({"deletionPolicy": "canary"}), Some("spec.deletionPolicy: it must be one of ")),
            ("a pattern", json!({"projectRef": {"name": "CANARY"}}), Some("spec.projectRef.name: it must match ")),
            (
                "an empty text",
                json!({"projectRef": {"name": ""}}),
                Some("spec.projectRef.name: it must have at least 1 characters"),
            ),
            ("too long", json!({"projectRef": {"name": "c".repeat(254)}}), Some("it must have at most 253 characters")),
            ("too many", json!({"configurations": many(1000)}), Some("spec.configurations: it must have at most ")),
            (
                "too small",
                json!({"connector": {"key": "tax", "version": 0}}),
                Some("spec.connector.version: it must be at least 1"),
            ),
            (
                "no whole number",
                json!({"connector": {"key": "tax", "version": 1.5}}),
                Some("spec.connector.version: it must be of type integer"),
            ),
            (
                "twice",
                json!({"configurations": [{"applicationName": "a"}, {"applicationName": "a"}]}),
                Some("spec.configurations[1]: it is there twice"),
            ),
        ] {
            let found = problems("ConnectorDeployment", &deployment(&spec));
            match expected {
                None => assert_eq!(found, [""; 0], "{case}"),
                Some(expected) => assert!(
                    found.iter().any(|it| it.starts_with(expected) || it.contains(expected)),
                    "{case}: {found:?}"
                ),
            }
            assert!(
                !found.join(" ").to_lowercase().replace("spec.canaryfield", "").contains("canary"),
                "{case}: {found:?}"
            );
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

    fn collect(schema: &Value, found: &mut BTreeSet<String>) {
        for (keyword, value) in schema.as_object().into_iter().flatten() {
            found.insert(keyword.clone());
            match keyword.as_str() {
                "properties" => value.as_object().into_iter().flatten().for_each(|(_, it)| collect(it, found)),
                "items" | "additionalProperties" => collect(value, found),
                _ => {}
            }
        }
    }

    #[test]
    fn every_keyword_of_the_schemas_is_known() {
        let checked = [
            "type",
            "enum",
            "properties",
            "required",
            "additionalProperties",
            "items",
            "minLength",
            "maxLength",
            "pattern",
            "minimum",
            "maximum",
            "minItems",
            "maxItems",
            "maxProperties",
            "x-kubernetes-list-type",
            "x-kubernetes-list-map-keys",
        ];
        // CEL is the business of the API server; formats of numbers follow from the bounds.
        let left_out = ["description", "default", "format", "x-kubernetes-validations"];
        let mut found = BTreeSet::new();
        for crd in crd::all() {
            collect(&schema(&crd.spec.names.kind).expect("a schema"), &mut found);
        }
        let known: BTreeSet<String> = checked.iter().chain(&left_out).map(|it| (*it).to_owned()).collect();
        assert_eq!(found.difference(&known).collect::<Vec<_>>(), Vec::<&String>::new());
    }
}
