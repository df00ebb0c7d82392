//! A staged connector in responses, and the request to create one (contract section 4.3). See `staged_update` for its
//! update actions.

use serde::{Deserialize, Deserializer, Serialize};

use super::{
    ConnectorApiClient, ConnectorStatus, Creator, DeclaredApplication, DeclaredGlobal, IntegrationType, IsPreviewable,
    Report, Repository,
};
use crate::lenient::{nullable, usable};

/// A staged connector as the service returns it (contract section 4.3).
#[serde_with::apply(
    Vec => #[serde(default, deserialize_with = "nullable")],
    bool => #[serde(default, deserialize_with = "nullable")],
)]
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConnectorStaged {
    /// Unique id.
    #[serde(deserialize_with = "crate::lenient::id")]
    pub id: String,
    /// Unique key chosen by the user.
    pub key: Option<String>,
    /// Current version, to be sent with the next update. Compared for equality only (contract section 10).
    pub version: i64,
    /// Display name.
    #[serde(default, deserialize_with = "nullable")]
    pub name: String,
    /// Description for users.
    #[serde(default, deserialize_with = "nullable")]
    pub description: String,
    /// Systems that it integrates with.
    pub integration_types: Vec<IntegrationType>,
    /// Creator of the connector.
    #[serde(default, deserialize_with = "nullable")]
    pub creator: Creator,
    /// Source repository.
    #[serde(default, deserialize_with = "nullable")]
    pub repository: Repository,
    /// Variables that its applications declare; absent if unknown. The service always sends the list.
    pub configurations: Option<Vec<DeclaredApplication>>,
    /// Variables that it declares for all its applications.
    pub global_configuration: Option<DeclaredGlobal>,
    /// Scopes of the API client that deploying it generates.
    #[serde(default, deserialize_with = "usable")]
    pub api_client: Option<ConnectorApiClient>,
    /// Whether only the listed projects may use it.
    pub private: bool,
    /// The projects that may use it, each as `{region}:{projectKey}`.
    pub private_projects: Vec<String>,
    /// Regions in which it may be deployed; empty if it may be deployed anywhere.
    pub supported_regions: Vec<String>,
    /// Comments from certification.
    #[serde(default, deserialize_with = "usable")]
    pub certification_info: Option<CertificationInfo>,
    /// Progress towards publication; `Draft` if absent.
    #[serde(default, deserialize_with = "nullable")]
    pub status: ConnectorStatus,
    /// Findings of the last publication.
    #[serde(default, deserialize_with = "usable")]
    pub publishing_report: Option<Report>,
    /// Whether it is published and can be used.
    pub already_listed: bool,
    /// Whether it differs from the published connector.
    pub has_changes: bool,
    /// Whether it may be deployed while staged; `none` if absent. A boolean is accepted as well (contract section 12,
    /// row 7).
    #[serde(default, deserialize_with = "word_or_boolean")]
    pub is_previewable: IsPreviewable,
    /// Findings of the last preview request.
    #[serde(default, deserialize_with = "usable")]
    pub previewable_report: Option<Report>,
    /// Address of its documentation.
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

/// Comments from certification (contract section 4.3).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CertificationInfo {
    /// The comments.
    #[serde(default, deserialize_with = "nullable")]
    pub comments: Vec<CertificationInfoComment>,
}

/// A comment from certification (contract section 4.3).
#[serde_with::apply(_ => #[serde(default, deserialize_with = "nullable")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CertificationInfoComment {
    /// Key of the author's project, despite the name.
    pub user_id: String,
    /// Time in RFC 3339, kept as received.
    pub datetime: String,
    /// The text of the comment.
    pub comment: String,
}

/// The request body for creating a staged connector (contract section 4.3).
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConnectorStagedDraft {
    /// Unique key chosen by the user. The operator always sends one, because only the key prevents creating a connector
    /// twice (contract section 10). No update changes it.
    pub key: Option<String>,
    /// Display name.
    pub name: String,
    /// Description for users.
    pub description: Option<String>,
    /// Systems that it integrates with; omitted if empty.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub integration_types: Vec<IntegrationType>,
    /// Creator of the connector; its `email` is required.
    pub creator: Creator,
    /// Repository and tag of the source.
    pub repository: Repository,
    /// Regions in which it may be deployed; empty, and then omitted, for all regions.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub supported_regions: Vec<String>,
    /// Projects that may use it, each as `{region}:{projectKey}`; empty, and then omitted, if only the creator may use
    /// it.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub private_projects: Vec<String>,
    /// Address of its documentation.
    pub documentation_url: Option<String>,
}
