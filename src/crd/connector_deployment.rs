//! `ConnectorDeployment`: the desired deployment of a connector, its values and its policies.
//!
//! Fields that the remote cannot change (key, region, type, connector) are immutable here too. A comparison with the
//! old spec alone would allow removing an optional field and adding it again with another value, so each of these
//! fields has two rules: on the spec, a value that is present does not change; at the root, a value that is added must
//! equal the one in the status. The rules apply to changes of the spec only, so they never refuse a status write or the
//! removal of a finalizer. Next: [`super::connector_deployment_status`] for the status.

use std::time::Duration;

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::connector_configuration::{ApplicationConfiguration, ConfigurationSource, ConfigurationValues};
use super::connector_deployment_status::ConnectorDeploymentStatus;
use super::duration::parse_duration;
use super::outputs::Outputs;
use super::policies::{AdoptionPolicy, DEFAULT_INTERVAL, DeletionPolicy, DeploymentType};
use super::schema;
use super::shared::{NamedRef, ProjectRef, is_default};
use super::verify::{ReadyWhen, Verify};

/// The connector to deploy, the target project, the values and the policies.
#[serde_with::skip_serializing_none]
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
    doc = "A connector that is deployed into a project with the values given here. Deleting this object deletes the \
        deployment, unless deletionPolicy says otherwise.",
    validation = schema::added_must_match_status("key", "key"),
    validation = schema::added_must_match_status("region", "remote.region"),
    validation = schema::added_must_match_status("type", "remote.type"),
    validation = schema::added_must_match_status("connector.key", "connector.key"),
    validation = schema::added_must_match_status("connector.id", "connector.id")
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
#[x_kube(validation = schema::interval())]
#[x_kube(validation = Rule::new("!has(self.readyWhen) || !('Verified' in self.readyWhen) || has(self.verify)")
    .message("readyWhen Verified needs to know what to look for: name Extensions or Subscriptions in verify")
    .field_path(".readyWhen"))]
#[x_kube(validation = Rule::new(
    "!has(self.managementPolicy) || self.managementPolicy != 'ObserveOnly' || !has(self.deletionPolicy) || \
     self.deletionPolicy == 'Orphan'")
    .message("managementPolicy ObserveOnly never deletes the deployment: leave deletionPolicy out, or set it to Orphan")
    .field_path(".deletionPolicy"))]
#[x_kube(validation = Rule::new(
    "!has(self.managementPolicy) || self.managementPolicy != 'ObserveOnly' || !(has(self.outputs) || \
     (has(self.driftPolicy) && self.driftPolicy == 'Correct') || \
     (has(self.removedValuesPolicy) && self.removedValuesPolicy == 'Recreate'))")
    .message("managementPolicy ObserveOnly neither sends nor writes anything: leave out outputs, driftPolicy Correct and \
        removedValuesPolicy Recreate")
    .field_path(".managementPolicy"))]
pub struct ConnectorDeploymentSpec {
    /// Project to deploy into: a ConnectProject in the same namespace, or a ClusterConnectProject.
    pub project_ref: ProjectRef,
    /// Key of the remote deployment, unique in the project: 2 to 256 letters, digits, underscores and hyphens.
    /// Immutable. Default: {namespace}_{name}, with dots written as __; if that is longer than 256 characters, it is
    /// truncated and ends with 8 hex digits of its SHA-256.
    #[schemars(length(min = 2, max = 256), regex(pattern = schema::KEY_PATTERN))]
    pub key: Option<String>,
    /// Type of the deployment: preview (for staged connectors, and only for those), sandbox or production. Immutable.
    /// Default: preview if the connector is staged, else sandbox.
    #[serde(rename = "type")]
    pub deployment_type: Option<DeploymentType>,
    /// Region to deploy to. Immutable. Default: the region of the project. Known regions: europe-west1.gcp,
    /// us-central1.gcp, australia-southeast1.gcp, us-east-2.aws and eu-central-1.aws.
    #[schemars(length(max = 64), regex(pattern = schema::REGION_PATTERN))]
    pub region: Option<String>,
    /// Connector to deploy: exactly one of key, id and stagedRef.
    pub connector: WantedConnector,
    /// Secrets and ConfigMaps in the same namespace whose entries become values, as with envFrom of a container; 16 at
    /// most. A key goes to each application that declares it, and to the global configuration. Later objects override
    /// earlier ones, and values in configurations and globalConfiguration override all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub configuration_from: Vec<ConfigurationSource>,
    /// Single values, schedules and retry policies of applications: one entry per application, 64 at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["applicationName".into()]))]
    pub configurations: Vec<ApplicationConfiguration>,
    /// Single values that apply to all applications, for connectors that declare such values.
    pub global_configuration: Option<ConfigurationValues>,
    /// Operations that the operator may perform. Full: it creates, redeploys and deletes the deployment. ObserveOnly:
    /// it only reads and reports; it changes nothing and reads no Secret with values. Default: Full.
    #[serde(default, skip_serializing_if = "is_default")]
    pub management_policy: ManagementPolicy,
    /// Policy for an existing deployment of the same key that this object did not create. Never: report KeyTaken and
    /// change nothing. Adopt: manage it from now on. Default: Never.
    #[serde(default, skip_serializing_if = "is_default")]
    pub adoption_policy: AdoptionPolicy,
    /// Action on visible values that are changed outside of this object. Ignore: none. Detect: report them in the condition
    /// Drifted. Correct: redeploy once for each difference, and create a deployment that disappeared again. Default:
    /// Detect.
    #[serde(default, skip_serializing_if = "is_default")]
    pub drift_policy: DriftPolicy,
    /// Policy for values that were sent and are then removed from this object. A redeploy cannot remove a value.
    /// Retain: they stay in effect, and the condition ValuesRetained lists them. Recreate: the deployment is deleted
    /// and created again without them, which interrupts it and changes its URLs and topics. Default: Retain.
    #[serde(default, skip_serializing_if = "is_default")]
    pub removed_values_policy: RemovedValuesPolicy,
    /// Policy for the remote deployment when this object is deleted. Delete: it is deleted. Orphan: it stays. Can be
    /// changed at any time, also during deletion. Default: Orphan for type production, else Delete, unless the install
    /// keeps every deployment.
    pub deletion_policy: Option<DeletionPolicy>,
    /// Interval at which a settled remote deployment is polled, at least 30s; hours, minutes and seconds, as in 1h30m.
    /// Default: 5m.
    #[schemars(length(min = 2, max = 20), regex(pattern = super::duration::PATTERN))]
    pub interval: Option<String>,
    /// Whether redeploys skip the connector's own scripts. Default: false.
    #[serde(default, skip_serializing_if = "is_default")]
    pub skip_scripts: bool,
    /// Whether to pause. While true, the operator keeps polling but sends nothing. Deletion of this object waits, unless
    /// deletionPolicy is Orphan. Default: false.
    #[serde(default, skip_serializing_if = "is_default")]
    pub suspend: bool,
    /// Further requirements for Ready=True. NoWarnings: the report has neither warnings nor errors. Verified: the
    /// resources in verify exist and point to this deployment. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 2))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub ready_when: Vec<ReadyWhen>,
    /// Resources that the connector's scripts create in the project. The operator looks them up after each operation
    /// and at each interval, and reports the result in the condition Verified. Default: none.
    pub verify: Option<Verify>,
    /// Destination for the URLs and topics of the deployment, for use by other workloads. Default: none.
    pub outputs: Option<Outputs>,
}

impl ConnectorDeploymentSpec {
    /// Returns the poll interval for a settled deployment. A value that the schema refuses counts as absent.
    pub fn effective_interval(&self) -> Duration {
        self.interval.as_deref().and_then(|text| parse_duration(text).ok()).unwrap_or(DEFAULT_INTERVAL)
    }

    /// Returns the type in the spec; if absent, preview for a staged connector and sandbox for others.
    pub fn effective_type(&self) -> DeploymentType {
        let unwritten = if self.connector.is_staged() { DeploymentType::Preview } else { DeploymentType::Sandbox };
        self.deployment_type.unwrap_or(unwritten)
    }

    /// Returns the deletion policy in the spec; if absent, `install`, the one of the install for every type
    /// (`--default-deletion-policy`), if it has one; otherwise `Orphan` for type production and `Delete` for others.
    pub fn deletion_policy_of(&self, install: Option<DeletionPolicy>) -> DeletionPolicy {
        self.deletion_policy.or(install).unwrap_or(match self.effective_type() {
            DeploymentType::Production => DeletionPolicy::Orphan,
            DeploymentType::Preview | DeploymentType::Sandbox => DeletionPolicy::Delete,
        })
    }
}

/// The connector to deploy.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("[has(self.key), has(self.id), has(self.stagedRef)].filter(given, given).size() == 1")
    .message("give exactly one of connector.key, connector.id and connector.stagedRef"))]
#[x_kube(validation = Rule::new("!has(self.stagedRef) || !has(self.staged) || self.staged")
    .message("a connector that stagedRef names is always staged: leave connector.staged out, or set it to true")
    .field_path(".staged"))]
#[x_kube(validation = Rule::new("!has(self.version) || !has(self.updatePolicy) || self.updatePolicy != 'Latest'")
    .message("updatePolicy Latest follows every version: leave connector.version out, or set updatePolicy to Pinned")
    .field_path(".version"))]
#[x_kube(validation = schema::unchanged_member("key"))]
#[x_kube(validation = schema::unchanged_member("id"))]
#[x_kube(validation = schema::unchanged_member("stagedRef"))]
#[x_kube(validation = Rule::new(
    "(has(self.stagedRef) || (has(self.staged) && self.staged)) == (has(oldSelf.stagedRef) || (has(oldSelf.staged) \
        && oldSelf.staged))")
    .message("connector.staged cannot be changed, because the remote cannot change it either: set it back, or \
        delete this ConnectorDeployment and create another"))]
pub struct WantedConnector {
    /// Key of the connector in the registry: 2 to 256 letters, digits, underscores and hyphens. Immutable.
    #[schemars(length(min = 2, max = 256), regex(pattern = schema::KEY_PATTERN))]
    pub key: Option<String>,
    /// Id of the connector in the registry, instead of its key. Immutable.
    #[schemars(length(min = 1, max = 256), regex(pattern = schema::KEY_PATTERN))]
    pub id: Option<String>,
    /// Version of the connector to run. The service deploys only the latest version, so a create or an upgrade waits
    /// until the latest is this one; a running version is kept, and never downgraded. Default: the version that was the
    /// latest at creation.
    #[schemars(range(min = 1))]
    pub version: Option<i64>,
    /// Whether key or id names a staged connector. Immutable. Default: false; true if stagedRef is set.
    pub staged: Option<bool>,
    /// ConnectorStaged in the same namespace, instead of key or id. Immutable.
    pub staged_ref: Option<NamedRef>,
    /// Policy for new versions of the connector. Pinned: keep the version, and report UpdateAvailable if the registry
    /// has a newer one. Latest: redeploy to each new version. Default: Pinned.
    #[serde(default, skip_serializing_if = "is_default")]
    pub update_policy: UpdatePolicy,
}

impl WantedConnector {
    /// Returns whether this is a staged connector.
    pub fn is_staged(&self) -> bool {
        self.staged_ref.is_some() || self.staged == Some(true)
    }
}

/// Whether a deployment follows new versions of its connector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum UpdatePolicy {
    /// The deployment keeps its version.
    #[default]
    Pinned,
    /// The deployment follows the latest version.
    Latest,
}

/// Whether the remote deployment is managed or only observed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ManagementPolicy {
    /// The operator creates, redeploys and deletes it.
    #[default]
    Full,
    /// The operator only reads and reports.
    ObserveOnly,
}

/// Action on drift.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DriftPolicy {
    /// No action.
    Ignore,
    /// Report it in the condition Drifted.
    #[default]
    Detect,
    /// Redeploy.
    Correct,
}

/// Policy for values that were sent and are no longer in the spec.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RemovedValuesPolicy {
    /// They stay in effect and are reported.
    #[default]
    Retain,
    /// The deployment is deleted and created again without them.
    Recreate,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn absent_fields_have_defaults_that_depend_on_the_others() {
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
            assert_eq!(spec.deletion_policy_of(None), deletion, "{case}");
            for install in [Delete, Orphan] {
                let written = spec.deletion_policy.unwrap_or(install);
                assert_eq!(spec.deletion_policy_of(Some(install)), written, "{case}: the default of an install");
            }
            assert_eq!(spec.effective_interval(), Duration::from_secs(seconds), "{case}");
        }
    }
}
