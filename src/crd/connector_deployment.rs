//! `ConnectorDeployment`: the wish that a connector be deployed, with which values, and how carefully.
//!
//! What the remote can never change (key, region, type, connector) does not change here either. A comparison with the
//! old spec alone would let people remove an optional field and add it with another value, so each of these has two
//! rules: on the spec, a value that is there does not change; at the root, a value that is added must be the one that
//! the status already knows. The rules look at changes of the spec only, so that no status write and no removal of a
//! finalizer can ever be refused by them. Next: [`super::connector_deployment_status`] for the status.

use std::time::Duration;

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::connector_configuration::{ApplicationConfiguration, ConfigurationValues};
use super::connector_deployment_status::ConnectorDeploymentStatus;
use super::duration::parse_duration;
use super::outputs::Outputs;
use super::schema;
use super::shared::{NamedRef, ProjectRef, is_default};
use super::verify::{ReadyWhen, Verify};

/// Pause between two looks at a settled deployment whose spec names no other.
pub const DEFAULT_INTERVAL: Duration = Duration::from_mins(5);

/// What is to be deployed, where, with which values, and how carefully.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "connect-operator.io",
    version = "v1alpha1",
    kind = "ConnectorDeployment",
    plural = "connectordeployments",
    shortname = "cdep",
    category = "connect",
    namespaced,
    status = "ConnectorDeploymentStatus",
    derive = "PartialEq",
    selectable = ".spec.projectRef.name",
    selectable = ".spec.connector.key",
    selectable = ".status.key",
    doc = "A connector, deployed into a project with the values given here. Deleting this object takes the \
        deployment down, unless deletionPolicy says otherwise.",
    validation = schema::added_must_match_status("key"),
    validation = schema::added_must_match_status("region"),
    validation = schema::added_must_match_status("type"),
    validation = schema::added_must_match_status("connector.key"),
    validation = schema::added_must_match_status("connector.id"),
    printcolumn(
        name = "Key",
        type_ = "string",
        json_path = ".status.key",
        description = "Key of the remote deployment"
    ),
    printcolumn(
        name = "Connector",
        type_ = "string",
        json_path = ".status.connector.key",
        description = "Key of the connector that is deployed"
    ),
    printcolumn(
        name = "Status",
        type_ = "string",
        json_path = ".status.deploymentStatus",
        description = "Status of the remote deployment, as the API says it"
    ),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].status"#,
        description = "Whether the deployment is live with what the spec asks for"
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].reason"#,
        description = "Why, in one word"
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp",
        description = "Time since creation"
    ),
    printcolumn(
        name = "URL",
        type_ = "string",
        json_path = ".status.applications[*].url",
        priority = 1,
        description = "Address of the first application that has one"
    ),
    printcolumn(
        name = "Region",
        type_ = "string",
        json_path = ".status.region",
        priority = 1,
        description = "Region of the remote deployment"
    ),
    printcolumn(
        name = "Version",
        type_ = "integer",
        json_path = ".status.connector.version",
        priority = 1,
        description = "Version of the connector that is deployed"
    ),
    printcolumn(
        name = "Tag",
        type_ = "string",
        json_path = ".status.connector.tag",
        priority = 1,
        description = "Git tag that it was built from"
    ),
    printcolumn(
        name = "Deletion",
        type_ = "string",
        json_path = ".status.deletionPolicy",
        priority = 1,
        description = "What happens to the remote deployment when this object is deleted"
    ),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].message"#,
        priority = 1,
        description = "Why, in a sentence"
    )
)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = schema::unchanged("key"))]
#[x_kube(validation = schema::unchanged("region"))]
#[x_kube(validation = schema::unchanged("type"))]
#[x_kube(validation = Rule::new("!has(self.region) || self.region.contains('.')")
    .message(schema::REGION_MESSAGE)
    .field_path(".region"))]
#[x_kube(validation = Rule::new(
    "!has(self.type) || (self.type == 'preview') == \
     (has(self.connector.stagedRef) || (has(self.connector.staged) && self.connector.staged))")
    .message("type preview is for staged connectors, and only that: set connector.staged to true (or name a \
        connector.stagedRef) together with type preview, or choose sandbox or production")
    .field_path(".type"))]
#[x_kube(validation = Rule::new("!has(self.interval) || duration(self.interval) >= duration('30s')")
    .message("interval must be at least 30s, as in 30s, 5m or 1h30m")
    .field_path(".interval"))]
#[x_kube(validation = Rule::new("!has(self.readyWhen) || self.readyWhen != 'Verified' || has(self.verify)")
    .message("readyWhen Verified needs to know what to look for: name Extensions or Subscriptions in verify")
    .field_path(".readyWhen"))]
pub struct ConnectorDeploymentSpec {
    /// The ConnectProject, in the same namespace, in which to deploy.
    pub project_ref: ProjectRef,
    /// Key of the remote deployment, unique in the project. 2 to 256 letters, digits, underscores and hyphens. Cannot
    /// be changed. Default: {namespace}_{name}, with dots written as __; if that is longer than 256, it is cut and
    /// ends with 8 hex digits of its SHA-256.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 2, max = 256), regex(pattern = schema::KEY_PATTERN))]
    pub key: Option<String>,
    /// Kind of deployment: preview (staged connectors, and only those), sandbox or production. Cannot be changed.
    /// Default: preview if the connector is staged, else sandbox.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub deployment_type: Option<DeploymentType>,
    /// Region to deploy to. Cannot be changed. Default: the project's. Known are europe-west1.gcp, us-central1.gcp,
    /// australia-southeast1.gcp, us-east-2.aws and eu-central-1.aws.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64), regex(pattern = schema::REGION_PATTERN))]
    pub region: Option<String>,
    /// What to deploy: exactly one of key, id and stagedRef.
    pub connector: WantedConnector,
    /// Values for the applications of the connector: one entry for each application, 64 at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["applicationName".into()]))]
    pub configurations: Vec<ApplicationConfiguration>,
    /// Values for all applications together, for connectors that declare such.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub global_configuration: Option<ConfigurationValues>,
    /// Full: creates, redeploys and takes down. ObserveOnly: looks and reports, sends nothing, reads no Secret.
    /// Default: Full.
    #[serde(default, skip_serializing_if = "is_default")]
    pub management_policy: ManagementPolicy,
    /// What to do about a deployment of the same key that was not created from here. Never: say KeyTaken and leave it
    /// alone. Adopt: take it over. Default: Never.
    #[serde(default, skip_serializing_if = "is_default")]
    pub adoption_policy: AdoptionPolicy,
    /// What to do when someone changes the visible values elsewhere.
    #[serde(default, skip_serializing_if = "is_default")]
    pub drift: Drift,
    /// What to do about values that were sent and are removed from this object. A redeploy takes nothing away, so they stay in
    /// force. Retain: they stay, and the condition ValuesRetained names them. Recreate: the deployment is deleted and created
    /// anew without them, which interrupts it and changes its URLs and topics. Default: Retain.
    #[serde(default, skip_serializing_if = "is_default")]
    pub removed_values: RemovedValues,
    /// What happens to the remote deployment when this object is deleted. Delete: it is taken down. Orphan: it stays.
    /// May be changed at any time, also during a deletion. Default: Orphan for type production, else Delete; an install of
    /// the operator may have another one (--default-deletion-policy).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion_policy: Option<DeletionPolicy>,
    /// Pause between two looks at the remote when all is settled, at least 30s; hours, minutes and seconds, as in
    /// 1h30m. Default: 5m.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 2, max = 20), regex(pattern = super::duration::PATTERN))]
    pub interval: Option<String>,
    /// Whether redeploys leave out the connector's own scripts. Default: false.
    #[serde(default, skip_serializing_if = "is_default")]
    pub skip_scripts: bool,
    /// Whether to pause: goes on looking, sends nothing. Deleting this object still takes the deployment down.
    /// Default: false.
    #[serde(default, skip_serializing_if = "is_default")]
    pub suspend: bool,
    /// When Ready is True. Deployed: the service says Deployed, which does not prove that the connector's scripts worked.
    /// NoWarnings: and its report has neither warnings nor errors. Verified: and what verify names exists and points to
    /// this deployment. Default: Deployed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ready_when: ReadyWhen,
    /// What the scripts of the connector create in the project, to be looked up after each operation and at each
    /// interval. The condition Verified says what was found. Default: nothing is looked up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verify: Option<Verify>,
    /// Where to write what the deployment offers, for other workloads. Default: nowhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outputs: Option<Outputs>,
    /// How many of the last log lines of severity ERROR and above to put into the status after a failure, 0 to 20. Logs
    /// may contain what people would rather not have there. The service takes its logs away after 2027-01-31; then there
    /// are no lines, and nothing else changes. Default: 0.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(range(min = 0, max = 20))]
    pub failure_log_lines: u32,
}

impl ConnectorDeploymentSpec {
    /// Pause between two looks when all is settled. A text that the schema would refuse counts as absent.
    #[must_use]
    pub fn effective_interval(&self) -> Duration {
        self.interval.as_deref().and_then(|text| parse_duration(text).ok()).unwrap_or(DEFAULT_INTERVAL)
    }

    /// The type that is written, or preview for a staged connector, else sandbox.
    #[must_use]
    pub fn effective_type(&self) -> DeploymentType {
        let unwritten = if self.connector.is_staged() { DeploymentType::Preview } else { DeploymentType::Sandbox };
        self.deployment_type.unwrap_or(unwritten)
    }

    /// The deletion policy that is written, or `Orphan` for type production, else `Delete`.
    #[must_use]
    pub fn effective_deletion_policy(&self) -> DeletionPolicy {
        self.deletion_policy_of(None)
    }

    /// The same for an install with a default of its own (`--default-deletion-policy`), which holds for every type.
    #[must_use]
    pub fn deletion_policy_of(&self, install: Option<DeletionPolicy>) -> DeletionPolicy {
        self.deletion_policy.or(install).unwrap_or(match self.effective_type() {
            DeploymentType::Production => DeletionPolicy::Orphan,
            DeploymentType::Preview | DeploymentType::Sandbox => DeletionPolicy::Delete,
        })
    }
}

/// Which connector to deploy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("[has(self.key), has(self.id), has(self.stagedRef)].filter(given, given).size() == 1")
    .message("give exactly one of connector.key, connector.id and connector.stagedRef"))]
#[x_kube(validation = Rule::new("!has(self.stagedRef) || !has(self.staged) || self.staged")
    .message("a connector that stagedRef names is always staged: leave connector.staged out, or set it to true")
    .field_path(".staged"))]
#[x_kube(validation = schema::unchanged_member("key"))]
#[x_kube(validation = schema::unchanged_member("id"))]
#[x_kube(validation = schema::unchanged_member("stagedRef"))]
#[x_kube(validation = Rule::new(
    "(has(self.stagedRef) || (has(self.staged) && self.staged)) == (has(oldSelf.stagedRef) || (has(oldSelf.staged) \
        && oldSelf.staged))")
    .message("connector.staged cannot be changed, because the remote cannot change it either: set it back, or \
        delete this ConnectorDeployment and create another"))]
pub struct WantedConnector {
    /// Key of the connector in the registry. 2 to 256 letters, digits, underscores and hyphens. Cannot be changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 2, max = 256), regex(pattern = schema::KEY_PATTERN))]
    pub key: Option<String>,
    /// Id of the connector in the registry, in place of its key. Cannot be changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256), regex(pattern = schema::KEY_PATTERN))]
    pub id: Option<String>,
    /// Version of the connector that is to run. The service only deploys the latest, so a create and a move to a higher one
    /// wait until it is that; what runs is kept there, and nothing goes back. Default: the latest when the deployment is
    /// created, and that one stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub version: Option<i64>,
    /// Whether key or id name a staged connector. Cannot be changed. Default: false; true if stagedRef is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub staged: Option<bool>,
    /// A ConnectorStaged of the same namespace, in place of key and id. Cannot be changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub staged_ref: Option<NamedRef>,
    /// Pinned: stays at its version, and says UpdateAvailable if the registry has a newer one. Latest: follows the
    /// registry. Default: Pinned.
    #[serde(default, skip_serializing_if = "is_default")]
    pub update_policy: UpdatePolicy,
}

impl WantedConnector {
    /// Whether the connector is a staged one.
    #[must_use]
    pub fn is_staged(&self) -> bool {
        self.staged_ref.is_some() || self.staged == Some(true)
    }
}

/// Kind of a deployment, in the API's own words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = schema::leave_description_to_the_field)]
pub enum DeploymentType {
    /// Of a staged connector.
    Preview,
    /// Of a published connector, to try it.
    Sandbox,
    /// Of a published connector, for real.
    Production,
}

/// Whether a deployment follows new versions of its connector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum UpdatePolicy {
    /// It stays.
    #[default]
    Pinned,
    /// It follows.
    Latest,
}

/// Whether the remote is managed or only looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ManagementPolicy {
    /// Creates, redeploys and takes down.
    #[default]
    Full,
    /// Looks and reports.
    ObserveOnly,
}

/// What to do about a deployment of the same key that was not created from here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum AdoptionPolicy {
    /// Leave it alone.
    #[default]
    Never,
    /// Take it over.
    Adopt,
}

/// What happens to the remote deployment when the object is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = schema::leave_description_to_the_field)]
pub enum DeletionPolicy {
    /// It is taken down.
    Delete,
    /// It stays.
    Orphan,
}

/// What to do when someone changes the visible values elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Drift {
    /// Ignore: nothing. Detect: say so with the condition Drifted. Correct: redeploy once for each difference, and
    /// create again what disappeared. Default: Detect.
    #[serde(default, skip_serializing_if = "is_default")]
    pub policy: DriftPolicy,
    /// Values whose changes elsewhere are fine; 100 at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub ignore: Vec<IgnoredValue>,
}

/// What to do about drift.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DriftPolicy {
    /// Nothing.
    Ignore,
    /// Say so.
    #[default]
    Detect,
    /// Put it right.
    Correct,
}

/// What to do about values that were sent and are not wanted any more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RemovedValues {
    /// They stay, and are named.
    #[default]
    Retain,
    /// The deployment is deleted and created without them.
    Recreate,
}

/// A value whose changes elsewhere are fine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IgnoredValue {
    /// Name of the application. Default: globalConfiguration is meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 2, max = 256), regex(pattern = schema::KEY_PATTERN))]
    pub application_name: Option<String>,
    /// Key of the value. Example: LOG_LEVEL.
    #[schemars(length(min = 1, max = 256))]
    pub key: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_not_written_follows_from_what_is() {
        use DeletionPolicy::{Delete, Orphan};
        use DeploymentType::{Preview, Production, Sandbox};
        for (case, written, kind, deletion, seconds) in [
            ("nothing", json!({}), Sandbox, Delete, 300),
            ("staged", json!({"connector": {"key": "demo", "staged": true}}), Preview, Delete, 300),
            ("not staged", json!({"connector": {"key": "demo", "staged": false}}), Sandbox, Delete, 300),
            ("by reference", json!({"connector": {"stagedRef": {"name": "mine"}}}), Preview, Delete, 300),
            ("production", json!({"type": "production"}), Production, Orphan, 300),
            (
                "production to delete",
                json!({"type": "production", "deletionPolicy": "Delete"}),
                Production,
                Delete,
                300,
            ),
            ("sandbox to keep", json!({"type": "sandbox", "deletionPolicy": "Orphan"}), Sandbox, Orphan, 300),
            ("an interval", json!({"interval": "1h1s"}), Sandbox, Delete, 3601),
            ("no interval at all", json!({"interval": "often"}), Sandbox, Delete, 300),
        ] {
            let mut spec = json!({"projectRef": {"name": "shop"}, "connector": {"key": "demo"}});
            spec.as_object_mut()
                .expect("it is an object")
                .extend(written.as_object().expect("it is an object").clone());
            let spec: ConnectorDeploymentSpec = serde_json::from_value(spec).expect("it is a spec");
            assert_eq!(spec.effective_type(), kind, "{case}");
            assert_eq!(spec.effective_deletion_policy(), deletion, "{case}");
            for install in [Delete, Orphan] {
                let written = spec.deletion_policy.unwrap_or(install);
                assert_eq!(spec.deletion_policy_of(Some(install)), written, "{case}: the default of an install");
            }
            assert_eq!(spec.effective_interval(), Duration::from_secs(seconds), "{case}");
        }
    }
}
