//! A connector while it is being prepared: as the service shows it, and what is sent to create it (contract section
//! 4.3). Next: `staged_update` for its changes.

use serde::{Deserialize, Deserializer, Serialize};

use super::{
    ConnectorApiClient, ConnectorStatus, Creator, DeclaredApplication, DeclaredGlobal, IntegrationType, IsPreviewable,
    Report, Repository,
};
use crate::lenient::nullable;

/// A staged connector as the service shows it (contract section 4.3).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConnectorStaged {
    /// Unique id.
    pub id: String,
    /// The user's own unique name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Version now; goes into the next update. Compared for equality only (contract section 10).
    pub version: i64,
    /// For people.
    #[serde(default, deserialize_with = "nullable")]
    pub name: String,
    /// For people.
    #[serde(default, deserialize_with = "nullable")]
    pub description: String,
    /// What it integrates with.
    #[serde(default, deserialize_with = "nullable")]
    pub integration_types: Vec<IntegrationType>,
    /// Who owns it.
    #[serde(default, deserialize_with = "nullable")]
    pub creator: Creator,
    /// Where its source is.
    #[serde(default, deserialize_with = "nullable")]
    pub repository: Repository,
    /// Variables that its applications want; absent: not known. The service always sends the list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configurations: Option<Vec<DeclaredApplication>>,
    /// Variables that all its applications want.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub global_configuration: Option<DeclaredGlobal>,
    /// Describes the API client whose credentials are generated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_client: Option<ConnectorApiClient>,
    /// Only the listed projects may use it.
    #[serde(default, deserialize_with = "nullable")]
    pub private: bool,
    /// Those projects, each `{region}:{projectKey}`.
    #[serde(default, deserialize_with = "nullable")]
    pub private_projects: Vec<String>,
    /// Where it may be deployed; empty: anywhere.
    #[serde(default, deserialize_with = "nullable")]
    pub supported_regions: Vec<String>,
    /// Remarks from certification.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certification_info: Option<CertificationInfo>,
    /// Where it is on its way to being published; `Draft` if nothing is said.
    #[serde(default, deserialize_with = "nullable")]
    pub status: ConnectorStatus,
    /// Findings about publishing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub publishing_report: Option<Report>,
    /// Is published and can be used.
    #[serde(default, deserialize_with = "nullable")]
    pub already_listed: bool,
    /// Differs from the published one.
    #[serde(default, deserialize_with = "nullable")]
    pub has_changes: bool,
    /// May be deployed while staged; `none` if nothing is said. Also read from a boolean (contract section 12, row 7).
    #[serde(default, deserialize_with = "word_or_boolean")]
    pub is_previewable: IsPreviewable,
    /// Findings about the preview request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previewable_report: Option<Report>,
    /// Its documentation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub documentation_url: Option<String>,
}

fn word_or_boolean<'de, D: Deserializer<'de>>(deserializer: D) -> Result<IsPreviewable, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Read {
        Boolean(bool),
        Word(IsPreviewable),
    }
    Ok(match Option::deserialize(deserializer)? {
        Some(Read::Boolean(true)) => IsPreviewable::Yes,
        Some(Read::Boolean(false)) => IsPreviewable::No,
        Some(Read::Word(word)) => word,
        None => IsPreviewable::default(),
    })
}

/// Remarks from certification (contract section 4.3).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CertificationInfo {
    /// The remarks.
    #[serde(default, deserialize_with = "nullable")]
    pub comments: Vec<CertificationInfoComment>,
}

/// A remark from certification (contract section 4.3).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CertificationInfoComment {
    /// Despite its name the key of the project of whoever wrote it.
    #[serde(default, deserialize_with = "nullable")]
    pub user_id: String,
    /// When, RFC 3339; kept as it came.
    #[serde(default, deserialize_with = "nullable")]
    pub datetime: String,
    /// The remark.
    #[serde(default, deserialize_with = "nullable")]
    pub comment: String,
}

/// What is sent to create a staged connector (contract section 4.3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConnectorStagedDraft {
    /// The user's own unique name; always sent by the operator, since nothing else guards against creating twice
    /// (contract section 10). No update changes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// For people.
    pub name: String,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What it integrates with; left out if empty.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub integration_types: Vec<IntegrationType>,
    /// Who owns it; its `email` is required.
    pub creator: Creator,
    /// Repository and tag to read.
    pub repository: Repository,
    /// Where it may be deployed; none: anywhere. Left out if empty.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub supported_regions: Vec<String>,
    /// Who may use it, each `{region}:{projectKey}`; empty: the creator alone. Left out if empty.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub private_projects: Vec<String>,
    /// Its documentation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub documentation_url: Option<String>,
}
