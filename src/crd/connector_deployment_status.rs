//! What the operator says about a `ConnectorDeployment`, and what it must remember over a restart: the operation that
//! it began and the digest of what was applied, because secured values cannot be read back. Never a secret.
//!
//! Sizes are bounded here, by the constants, because a status is stored with the object; the writer cuts to them.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::connector_deployment::{DeletionPolicy, DeploymentType};
use super::schema;
use super::shared::{RemoteIdentity, UNSEEN, is_default};

/// Most characters of a report entry's message and of its title.
pub const MESSAGE_LENGTH: usize = 1024;
/// Most entries of `inputs.first`.
pub const FIRST_INPUTS: usize = 4;
/// Most bytes of `applications`, as JSON.
pub const APPLICATIONS_SIZE: usize = 12 * 1024;
/// Most bytes of a report, as JSON.
pub const REPORT_SIZE: usize = 8 * 1024;
/// Most bytes of `lastLogLines`, as JSON.
pub const LOG_SIZE: usize = 11 * 1024;
/// Most entries of `report`.
pub const REPORT_ENTRIES: usize = 20;
/// Most lines of `lastLogLines`.
pub const LOG_LINES: usize = 20;
/// Most characters of a line of `lastLogLines`.
pub const LOG_LINE_LENGTH: usize = 512;

/// Most entries of a list of values: those of 64 applications, and the global ones.
pub const VALUE_PLACES: usize = 65;
/// Most bytes of a list of values that were sent, as JSON. What does not fit is not remembered by name, plain values first:
/// that it was removed costs a redeploy then, and shows only as far as the remote lists it.
pub const VALUES_SIZE: usize = 6 * 1024;
/// The same for the other lists of values.
pub const FEW_VALUES_SIZE: usize = 1536;

/// What the operator says about the deployment. Written by the operator only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectorDeploymentStatus {
    /// The metadata.generation that this status speaks about. -1: the operator has not seen the object yet.
    pub observed_generation: i64,
    /// Always there: Ready (the deployment is live with what the spec asks for), Drifted, UpdateAvailable,
    /// ValuesRetained, SecretsUnverified and Suspended. Only while true: Reconciling (something runs or may come by itself), Stalled (a
    /// person has to act). With spec.verify also Verified (what it names exists and points to the deployment). Conditions
    /// of others are kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
    /// The install of the operator that works on this resource: namespace and name of its Lease. Absent without leader
    /// election.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512))]
    pub controller: Option<String>,
    /// Status of the remote deployment, as the API says it: Draft, Queued, Deploying, Deployed, Failed, Undeploying or
    /// UndeployFailed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub deployment_status: Option<String>,
    /// Id of the remote deployment. Once it is known, every call goes by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub id: Option<String>,
    /// Key of the remote deployment: spec.key, or what was computed in its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub key: Option<String>,
    /// Version of the remote deployment when it was last seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<i64>,
    /// Type of the remote deployment: spec.type, or what stands in its place.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub deployment_type: Option<DeploymentType>,
    /// Region of the remote deployment: spec.region, or the project's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub region: Option<String>,
    /// What happens to the remote deployment when this object is deleted: spec.deletionPolicy, or what stands in its
    /// place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion_policy: Option<DeletionPolicy>,
    /// The connector that is deployed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connector: Option<DeployedConnector>,
    /// The remote project that holds the deployment. If the ConnectProject names another one later, nothing is touched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote: Option<RemoteIdentity>,
    /// The applications of the deployment; 64 at most, and as many as fit into 12 KiB.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), extend("x-kubernetes-list-type" = "atomic"))]
    pub applications: Vec<DeployedApplication>,
    /// What the operator applied last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub applied: Option<Applied>,
    /// What the operator has begun and not yet seen ended. Written before each call that changes something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<Operation>,
    /// Findings of the last deployment, newest first; 20 at most, and as many as fit into 8 KiB.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = REPORT_ENTRIES), extend("x-kubernetes-list-type" = "atomic"))]
    pub report: Vec<ReportEntry>,
    /// Last lines of severity ERROR and above after a failure, if spec.failureLogLines asks for them; 20 at most, and
    /// as many as fit into 11 KiB.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = LOG_LINES), inner(length(max = LOG_LINE_LENGTH)))]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub last_log_lines: Vec<String>,
    /// The last value of the annotation connect-operator.io/reconcile-requested-at that was acted on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub handled_reconcile_request: Option<String>,
    /// The last value of the annotation connect-operator.io/redeploy-requested-at that was acted on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub handled_redeploy_request: Option<String>,
}

impl Default for ConnectorDeploymentStatus {
    fn default() -> Self {
        Self {
            observed_generation: UNSEEN,
            conditions: Vec::new(),
            controller: None,
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
            last_log_lines: Vec::new(),
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
    /// Git tag that the connector was made from.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub tag: Option<String>,
    /// Name of the connector, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub name: Option<String>,
}

/// One application of the deployment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeployedApplication {
    /// Name of the application.
    #[schemars(length(max = 256))]
    pub name: String,
    /// Type of the application, as the API says it. Example: service.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub application_type: Option<String>,
    /// Address of the application, once deployed, if its type has one. While the service does not show it, the one that it
    /// showed last for this deployment.
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

/// What the operator applied last, and how that ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Applied {
    /// The metadata.generation that was applied.
    pub generation: i64,
    /// Digest of everything that was sent, secured values included. Absent: not known, one redeploy will tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub digest: Option<String>,
    /// Status in which the operation ended: Deployed, Failed, UndeployFailed or Draft; Unknown for one that this
    /// version of the operator does not know. Absent while nothing has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// Whether code serves that was deployed by this operation or by one before it: a redeploy that fails takes nothing down.
    #[serde(default, skip_serializing_if = "is_default")]
    pub serves: bool,
    /// Version of the remote deployment before the last redeploy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_version: Option<i64>,
    /// Version of the connector that ran when the operation ended. That an older one runs later means that somebody rolled the
    /// deployment back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connector_version: Option<i64>,
    /// The revision that the record named when the operation ended as the one that somebody rolled back to. Another one later
    /// means that somebody did so since.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub rollback_revision: Option<String>,
    /// The values that were sent, each with a short digest. Absent: not known, so nothing is compared with them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = VALUE_PLACES), extend("x-kubernetes-list-type" = "atomic"))]
    pub values: Option<Vec<ValueDigests>>,
    /// Of the visible ones, what the remote showed in their place when the operation ended, or when the one after it began;
    /// an empty text: nothing. What differs later is drift.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = VALUE_PLACES), extend("x-kubernetes-list-type" = "atomic"))]
    pub shown_values: Vec<ValueDigests>,
    /// What it shows in their place also after they were sent once more: sending them again would not help.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = VALUE_PLACES), extend("x-kubernetes-list-type" = "atomic"))]
    pub accepted_values: Vec<ValueDigests>,
    /// Values that the deployment still has although the spec does not name them any more, because a redeploy takes nothing
    /// away. `*`: not sent from here. `?`: may have been sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = VALUE_PLACES), extend("x-kubernetes-list-type" = "atomic"))]
    pub retained_values: Vec<ValueDigests>,
    /// The Secrets and ConfigMaps whose contents were sent. Absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inputs: Option<Inputs>,
    /// When the operation ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Time>,
}

impl Applied {
    /// Its lists of values, each with the most bytes that it may take.
    pub fn value_lists(&mut self) -> impl Iterator<Item = (&mut Vec<ValueDigests>, usize)> {
        let few = [&mut self.shown_values, &mut self.accepted_values, &mut self.retained_values];
        self.values.iter_mut().map(|list| (list, VALUES_SIZE)).chain(few.map(|list| (list, FEW_VALUES_SIZE)))
    }
}

/// Values of one application, or those for all applications, by their names: each with a short digest in place of the value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ValueDigests {
    /// Name of the application. Absent: values for all applications.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub application: Option<String>,
    /// Plain values by key.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schema::value_digests")]
    pub standard: BTreeMap<String, String>,
    /// Secured values by key. Their digests are made with the operator's key, so that they cannot be guessed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schema::value_digests")]
    pub secured: BTreeMap<String, String>,
    /// The schedule.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16))]
    pub schedule: Option<String>,
    /// Members of the retry policy by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schema::value_digests")]
    pub retry_policy: BTreeMap<String, String>,
}

/// Status in which an operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = schema::leave_description_to_the_field)]
pub enum Outcome {
    /// Live.
    Deployed,
    /// It did not work, until the input changes.
    Failed,
    /// Taking down did not work.
    UndeployFailed,
    /// Idle and not live.
    Draft,
    /// A status that this version of the operator does not know.
    Unknown,
}

/// The Secrets and ConfigMaps whose contents were sent, in the versions that they had.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Inputs {
    /// How many there were.
    pub count: u32,
    /// Digest of kind, name, uid and resourceVersion of all of them: the same digest stands for the same contents.
    #[schemars(length(max = 128))]
    pub digest: String,
    /// The first of them, by kind and name; 4 at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = FIRST_INPUTS), extend("x-kubernetes-list-type" = "atomic"))]
    pub first: Vec<Source>,
}

/// A Secret or ConfigMap whose contents were sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Source {
    /// Secret or ConfigMap.
    #[schemars(length(max = 64))]
    pub kind: String,
    /// Name of the object.
    #[schemars(length(max = 253))]
    pub name: String,
    /// The metadata.uid that it had.
    #[schemars(length(max = 128))]
    pub uid: String,
    /// The metadata.resourceVersion that it had.
    #[schemars(length(max = 128))]
    pub resource_version: String,
}

/// A call that changes something at the remote, from before it is sent until its end was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Operation {
    /// What is done: Create, Redeploy or Undeploy.
    #[serde(rename = "type")]
    pub operation_type: OperationType,
    /// Planned: sent, or about to be, and no answer known. Accepted: the remote has taken it.
    pub state: OperationState,
    /// How many times it was written in order to be sent, the first being 1.
    pub attempt: u32,
    /// The metadata.generation that it applies.
    pub generation: i64,
    /// Digest of everything that it sends, secured values included.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub digest: Option<String>,
    /// The values that it sends, each with a short digest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = VALUE_PLACES), extend("x-kubernetes-list-type" = "atomic"))]
    pub values: Vec<ValueDigests>,
    /// Whether it changes visible values, as far as they were seen before it.
    #[serde(default, skip_serializing_if = "super::shared::is_default")]
    pub changes_visible: bool,
    /// The Secrets and ConfigMaps whose contents it sends. Absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inputs: Option<Inputs>,
    /// Version of the remote deployment before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_version: Option<i64>,
    /// Build id of the remote deployment before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub from_build_id: Option<String>,
    /// Whether the remote deployment was seen at work since it was sent.
    #[serde(default, skip_serializing_if = "super::shared::is_default")]
    pub seen_busy: bool,
    /// The value of the annotation connect-operator.io/redeploy-requested-at that it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub redeploy_request: Option<String>,
    /// When it was last written in order to be sent.
    pub started_at: Time,
}

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum OperationType {
    /// One POST that makes the deployment.
    Create,
    /// One POST that deploys again.
    Redeploy,
    /// One DELETE.
    Undeploy,
    /// One DELETE, and then a Create: what the deployment has cannot be taken away from it.
    Recreate,
}

/// How far an operation is known to have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum OperationState {
    /// Sent, or about to be; no answer is known.
    Planned,
    /// The remote has taken it.
    Accepted,
}

/// One finding of a deployment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReportEntry {
    /// Weight of the finding, as the API says it. Example: Error.
    #[serde(rename = "type")]
    #[schemars(length(max = 64))]
    pub entry_type: String,
    /// What, in short.
    #[schemars(length(max = MESSAGE_LENGTH))]
    pub title: String,
    /// What, in more words. Absent if the API sent none, or if it might give a secret away.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MESSAGE_LENGTH))]
    pub message: Option<String>,
    /// The application that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub application: Option<String>,
    /// When it was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Time>,
}
