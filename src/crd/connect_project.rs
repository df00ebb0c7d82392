//! `ConnectProject`: a project at commercetools, where it is reached and with which credentials.
//!
//! Its schema fixes the identity of the remote project: what a deployment was created in must not change under it.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use super::duration::parse_duration;
use super::frontend::Frontend;
use super::schema;
use super::shared::{RemoteIdentity, UNSEEN, is_default};
use crate::names;

/// Requests a second to a project whose ConnectProject names no other number.
pub const DEFAULT_REQUESTS_PER_SECOND: f64 = 10.0;
/// Pause between two looks at the registry whose ConnectProject names no other.
pub const DEFAULT_REGISTRY_INTERVAL: Duration = Duration::from_mins(10);
/// Most bytes of `status.scopes`, as JSON.
pub const SCOPES_SIZE: usize = 16 * 1024;
/// Most Connector objects that a mirror keeps if its ConnectProject names no other number.
pub const DEFAULT_REGISTRY_OBJECTS: u32 = 500;

/// Which project it is, where it is reached, and with which credentials.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "connect-operator.io",
    version = "v1alpha1",
    kind = "ConnectProject",
    plural = "connectprojects",
    shortname = "ctp",
    category = "connect",
    namespaced,
    status = "ConnectProjectStatus",
    derive = "PartialEq",
    doc = "A project at commercetools: where it is reached, and with which credentials. ConnectorDeployments name it.",
    printcolumn(
        name = "Project",
        type_ = "string",
        json_path = ".spec.projectKey",
        description = "Key of the project"
    ),
    printcolumn(name = "Region", type_ = "string", json_path = ".spec.region", description = "Region of the project"),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].status"#,
        description = "Whether the project answers with these credentials"
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].reason"#,
        description = "Why, in one word"
    ),
    printcolumn(
        name = "Deployments",
        type_ = "integer",
        json_path = ".status.deployments",
        description = "How many ConnectorDeployments name this project"
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
#[x_kube(validation = Rule::new("self.projectKey == oldSelf.projectKey")
    .message("projectKey cannot be changed, because deployments exist in that project: set it back, or create \
        another ConnectProject")
    .field_path(".projectKey"))]
#[x_kube(validation = Rule::new("self.region == oldSelf.region")
    .message("region cannot be changed, because deployments exist in that project: set it back, or create another \
        ConnectProject")
    .field_path(".region"))]
#[x_kube(validation = Rule::new("self.region.contains('.')").message(schema::REGION_MESSAGE).field_path(".region"))]
#[x_kube(validation = Rule::new(
    "(has(self.apiUrl) ? self.apiUrl : 'https://connect.' + self.region + '.commercetools.com') == \
     (has(oldSelf.apiUrl) ? oldSelf.apiUrl : 'https://connect.' + oldSelf.region + '.commercetools.com')")
    .message("apiUrl cannot be added, changed or removed, because deployments exist at that address: set it back, \
        or create another ConnectProject"))]
pub struct ConnectProjectSpec {
    /// Key of the project. 2 to 36 letters, digits, underscores and hyphens. Cannot be changed. Example: my-shop.
    #[schemars(length(min = 2, max = 36), regex(pattern = schema::KEY_PATTERN))]
    pub project_key: String,
    /// Region of the project, which is part of its addresses. Cannot be changed. Known are europe-west1.gcp,
    /// us-central1.gcp, australia-southeast1.gcp, us-east-2.aws and eu-central-1.aws.
    #[schemars(length(max = 64), regex(pattern = schema::REGION_PATTERN))]
    pub region: String,
    /// Address of the Connect API, without a slash at its end. Cannot be changed.
    /// Default: https://connect.{region}.commercetools.com. Example, for a dev server: http://127.0.0.1:8787.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048), regex(pattern = schema::URL_PATTERN))]
    pub api_url: Option<String>,
    /// Address of the authorization service, without a slash at its end and without /oauth/token.
    /// Default: https://auth.{region}.commercetools.com. Example, for a dev server: http://127.0.0.1:8787.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048), regex(pattern = schema::URL_PATTERN))]
    pub auth_url: Option<String>,
    /// Address of the HTTP API of the project, without a slash at its end. It is called only for ConnectorDeployments
    /// with verify. Default: https://api.{region}.commercetools.com. Example, for a dev server: http://127.0.0.1:8787.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048), regex(pattern = schema::URL_PATTERN))]
    pub http_api_url: Option<String>,
    /// Secret of the same namespace with the API client.
    pub credentials_secret_ref: CredentialsRef,
    /// Most requests a second to this project: more than 0, at most 1000, in steps of 0.001; 0.1 is one request in ten
    /// seconds. Where several ConnectProjects name the same project and API client, the lowest number holds for all.
    /// Default: 10.
    #[serde(default = "default_requests_per_second", skip_serializing_if = "is_default_requests_per_second")]
    #[serde(serialize_with = "whole_if_it_is")]
    // The API server compares a whole number with the whole part of a bound, so a minimum of 0.01 would let 0 pass.
    #[schemars(range(max = 1000.0), extend("minimum" = 0, "exclusiveMinimum" = true))]
    pub requests_per_second: f64,
    /// Which form of address is called to create and update deployments. Project: with the project key in the path.
    /// Unscoped: without. Default: Project.
    #[serde(default, skip_serializing_if = "is_default")]
    pub deployment_paths: DeploymentPaths,
    /// Mirrors connectors of the registry into the cluster, as objects of kind Connector. Default: no mirror.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registry: Option<RegistryMirror>,
    /// Frontend of this project, for ActionChecks that name this ConnectProject in projectRef. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frontend: Option<Frontend>,
}

impl ConnectProjectSpec {
    /// Address of the Connect API: what is written, word by word, or the region's.
    #[must_use]
    pub fn effective_api_url(&self) -> String {
        self.api_url.clone().unwrap_or_else(|| format!("https://connect.{}.commercetools.com", self.region))
    }

    /// Address of the authorization service: what is written, word by word, or the region's.
    #[must_use]
    pub fn effective_auth_url(&self) -> String {
        self.auth_url.clone().unwrap_or_else(|| format!("https://auth.{}.commercetools.com", self.region))
    }

    /// Address of the HTTP API: what is written, word by word, or the region's.
    #[must_use]
    pub fn effective_http_api_url(&self) -> String {
        self.http_api_url.clone().unwrap_or_else(|| format!("https://api.{}.commercetools.com", self.region))
    }
}

/// The Secret with the API client of a project. Its optional key scopes holds scopes to ask for, separated by blanks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CredentialsRef {
    /// Name of the Secret, in the same namespace.
    #[schemars(length(min = 1, max = 253), regex(pattern = schema::NAME_PATTERN))]
    pub name: String,
    /// Key of the client id within the Secret. Default: clientId. Example: CTP_CLIENT_ID.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = schema::DATA_KEY_PATTERN))]
    pub client_id_key: Option<String>,
    /// Key of the client secret within the Secret. Default: clientSecret. Example: CTP_CLIENT_SECRET.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = schema::DATA_KEY_PATTERN))]
    pub client_secret_key: Option<String>,
}

impl CredentialsRef {
    /// Key of the client id: the one that is written, or `clientId`.
    #[must_use]
    pub fn client_id_key(&self) -> &str {
        self.client_id_key.as_deref().unwrap_or(names::CLIENT_ID)
    }

    /// Key of the client secret: the one that is written, or `clientSecret`.
    #[must_use]
    pub fn client_secret_key(&self) -> &str {
        self.client_secret_key.as_deref().unwrap_or(names::CLIENT_SECRET)
    }
}

fn default_requests_per_second() -> f64 {
    DEFAULT_REQUESTS_PER_SECOND
}

// Serde hands over references.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_default_requests_per_second(value: &f64) -> bool {
    (*value - DEFAULT_REQUESTS_PER_SECOND).abs() < f64::EPSILON
}

/// Writes 3 and not 3.0, so that a serialised spec is what people wrote.
#[allow(clippy::trivially_copy_pass_by_ref, clippy::cast_possible_truncation, reason = "whole, and at most 1000")]
fn whole_if_it_is<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if value.fract() == 0.0 { serializer.serialize_i64(*value as i64) } else { serializer.serialize_f64(*value) }
}

/// Which form of address creates and updates deployments (contract section 5.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DeploymentPaths {
    /// With the project key in the path.
    #[default]
    Project,
    /// Without it.
    Unscoped,
}

/// Which connectors of the registry are mirrored into the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new(
    "has(self.text) || has(self.private) || has(self.creatorCompany) || (has(self.integrationTypes) && \
        self.integrationTypes.size() > 0)")
    .message("registry needs at least one filter, so that it does not mirror everything: give text, \
        integrationTypes, private or creatorCompany"))]
#[x_kube(validation = Rule::new("!has(self.interval) || duration(self.interval) >= duration('30s')")
    .message("interval must be at least 30s, as in 30s, 10m or 1h30m")
    .field_path(".interval"))]
pub struct RegistryMirror {
    /// Words to be found in name or description. At most 256 characters. Example: tax.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    pub text: Option<String>,
    /// What the connectors integrate with; 20 at most. Known are tax, marketplace, oms, psp, pim, promotion, search,
    /// erp, crm, email, analytics, shipping, giftcard and other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 20), inner(length(min = 1, max = 64), regex(pattern = r"^[a-z0-9-]+$")))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub integration_types: Vec<String>,
    /// true: only what is assigned to this project. false: everything that is available to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub private: Option<bool>,
    /// Company of the connector's creator. At most 256 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    pub creator_company: Option<String>,
    /// Pause between two looks at the registry, at least 30s. Default: 10m.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 2, max = 20), regex(pattern = super::duration::PATTERN))]
    pub interval: Option<String>,
    /// Most objects that the mirror keeps, 1 to 10000. Default: 500.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10_000))]
    pub max_objects: Option<u32>,
}

impl RegistryMirror {
    /// Pause between two looks at the registry. A text that the schema would refuse counts as absent.
    #[must_use]
    pub fn effective_interval(&self) -> Duration {
        self.interval.as_deref().and_then(|text| parse_duration(text).ok()).unwrap_or(DEFAULT_REGISTRY_INTERVAL)
    }

    /// Most objects that the mirror keeps.
    #[must_use]
    pub fn effective_max_objects(&self) -> u32 {
        self.max_objects.unwrap_or(DEFAULT_REGISTRY_OBJECTS)
    }
}

/// What the operator says about the project. Written by the operator only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectProjectStatus {
    /// The metadata.generation that this status speaks about. -1: the operator has not seen the object yet.
    pub observed_generation: i64,
    /// Ready (the project answers with these credentials), and, only while true: Reconciling (it may heal by itself),
    /// Stalled (a person has to act). With spec.registry also RegistryMirrored (the Connector objects are what the
    /// registry has), which does not touch Ready.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
    /// The install of the operator that works on this resource: namespace and name of its Lease. Absent without leader
    /// election.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512))]
    pub controller: Option<String>,
    /// The remote project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote: Option<RemoteIdentity>,
    /// The scopes that the last token had, if the authorization service names them; as many as fit into 16 KiB.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256), inner(length(max = 256)), extend("x-kubernetes-list-type" = "atomic"))]
    pub scopes: Vec<String>,
    /// When the project was last looked at with success.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_look_at: Option<Time>,
    /// How many ConnectorDeployments name this project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deployments: Option<u32>,
    /// The mirror of the registry; there as long as there may be Connector objects of this project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registry: Option<MirrorStatus>,
}

/// How large the mirror of the registry is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MirrorStatus {
    /// How many connectors of the registry fit the filter, as of the last look.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<u32>,
    /// How many Connector objects there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objects: Option<u32>,
}

impl Default for ConnectProjectStatus {
    fn default() -> Self {
        Self {
            observed_generation: UNSEEN,
            conditions: Vec::new(),
            controller: None,
            remote: None,
            scopes: Vec::new(),
            last_look_at: None,
            deployments: None,
            registry: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_not_written_has_the_documented_default() {
        let manifest = json!({"projectKey": "demo", "region": "us-east-2.aws", "credentialsSecretRef": {"name": "shop"},
            "registry": {"private": true}});
        let spec: ConnectProjectSpec = serde_json::from_value(manifest.clone()).expect("it is a spec");
        assert_eq!(spec.effective_api_url(), "https://connect.us-east-2.aws.commercetools.com");
        assert_eq!(spec.effective_auth_url(), "https://auth.us-east-2.aws.commercetools.com");
        assert_eq!(spec.effective_http_api_url(), "https://api.us-east-2.aws.commercetools.com");
        assert!(is_default_requests_per_second(&spec.requests_per_second));
        assert_eq!(spec.credentials_secret_ref.client_id_key(), "clientId");
        assert_eq!(spec.credentials_secret_ref.client_secret_key(), "clientSecret");
        let registry = spec.registry.as_ref().expect("it was written");
        assert_eq!(registry.effective_interval(), Duration::from_mins(10));
        assert_eq!(registry.effective_max_objects(), 500);
        assert_eq!(serde_json::to_value(&spec).expect("it is JSON"), manifest);
        for rate in [json!(3), json!(0.25)] {
            let mut manifest = manifest.clone();
            manifest["requestsPerSecond"] = rate;
            let spec: ConnectProjectSpec = serde_json::from_value(manifest.clone()).expect("it is a spec");
            assert_eq!(serde_json::to_value(&spec).expect("it is JSON"), manifest);
        }
    }
}
