//! Status of a `ConnectorStaged`: the state that the service reports, and the operations of the operator.
//!
//! Next: `controllers/connector_staged/status_conversion.rs`, which reads and writes what must survive a restart.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::connector_deployment_status::ReportEntry;
use super::schema;
use super::shared::{RemoteIdentity, UNSEEN};

/// Maximum number of certification comments in the status; the newest are kept.
pub const CERTIFICATION_COMMENTS: usize = 20;
/// Maximum size of the certification comments as JSON, in bytes.
pub const COMMENTS_SIZE: usize = 6 * 1024;
/// Maximum size of the applications as JSON, in bytes.
pub const STAGED_APPLICATIONS_SIZE: usize = 14 * 1024;
/// Maximum size of an application's variables as JSON, in bytes, for plain and secured ones each.
pub const STAGED_KEYS_SIZE: usize = 3 * 1024;
/// Maximum number of applications in a status, as many as a deployment may name.
pub const STAGED_APPLICATIONS: usize = 64;
/// Maximum number of an application's variables in a status, for plain and secured ones each.
pub const STAGED_KEYS: usize = 100;

/// Observed state of the staged connector. Written by the operator only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectorStagedStatus {
    /// The metadata.generation that this status describes. -1: the operator has not observed the object yet.
    pub observed_generation: i64,
    /// Conditions of the staged connector. Always present: Ready (the remote matches the spec) and Suspended. Present
    /// only while true: Reconciling (the operator is working or waiting) and Stalled (a user must act). Conditions of
    /// other controllers are kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
    /// Id of the staged connector.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub id: Option<String>,
    /// Key of the connector.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub key: Option<String>,
    /// Version of the staged connector.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<i64>,
    /// Remote project that holds the staged connector.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote: Option<RemoteIdentity>,
    /// Status of the staged connector, as the API reports it: Draft, Processing, ReadyForCertification,
    /// InCertification, Published or Failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub connector_status: Option<String>,
    /// Permission to deploy the connector as a preview. Granted: it may be deployed. Refused: it may not. Pending: the
    /// service is reviewing the request. NotRequested: the permission was not requested. Unknown: a value that this
    /// version of the operator does not know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previewable: Option<PreviewPermission>,
    /// Whether the connector is published and can be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub already_listed: Option<bool>,
    /// Whether the staged connector differs from the published one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub has_changes: Option<bool>,
    /// Tag that was published last.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub published_tag: Option<String>,
    /// Tag for which the preview permission was requested last.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub previewed_tag: Option<String>,
    /// Whether that permission was refused. If the service shows later that none was requested, it is requested again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub preview_refused: bool,
    /// Findings about publishing, newest first; 20 at most, and as many as fit into 8 KiB.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 20), extend("x-kubernetes-list-type" = "atomic"))]
    pub publishing_report: Vec<ReportEntry>,
    /// Findings about the preview, newest first; 20 at most, and as many as fit into 8 KiB.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 20), extend("x-kubernetes-list-type" = "atomic"))]
    pub previewable_report: Vec<ReportEntry>,
    /// Comments from certification, newest first; 20 at most, and as many as fit into 6 KiB.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 20), extend("x-kubernetes-list-type" = "atomic"))]
    pub certification_comments: Vec<CertificationComment>,
    /// Applications in the connect.yaml of the tag, and the variables that they declare; 64 at most, and as many as fit
    /// into 14 KiB.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), extend("x-kubernetes-list-type" = "atomic"))]
    pub configurations: Vec<StagedApplication>,
    /// Last change that was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub applied: Option<StagedApplied>,
    /// Result of the last attempt to publish.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub publication: Option<Publication>,
    /// First version in which the tag can be deployed as a preview.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deployable: Option<StagedDeployable>,
    /// Operation in progress.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<StagedOperation>,
    /// Last value of the annotation connect-operator.io/reconcile-requested-at that was handled.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub handled_reconcile_request: Option<String>,
    /// Last value of the annotation connect-operator.io/redeploy-requested-at that was handled.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub handled_redeploy_request: Option<String>,
}

impl Default for ConnectorStagedStatus {
    fn default() -> Self {
        Self {
            observed_generation: UNSEEN,
            conditions: Vec::new(),
            id: None,
            key: None,
            version: None,
            remote: None,
            connector_status: None,
            previewable: None,
            already_listed: None,
            has_changes: None,
            published_tag: None,
            previewed_tag: None,
            preview_refused: false,
            publishing_report: Vec::new(),
            previewable_report: Vec::new(),
            certification_comments: Vec::new(),
            configurations: Vec::new(),
            applied: None,
            publication: None,
            deployable: None,
            operation: None,
            handled_reconcile_request: None,
            handled_redeploy_request: None,
        }
    }
}

/// A comment from certification.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CertificationComment {
    /// Project key of the author.
    #[schemars(length(max = 64))]
    pub project: String,
    /// Time of the comment, as the API reports it.
    #[schemars(length(max = 64))]
    pub at: String,
    /// Text of the comment.
    #[schemars(length(max = 1024))]
    pub comment: String,
}

/// An application of a connector, and the variables that it declares.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StagedApplication {
    /// Name of the application.
    #[schemars(length(max = 256))]
    pub application_name: String,
    /// Type of the application, such as service, event or job.
    #[schemars(length(max = 64))]
    pub application_type: String,
    /// Plain variables; 100 at most, and as many as fit into 3 KiB.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100), extend("x-kubernetes-list-type" = "atomic"))]
    pub standard_configuration: Vec<StagedVariable>,
    /// Secured variables; 100 at most, and as many as fit into 3 KiB.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100), extend("x-kubernetes-list-type" = "atomic"))]
    pub secured_configuration: Vec<StagedVariable>,
}

/// A variable that an application declares.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StagedVariable {
    /// Key for configurations of a ConnectorDeployment.
    #[schemars(length(max = 256))]
    pub key: String,
    /// Whether the variable must have a value.
    pub required: bool,
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

/// The last change that was sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StagedApplied {
    /// The metadata.generation that was sent.
    pub generation: i64,
    /// Digest of what was sent. Absent: not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub digest: Option<String>,
    /// Digest of the fields that the remote showed afterwards.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub remote_digest: Option<String>,
    /// Version of the staged connector before the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_version: Option<i64>,
    /// Time at which the end of the operation was observed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Time>,
}

/// Result of an attempt to publish.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Publication {
    /// Digest of what to publish, and of how.
    #[schemars(length(max = 128))]
    pub digest: String,
    /// Status in which the attempt ended.
    #[schemars(length(max = 64))]
    pub outcome: String,
    /// Time at which the end of the attempt was observed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Time>,
}

/// The first version in which a tag can be deployed as a preview.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StagedDeployable {
    /// Digest of repository and tag.
    #[schemars(length(max = 128))]
    pub source: String,
    /// First version of the connector in which the permission was observed.
    pub version: i64,
}

/// An operation in progress: written before its call, removed after its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StagedOperation {
    /// Type of the operation.
    #[serde(rename = "type")]
    pub operation_type: StagedOperationType,
    /// State of the operation. Planned: its call may have been sent. Accepted: the remote accepted it.
    pub state: super::connector_deployment_status::OperationState,
    /// Number of attempts to send the call, counted from 1. It is incremented before each attempt.
    pub attempt: u32,
    /// The metadata.generation that the operation applies.
    pub generation: i64,
    /// Digest of what the operation applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub digest: Option<String>,
    /// Tag that the operation applies to.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub tag: Option<String>,
    /// Version of the staged connector before the operation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_version: Option<i64>,
    /// Status of the staged connector before the operation.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub from_status: Option<String>,
    /// Whether the connector was observed busy since the call was sent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub seen_busy: bool,
    /// Value of the annotation connect-operator.io/redeploy-requested-at that the operation handles.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub redeploy_request: Option<String>,
    /// Time at which the call was last about to be sent.
    pub started_at: Time,
}

/// Type of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = schema::leave_description_to_the_field)]
pub enum StagedOperationType {
    /// Creates the staged connector.
    Create,
    /// Changes the staged connector.
    Update,
    /// Requests the permission to deploy it as a preview.
    Preview,
    /// Publishes it.
    Publish,
    /// Deletes it.
    Delete,
}
