//! Whether what the operator's own client sends matches the description: method, path, query and body. Client and dev
//! server share their types, so a name that both have wrong would go unnoticed otherwise.
//!
//! The check is stricter than the description, whose objects are open: a member or a parameter that it does not list is
//! a mistake.

use dev_server::{Answer, Asked};

use super::description;
use super::description::{Description, Operation};
use crate::prelude::*;

/// The beginning of the `User-Agent` of the operator's own client.
const OURS: &str = "connect-operator/";
const FORM: &str = "application/x-www-form-urlencoded";

/// Checks that the request is described, if the operator's own client sent it.
pub(crate) fn check(answer: &Answer) -> Result<(), String> {
    let Answer { method, target, asked, .. } = answer;
    if !asked.user_agent.as_deref().is_some_and(|name| name.starts_with(OURS)) {
        return Ok(());
    }
    let problems = match description().operation_at(method, target) {
        // Users define what their actions accept, and the path before them.
        None if target.contains("/action/") => Vec::new(),
        None => vec!["it is no operation".to_owned()],
        Some(operation) if operation.path.contains("/action/") => Vec::new(),
        Some(operation) => {
            let mut problems = problems_of_query(description(), operation, target);
            problems.extend(problems_of_body(description(), operation, asked));
            problems
        }
    };
    if problems.is_empty() { Ok(()) } else { Err(format!("{method} {target}: {}", problems.join("; "))) }
}

fn problems_of_query(description: &Description, operation: &Operation, target: &str) -> Vec<String> {
    let query = target.split_once('?').map_or("", |(_, query)| query);
    let in_query = || operation.parameters.iter().filter(|parameter| parameter["in"] == "query");
    let mut problems = Vec::new();
    for (name, text) in form_urlencoded::parse(query.as_bytes()) {
        let Some(parameter) = in_query().find(|parameter| parameter["name"] == *name) else {
            problems.push(format!("the parameter {name} is not described"));
            continue;
        };
        let schema = &parameter["schema"];
        // A parameter that may repeat has a list as its schema, and each value is one of its items.
        let value = if schema["type"] == "array" {
            json!([text])
        } else {
            match schema["type"].as_str() {
                Some("integer" | "boolean") => serde_json::from_str(&text).unwrap_or(json!(text)),
                _ => json!(text),
            }
        };
        problems.extend(description.mistakes(schema, &value, &[]).iter().map(|what| format!("{name}: {what}")));
    }
    problems
}

fn problems_of_body(description: &Description, operation: &Operation, asked: &Asked) -> Vec<String> {
    let Some(body) = &operation.request_body else {
        return if asked.body.is_empty() { Vec::new() } else { vec!["it has a body".to_owned()] };
    };
    let named = asked.content_type.as_deref().and_then(|name| name.split(';').next()).unwrap_or_default();
    let Some(schema) = body["content"].get(named).map(|content| &content["schema"]) else {
        return vec![format!("the content type `{named}` is not described")];
    };
    let value = if named == FORM {
        Value::Object(form_urlencoded::parse(&asked.body).map(|(name, text)| (name.into(), json!(text))).collect())
    } else {
        match serde_json::from_slice(&asked.body) {
            Ok(value) => value,
            Err(error) => return vec![format!("the body is not JSON: {error}")],
        }
    };
    let mut problems = description.mistakes(schema, &value, &[]);
    unknown_members(description, &[schema], &value, "", &mut problems);
    problems
}

/// Names members that none of the schemas lists.
fn unknown_members(
    description: &Description,
    schemas: &[&Value],
    value: &Value,
    place: &str,
    problems: &mut Vec<String>,
) {
    let schemas = alternatives(description, schemas);
    match value {
        Value::Object(members) => {
            // A schema without listed members allows any.
            if schemas.iter().all(|schema| schema.get("properties").is_none()) {
                return;
            }
            for (name, member) in members {
                let place = format!("{place}/{name}");
                let known: Vec<_> = schemas.iter().filter_map(|schema| schema["properties"].get(name)).collect();
                if known.is_empty() {
                    problems.push(format!("{place} is not described"));
                }
                unknown_members(description, &known, member, &place, problems);
            }
        }
        Value::Array(items) => {
            let of_items: Vec<_> = schemas.iter().filter_map(|schema| schema.get("items")).collect();
            for (number, item) in items.iter().enumerate() {
                unknown_members(description, &of_items, item, &format!("{place}/{number}"), problems);
            }
        }
        _ => {}
    }
}

/// Returns these schemas and those that they reference or consist of.
fn alternatives<'a>(description: &'a Description, schemas: &[&'a Value]) -> Vec<&'a Value> {
    let mut found: Vec<&Value> = Vec::new();
    let mut open: Vec<&Value> = schemas.to_vec();
    let mut seen = BTreeSet::new();
    while let Some(schema) = open.pop() {
        let schema = description.resolve(schema);
        if !seen.insert(schema.to_string()) {
            continue;
        }
        for kind in ["oneOf", "anyOf", "allOf"] {
            open.extend(schema.get(kind).and_then(Value::as_array).into_iter().flatten());
        }
        found.push(schema);
    }
    found
}
