//! `ConnectorStaged`: a staged connector, from its Git tag to its publication.
//!
//! Fields that the remote cannot change are immutable here too; see [`super::connector_deployment`] for how this is
//! enforced. Next: [`super::connector_staged_status`] for the status.

use std::time::Duration;

use kube::{CustomResource, KubeSchema};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::connector_staged_status::ConnectorStagedStatus;
use super::duration::parse_duration;
use super::policies::{AdoptionPolicy, DEFAULT_INTERVAL, DeletionPolicy};
use super::schema;
use super::shared::{NamedRef, ProjectRef, is_default};

/// The desired connector, and whether to preview and publish it.
#[serde_with::apply(Vec => #[serde(default, skip_serializing_if = "Vec::is_empty")])]
#[serde_with::skip_serializing_none]
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
    doc = "A staged connector: its description, the repository and tag that it is built from, whether it can be deployed \
        as a preview, and whether it is published. Deleting this object keeps the staged connector, unless \
        deletionPolicy says otherwise."
)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("self.key == oldSelf.key")
    .message("key cannot be changed, because the remote cannot change it either: set it back, or delete this \
        ConnectorStaged and create another")
    .field_path(".key"))]
#[x_kube(validation = schema::interval())]
#[x_kube(validation = Rule::new("!has(self.publishAfter) || (has(self.preview) && self.preview == 'Request')")
    .message("publishAfter waits for a deployment of the staged connector, which needs its permission: set preview to \
        Request, or leave publishAfter out")
    .field_path(".publishAfter"))]
#[x_kube(validation = Rule::new("!has(self.publishAfter) || (has(self.publishPolicy) && self.publishPolicy != 'Never')")
    .message("publishAfter is for what is published: set publishPolicy to Private or Certified, or leave publishAfter out")
    .field_path(".publishAfter"))]
pub struct ConnectorStagedSpec {
    /// Project that the connector belongs to: a ConnectProject in the same namespace, or a ClusterConnectProject.
    pub project_ref: ProjectRef,
    /// Key of the connector, also in the registry once it is published: 2 to 256 letters, digits, underscores and
    /// hyphens. Immutable.
    #[schemars(length(min = 2, max = 256), regex(pattern = schema::KEY_PATTERN))]
    pub key: String,
    /// Display name of the connector.
    #[schemars(length(min = 1, max = 256))]
    pub name: String,
    /// Description of the connector. If absent, the description at the remote stays.
    #[schemars(length(max = 8192))]
    pub description: Option<String>,
    /// Creator of the connector. Fields that are absent stay as they are at the remote.
    pub creator: StagedCreator,
    /// Source repository and tag.
    pub repository: StagedRepository,
    /// Integration types. Known types: tax, marketplace, oms, psp, pim, promotion, search, erp, crm, email, analytics,
    /// shipping, giftcard and other.
    #[schemars(schema_with = "integration_types")]
    pub integration_types: Vec<String>,
    /// Regions in which the connector may be deployed. Empty: all regions. A shorter list makes processing faster. Once
    /// it has entries, the remote cannot make it empty again.
    #[schemars(schema_with = "regions")]
    pub supported_regions: Vec<String>,
    /// Projects that may use the connector while it is private, 512 at most. Empty: only the creator's project.
    #[schemars(length(max = 512))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["region".into(), "projectKey".into()]))]
    pub private_projects: Vec<PrivateProject>,
    /// URL of the documentation. If absent, the URL at the remote stays.
    #[schemars(length(min = 1, max = 2048))]
    pub documentation_url: Option<String>,
    /// Whether a tag may be deployed as a preview. Never: the permission is not requested. Request: it is requested for each
    /// new tag. Default: Never.
    #[serde(default, skip_serializing_if = "is_default")]
    pub preview: PreviewPolicy,
    /// Policy for publishing changes. Never: they stay staged. Private: publish for privateProjects only. Certified:
    /// publish for everybody, after certification. Default: Never.
    #[serde(default, skip_serializing_if = "is_default")]
    pub publish_policy: PublishPolicy,
    /// Requirements that a tag must meet before it is published. Requires preview: Request. Default: none.
    pub publish_after: Option<PublishAfter>,
    /// Policy for an existing staged connector of the same key that this object did not create. Never: report KeyTaken
    /// and change nothing. Adopt: manage it from now on. Default: Never.
    #[serde(default, skip_serializing_if = "is_default")]
    pub adoption_policy: AdoptionPolicy,
    /// Policy for the staged connector when this object is deleted. Orphan: it stays. Delete: it is deleted, possibly
    /// with its published versions. Can be changed at any time, also during deletion. Default: Orphan.
    pub deletion_policy: Option<DeletionPolicy>,
    /// Interval at which a settled staged connector is polled, at least 30s; hours, minutes and seconds, as in 1h30m.
    /// Default: 5m.
    #[schemars(length(min = 2, max = 20), regex(pattern = super::duration::PATTERN))]
    pub interval: Option<String>,
    /// Whether to pause. While true, the operator keeps polling but sends nothing. Deletion of this object waits, unless
    /// deletionPolicy is Orphan. Default: false.
    #[serde(default, skip_serializing_if = "is_default")]
    pub suspend: bool,
}

impl ConnectorStagedSpec {
    /// Returns the poll interval for a settled staged connector. A value that the schema refuses counts as absent.
    pub fn effective_interval(&self) -> Duration {
        self.interval.as_deref().and_then(|text| parse_duration(text).ok()).unwrap_or(DEFAULT_INTERVAL)
    }

    /// Returns whether the permission to deploy a tag as a preview is requested.
    pub fn requests_preview(&self) -> bool {
        self.preview == PreviewPolicy::Request
    }

    /// Returns the deletion policy in the spec; if absent, `Orphan`.
    pub fn effective_deletion_policy(&self) -> DeletionPolicy {
        self.deletion_policy.unwrap_or(DeletionPolicy::Orphan)
    }
}

/// Creator of a connector.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StagedCreator {
    /// Email address of the contact. The API requires it.
    #[schemars(length(min = 1, max = 320))]
    pub email: String,
    /// Name of the contact person.
    #[schemars(length(min = 1, max = 256))]
    pub name: Option<String>,
    /// Name of the company.
    #[schemars(length(min = 1, max = 256))]
    pub company: Option<String>,
    /// Title of the contact person.
    #[schemars(length(min = 1, max = 256))]
    pub title: Option<String>,
    /// Number of contributors, at least 1.
    #[schemars(range(min = 1))]
    pub no_of_contributors: Option<i64>,
    /// URL of the logo.
    #[schemars(length(min = 1, max = 2048))]
    pub logo_url: Option<String>,
    /// URL of the support site.
    #[schemars(length(min = 1, max = 2048))]
    pub support_url: Option<String>,
}

/// Requirements that a tag must meet before it is published.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct PublishAfter {
    /// ConnectorDeployment in the same namespace that deploys this connector by stagedRef. It must be Ready with the
    /// tag to publish, so set its updatePolicy to Latest.
    pub deployment_ref: NamedRef,
    /// ActionChecks in the same namespace, 16 at most, that must pass for what that deployment has deployed. Each of
    /// them must name it in spec.deploymentRef.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub check_refs: Vec<NamedRef>,
}

/// A project that may use a private connector.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PrivateProject {
    /// Region of the project. Example: europe-west1.gcp.
    #[schemars(length(min = 1, max = 64), regex(pattern = schema::REGION_PATTERN))]
    pub region: String,
    /// Key of the project. Example: shop.
    #[schemars(length(min = 2, max = 36), regex(pattern = "^[a-zA-Z0-9_-]+$"))]
    pub project_key: String,
}

impl PrivateProject {
    /// Returns the project as the service names it.
    pub fn word(&self) -> String {
        format!("{}:{}", self.region, self.project_key)
    }

    /// Reads a project as the service names it.
    pub fn parse(word: &str) -> Option<Self> {
        let (region, project_key) = word.split_once(':')?;
        Some(Self { region: region.to_owned(), project_key: project_key.to_owned() })
    }
}

/// Source repository and tag.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StagedRepository {
    /// Git URL: https without credentials, or ssh for private repositories. Example: git@github.com:example/tax.git.
    #[schemars(length(min = 1, max = 2048), regex(pattern = REPOSITORY_PATTERN))]
    pub url: String,
    /// Git tag. The service processes a new tag, and publishes it if publishPolicy asks for it. Example: v1.2.0.
    #[schemars(length(min = 1, max = 256), regex(pattern = r"^[^\s]+$"))]
    pub tag: String,
}

/// Git URLs. An HTTP URL must not have a user, and so it cannot have a password.
const REPOSITORY_PATTERN: &str = r"^(https?://[^\s@]+|(ssh|git)://[^\s]+|[A-Za-z0-9_.-]+@[^\s@]+)$";

/// Policy for the permission to deploy a tag as a preview.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PreviewPolicy {
    /// It is not requested.
    #[default]
    Never,
    /// It is requested for each new tag.
    Request,
}

/// Policy for publishing changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PublishPolicy {
    /// Changes stay staged.
    #[default]
    Never,
    /// Changes are published without certification.
    Private,
    /// Changes are published after certification.
    Certified,
}

fn integration_types(_: &mut SchemaGenerator) -> Schema {
    words("^[a-z0-9-]+$")
}

fn regions(_: &mut SchemaGenerator) -> Schema {
    words(schema::REGION_PATTERN)
}

/// Returns the schema of a list of unique strings.
fn words(pattern: &str) -> Schema {
    json_schema!({
        "type": "array", "maxItems": 32, "x-kubernetes-list-type": "set",
        "items": {"type": "string", "minLength": 1, "maxLength": 64, "pattern": pattern},
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn absent_fields_have_the_documented_default_and_are_not_serialized() {
        let manifest = json!({
            "projectRef": {"name": "shop"}, "key": "tax", "name": "Tax", "creator": {"email": "dev@example.com"},
            "repository": {"url": "https://example.com/tax.git", "tag": "v1"},
        });
        let spec: ConnectorStagedSpec = serde_json::from_value(manifest.clone()).expect("it is a spec");
        assert_eq!(spec.effective_interval(), Duration::from_mins(5));
        assert_eq!(spec.effective_deletion_policy(), DeletionPolicy::Orphan);
        assert_eq!((spec.requests_preview(), spec.publish_policy, spec.suspend), (false, PublishPolicy::Never, false));
        assert_eq!(serde_json::to_value(&spec).expect("it is JSON"), manifest);
    }
}
