//! Everything in a schema that can grow has a bound, so that one object cannot fill the memory of the operator. Texts
//! in a
//! status have one only where they are the operator's: a bound for a text of the service would make the status invalid.

use crate::prelude::*;

/// A place in a schema that can grow without bound, and what is missing.
type Finding = (String, &'static str);

/// Adds what can grow in a schema and below it. `parent`: the object of which it is a field, and its name there.
fn growth(path: &str, schema: &Value, parent: (&Value, &str), findings: &mut Vec<Finding>) {
    let mut missing = |is_missing: bool, what| {
        if is_missing {
            findings.push((path.to_owned(), what));
        }
    };
    let is = |member: &str| schema[member] == true;
    missing(is("x-kubernetes-preserve-unknown-fields"), "the pruning of unknown fields");
    missing(is("x-kubernetes-embedded-resource"), "a schema of its own");
    missing(schema["type"].is_null() && !is("x-kubernetes-int-or-string"), "a type");
    match schema["type"].as_str() {
        Some("string") => {
            let bounded = schema["maxLength"].is_u64() || schema["enum"].is_array() || schema["format"] == "date-time";
            let bounded = bounded || path.contains(".status.");
            missing(!bounded, "maxLength");
        }
        Some("array") => {
            missing(!schema["maxItems"].is_u64(), "maxItems");
            missing(!schema["items"].is_object(), "items");
        }
        Some("object") if schema["properties"].is_null() => {
            missing(!schema["maxProperties"].is_u64(), "maxProperties");
            missing(!schema["additionalProperties"].is_object(), "additionalProperties");
            missing(!has_bounded_names(schema, parent), "a bound for names");
        }
        _ => {}
    }
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        growth(&format!("{path}.{name}"), member, (schema, name), findings);
    }
    for (member, mark) in [("items", "[]"), ("additionalProperties", "{}")] {
        if schema[member].is_object() {
            growth(&format!("{path}{mark}"), &schema[member], (&Value::Null, ""), findings);
        }
    }
}

/// Returns whether a rule of this map, or of the schema around it, bounds the length of its names.
fn has_bounded_names(schema: &Value, (parent, name): (&Value, &str)) -> bool {
    let bounds = |schema: &Value, map: &str| {
        let rules = schema["x-kubernetes-validations"].as_array().into_iter().flatten();
        let mut rules = rules.filter_map(|rule| rule["rule"].as_str());
        rules.any(|rule| {
            rule.split_once(&format!("{map}.all(name, ")).is_some_and(|(_, all)| all.contains("name.size() <= "))
        })
    };
    bounds(schema, "self") || bounds(parent, &format!("self.{name}"))
}

fn growth_of(kind: &str, schema: &Value) -> Vec<Finding> {
    let mut findings = Vec::new();
    growth(kind, schema, (&Value::Null, ""), &mut findings);
    findings
}

fn schemas() -> Vec<(String, Value)> {
    let schema =
        |crd: &k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition| {
            serde_json::to_value(&crd.spec.versions[0].schema.as_ref().unwrap().open_api_v3_schema).unwrap()
        };
    crd::all().iter().map(|crd| (crd.spec.names.kind.clone(), schema(crd))).collect()
}

#[test]
fn everything_that_can_grow_is_bounded() {
    let findings: Vec<Finding> = schemas().iter().flat_map(|(kind, schema)| growth_of(kind, schema)).collect();
    assert_eq!(findings, []);
}
