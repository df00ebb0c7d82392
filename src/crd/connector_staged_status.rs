//! Status of a `ConnectorStaged`: the state that the service reports, and what the operator remembers.
//!
//! Next: [`super::connector_staged_state`], the content of `state`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::connector_deployment_status::{ReportEntry, STATE_LENGTH};
use super::schema;
use super::shared::RemoteIdentity;

/// Maximum number of certification comments in the status; the newest are kept.
pub const CERTIFICATION_COMMENTS: usize = 20;
/// Maximum size of the certification comments as JSON, in bytes.
pub const COMMENTS_SIZE: usize = 6 * 1024;

/// Observed state of the staged connector. Written by the operator only.
#[serde_with::apply(Vec => #[serde(default, skip_serializing_if = "Vec::is_empty")])]
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectorStagedStatus {
    /// The metadata.generation that this status describes. -1: the operator has not observed the object yet.
    pub observed_generation: i64,
    /// Conditions of the staged connector. Always present: Ready. Present only while true: Reconciling, Stalled,
    /// ValuesRetained and Suspended. Conditions of other controllers are kept.
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
    /// Id of the staged connector.
    pub id: Option<String>,
    /// Key of the connector.
    #[schemars(length(max = 256))]
    pub key: Option<String>,
    /// The staged connector, as it was last observed, and the project that holds it.
    pub remote: Option<RemoteStaged>,
    /// Permission to deploy the connector as a preview. Granted: it may be deployed. Refused: it may not. Pending: the
    /// service is reviewing the request. NotRequested: the permission was not requested. Unknown: a value that this
    /// version of the operator does not know.
    pub preview: Option<PreviewPermission>,
    /// Tag that was published last.
    pub published_tag: Option<String>,
    /// Findings about publishing, newest first; 20 at most, and as many as fit into 8 KiB.
    #[schemars(length(max = 20), extend("x-kubernetes-list-type" = "atomic"))]
    pub publishing_report: Vec<ReportEntry>,
    /// Findings about the preview, newest first; 20 at most, and as many as fit into 8 KiB.
    #[schemars(length(max = 20), extend("x-kubernetes-list-type" = "atomic"))]
    pub preview_report: Vec<ReportEntry>,
    /// Comments from certification, newest first; 20 at most, and as many as fit into 6 KiB.
    #[schemars(length(max = 20), extend("x-kubernetes-list-type" = "atomic"))]
    pub certification_comments: Vec<CertificationComment>,
    /// Last value of the annotation connect-operator.io/reconcile-requested-at that was handled.
    #[schemars(length(max = 256))]
    pub handled_reconcile_request: Option<String>,
    /// Last value of the annotation connect-operator.io/retry-requested-at that was handled.
    #[schemars(length(max = 256))]
    pub handled_retry_request: Option<String>,
    /// State of the operator. Not part of the API: its format may change with any version.
    #[schemars(length(max = STATE_LENGTH))]
    pub state: Option<String>,
}

/// A staged connector at the service, and where it is.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RemoteStaged {
    /// The project.
    #[serde(flatten)]
    pub project: RemoteIdentity,
    /// Status of the staged connector, as the API reports it: Draft, Processing, ReadyForCertification,
    /// InCertification, Published or Failed.
    pub state: Option<String>,
    /// Version of the staged connector.
    pub version: Option<i64>,
}

/// A comment from certification.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CertificationComment {
    /// Project key of the author.
    pub project_key: String,
    /// Time of the comment, as the API reports it.
    pub at: String,
    /// Text of the comment.
    pub comment: String,
}

/// Permission to deploy a staged connector: the API's `isPreviewable` (contract section 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = schema::leave_description_to_the_field)]
pub enum PreviewPermission {
    /// `"true"`: it may be deployed.
    Granted,
    /// `"false"`: it may not be deployed.
    Refused,
    /// `"pending"`: the service is reviewing the request.
    Pending,
    /// `"none"`: the permission was not requested.
    NotRequested,
    /// A value that this version of the operator does not know.
    Unknown,
}
