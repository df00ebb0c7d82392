//! Status of a `ConnectorDeployment`: the observed state, and what must survive a restart of the operator, namely the
//! operation in progress and the digest of what was applied, because secured values cannot be read back. It never
//! contains a secret.
//!
//! The constants bound the sizes, because a status is stored with the object; the writer truncates to them.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::policies::{DeletionPolicy, DeploymentType};
use super::schema;
use super::shared::{RemoteIdentity, UNSEEN, is_default};

/// Maximum length of a report entry's message and of its title, in characters.
pub const MESSAGE_LENGTH: usize = 1024;
/// Maximum number of entries of `inputs.first`.
pub const FIRST_INPUTS: usize = 4;
/// Maximum size of `applications` as JSON, in bytes.
pub const APPLICATIONS_SIZE: usize = 12 * 1024;
/// Maximum size of a report as JSON, in bytes.
pub const REPORT_SIZE: usize = 8 * 1024;
/// Maximum number of entries of `report`.
pub const REPORT_ENTRIES: usize = 20;

/// Maximum number of entries of a list of values: those of 64 applications, and the global ones.
pub const VALUE_PLACES: usize = 65;
/// Maximum size of a list of sent values as JSON, in bytes. Values that do not fit are not recorded by name; plain
/// values are dropped first. When such a value is removed later, the operator redeploys, and `ValuesRetained` lists the
/// value only if the remote shows it.
pub const VALUES_SIZE: usize = 6 * 1024;
/// Maximum size of the other lists of values as JSON, in bytes.
pub const FEW_VALUES_SIZE: usize = 1536;

/// Observed state of the deployment. Written by the operator only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectorDeploymentStatus {
    /// The metadata.generation that this status describes. -1: the operator has not observed the object yet.
    pub observed_generation: i64,
    /// Conditions of the deployment. Always present: Ready (the deployment is live as the spec asks for), Drifted,
    /// UpdateAvailable, ValuesRetained, SecretsUnverified and Suspended. Present only while true: Reconciling (the
    /// operator is working or waiting) and Stalled (a user must act). With spec.verify: Verified (its resources exist
    /// and point to the deployment). Conditions of other controllers are kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
    /// Status of the remote deployment, as the API reports it: Draft, Queued, Deploying, Deployed, Failed, Undeploying
    /// or UndeployFailed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub deployment_status: Option<String>,
    /// Id of the remote deployment. Once it is known, every call uses it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub id: Option<String>,
    /// Key of the remote deployment: spec.key, or its default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub key: Option<String>,
    /// Version of the remote deployment when it was last observed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<i64>,
    /// Type of the remote deployment: spec.type, or its default.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub deployment_type: Option<DeploymentType>,
    /// Region of the remote deployment: spec.region, or the region of the project.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub region: Option<String>,
    /// Policy for the remote deployment when this object is deleted: spec.deletionPolicy, or its default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion_policy: Option<DeletionPolicy>,
    /// Connector that is deployed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connector: Option<DeployedConnector>,
    /// Remote project that holds the deployment. If the ConnectProject names another one later, nothing is changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote: Option<RemoteIdentity>,
    /// Applications of the deployment; 64 at most, and as many as fit into 12 KiB.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), extend("x-kubernetes-list-type" = "atomic"))]
    pub applications: Vec<DeployedApplication>,
    /// Last operation that the operator applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub applied: Option<Applied>,
    /// Operation in progress. Written before each call that changes something, and removed when its end was observed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<Operation>,
    /// Findings of the last deployment, newest first; 20 at most, and as many as fit into 8 KiB.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = REPORT_ENTRIES), extend("x-kubernetes-list-type" = "atomic"))]
    pub report: Vec<ReportEntry>,
    /// Last value of the annotation connect-operator.io/reconcile-requested-at that was handled.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub handled_reconcile_request: Option<String>,
    /// Last value of the annotation connect-operator.io/redeploy-requested-at that was handled.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub handled_redeploy_request: Option<String>,
}

impl Default for ConnectorDeploymentStatus {
    fn default() -> Self {
        Self {
            observed_generation: UNSEEN,
            conditions: Vec::new(),
            deployment_status: None,
            id: None,
            key: None,
            version: None,
            deployment_type: None,
            region: None,
            deletion_policy: None,
            connector: None,
            remote: None,
            applications: Vec::new(),
            applied: None,
            operation: None,
            report: Vec::new(),
            handled_reconcile_request: None,
            handled_redeploy_request: None,
        }
    }
}

/// The connector that is deployed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeployedConnector {
    /// Id of the connector.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub id: Option<String>,
    /// Key of the connector, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub key: Option<String>,
    /// Version of the connector that is deployed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<i64>,
    /// Git tag of the connector.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub tag: Option<String>,
    /// Display name of the connector.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub name: Option<String>,
}

/// An application of the deployment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeployedApplication {
    /// Name of the application.
    #[schemars(length(max = 256))]
    pub name: String,
    /// Type of the application, as the API reports it. Example: service.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub application_type: Option<String>,
    /// URL of the application, once deployed, if its type has one. While the service does not show it, the last one
    /// that it showed for this deployment.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048))]
    pub url: Option<String>,
    /// Topic of an event application, once deployed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub topic: Option<String>,
    /// Cron schedule of a job application.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 100))]
    pub schedule: Option<String>,
}

/// The last operation that the operator applied, and its result.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Applied {
    /// The metadata.generation that was applied.
    pub generation: i64,
    /// Digest of everything that was sent, secured values included. Absent: not known until the next redeploy.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub digest: Option<String>,
    /// Status in which the operation ended: Deployed, Failed, UndeployFailed or Draft; Unknown for one that this
    /// version of the operator does not know. Absent while no operation has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// Whether code serves that this or an earlier operation deployed. A failed redeploy does not stop it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub serves: bool,
    /// Version of the remote deployment before the last redeploy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_version: Option<i64>,
    /// Version of the connector that ran when the operation ended. If an older one runs later, the deployment was
    /// rolled back outside of this object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connector_version: Option<i64>,
    /// Revision of the last rollback that the remote deployment named when the operation ended. If it names another one
    /// later, the deployment was rolled back since.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub rollback_revision: Option<String>,
    /// Values that were sent, each as a short digest. Absent: not known, so nothing is compared with them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = VALUE_PLACES), extend("x-kubernetes-list-type" = "atomic"))]
    pub values: Option<Vec<ValueDigests>>,
    /// Sent visible values that the remote showed otherwise when the operation ended, or when the next one began, as it
    /// showed them; an empty string: not at all. Later differences from these are drift.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = VALUE_PLACES), extend("x-kubernetes-list-type" = "atomic"))]
    pub shown_values: Vec<ValueDigests>,
    /// Values that the remote still showed otherwise after they were sent again, so that they are not sent once more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = VALUE_PLACES), extend("x-kubernetes-list-type" = "atomic"))]
    pub accepted_values: Vec<ValueDigests>,
    /// Values that the deployment still has although the spec no longer names them, because a redeploy cannot remove
    /// values. `*`: not sent by this object. `?`: may have been sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = VALUE_PLACES), extend("x-kubernetes-list-type" = "atomic"))]
    pub retained_values: Vec<ValueDigests>,
    /// Secrets and ConfigMaps whose contents were sent. Absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inputs: Option<Inputs>,
    /// Time at which the operation ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Time>,
}

impl Applied {
    /// Returns the lists of values, each with its maximum size in bytes.
    pub fn value_lists(&mut self) -> impl Iterator<Item = (&mut Vec<ValueDigests>, usize)> {
        let few = [&mut self.shown_values, &mut self.accepted_values, &mut self.retained_values];
        self.values.iter_mut().map(|list| (list, VALUES_SIZE)).chain(few.map(|list| (list, FEW_VALUES_SIZE)))
    }
}

/// Values of one application, or those for all applications: a short digest in place of each value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ValueDigests {
    /// Name of the application. Absent: values for all applications.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub application: Option<String>,
    /// Digests of plain values by key.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schema::value_digests")]
    pub standard: BTreeMap<String, String>,
    /// Digests of secured values by key. They depend on the operator's secret key, so that values cannot be guessed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schema::value_digests")]
    pub secured: BTreeMap<String, String>,
    /// Digest of the schedule.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16))]
    pub schedule: Option<String>,
    /// Digests of the fields of the retry policy by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schema::value_digests")]
    pub retry_policy: BTreeMap<String, String>,
}

/// Status in which an operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = schema::leave_description_to_the_field)]
pub enum Outcome {
    /// The deployment is live.
    Deployed,
    /// Deploying failed. It is not retried until the input changes.
    Failed,
    /// Undeploying failed.
    UndeployFailed,
    /// The deployment is idle and not live.
    Draft,
    /// A status that this version of the operator does not know.
    Unknown,
}

/// Secrets and ConfigMaps whose contents were sent, and their versions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Inputs {
    /// Number of these objects.
    pub count: u32,
    /// Digest of kind, name, uid and resourceVersion of all of them. Equal digests mean equal contents.
    #[schemars(length(max = 128))]
    pub digest: String,
    /// First of these objects, by kind and name; 4 at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = FIRST_INPUTS), extend("x-kubernetes-list-type" = "atomic"))]
    pub first: Vec<Source>,
}

/// A Secret or ConfigMap whose contents were sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Source {
    /// Kind of the object: Secret or ConfigMap.
    #[schemars(length(max = 64))]
    pub kind: String,
    /// Name of the object.
    #[schemars(length(max = 253))]
    pub name: String,
    /// The metadata.uid of the object.
    #[schemars(length(max = 128))]
    pub uid: String,
    /// The metadata.resourceVersion of the object.
    #[schemars(length(max = 128))]
    pub resource_version: String,
}

/// A call that changes the remote deployment, from before it is sent until its end was observed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Operation {
    /// Type of the operation: Create, Redeploy, Undeploy or Recreate.
    #[serde(rename = "type")]
    pub operation_type: OperationType,
    /// State of the operation. Planned: the call is about to be sent, or was sent without a known response. Accepted: the
    /// remote accepted it.
    pub state: OperationState,
    /// Number of attempts to send the call, counted from 1. It is incremented before each attempt.
    pub attempt: u32,
    /// The metadata.generation that the operation applies.
    pub generation: i64,
    /// Digest of everything that the operation sends, secured values included.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub digest: Option<String>,
    /// Values that the operation sends, each as a short digest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = VALUE_PLACES), extend("x-kubernetes-list-type" = "atomic"))]
    pub values: Vec<ValueDigests>,
    /// Whether the operation changes visible values, compared with those observed before it.
    #[serde(default, skip_serializing_if = "super::shared::is_default")]
    pub changes_visible: bool,
    /// Secrets and ConfigMaps whose contents the operation sends. Absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inputs: Option<Inputs>,
    /// Version of the remote deployment before the operation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_version: Option<i64>,
    /// Build id of the remote deployment before the operation.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub from_build_id: Option<String>,
    /// Whether the remote deployment was observed busy since the call was sent.
    #[serde(default, skip_serializing_if = "super::shared::is_default")]
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
pub enum OperationType {
    /// One POST that creates the deployment.
    Create,
    /// One POST that redeploys it.
    Redeploy,
    /// One DELETE.
    Undeploy,
    /// One DELETE, followed by a Create: the only way to remove a value from the deployment.
    Recreate,
}

impl OperationType {
    /// Whether its call deletes the deployment.
    #[must_use]
    pub fn takes_down(self) -> bool {
        matches!(self, Self::Undeploy | Self::Recreate)
    }
}

/// Known progress of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum OperationState {
    /// The call is about to be sent, or was sent without a known response.
    Planned,
    /// The remote accepted the call.
    Accepted,
}

/// A finding in the report of a deployment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReportEntry {
    /// Severity of the finding, as the API reports it. Example: Error.
    #[serde(rename = "type")]
    #[schemars(length(max = 64))]
    pub entry_type: String,
    /// Short description of the finding.
    #[schemars(length(max = MESSAGE_LENGTH))]
    pub title: String,
    /// Details of the finding. Absent if the API sent none, or if they might reveal a secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MESSAGE_LENGTH))]
    pub message: Option<String>,
    /// Application that the finding is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub application: Option<String>,
    /// Time of the finding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Time>,
}
