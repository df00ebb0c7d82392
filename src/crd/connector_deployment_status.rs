//! Status of a `ConnectorDeployment`: the observed state, and in one string what must survive a restart of the operator. It
//! never contains a secret.
//!
//! The constants bound the sizes, because a status is stored with the object; the writer truncates to them. No schema
//! bounds a text of the service: it would make the status invalid.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::policies::{DeletionPolicy, DeploymentType, OperationType};
use super::schema;
use super::shared::RemoteIdentity;

/// Maximum length of a report entry's message and of its title, in characters.
pub const MESSAGE_LENGTH: usize = 1024;
/// Maximum size of `applications` as JSON, in bytes.
pub const APPLICATIONS_SIZE: usize = 12 * 1024;
/// Maximum size of a report as JSON, in bytes.
pub const REPORT_SIZE: usize = 8 * 1024;
/// Maximum length of `state`, in characters: more than etcd accepts in one object, so the operator never cuts it.
pub const STATE_LENGTH: usize = 1 << 20;
/// Maximum number of entries of `report`.
pub const REPORT_ENTRIES: usize = 20;

/// Observed state of the deployment. Written by the operator only.
#[serde_with::apply(Vec => #[serde(default, skip_serializing_if = "Vec::is_empty")])]
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectorDeploymentStatus {
    /// The metadata.generation that this status describes. -1: the operator has not observed the object yet.
    pub observed_generation: i64,
    /// Conditions of the deployment. Always present: Ready and Available (some version of it serves). With spec.verify:
    /// Verified. Present only while true: Reconciling, Stalled, Drifted, UpdateAvailable, ValuesRetained,
    /// SecretsUnverified and Suspended. Conditions of other controllers are kept.
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
    /// Id of the remote deployment. Once it is known, every call uses it.
    pub id: Option<String>,
    /// Key of the remote deployment: spec.key, or its default.
    #[schemars(length(max = 256))]
    pub key: Option<String>,
    /// Policy for the remote deployment when this object is deleted: spec.deletionPolicy, or its default.
    pub deletion_policy: Option<DeletionPolicy>,
    /// Connector that is deployed.
    pub connector: Option<DeployedConnector>,
    /// The remote deployment, as it was last observed, and the project that holds it. If the ConnectProject names
    /// another one later, nothing is changed.
    pub remote: Option<RemoteDeployment>,
    /// Operation in progress: its call may have been sent, and its end has not been observed yet.
    pub operation: Option<OperationInProgress>,
    /// Applications of the deployment; 64 at most, and as many as fit into 12 KiB.
    #[schemars(length(max = 64), extend("x-kubernetes-list-type" = "atomic"))]
    pub applications: Vec<DeployedApplication>,
    /// State of the operator. Not part of the API: its format may change with any version.
    #[schemars(length(max = STATE_LENGTH))]
    pub state: Option<String>,
    /// Findings of the last deployment, newest first; 20 at most, and as many as fit into 8 KiB.
    #[schemars(length(max = REPORT_ENTRIES), extend("x-kubernetes-list-type" = "atomic"))]
    pub report: Vec<ReportEntry>,
    /// Last value of the annotation connect-operator.io/reconcile-requested-at that was handled.
    #[schemars(length(max = 256))]
    pub handled_reconcile_request: Option<String>,
    /// Last value of the annotation connect-operator.io/redeploy-requested-at that was handled.
    #[schemars(length(max = 256))]
    pub handled_redeploy_request: Option<String>,
}

impl ConnectorDeploymentStatus {
    /// Returns the status that the API reported last.
    pub fn remote_state(&self) -> Option<&str> {
        self.remote.as_ref()?.state.as_deref()
    }

    /// Returns the version that was observed last.
    pub fn remote_version(&self) -> Option<i64> {
        self.remote.as_ref()?.version
    }
}

/// A remote deployment, and where it is.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RemoteDeployment {
    /// The project.
    #[serde(flatten)]
    pub project: RemoteIdentity,
    /// Region of the remote deployment; until it exists, spec.region or the region of the project.
    #[schemars(length(max = 64))]
    pub region: Option<String>,
    /// Type of the remote deployment: spec.type, or its default.
    #[serde(rename = "type")]
    pub deployment_type: Option<DeploymentType>,
    /// Status of the remote deployment, as the API reports it: Draft, Queued, Deploying, Deployed, Failed, Undeploying
    /// or UndeployFailed.
    pub state: Option<String>,
    /// Version of the remote deployment when it was last observed.
    pub version: Option<i64>,
}

/// An operation whose end has not been observed yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OperationInProgress {
    /// Create, Redeploy, Undeploy, or Recreate, which deletes the deployment to create it again.
    #[serde(rename = "type")]
    pub operation_type: OperationType,
    /// When it began; when it was sent again, if the first call was lost.
    pub started_at: Time,
}

/// The connector that is deployed.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeployedConnector {
    /// Id of the connector.
    pub id: Option<String>,
    /// Key of the connector, if it has one.
    pub key: Option<String>,
    /// Version of the connector that is deployed.
    pub version: Option<i64>,
    /// Git tag of the connector.
    pub tag: Option<String>,
    /// Display name of the connector.
    pub name: Option<String>,
}

/// An application of the deployment.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeployedApplication {
    /// Name of the application.
    pub application_name: String,
    /// Type of the application, as the API reports it. Example: service.
    #[serde(rename = "type")]
    pub application_type: Option<String>,
    /// URL of the application, once deployed, if its type has one. While the service does not show it, the last one
    /// that it showed for this deployment.
    pub url: Option<String>,
    /// Topic of an event application, once deployed.
    pub topic: Option<String>,
    /// Cron schedule of a job application.
    pub schedule: Option<String>,
}

/// A finding in the report of a deployment.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReportEntry {
    /// Severity of the finding, as the API reports it. Example: Error.
    #[serde(rename = "type")]
    pub entry_type: String,
    /// Short description of the finding.
    pub title: String,
    /// Details of the finding. Absent if the API sent none, or if they might reveal a secret.
    pub message: Option<String>,
    /// Application that the finding is about.
    pub application_name: Option<String>,
    /// Time of the finding.
    pub created_at: Option<Time>,
}
