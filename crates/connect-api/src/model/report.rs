//! Findings of the service about a build, a publication or a preview request (contract sections 4.3 and 4.4).

use serde::{Deserialize, Serialize};

use super::EntryType;
use crate::lenient::{first, usable};

/// Maximum number of findings that are kept.
const MOST_FINDINGS: usize = 1_000;

/// Findings of a build, a publication or a preview request (`DeploymentReport`, `ConnectorReport`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The findings, in no particular order; those beyond the first 1,000 are dropped.
    #[serde(default, deserialize_with = "first::<_, _, MOST_FINDINGS>")]
    pub entries: Vec<ReportEntry>,
}

/// A finding (contract sections 4.3 and 4.4). It only informs: what cannot be read of it counts as absent.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReportEntry {
    /// Severity.
    #[serde(rename = "type", default, deserialize_with = "usable")]
    pub kind: EntryType,
    /// Summary.
    #[serde(default, deserialize_with = "usable")]
    pub title: String,
    /// Details.
    #[serde(default, deserialize_with = "usable")]
    pub message: Option<String>,
    /// The application concerned; absent in reports about connectors (contract section 13, row 8).
    #[serde(default, deserialize_with = "usable")]
    pub application: Option<String>,
    /// Time in RFC 3339, kept as received.
    #[serde(default, deserialize_with = "usable")]
    pub created_at: String,
}
