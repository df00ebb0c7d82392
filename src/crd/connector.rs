//! `Connector`: a published connector as the registry has it, mirrored into the cluster so that people can browse it.
//!
//! Written by the operator only; what is mirrored is said by `spec.registry` of a `ConnectProject`. The fields are those
//! of the record (contract section 4.2). Every text and every list has a bound, so that the schema cannot refuse what the
//! operator has cut to it.

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::shared::ProjectRef;

/// Longest name, key, person, company, region or type, in characters.
pub const LONGEST_WORD: usize = 256;
/// Longest address, in characters.
pub const LONGEST_URL: usize = 2048;
/// Longest description, and longest default of a variable, in characters.
pub const LONGEST_TEXT: usize = 4096;
/// Most types, regions, scopes and applications.
pub const MOST_ENTRIES: usize = 64;
/// Most variables of one list.
pub const MOST_VARIABLES: usize = 256;
/// Most parts that a record can say were cut.
const MOST_CUT: usize = 8;

/// Which connector it is.
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
    doc = "A published connector, as the registry has it. Read only: the operator writes it, from spec.registry of a \
        ConnectProject, and sets back what is changed by hand.",
    printcolumn(
        name = "Key",
        type_ = "string",
        json_path = ".status.key",
        description = "Key, to name it in spec.connector of a ConnectorDeployment"
    ),
    printcolumn(name = "Version", type_ = "integer", json_path = ".status.version", description = "Latest version"),
    printcolumn(
        name = "Types",
        type_ = "string",
        json_path = ".status.summary.types",
        description = "What it integrates with"
    ),
    printcolumn(
        name = "Certified",
        type_ = "boolean",
        json_path = ".status.certified",
        description = "Whether it passed certification"
    ),
    printcolumn(
        name = "Regions",
        type_ = "string",
        json_path = ".status.summary.regions",
        description = "Where it may be deployed"
    ),
    printcolumn(
        name = "Title",
        type_ = "string",
        json_path = ".status.name",
        description = "Name for people",
        priority = 1
    ),
    printcolumn(
        name = "Company",
        type_ = "string",
        json_path = ".status.creator.company",
        description = "Company of its creator",
        priority = 1
    ),
    printcolumn(
        name = "Private",
        type_ = "boolean",
        json_path = ".status.private",
        description = "Whether only some projects may use it",
        priority = 1
    )
)]
#[serde(rename_all = "camelCase")]
pub struct ConnectorSpec {
    /// The ConnectProject whose registry was read.
    pub project_ref: ProjectRef,
    /// Id of the connector.
    #[schemars(length(min = 1, max = LONGEST_WORD))]
    pub id: String,
}

/// The record of the registry. Written by the operator only.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectorStatus {
    /// Key, to name it in spec.connector of a ConnectorDeployment.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = LONGEST_WORD))]
    pub key: Option<String>,
    /// Latest version.
    pub version: i64,
    /// Name for people.
    #[schemars(length(max = LONGEST_WORD))]
    pub name: String,
    /// What it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = LONGEST_TEXT))]
    pub description: Option<String>,
    /// What it integrates with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MOST_ENTRIES), inner(length(max = LONGEST_WORD)), extend("x-kubernetes-list-type" = "atomic"))]
    pub integration_types: Vec<String>,
    /// Who owns it.
    pub creator: ConnectorCreator,
    /// Where its source is.
    pub repository: ConnectorRepository,
    /// Its applications with the variables that they want. Absent: not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MOST_ENTRIES), extend("x-kubernetes-list-type" = "atomic"))]
    pub configurations: Option<Vec<ConnectorApplication>>,
    /// The API client that is generated with each deployment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_client: Option<ConnectorApiClientScopes>,
    /// Whether only some projects may use it.
    pub private: bool,
    /// Variables that all its applications want.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub global_configuration: Option<ConnectorVariables>,
    /// Where it may be deployed. Empty: anywhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MOST_ENTRIES), inner(length(max = LONGEST_WORD)), extend("x-kubernetes-list-type" = "atomic"))]
    pub supported_regions: Vec<String>,
    /// Whether it passed certification.
    pub certified: bool,
    /// Where its documentation is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = LONGEST_URL))]
    pub documentation_url: Option<String>,
    /// Lists as texts, for the columns of kubectl get.
    pub summary: ConnectorSummary,
    /// Parts of the record that were too large for the cluster and were cut, as paths.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MOST_CUT), inner(length(max = LONGEST_WORD)), extend("x-kubernetes-list-type" = "atomic"))]
    pub cut: Vec<String>,
    /// Digest of everything that the operator wrote, by which it knows whether anything was changed by hand.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = LONGEST_WORD))]
    pub digest: Option<String>,
}

/// Lists as texts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectorSummary {
    /// What it integrates with. Example: tax,erp.
    #[schemars(length(max = LONGEST_WORD))]
    pub types: String,
    /// Where it may be deployed; any: anywhere. Example: europe-west1.gcp,us-east-2.aws.
    #[schemars(length(max = LONGEST_WORD))]
    pub regions: String,
}

/// Who owns a connector.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectorCreator {
    /// Name of a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = LONGEST_WORD))]
    pub name: Option<String>,
    /// Title of that person.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = LONGEST_WORD))]
    pub title: Option<String>,
    /// Address to write to.
    #[schemars(length(max = LONGEST_WORD))]
    pub email: String,
    /// Name of the company.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = LONGEST_WORD))]
    pub company: Option<String>,
    /// Address of the logo.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = LONGEST_URL))]
    pub logo_url: Option<String>,
    /// How many people work on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_of_contributors: Option<i64>,
    /// Where to get support.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = LONGEST_URL))]
    pub support_url: Option<String>,
}

/// Where the source of a connector is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectorRepository {
    /// Address of the repository.
    #[schemars(length(max = LONGEST_URL))]
    pub url: String,
    /// Git tag of this version.
    #[schemars(length(max = LONGEST_WORD))]
    pub tag: String,
}

/// An API client that is generated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectorApiClientScopes {
    /// Its scopes.
    #[schemars(length(max = MOST_ENTRIES), inner(length(max = LONGEST_WORD)), extend("x-kubernetes-list-type" = "atomic"))]
    pub scopes: Vec<String>,
}

/// An application with the variables that it wants.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectorApplication {
    /// Name, as in the configurations of a ConnectorDeployment.
    #[schemars(length(max = LONGEST_WORD))]
    pub application_name: String,
    /// Kind of application. Example: service.
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

/// Variables that all applications of a connector want.
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

/// A plain variable that is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlainVariable {
    /// Name, as in the configurations of a ConnectorDeployment.
    #[schemars(length(max = LONGEST_WORD))]
    pub key: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = LONGEST_TEXT))]
    pub description: String,
    /// Value if none is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = LONGEST_TEXT))]
    pub default: Option<String>,
    /// Whether it must have a value.
    pub required: bool,
}

/// A secured variable that is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecuredVariable {
    /// Name, as in the configurations of a ConnectorDeployment.
    #[schemars(length(max = LONGEST_WORD))]
    pub key: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = LONGEST_TEXT))]
    pub description: String,
    /// Whether it must have a value.
    pub required: bool,
}
