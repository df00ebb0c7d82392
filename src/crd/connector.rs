//! `Connector`: a published connector of the registry, mirrored into the cluster so that users can browse it.
//!
//! Written by the operator only; `spec.registry` of a project selects what is mirrored. The fields are those
//! of the registry record (contract section 4.2). Every string and list is bounded, and the operator truncates to these
//! bounds, so that the schema never refuses an object.

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::shared::ProjectRef;

/// Maximum length of a name, key, person, company, region or type, in characters.
pub const LONGEST_WORD: usize = 256;
/// Maximum length of a URL, in characters.
pub const LONGEST_URL: usize = 2048;
/// Maximum length of a description and of a variable's default, in characters.
pub const LONGEST_TEXT: usize = 4096;
/// Maximum number of types, regions, scopes and applications.
pub const MOST_ENTRIES: usize = 64;
/// Maximum number of variables in one list.
pub const MOST_VARIABLES: usize = 256;
/// Maximum number of entries of `status.cut`.
const MOST_CUT: usize = 8;

/// Identity of the mirrored connector.
#[derive(CustomResource, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "connect-operator.io",
    version = "v1alpha1",
    kind = "Connector",
    plural = "connectors",
    shortname = "ccon",
    category = "connect",
    namespaced,
    status = "ConnectorStatus",
    derive = "PartialEq",
    doc = "A published connector of the registry. Read-only: the operator writes it because of spec.registry of a \
        ConnectProject or ClusterConnectProject, and reverts manual changes."
)]
#[serde(rename_all = "camelCase")]
pub struct ConnectorSpec {
    /// Project whose registry was read.
    pub project_ref: ProjectRef,
    /// Id of the connector.
    #[schemars(length(min = 1, max = LONGEST_WORD))]
    pub id: String,
}

/// Record of the connector in the registry. Written by the operator only.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectorStatus {
    /// Key for spec.connector of a ConnectorDeployment.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = LONGEST_WORD))]
    pub key: Option<String>,
    /// Latest published version.
    pub version: i64,
    /// Display name.
    #[schemars(length(max = LONGEST_WORD))]
    pub name: String,
    /// Description of what the connector does.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = LONGEST_TEXT))]
    pub description: Option<String>,
    /// Integration types.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MOST_ENTRIES), inner(length(max = LONGEST_WORD)), extend("x-kubernetes-list-type" = "atomic"))]
    pub integration_types: Vec<String>,
    /// Creator of the connector.
    pub creator: ConnectorCreator,
    /// Source repository.
    pub repository: ConnectorRepository,
    /// Applications of the connector and the variables that they declare. Absent: not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MOST_ENTRIES), extend("x-kubernetes-list-type" = "atomic"))]
    pub configurations: Option<Vec<ConnectorApplication>>,
    /// API client that the service creates with each deployment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_client: Option<ConnectorApiClientScopes>,
    /// Whether only selected projects may use the connector.
    pub private: bool,
    /// Variables that apply to all applications.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub global_configuration: Option<ConnectorVariables>,
    /// Regions in which the connector may be deployed. Empty: all regions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MOST_ENTRIES), inner(length(max = LONGEST_WORD)), extend("x-kubernetes-list-type" = "atomic"))]
    pub supported_regions: Vec<String>,
    /// Whether the connector passed certification.
    pub certified: bool,
    /// URL of the documentation.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = LONGEST_URL))]
    pub documentation_url: Option<String>,
    /// Lists joined to strings, for the columns of kubectl get.
    pub summary: ConnectorSummary,
    /// Paths of record fields that were truncated because they were too large.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MOST_CUT), inner(length(max = LONGEST_WORD)), extend("x-kubernetes-list-type" = "atomic"))]
    pub cut: Vec<String>,
    /// Digest of everything that the operator wrote, which reveals manual changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = LONGEST_WORD))]
    pub digest: Option<String>,
}

/// Lists joined to strings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectorSummary {
    /// Integration types. Example: tax,erp.
    #[schemars(length(max = LONGEST_WORD))]
    pub types: String,
    /// Supported regions; any: all regions. Example: europe-west1.gcp,us-east-2.aws.
    #[schemars(length(max = LONGEST_WORD))]
    pub regions: String,
}

/// Creator of a connector.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectorCreator {
    /// Name of the contact person.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = LONGEST_WORD))]
    pub name: Option<String>,
    /// Title of the contact person.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = LONGEST_WORD))]
    pub title: Option<String>,
    /// Email address of the contact.
    #[schemars(length(max = LONGEST_WORD))]
    pub email: String,
    /// Name of the company.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = LONGEST_WORD))]
    pub company: Option<String>,
    /// URL of the logo.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = LONGEST_URL))]
    pub logo_url: Option<String>,
    /// Number of contributors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_of_contributors: Option<i64>,
    /// URL of the support site.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = LONGEST_URL))]
    pub support_url: Option<String>,
}

/// Source repository of a connector.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectorRepository {
    /// URL of the repository.
    #[schemars(length(max = LONGEST_URL))]
    pub url: String,
    /// Git tag of this version.
    #[schemars(length(max = LONGEST_WORD))]
    pub tag: String,
}

/// API client that the service creates with each deployment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectorApiClientScopes {
    /// Scopes of the API client.
    #[schemars(length(max = MOST_ENTRIES), inner(length(max = LONGEST_WORD)), extend("x-kubernetes-list-type" = "atomic"))]
    pub scopes: Vec<String>,
}

/// An application and the variables that it declares.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectorApplication {
    /// Name for configurations of a ConnectorDeployment.
    #[schemars(length(max = LONGEST_WORD))]
    pub application_name: String,
    /// Type of the application. Example: service.
    #[schemars(length(max = LONGEST_WORD))]
    pub application_type: String,
    /// Plain variables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MOST_VARIABLES), extend("x-kubernetes-list-type" = "atomic"))]
    pub standard_configuration: Vec<PlainVariable>,
    /// Secured variables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MOST_VARIABLES), extend("x-kubernetes-list-type" = "atomic"))]
    pub secured_configuration: Vec<SecuredVariable>,
}

/// Variables that apply to all applications of a connector.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectorVariables {
    /// Plain variables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MOST_VARIABLES), extend("x-kubernetes-list-type" = "atomic"))]
    pub standard_configuration: Vec<PlainVariable>,
    /// Secured variables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MOST_VARIABLES), extend("x-kubernetes-list-type" = "atomic"))]
    pub secured_configuration: Vec<SecuredVariable>,
}

/// A plain variable that an application declares.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlainVariable {
    /// Key for configurations of a ConnectorDeployment.
    #[schemars(length(max = LONGEST_WORD))]
    pub key: String,
    /// Purpose of the variable.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = LONGEST_TEXT))]
    pub description: String,
    /// Value that applies if none is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = LONGEST_TEXT))]
    pub default: Option<String>,
    /// Whether the variable must have a value.
    pub required: bool,
}

/// A secured variable that an application declares.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecuredVariable {
    /// Key for configurations of a ConnectorDeployment.
    #[schemars(length(max = LONGEST_WORD))]
    pub key: String,
    /// Purpose of the variable.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = LONGEST_TEXT))]
    pub description: String,
    /// Whether the variable must have a value.
    pub required: bool,
}
