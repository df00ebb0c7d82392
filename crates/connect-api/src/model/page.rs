//! Pages of lists and of logs (contract sections 3 and 4.5).

use serde::{Deserialize, Serialize};

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
    #[serde(rename = "type", default = "application_text")]
    pub kind: LogType,
    /// Id of the deployment.
    #[serde(default, deserialize_with = "nullable")]
    pub deployment_id: String,
    /// Name of the application.
    #[serde(default, deserialize_with = "nullable")]
    pub application_name: String,
    /// Severity.
    #[serde(default = "default_severity")]
    pub severity: LogSeverity,
    /// Time in RFC 3339, kept as received.
    #[serde(default, deserialize_with = "nullable")]
    pub timestamp: String,
    /// Content of the entry, any JSON value.
    #[serde(default)]
    pub details: serde_json::Value,
}

fn application_text() -> LogType {
    LogType::ApplicationText
}

fn default_severity() -> LogSeverity {
    LogSeverity::Default
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
