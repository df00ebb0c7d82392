//! The pages of the kinds: every field, from the schema that is installed.

use std::fmt::Write as _;

use connect_operator::crd;
use serde_json::Value;

use crate::golden::assert_golden_parts;

#[test]
fn the_page_of_each_kind_lists_every_field_and_every_rule() {
    for crd in crd::all() {
        let kind = crd.spec.names.kind;
        let schema = serde_json::to_value(&crd.spec.versions[0].schema.as_ref().unwrap().open_api_v3_schema).unwrap();
        let properties = &schema["properties"];
        let mut rules = Vec::new();
        collect_rules(&schema, &mut rules);
        assert_golden_parts(
            &format!("docs/kinds/{}.md", kind.to_lowercase()),
            &[
                ("spec", table(&properties["spec"])),
                ("rules", if rules.is_empty() { "No rules.".into() } else { format!("- {}", rules.join("\n- ")) }),
                ("status", table(&properties["status"])),
            ],
        );
    }
}

fn table(schema: &Value) -> String {
    let mut table = String::from("| Field | Type | What |\n|---|---|---|\n");
    add_rows("", schema, schema, &mut table);
    table
}

fn add_rows(path: &str, schema: &Value, top: &Value, table: &mut String) {
    let Some(properties) = schema["properties"].as_object() else { return };
    let required: Vec<_> = schema["required"].as_array().into_iter().flatten().collect();
    for (name, field) in properties {
        let path = format!("{path}{name}");
        let needed = if required.iter().any(|required| **required == **name) { ", required" } else { "" };
        let what = field["description"].as_str().unwrap_or_default().replace('|', "\\|").replace('<', "&lt;");
        let known = known_elsewhere(&path, field, top);
        let more = known.map(|place| format!(" As in `{place}`.")).unwrap_or_default();
        writeln!(table, "| `{path}` | {}{needed} | {what}{more} |", kind(field)).unwrap();
        if known.is_none() {
            add_rows(&format!("{path}."), field, top, table);
            add_rows(&format!("{path}[]."), &field["items"], top, table);
        }
    }
}

/// Returns where the same lists of values are described already, if anywhere.
fn known_elsewhere(path: &str, field: &Value, top: &Value) -> Option<&'static str> {
    let first = &top["properties"]["configurations"]["items"]["properties"];
    let same = |(name, schema): (&String, &Value)| *schema == first[name];
    let repeats = path == "globalConfiguration" && field["properties"].as_object()?.iter().all(same);
    repeats.then_some("configurations[]")
}

fn kind(field: &Value) -> String {
    let words = |field: &Value| -> String {
        let choices = field["enum"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let choices: Vec<_> = choices.map(|choice| format!("`{choice}`")).collect();
        if !choices.is_empty() {
            return choices.join(", ");
        }
        match (field["type"].as_str(), field["format"].as_str()) {
            (Some("string"), Some("date-time")) => "time".to_owned(),
            (Some(kind), _) => kind.to_owned(),
            (None, _) => "anything".to_owned(),
        }
    };
    if field["type"] == "array" { format!("list of {}", words(&field["items"])) } else { words(field) }
}

/// Collects the message of each rule, once.
fn collect_rules(schema: &Value, rules: &mut Vec<String>) {
    let here = schema["x-kubernetes-validations"].as_array().into_iter().flatten();
    for message in here.filter_map(|rule| rule["message"].as_str()) {
        if !rules.iter().any(|known| known == message) {
            rules.push(message.to_owned());
        }
    }
    schema["properties"].as_object().into_iter().flatten().for_each(|(_, field)| collect_rules(field, rules));
    if schema["items"].is_object() {
        collect_rules(&schema["items"], rules);
    }
}
