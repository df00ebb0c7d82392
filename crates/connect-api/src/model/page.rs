//! Pages of lists and of logs (contract sections 3 and 4.5).

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{LogSeverity, LogType};
use crate::lenient::nullable;

/// A page of a list (contract section 3).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound(deserialize = "T: Deserialize<'de>"))]
pub struct Paged<T> {
    /// Maximum number of results in this page.
    #[serde(default, deserialize_with = "nullable")]
    pub limit: i64,
    /// Number of results before this page.
    #[serde(default, deserialize_with = "nullable")]
    pub offset: i64,
    /// Number of results in this page.
    #[serde(default, deserialize_with = "nullable")]
    pub count: i64,
    /// Number of results in all pages.
    #[serde(default, deserialize_with = "nullable")]
    pub total: i64,
    /// The results of this page.
    pub results: Vec<T>,
}

/// An entry of a log (contract section 4.5).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LogEntry {
    /// Origin and format.
    #[serde(rename = "type", default, deserialize_with = "nullable")]
    pub kind: LogType,
    /// Id of the deployment.
    #[serde(default, deserialize_with = "nullable")]
    pub deployment_id: String,
    /// Name of the application.
    #[serde(default, deserialize_with = "nullable")]
    pub application_name: String,
    /// Severity.
    #[serde(default, deserialize_with = "nullable")]
    pub severity: LogSeverity,
    /// Time in RFC 3339, kept as received.
    #[serde(default, deserialize_with = "nullable")]
    pub timestamp: String,
    /// Content of the entry, any JSON value as it was received. It is not parsed: a connector writes it, and a tree
    /// of small values needs 20 times the memory of its text.
    #[serde(default)]
    pub details: Box<RawValue>,
}

impl LogEntry {
    /// Returns the content as text: a string as it is, the `message` of an object if that is a string, and anything
    /// else as JSON.
    #[must_use]
    pub fn text(&self) -> String {
        let details = self.details.get();
        let text = match details.as_bytes().first() {
            Some(b'"') => serde_json::from_str(details).ok(),
            Some(b'{') => serde_json::from_str::<Message>(details)
                .ok()
                .and_then(|Message { message }| serde_json::from_str(message?.get()).ok()),
            _ => None,
        };
        text.unwrap_or_else(|| details.to_owned())
    }
}

/// The part of a log entry that is shown, if it is an object.
#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    message: Option<&'a RawValue>,
}

/// A page of logs (contract section 4.5).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LogPage {
    /// The entries of this page.
    #[serde(default, deserialize_with = "nullable")]
    pub data: Vec<LogEntry>,
    /// Token of the next page; absent, null or empty on the last page (contract section 13, row 13).
    #[serde(default)]
    pub next: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_an_entry_is_what_a_connector_wrote() {
        for (case, details, expected) in [
            ("a string", r#""started""#, "started"),
            ("with escapes", r#""\u0073tarted \"now\"\n""#, "started \"now\"\n"),
            ("a message", r#"{"port": 1, "message": "started"}"#, "started"),
            ("a message with escapes", r#"{"message":"\u0073tarted"}"#, "started"),
            ("a message that is no string", r#"{"message": {"a": 1}}"#, r#"{"message": {"a": 1}}"#),
            ("a message that is null", r#"{"message":null}"#, r#"{"message":null}"#),
            ("two messages", r#"{"message":"a","message":"b"}"#, r#"{"message":"a","message":"b"}"#),
            ("another object", r#"{"port":1}"#, r#"{"port":1}"#),
            ("a list", r#"["started"]"#, r#"["started"]"#),
            ("a number", "1.50", "1.50"),
            ("nothing", "null", "null"),
        ] {
            let entry = serde_json::from_str::<LogEntry>(&format!(r#"{{"details": {details} }}"#)).expect(case);
            assert_eq!(entry.text(), expected, "{case}");
        }
        assert_eq!(serde_json::from_str::<LogEntry>("{}").expect("an entry").text(), "null");
    }
}
