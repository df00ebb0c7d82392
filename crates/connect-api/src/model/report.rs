//! Findings of the service about what it was asked to do: a build, a publication, a preview (contract sections 4.3
//! and 4.4).

use serde::{Deserialize, Serialize};

use super::EntryType;
use crate::lenient::nullable;

/// Findings of a build, of publishing or of a preview request (`DeploymentReport`, `ConnectorReport`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// In no particular order.
    #[serde(default, deserialize_with = "nullable")]
    pub entries: Vec<ReportEntry>,
}

/// A finding (contract sections 4.3 and 4.4).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReportEntry {
    /// Weight.
    #[serde(rename = "type", default = "information")]
    pub kind: EntryType,
    /// What, in short.
    #[serde(default, deserialize_with = "nullable")]
    pub title: String,
    /// What, in more words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Application that it is about; reports about connectors have none (contract section 13, row 8).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<String>,
    /// When, RFC 3339; kept as it came.
    #[serde(default, deserialize_with = "nullable")]
    pub created_at: String,
}

fn information() -> EntryType {
    EntryType::Information
}
