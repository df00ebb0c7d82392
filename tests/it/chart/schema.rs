//! The descriptions in `values.schema.json`, which editors show: generated from the comments in `values.yaml`.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;

use super::comments::{documented, values_text};
use crate::golden::assert_golden;
use crate::helm::CHART;

/// The longest line that is not broken.
const WIDTH: usize = 140;

#[test]
fn the_schema_describes_every_value() {
    let path = format!("{CHART}/values.schema.json");
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(&path)).unwrap();
    let mut schema: Value = serde_json::from_str(&text).unwrap();
    for value in documented(&values_text()) {
        let pointer = format!("/properties/{}", value.path.join("/properties/"));
        let described = schema.pointer_mut(&pointer).unwrap_or_else(|| panic!("the schema has no {pointer}"));
        described["description"] = value.comment.into();
    }
    let mut text = String::new();
    append(&schema, 0, 0, &mut text);
    assert_golden(&path, &(text + "\n"));
}

/// Appends a value as JSON, on one line if it fits behind `before` further characters.
fn append(value: &Value, indent: usize, before: usize, text: &mut String) {
    let line = on_one_line(value);
    if indent + before + line.chars().count() <= WIDTH {
        text.push_str(&line);
        return;
    }
    let members: Vec<_> = match value {
        Value::Object(members) => members.iter().map(|(name, member)| (format!("\"{name}\": "), member)).collect(),
        Value::Array(members) => members.iter().map(|member| (String::new(), member)).collect(),
        _ => return text.push_str(&line),
    };
    let (open, close) = if value.is_object() { ('{', '}') } else { ('[', ']') };
    let mut before = open;
    for (key, member) in members {
        write!(text, "{before}\n{:indent$}  {key}", "").unwrap();
        append(member, indent + 2, key.chars().count(), text);
        before = ',';
    }
    write!(text, "\n{:indent$}{close}", "").unwrap();
}

fn on_one_line(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let members = members.iter().map(|(name, member)| format!("\"{name}\": {}", on_one_line(member)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
        Value::Array(members) => {
            format!("[{}]", members.iter().map(on_one_line).collect::<Vec<_>>().join(", "))
        }
        _ => value.to_string(),
    }
}
