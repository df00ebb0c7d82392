//! `ConnectorStaged`: a connector that is being prepared, from its Git tag to its publication.
//!
//! What the remote can never change does not change here either; see [`super::connector_deployment`] for how that is
//! held. Next: [`super::connector_staged_status`] for the status.

use std::time::Duration;

use kube::{CustomResource, KubeSchema};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::connector_deployment::{AdoptionPolicy, DEFAULT_INTERVAL, DeletionPolicy};
use super::connector_staged_status::ConnectorStagedStatus;
use super::duration::parse_duration;
use super::schema;
use super::shared::{NamedRef, ProjectRef, is_default};

/// What the connector is to be, and how far it is to go.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "connect-operator.io",
    version = "v1alpha1",
    kind = "ConnectorStaged",
    plural = "connectorstageds",
    shortname = "cst",
    category = "connect",
    namespaced,
    status = "ConnectorStagedStatus",
    derive = "PartialEq",
    selectable = ".spec.projectRef.name",
    selectable = ".spec.key",
    doc = "A connector that is being prepared: what it is, which tag of which repository it comes from, whether it is to \
        be deployable as a preview, and whether it is to be published. Deleting this object leaves it, unless \
        deletionPolicy says otherwise.",
    printcolumn(name = "Key", type_ = "string", json_path = ".spec.key", description = "Key of the connector"),
    printcolumn(
        name = "Tag",
        type_ = "string",
        json_path = ".spec.repository.tag",
        description = "Git tag that is asked for"
    ),
    printcolumn(
        name = "Status",
        type_ = "string",
        json_path = ".status.connectorStatus",
        description = "Status of the staged connector, as the API says it"
    ),
    printcolumn(
        name = "Preview",
        type_ = "string",
        json_path = ".status.previewable",
        description = "Whether it may be deployed while staged"
    ),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].status"#,
        description = "Whether the remote is as far as the spec asks for"
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
        name = "Message",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].message"#,
        priority = 1,
        description = "Why, in a sentence"
    )
)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("self.key == oldSelf.key")
    .message("key cannot be changed, because the remote cannot change it either: set it back, or delete this \
        ConnectorStaged and create another")
    .field_path(".key"))]
#[x_kube(validation = Rule::new("!has(self.interval) || duration(self.interval) >= duration('30s')")
    .message("interval must be at least 30s, as in 30s, 5m or 1h30m")
    .field_path(".interval"))]
#[x_kube(validation = Rule::new("!has(self.publishAfter) || (has(self.previewable) && self.previewable)")
    .message("publishAfter waits for a deployment of the staged connector, which needs its permission: set previewable to \
        true, or leave publishAfter out")
    .field_path(".publishAfter"))]
pub struct ConnectorStagedSpec {
    /// The ConnectProject, in the same namespace, that the connector belongs to.
    pub project_ref: ProjectRef,
    /// Key of the connector, under which it is found once it is published. 2 to 256 letters, digits, underscores and
    /// hyphens. Cannot be changed.
    #[schemars(length(min = 2, max = 256), regex(pattern = schema::KEY_PATTERN))]
    pub key: String,
    /// Its name for people.
    #[schemars(length(min = 1, max = 256))]
    pub name: String,
    /// What it is good for. If it is left out, the one at the remote stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 8192))]
    pub description: Option<String>,
    /// Who makes it. Members that are left out stay as they are at the remote.
    pub creator: StagedCreator,
    /// Where its source is.
    pub repository: StagedRepository,
    /// What it integrates with. Known are tax, marketplace, oms, psp, pim, promotion, search, erp, crm, email, analytics,
    /// shipping, giftcard and other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "integration_types")]
    pub integration_types: Vec<String>,
    /// Regions in which it may be deployed; none: anywhere. Naming only those that are needed makes processing faster. Once
    /// there are some, the remote cannot empty the list again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "regions")]
    pub supported_regions: Vec<String>,
    /// Projects that may use it while it is private, each {region}:{projectKey}; none: the creator's alone. Example:
    /// europe-west1.gcp:shop.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "private_projects")]
    pub private_projects: Vec<String>,
    /// Address of its documentation. If it is left out, the one at the remote stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 2048))]
    pub documentation_url: Option<String>,
    /// Whether to ask, for each new tag, for the permission to deploy it while it is staged. Default: false.
    #[serde(default, skip_serializing_if = "is_default")]
    pub previewable: bool,
    /// Whether each change is published. Never: it stays staged. Private: for privateProjects alone. Certified: for
    /// everybody, after certification. Default: Never.
    #[serde(default, skip_serializing_if = "is_default")]
    pub publish: Publish,
    /// What has to be proven of a tag before it is published; needs previewable: true. Default: nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub publish_after: Option<PublishAfter>,
    /// What to do about a staged connector of the same key that was not created from here. Never: say KeyTaken and leave it
    /// alone. Adopt: take it over. Default: Never.
    #[serde(default, skip_serializing_if = "is_default")]
    pub adoption_policy: AdoptionPolicy,
    /// What happens to the staged connector when this object is deleted. Orphan: it stays. Delete: it is deleted, and what
    /// was published of it may go too. May be changed at any time, also during a deletion. Default: Orphan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion_policy: Option<DeletionPolicy>,
    /// Pause between two looks at the remote when all is settled, at least 30s; hours, minutes and seconds, as in
    /// 1h30m. Default: 5m.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 2, max = 20), regex(pattern = super::duration::PATTERN))]
    pub interval: Option<String>,
    /// Whether to pause: goes on looking, sends nothing. Deleting this object still goes on. Default: false.
    #[serde(default, skip_serializing_if = "is_default")]
    pub suspend: bool,
}

impl ConnectorStagedSpec {
    /// Pause between two looks when all is settled. A text that the schema would refuse counts as absent.
    #[must_use]
    pub fn effective_interval(&self) -> Duration {
        self.interval.as_deref().and_then(|text| parse_duration(text).ok()).unwrap_or(DEFAULT_INTERVAL)
    }

    /// The deletion policy that is written, or `Orphan`.
    #[must_use]
    pub fn effective_deletion_policy(&self) -> DeletionPolicy {
        self.deletion_policy.unwrap_or(DeletionPolicy::Orphan)
    }
}

/// Who makes a connector.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StagedCreator {
    /// Address to write to. The one member that the API requires.
    #[schemars(length(min = 1, max = 320))]
    pub email: String,
    /// Name of the person to ask.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    pub name: Option<String>,
    /// The company behind it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    pub company: Option<String>,
    /// The title of that person.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    pub title: Option<String>,
    /// How many people work on it, at least 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub no_of_contributors: Option<i64>,
    /// Address of the logo.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 2048))]
    pub logo_url: Option<String>,
    /// Address of the support site.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 2048))]
    pub support_url: Option<String>,
}

/// What has to be proven of a tag before it is published.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct PublishAfter {
    /// ConnectorDeployment of the same namespace that deploys this connector by stagedRef. It has to be Ready with the tag
    /// that is to be published, so let it follow with updatePolicy: Latest.
    pub deployment_ref: NamedRef,
    /// ActionChecks of the same namespace, 16 at most, that have to pass for what that deployment has deployed. Each of them
    /// names it in spec.after.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub check_refs: Vec<NamedRef>,
}

/// Repository and tag.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StagedRepository {
    /// Address for Git: https without credentials, or ssh for private ones. Example: git@github.com:example/tax.git.
    #[schemars(length(min = 1, max = 2048), regex(pattern = REPOSITORY_PATTERN))]
    pub url: String,
    /// Git tag. A new one is processed, and published if publish says so. Example: v1.2.0.
    #[schemars(length(min = 1, max = 256), regex(pattern = r"^[^\s]+$"))]
    pub tag: String,
}

/// Addresses for Git; one for HTTP has no user and so no password either.
const REPOSITORY_PATTERN: &str = r"^(https?://[^\s@]+|(ssh|git)://[^\s]+|[A-Za-z0-9_.-]+@[^\s@]+)$";

/// Whether each change is published.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Publish {
    /// It stays staged.
    #[default]
    Never,
    /// Without certification.
    Private,
    /// With certification.
    Certified,
}

fn integration_types(_: &mut SchemaGenerator) -> Schema {
    words(32, 64, "^[a-z0-9-]+$")
}

fn regions(_: &mut SchemaGenerator) -> Schema {
    words(32, 64, schema::REGION_PATTERN)
}

fn private_projects(_: &mut SchemaGenerator) -> Schema {
    words(512, 128, "^[a-zA-Z0-9._-]+:[a-zA-Z0-9_-]{2,36}$")
}

/// A list in which each word stands once.
fn words(most: u32, longest: u32, pattern: &str) -> Schema {
    json_schema!({
        "type": "array", "maxItems": most, "x-kubernetes-list-type": "set",
        "items": {"type": "string", "minLength": 1, "maxLength": longest, "pattern": pattern},
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_not_written_has_the_documented_default_and_is_not_written_back() {
        let manifest = json!({
            "projectRef": {"name": "shop"}, "key": "tax", "name": "Tax", "creator": {"email": "dev@example.com"},
            "repository": {"url": "https://example.com/tax.git", "tag": "v1"},
        });
        let spec: ConnectorStagedSpec = serde_json::from_value(manifest.clone()).expect("it is a spec");
        assert_eq!(spec.effective_interval(), Duration::from_mins(5));
        assert_eq!(spec.effective_deletion_policy(), DeletionPolicy::Orphan);
        assert_eq!((spec.previewable, spec.publish, spec.suspend), (false, Publish::Never, false));
        assert_eq!(serde_json::to_value(&spec).expect("it is JSON"), manifest);
    }
}
