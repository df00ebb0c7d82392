//! Status of a `ConnectorStaged`: what the service says of it, and what the operator has begun and done.
//!
//! Next: `controllers/connector_staged/status_conversion.rs`, which reads and writes what must survive a restart.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::connector_deployment_status::ReportEntry;
use super::schema;
use super::shared::{RemoteIdentity, UNSEEN};

/// Most entries of a report in the status.
pub const STAGED_REPORT_ENTRIES: usize = 20;
/// Most remarks from certification in the status, the newest.
pub const CERTIFICATION_COMMENTS: usize = 20;
/// Most bytes of the remarks from certification, as JSON.
pub const COMMENTS_SIZE: usize = 6 * 1024;
/// Most bytes of the applications, as JSON.
pub const STAGED_APPLICATIONS_SIZE: usize = 14 * 1024;
/// Most bytes of the variables of an application, of each sort, as JSON.
pub const STAGED_KEYS_SIZE: usize = 3 * 1024;
/// Most applications that a status lists, as many as a deployment may name.
pub const STAGED_APPLICATIONS: usize = 64;
/// Most variables of an application that a status lists, of each sort.
pub const STAGED_KEYS: usize = 100;

/// What the operator says about the staged connector. Written by the operator only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectorStagedStatus {
    /// The metadata.generation that this status speaks about. -1: the operator has not seen the object yet.
    pub observed_generation: i64,
    /// Always there: Ready (the remote is as far as the spec asks for) and Suspended. Only while true: Reconciling
    /// (something runs or may come by itself), Stalled (a person has to act). Conditions of others are kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
    /// The install of the operator that works on this resource: namespace and name of its Lease. Absent without leader
    /// election.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512))]
    pub controller: Option<String>,
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
    /// The remote project that holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote: Option<RemoteIdentity>,
    /// Draft, Processing, ReadyForCertification, InCertification, Published or Failed, as the API says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub connector_status: Option<String>,
    /// Whether it may be deployed while staged. Granted: it may. Refused: it may not. Pending: the service is reviewing the
    /// request. NotRequested: nobody has asked for the permission. Unknown: a word that this version of the operator does
    /// not know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previewable: Option<PreviewPermission>,
    /// Whether it is published and can be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub already_listed: Option<bool>,
    /// Whether it differs from what is published.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub has_changes: Option<bool>,
    /// The tag that was published last.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub published_tag: Option<String>,
    /// The tag that the permission for a preview was asked for last.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub previewed_tag: Option<String>,
    /// Findings about publishing, newest first; 20 at most, and as many as fit into 8 KiB.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 20), extend("x-kubernetes-list-type" = "atomic"))]
    pub publishing_report: Vec<ReportEntry>,
    /// Findings about the preview, newest first; 20 at most, and as many as fit into 8 KiB.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 20), extend("x-kubernetes-list-type" = "atomic"))]
    pub previewable_report: Vec<ReportEntry>,
    /// Remarks from certification, newest first; 20 at most, and as many as fit into 6 KiB.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 20), extend("x-kubernetes-list-type" = "atomic"))]
    pub certification_comments: Vec<CertificationComment>,
    /// The applications of the connect.yaml of the tag, and the variables that they want; 64 at most, and as many as fit
    /// into 14 KiB.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), extend("x-kubernetes-list-type" = "atomic"))]
    pub configurations: Vec<StagedApplication>,
    /// What was sent last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub applied: Option<StagedApplied>,
    /// How the last attempt to publish ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub publication: Option<Publication>,
    /// Since which version the tag can be deployed while it is staged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deployable: Option<StagedDeployable>,
    /// What was begun and not yet seen to end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<StagedOperation>,
    /// The last value of the annotation connect-operator.io/reconcile-requested-at that was served.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub handled_reconcile_request: Option<String>,
    /// The last value of the annotation connect-operator.io/redeploy-requested-at that was served.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub handled_redeploy_request: Option<String>,
}

impl Default for ConnectorStagedStatus {
    fn default() -> Self {
        Self {
            observed_generation: UNSEEN,
            conditions: Vec::new(),
            controller: None,
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

/// A remark from certification.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CertificationComment {
    /// Key of the project of whoever wrote it.
    #[schemars(length(max = 64))]
    pub project: String,
    /// When, as the API says it.
    #[schemars(length(max = 64))]
    pub at: String,
    /// What was remarked.
    #[schemars(length(max = 1024))]
    pub comment: String,
}

/// An application of a connector, and the variables that it wants.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StagedApplication {
    /// Name of the application.
    #[schemars(length(max = 256))]
    pub application_name: String,
    /// Its kind, such as service, event or job.
    #[schemars(length(max = 64))]
    pub application_type: String,
    /// Its plain variables; 100 at most, and as many as fit into 3 KiB.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100), extend("x-kubernetes-list-type" = "atomic"))]
    pub standard_configuration: Vec<StagedVariable>,
    /// Its secured variables; 100 at most, and as many as fit into 3 KiB.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100), extend("x-kubernetes-list-type" = "atomic"))]
    pub secured_configuration: Vec<StagedVariable>,
}

/// A variable that an application wants.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StagedVariable {
    /// Name, as in the configurations of a ConnectorDeployment.
    #[schemars(length(max = 256))]
    pub key: String,
    /// Whether it must have a value.
    pub required: bool,
}

/// Whether a staged connector may be deployed: the API's `isPreviewable` (contract section 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = schema::leave_description_to_the_field)]
pub enum PreviewPermission {
    /// `"true"`: it may.
    Granted,
    /// `"false"`: it may not.
    Refused,
    /// `"pending"`: the service is reviewing the request.
    Pending,
    /// `"none"`: nobody has asked.
    NotRequested,
    /// A word that this version of the operator does not know.
    Unknown,
}

/// What was sent last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StagedApplied {
    /// The metadata.generation that it was sent for.
    pub generation: i64,
    /// Digest of what was sent. Absent: not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub digest: Option<String>,
    /// Digest of what the remote showed afterwards.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub remote_digest: Option<String>,
    /// Version before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_version: Option<i64>,
    /// When its end was seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Time>,
}

/// How an attempt to publish ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Publication {
    /// Digest of what was to be published, and how.
    #[schemars(length(max = 128))]
    pub digest: String,
    /// Status that it ended with.
    #[schemars(length(max = 64))]
    pub outcome: String,
    /// When the end was seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Time>,
}

/// Since which version a tag can be deployed while it is staged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StagedDeployable {
    /// Digest of repository and tag.
    #[schemars(length(max = 128))]
    pub source: String,
    /// The first version of the connector in which the permission was seen.
    pub version: i64,
}

/// Something that was begun: written before its call, removed after its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StagedOperation {
    /// What it does.
    #[serde(rename = "type")]
    pub operation_type: StagedOperationType,
    /// Planned: its call may have been sent. Accepted: it was.
    pub state: super::connector_deployment_status::OperationState,
    /// How often its call was about to be sent, from 1.
    pub attempt: u32,
    /// The metadata.generation that it serves.
    pub generation: i64,
    /// Digest of what it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub digest: Option<String>,
    /// The tag that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub tag: Option<String>,
    /// Version that it starts from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_version: Option<i64>,
    /// Status that it starts from.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub from_status: Option<String>,
    /// Whether the connector was seen busy since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub seen_busy: bool,
    /// The value of the annotation connect-operator.io/redeploy-requested-at that it serves.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub redeploy_request: Option<String>,
    /// When its call was about to be sent last.
    pub started_at: Time,
}

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = schema::leave_description_to_the_field)]
pub enum StagedOperationType {
    /// Creates the staged connector.
    Create,
    /// Changes it.
    Update,
    /// Asks for the permission to deploy it while staged.
    Preview,
    /// Publishes it.
    Publish,
    /// Deletes it.
    Delete,
}
