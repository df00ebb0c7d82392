//! Status of a `ConnectorStaged`: the state that the service reports, and what the operator remembers.
//!
//! Next: [`super::connector_staged_state`], the content of `state`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::connector_deployment_status::{ReportEntry, STATE_LENGTH};
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
    /// Conditions of the staged connector. Always present: Ready (the remote matches the spec). Present only while
    /// true: Reconciling (the operator is working or waiting), Stalled (a user must act) and Suspended. Conditions of
    /// other controllers are kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
    /// Id of the staged connector.
    #[serde(skip_serializing_if = "Option::is_none")]
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
    pub published_tag: Option<String>,
    /// Tag for which the preview permission was requested last.
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
    /// Comments from certification, newest first; 20 at most, and as many as fit into 6 KiB.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 20), extend("x-kubernetes-list-type" = "atomic"))]
    pub certification_comments: Vec<CertificationComment>,
    /// Applications in the connect.yaml of the tag, and the variables that they declare; 64 at most, and as many as fit
    /// into 14 KiB.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), extend("x-kubernetes-list-type" = "atomic"))]
    pub configurations: Vec<StagedApplication>,
    /// First version in which the tag can be deployed as a preview.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deployable: Option<StagedDeployable>,
    /// Last value of the annotation connect-operator.io/reconcile-requested-at that was handled.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub handled_reconcile_request: Option<String>,
    /// Last value of the annotation connect-operator.io/redeploy-requested-at that was handled.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub handled_redeploy_request: Option<String>,
    /// What the operator remembers, for itself only. Not part of the API: do not read it, and do not change it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = STATE_LENGTH))]
    pub state: Option<String>,
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
            publishing_report: Vec::new(),
            previewable_report: Vec::new(),
            certification_comments: Vec::new(),
            configurations: Vec::new(),
            deployable: None,
            handled_reconcile_request: None,
            handled_redeploy_request: None,
            state: None,
        }
    }
}

/// A comment from certification.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CertificationComment {
    /// Project key of the author.
    pub project: String,
    /// Time of the comment, as the API reports it.
    pub at: String,
    /// Text of the comment.
    pub comment: String,
}

/// An application of a connector, and the variables that it declares.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StagedApplication {
    /// Name of the application.
    pub application_name: String,
    /// Type of the application, such as service, event or job.
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
