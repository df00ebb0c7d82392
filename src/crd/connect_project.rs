//! `ConnectProject`: a commercetools project, its API addresses and its credentials.
//!
//! The schema makes the identity of the remote project immutable, because deployments were created in that project.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::frontend::Frontend;
use super::schema;
use super::shared::{RemoteIdentity, is_default, normalize};
use crate::names;

/// Requests per second to a project whose ConnectProject does not set `requestsPerSecond`.
pub const DEFAULT_REQUESTS_PER_SECOND: u32 = 10;
/// Maximum size of `status.scopes` as JSON, in bytes.
pub const SCOPES_SIZE: usize = 16 * 1024;

/// The remote project, its addresses and its credentials.
#[serde_with::skip_serializing_none]
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
    doc = "A commercetools project with its API addresses and credentials. ConnectorDeployments refer to it."
)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("self.projectKey == oldSelf.projectKey")
    .message("projectKey is immutable: set it back, or create another project object")
    .field_path(".projectKey"))]
#[x_kube(validation = Rule::new("self.region == oldSelf.region")
    .message("region is immutable: set it back, or create another project object")
    .field_path(".region"))]
#[x_kube(validation = Rule::new("self.region.contains('.')").message(schema::REGION_MESSAGE).field_path(".region"))]
#[x_kube(validation = Rule::new(
    "(has(self.apiUrl) ? self.apiUrl : 'https://connect.' + self.region + '.commercetools.com') == \
     (has(oldSelf.apiUrl) ? oldSelf.apiUrl : 'https://connect.' + oldSelf.region + '.commercetools.com')")
    .message("apiUrl is immutable, and can be neither added nor removed: set it back, or create another project object"))]
pub struct ConnectProjectSpec {
    /// Key of the project: 2 to 36 letters, digits, underscores and hyphens. Immutable. Example: my-shop.
    #[schemars(length(min = 2, max = 36), regex(pattern = schema::KEY_PATTERN))]
    pub project_key: String,
    /// Region of the project, which is part of its addresses. Immutable. Known regions: europe-west1.gcp,
    /// us-central1.gcp, australia-southeast1.gcp, us-east-2.aws and eu-central-1.aws.
    #[schemars(length(max = 64), regex(pattern = schema::REGION_PATTERN))]
    pub region: String,
    /// Base URL of the Connect API, without a trailing slash. Immutable.
    /// Default: https://connect.{region}.commercetools.com. Example, for a dev server: http://127.0.0.1:8787.
    #[schemars(length(max = 2048), regex(pattern = schema::URL_PATTERN))]
    pub api_url: Option<String>,
    /// Base URL of the authorization service, without a trailing slash and without /oauth/token. Default:
    /// https://auth.{region}.commercetools.com.
    #[schemars(length(max = 2048), regex(pattern = schema::URL_PATTERN))]
    pub auth_url: Option<String>,
    /// HTTP API of the project, which is called only for ConnectorDeployments with verify. Default: that of the region, with
    /// the API client in credentialsSecretRef.
    #[serde(default, skip_serializing_if = "is_default")]
    pub http_api: HttpApi,
    /// Secret that holds the API client: in the same namespace, or for a ClusterConnectProject in the namespace of the
    /// operator.
    pub credentials_secret_ref: CredentialsRef,
    /// Scopes to request for the API client in credentialsSecretRef; 64 at most. Default: all that it has.
    /// Example: manage_connectors_deployments:my-shop.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 256), regex(pattern = schema::SCOPE_PATTERN)))]
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    pub scopes: Vec<String>,
    /// Maximum number of requests per second to this project: 1 to 1000. The calls of several ConnectProjects that name
    /// the same project add up. Default: 10.
    #[serde(default = "default_requests_per_second", skip_serializing_if = "is_default_requests_per_second")]
    #[schemars(range(min = 1, max = 1000))]
    pub requests_per_second: u32,
    /// Frontend of this project, for ActionChecks that refer to it in projectRef. Default: none.
    pub frontend: Option<Frontend>,
}

impl ConnectProjectSpec {
    /// Returns the base URL of the Connect API: `apiUrl`, or that of the region; normalized.
    pub fn effective_api_url(&self) -> String {
        self.url_or(self.api_url.as_ref(), "connect")
    }

    /// Returns the base URL of the authorization service: `authUrl`, or that of the region; normalized.
    pub fn effective_auth_url(&self) -> String {
        self.url_or(self.auth_url.as_ref(), "auth")
    }

    /// Returns the base URL of the HTTP API: `httpApi.url`, or that of the region; normalized.
    pub fn effective_http_api_url(&self) -> String {
        self.url_or(self.http_api.url.as_ref(), "api")
    }

    fn url_or(&self, url: Option<&String>, service: &str) -> String {
        normalize(url.cloned().unwrap_or_else(|| format!("https://{service}.{}.commercetools.com", self.region)))
    }

    /// Returns the remote project that the spec names.
    pub fn identity(&self) -> RemoteIdentity {
        RemoteIdentity { api_url: self.effective_api_url(), project_key: self.project_key.clone() }
    }
}

/// The HTTP API of a project.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HttpApi {
    /// Base URL, without a trailing slash. Default: https://api.{region}.commercetools.com.
    #[schemars(length(max = 2048), regex(pattern = schema::URL_PATTERN))]
    pub url: Option<String>,
    /// Secret that holds the API client, in the same namespace as that of the project's credentialsSecretRef. The client
    /// needs manage_extensions and manage_subscriptions, or manage_project; all scopes that it has are requested.
    /// Default: the API client in the project's credentialsSecretRef.
    pub credentials_secret_ref: Option<CredentialsRef>,
}

/// Reference to the Secret with the API client of a project.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct CredentialsRef {
    /// Name of the Secret.
    #[schemars(length(min = 1, max = 253), regex(pattern = schema::NAME_PATTERN))]
    pub name: String,
    /// Key of the client id within the Secret. Default: clientId. Example: CTP_CLIENT_ID.
    #[schemars(length(min = 1, max = 253), regex(pattern = schema::DATA_KEY_PATTERN))]
    pub client_id_key: Option<String>,
    /// Key of the client secret within the Secret. Default: clientSecret. Example: CTP_CLIENT_SECRET.
    #[schemars(length(min = 1, max = 253), regex(pattern = schema::DATA_KEY_PATTERN))]
    pub client_secret_key: Option<String>,
}

impl CredentialsRef {
    /// Returns the Secret's key of the client id: `clientIdKey`, or `clientId`.
    pub fn client_id_key(&self) -> &str {
        self.client_id_key.as_deref().unwrap_or(names::CLIENT_ID)
    }

    /// Returns the Secret's key of the client secret: `clientSecretKey`, or `clientSecret`.
    pub fn client_secret_key(&self) -> &str {
        self.client_secret_key.as_deref().unwrap_or(names::CLIENT_SECRET)
    }
}

fn default_requests_per_second() -> u32 {
    DEFAULT_REQUESTS_PER_SECOND
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_default_requests_per_second(value: &u32) -> bool {
    *value == DEFAULT_REQUESTS_PER_SECOND
}

/// Observed state of the project. Written by the operator only.
#[serde_with::apply(Vec => #[serde(default, skip_serializing_if = "Vec::is_empty")])]
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectProjectStatus {
    /// The metadata.generation that this status describes. -1: the operator has not observed the object yet.
    pub observed_generation: i64,
    /// Conditions of the project. Always present: Ready. Present only while true: Reconciling and Stalled.
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
    /// Identity of the remote project.
    pub remote: Option<RemoteIdentity>,
    /// Scopes of the last token, if the authorization service names them; as many as fit into 16 KiB.
    #[schemars(length(max = 256), extend("x-kubernetes-list-type" = "atomic"))]
    pub scopes: Vec<String>,
    /// Time of the last successful read of the project.
    pub last_response_at: Option<Time>,
    /// Last value of the annotation connect-operator.io/reconcile-requested-at that was handled.
    #[schemars(length(max = 256))]
    pub handled_reconcile_request: Option<String>,
    /// Number of ConnectorDeployments that refer to this project.
    pub deployments: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn absent_fields_have_the_documented_default() {
        let manifest =
            json!({"projectKey": "demo", "region": "us-east-2.aws", "credentialsSecretRef": {"name": "shop"}});
        let spec: ConnectProjectSpec = serde_json::from_value(manifest.clone()).expect("it is a spec");
        assert_eq!(spec.effective_api_url(), "https://connect.us-east-2.aws.commercetools.com");
        assert_eq!(spec.effective_auth_url(), "https://auth.us-east-2.aws.commercetools.com");
        assert_eq!(spec.effective_http_api_url(), "https://api.us-east-2.aws.commercetools.com");
        assert!(is_default_requests_per_second(&spec.requests_per_second));
        assert_eq!(spec.credentials_secret_ref.client_id_key(), "clientId");
        assert_eq!(spec.credentials_secret_ref.client_secret_key(), "clientSecret");
        assert_eq!(serde_json::to_value(&spec).expect("it is JSON"), manifest);
    }
}
