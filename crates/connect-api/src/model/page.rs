//! Pages of lists and of logs (contract sections 3 and 4.5).

use serde::{Deserialize, Serialize};

use super::{LogSeverity, LogType};
use crate::lenient::nullable;

/// A page of a list (contract section 3).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound(deserialize = "T: Deserialize<'de>"))]
pub struct Paged<T> {
    /// Largest size of this page.
    #[serde(default, deserialize_with = "nullable")]
    pub limit: i64,
    /// Results before this page.
    #[serde(default, deserialize_with = "nullable")]
    pub offset: i64,
    /// Results in this page.
    #[serde(default, deserialize_with = "nullable")]
    pub count: i64,
    /// Results in all pages.
    #[serde(default, deserialize_with = "nullable")]
    pub total: i64,
    /// This page.
    pub results: Vec<T>,
}

/// An entry of a log (contract section 4.5).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LogEntry {
    /// Origin and form.
    #[serde(rename = "type", default = "application_text")]
    pub kind: LogType,
    /// Deployment.
    #[serde(default, deserialize_with = "nullable")]
    pub deployment_id: String,
    /// Application.
    #[serde(default, deserialize_with = "nullable")]
    pub application_name: String,
    /// Weight.
    #[serde(default = "default_severity")]
    pub severity: LogSeverity,
    /// When, RFC 3339; kept as it came.
    #[serde(default, deserialize_with = "nullable")]
    pub timestamp: String,
    /// The entry itself, any JSON.
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
    /// This page.
    #[serde(default, deserialize_with = "nullable")]
    pub data: Vec<LogEntry>,
    /// Token of the next page; absent, null or empty at the end (contract section 13, row 13).
    #[serde(default)]
    pub next: Option<String>,
}
