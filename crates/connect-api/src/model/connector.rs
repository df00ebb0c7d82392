//! A published connector and what it declares (contract section 4.2).

use serde::{Deserialize, Serialize};

use super::{ApplicationType, IntegrationType};
use crate::lenient::nullable;

/// A published connector (contract section 4.2).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Connector {
    /// Unique id.
    pub id: String,
    /// The user's own unique name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Version now.
    pub version: i64,
    /// For people.
    #[serde(default, deserialize_with = "nullable")]
    pub name: String,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What it integrates with.
    #[serde(default, deserialize_with = "nullable")]
    pub integration_types: Vec<IntegrationType>,
    /// Who owns it.
    #[serde(default, deserialize_with = "nullable")]
    pub creator: Creator,
    /// Where its source is.
    #[serde(default, deserialize_with = "nullable")]
    pub repository: Repository,
    /// Variables that its applications want; absent: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configurations: Option<Vec<DeclaredApplication>>,
    /// Describes the API client whose credentials are generated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_client: Option<ConnectorApiClient>,
    /// Only some projects may use it.
    #[serde(default, deserialize_with = "nullable")]
    pub private: bool,
    /// Variables that all its applications want.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub global_configuration: Option<DeclaredGlobal>,
    /// Where it may be deployed; empty: anywhere.
    #[serde(default, deserialize_with = "nullable")]
    pub supported_regions: Vec<String>,
    /// Passed certification.
    #[serde(default, deserialize_with = "nullable")]
    pub certified: bool,
    /// Its documentation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub documentation_url: Option<String>,
}

/// Who owns a connector (contract section 4.2).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Creator {
    /// Person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Title of that person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Contact.
    #[serde(default, deserialize_with = "nullable")]
    pub email: String,
    /// Company.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub company: Option<String>,
    /// Logo.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logo_url: Option<String>,
    /// People working on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_of_contributors: Option<i64>,
    /// Support site.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub support_url: Option<String>,
}

/// Where the source of a connector is (contract section 4.2).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repository {
    /// Address.
    #[serde(default, deserialize_with = "nullable")]
    pub url: String,
    /// Git tag.
    #[serde(default, deserialize_with = "nullable")]
    pub tag: String,
}

/// Scopes of the API client that is generated (contract section 4.2).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectorApiClient {
    /// Its scopes.
    #[serde(default, deserialize_with = "nullable")]
    pub scopes: Vec<String>,
}

/// Variables that an application declares (contract section 4.2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeclaredApplication {
    /// Application.
    pub application_name: String,
    /// Kind of application.
    #[serde(default = "service")]
    pub application_type: ApplicationType,
    /// Plain variables.
    #[serde(default, deserialize_with = "nullable")]
    pub standard_configuration: Vec<StandardKey>,
    /// Secured variables.
    #[serde(default, deserialize_with = "nullable")]
    pub secured_configuration: Vec<SecuredKey>,
}

fn service() -> ApplicationType {
    ApplicationType::Service
}

/// Variables that a connector declares for all its applications (contract section 4.2).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeclaredGlobal {
    /// Plain variables.
    #[serde(default, deserialize_with = "nullable")]
    pub standard_configuration: Vec<StandardKey>,
    /// Secured variables.
    #[serde(default, deserialize_with = "nullable")]
    pub secured_configuration: Vec<SecuredKey>,
}

/// Declaration of a plain variable (contract section 4.2).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StandardKey {
    /// Variable.
    pub key: String,
    /// What it is for.
    #[serde(default, deserialize_with = "nullable")]
    pub description: String,
    /// Value if none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// Must have a value.
    #[serde(default, deserialize_with = "nullable")]
    pub required: bool,
}

/// Declaration of a secured variable (contract section 4.2).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecuredKey {
    /// Variable.
    pub key: String,
    /// What it is for.
    #[serde(default, deserialize_with = "nullable")]
    pub description: String,
    /// Must have a value.
    #[serde(default, deserialize_with = "nullable")]
    pub required: bool,
}
