//! Output formats: tables, or the records of the API as JSON or YAML.
//!
//! In every format, secured values are removed from a record before it is printed.

use std::io;

use serde::Serialize;
use serde_json::Value;

use crate::cli::printing::print;
use crate::cli::resources::{Form, Output};
use crate::cli::text::{columns, json, plain, yaml};

/// A part of a table, separated by a blank line.
pub(super) struct Section {
    header: Vec<&'static str>,
    rows: Vec<Vec<String>>,
    /// Number of the last columns that only `-o wide` shows.
    details: usize,
}

impl Section {
    pub(super) fn new<const N: usize>(header: [&'static str; N], rows: impl Iterator<Item = [String; N]>) -> Self {
        Self { header: header.to_vec(), rows: rows.map(Vec::from).collect(), details: 0 }
    }

    /// Shows the last `details` columns with `-o wide` only.
    pub(super) fn with_details(self, details: usize) -> Self {
        Self { details, ..self }
    }

    /// Returns the section without the columns that are not shown.
    pub(super) fn shown(mut self, wide: bool) -> Self {
        let columns = self.header.len() - if wide { 0 } else { self.details };
        self.header.truncate(columns);
        self.rows.iter_mut().for_each(|row| row.truncate(columns));
        self
    }
}

/// Prints `result` in the format that was asked for, or its table; omits sections without rows, unless there is only one.
pub(super) fn print_records(
    output: Output,
    result: &impl Serialize,
    table: impl FnOnce() -> Vec<Section>,
) -> io::Result<()> {
    // Written in one piece, because the reader may stop early.
    print(&match output.form() {
        None | Some(Form::Wide) => {
            let sections: Vec<_> = table().into_iter().map(|section| section.shown(output.is_wide())).collect();
            text(&sections)
        }
        Some(Form::Name) => keys(&serde_json::to_value(result)?),
        Some(Form::Json) => json(&without_secrets(serde_json::to_value(result)?)),
        Some(Form::Yaml) => yaml(&without_secrets(serde_json::to_value(result)?)).map_err(io::Error::other)?,
    })
}

/// Formats the tables, with a blank line between them.
pub(super) fn text(sections: &[Section]) -> String {
    let shown = sections.iter().filter(|section| sections.len() == 1 || !section.rows.is_empty());
    shown.map(table).collect::<Vec<_>>().join("\n")
}

fn table(section: &Section) -> String {
    let header = section.header.iter().map(ToString::to_string).collect();
    let rows = section.rows.iter().map(|row| row.iter().map(|cell| plain(cell)).collect());
    columns(&std::iter::once(header).chain(rows).collect::<Vec<_>>())
}

/// Returns the keys of a record or of several, one per line.
fn keys(result: &Value) -> String {
    let one = std::slice::from_ref(result);
    let key = |record: &Value| record["key"].as_str().or(record["id"].as_str()).map(|key| format!("{key}\n"));
    result.as_array().map_or(one, Vec::as_slice).iter().filter_map(key).collect()
}

/// Removes the values of secured configurations, whatever the service returns there.
fn without_secrets(mut value: Value) -> Value {
    match &mut value {
        Value::Array(items) => {
            for item in items {
                *item = without_secrets(item.take());
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                if name == "securedConfiguration"
                    && let Value::Array(secured) = member
                {
                    for value in secured.iter_mut().filter_map(Value::as_object_mut) {
                        value.remove("value");
                    }
                }
                *member = without_secrets(member.take());
            }
        }
        _ => {}
    }
    value
}

/// Returns the text, or `-` if it is absent or empty.
pub(super) fn or_dash(text: Option<&str>) -> String {
    text.filter(|text| !text.is_empty()).unwrap_or("-").to_owned()
}

/// Joins the words with commas.
pub(super) fn list<T: ToString>(words: &[T]) -> String {
    or_dash(Some(&words.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secured_values_are_removed_at_any_depth() {
        let record = json!([{
            "securedConfiguration": [{"key": "A", "value": "canary"}],
            "applications": [{"securedConfiguration": [{"key": "B", "value": "canary", "description": "b"}]}],
            "standardConfiguration": [{"key": "C", "value": "shown"}],
        }]);
        let shown = without_secrets(record).to_string();
        assert!(!shown.contains("canary") && shown.contains("shown") && shown.contains("\"B\""), "{shown}");
    }

    #[test]
    fn a_record_is_named_by_its_key_or_its_id() {
        assert_eq!(keys(&json!({"id": "1", "key": "tax"})), "tax\n");
        assert_eq!(keys(&json!([{"id": "1", "key": "tax"}, {"id": "2", "key": null}])), "tax\n2\n");
        assert_eq!(keys(&json!([])), "");
    }

    #[test]
    fn an_empty_list_shows_its_columns_and_an_empty_part_is_left_out() {
        let none = || Section::new(["KEY"], std::iter::empty());
        assert_eq!(text(&[none()]), "KEY\n");
        let one = Section::new(["NAME"], std::iter::once(["tax".to_owned()]));
        assert_eq!(text(&[one, none()]), "NAME\ntax\n");
    }
}
