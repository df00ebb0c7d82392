//! A published connector and the variables that it declares (contract section 4.2).

use serde::{Deserialize, Serialize};

use super::{ApplicationType, IntegrationType};
use crate::lenient::{nullable, usable};

/// A published connector (contract section 4.2).
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Connector {
    /// Unique id.
    #[serde(deserialize_with = "crate::lenient::id")]
    pub id: String,
    /// Unique key chosen by the user.
    pub key: Option<String>,
    /// Current version.
    pub version: i64,
    /// Display name.
    #[serde(default, deserialize_with = "nullable")]
    pub name: String,
    /// Description for users.
    #[serde(default, deserialize_with = "usable")]
    pub description: Option<String>,
    /// Systems that it integrates with.
    #[serde(default, deserialize_with = "usable")]
    pub integration_types: Vec<IntegrationType>,
    /// Creator of the connector.
    #[serde(default, deserialize_with = "usable")]
    pub creator: Creator,
    /// Source repository.
    #[serde(default, deserialize_with = "nullable")]
    pub repository: Repository,
    /// Variables that its applications declare; absent if unknown.
    pub configurations: Option<Vec<DeclaredApplication>>,
    /// Scopes of the API client that deploying it generates.
    #[serde(default, deserialize_with = "usable")]
    pub api_client: Option<ConnectorApiClient>,
    /// Whether only some projects may use it.
    #[serde(default, deserialize_with = "nullable")]
    pub private: bool,
    /// Variables that it declares for all its applications.
    pub global_configuration: Option<DeclaredGlobal>,
    /// Regions in which it may be deployed; empty if it may be deployed anywhere.
    #[serde(default, deserialize_with = "nullable")]
    pub supported_regions: Vec<String>,
    /// Whether it passed certification.
    #[serde(default, deserialize_with = "usable")]
    pub certified: bool,
    /// Address of its documentation.
    #[serde(default, deserialize_with = "usable")]
    pub documentation_url: Option<String>,
}

/// The creator of a connector (contract section 4.2).
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Creator {
    /// Name of the contact person.
    pub name: Option<String>,
    /// Job title of the contact person.
    pub title: Option<String>,
    /// Email address.
    #[serde(default, deserialize_with = "nullable")]
    pub email: String,
    /// Company.
    pub company: Option<String>,
    /// Address of the logo.
    pub logo_url: Option<String>,
    /// Number of contributors.
    pub no_of_contributors: Option<i64>,
    /// Address of the support site.
    pub support_url: Option<String>,
}

/// The source repository of a connector (contract section 4.2).
#[serde_with::apply(_ => #[serde(default, deserialize_with = "nullable")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repository {
    /// URL of the Git repository.
    pub url: String,
    /// Git tag.
    pub tag: String,
}

/// The API client that deploying a connector generates (contract section 4.2).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectorApiClient {
    /// Its scopes.
    #[serde(default, deserialize_with = "nullable")]
    pub scopes: Vec<String>,
}

/// Variables that an application declares (contract section 4.2).
#[serde_with::apply(Vec => #[serde(default, deserialize_with = "nullable")])]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeclaredApplication {
    /// Name of the application.
    pub application_name: String,
    /// Type of the application.
    #[serde(default, deserialize_with = "nullable")]
    pub application_type: ApplicationType,
    /// Plain variables.
    pub standard_configuration: Vec<StandardKey>,
    /// Secured variables.
    pub secured_configuration: Vec<SecuredKey>,
}

/// Variables that a connector declares for all its applications (contract section 4.2).
#[serde_with::apply(_ => #[serde(default, deserialize_with = "nullable")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeclaredGlobal {
    /// Plain variables.
    pub standard_configuration: Vec<StandardKey>,
    /// Secured variables.
    pub secured_configuration: Vec<SecuredKey>,
}

/// Declaration of a plain variable (contract section 4.2).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StandardKey {
    /// Name of the variable.
    pub key: String,
    /// Description for users.
    #[serde(default, deserialize_with = "nullable")]
    pub description: String,
    /// Value if the deployment gives none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// Whether a value is required.
    #[serde(default, deserialize_with = "nullable")]
    pub required: bool,
}

/// Declaration of a secured variable (contract section 4.2).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecuredKey {
    /// Name of the variable.
    pub key: String,
    /// Description for users.
    #[serde(default, deserialize_with = "nullable")]
    pub description: String,
    /// Whether a value is required.
    #[serde(default, deserialize_with = "nullable")]
    pub required: bool,
}
