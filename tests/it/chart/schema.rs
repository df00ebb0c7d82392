//! The descriptions in `values.schema.json`, which editors show: generated from the comments in `values.yaml`.

use super::comments::documented;
use crate::prelude::*;

/// The longest line that is not broken.
const WIDTH: usize = 140;

#[test]
fn the_schema_describes_every_value() {
    let path = format!("{CHART}/values.schema.json");
    let mut schema = yaml_of(&path);
    for value in documented() {
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
