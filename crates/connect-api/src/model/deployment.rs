//! A deployment as the service returns it (contract section 4.4).

use serde::{Deserialize, Serialize};

use super::{
    ConfigurationValue, Creator, DeclaredApplication, DeclaredGlobal, DeploymentStatus, DeploymentType,
    GlobalConfiguration, IntegrationType, Report, ReportEntry, Repository, RetryPolicy, SecuredValue,
};
use crate::lenient::{nullable, text, usable};

/// A deployment as the service returns it (contract section 4.4).
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Deployment {
    /// Unique id.
    #[serde(deserialize_with = "crate::lenient::id")]
    pub id: String,
    /// Unique key chosen by the user.
    pub key: Option<String>,
    /// Current version, to be sent with the next update. Compared for equality only (contract section 10).
    pub version: i64,
    /// Type of the deployment; see [`Deployment::kind`].
    #[serde(rename = "type")]
    pub kind: Option<DeploymentType>,
    /// The deployed connector.
    #[serde(default, deserialize_with = "nullable")]
    pub connector: DeployedConnector,
    /// Values for all applications.
    pub global_configuration: Option<GlobalConfiguration>,
    /// The API client that the deployment uses.
    #[serde(default, deserialize_with = "usable")]
    pub api_client: Option<DeploymentApiClient>,
    /// The build and its outcome.
    #[serde(default, deserialize_with = "nullable")]
    pub details: DeploymentDetails,
    /// Region of the deployment.
    #[serde(default, deserialize_with = "nullable")]
    pub deployed_region: String,
    /// Its applications.
    #[serde(default, deserialize_with = "nullable")]
    pub applications: Vec<ApplicationDeployment>,
    /// Whether it is a preview.
    #[serde(default, deserialize_with = "nullable")]
    pub preview: bool,
    /// Lifecycle status.
    pub status: DeploymentStatus,
    /// Name of the revision that a rollback restored; its form is unspecified.
    #[serde(default, deserialize_with = "text")]
    pub rollback_revision: Option<String>,
}

impl Deployment {
    /// Returns its type; if that is absent, `preview` says which it is (contract sections 4.4 and 15.1).
    pub fn kind(&self) -> &DeploymentType {
        let unstated = if self.preview { &DeploymentType::Preview } else { &DeploymentType::Sandbox };
        self.kind.as_ref().unwrap_or(unstated)
    }

    /// Returns the id of the build, or `None` before a build exists (contract section 13, row 12).
    pub fn build_id(&self) -> Option<&str> {
        self.details.build.as_ref().map(|build| build.id.as_str()).filter(|id| !id.is_empty())
    }

    /// Returns the findings of the last build in the order of the response.
    pub fn report(&self) -> &[ReportEntry] {
        self.details.build.as_ref().and_then(|build| build.report.as_ref()).map_or(&[], |report| &report.entries)
    }
}

/// The connector inside a deployment (contract section 4.4).
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeployedConnector {
    /// Id of the connector.
    #[serde(default, deserialize_with = "nullable")]
    pub id: String,
    /// Key of the connector.
    pub key: Option<String>,
    /// Version of the connector.
    #[serde(default, deserialize_with = "nullable")]
    pub version: i64,
    /// Display name.
    #[serde(default, deserialize_with = "usable")]
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
    /// Variables that it declares for all its applications.
    pub global_configuration: Option<DeclaredGlobal>,
    /// Whether it passed certification.
    #[serde(default, deserialize_with = "usable")]
    pub certified: bool,
    /// Regions in which it may be deployed; empty if it may be deployed anywhere.
    #[serde(default, deserialize_with = "nullable")]
    pub supported_regions: Vec<String>,
    /// Address of its documentation.
    #[serde(default, deserialize_with = "usable")]
    pub documentation_url: Option<String>,
}

/// The API client of a deployment (contract section 4.4).
#[serde_with::apply(_ => #[serde(default, deserialize_with = "nullable")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeploymentApiClient {
    /// The client id, despite the name.
    pub name: String,
    /// Its scopes.
    pub scopes: Vec<String>,
}

/// An application of a deployment (contract section 4.4).
#[serde_with::apply(Vec => #[serde(default, deserialize_with = "nullable")])]
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationDeployment {
    /// Unique id.
    #[serde(default, deserialize_with = "nullable")]
    pub id: String,
    /// Name of the application, as in `connect.yaml`.
    pub application_name: String,
    /// Plain values.
    pub standard_configuration: Vec<ConfigurationValue>,
    /// Secured values; the content of `value` is unspecified and never compared.
    pub secured_configuration: Vec<SecuredValue>,
    /// URL of a deployed service, asset or Merchant Center application; may lack a scheme. Other applications have
    /// none.
    pub url: Option<String>,
    /// Topic of a deployed event application.
    pub topic: Option<String>,
    /// Cron schedule of a job application.
    pub schedule: Option<String>,
    /// Retry policy of an event application. One in another form counts as not shown, as before 2026-10-23: what is not
    /// shown is no difference.
    #[serde(default, deserialize_with = "usable")]
    pub retry_policy: Option<RetryPolicy>,
}

/// The build of a deployment and its outcome (contract section 4.4).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeploymentDetails {
    /// The build; absent before a build exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<Build>,
}

/// A build (contract section 4.4).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// Id of the build.
    #[serde(default, deserialize_with = "nullable")]
    pub id: String,
    /// Findings of the build.
    #[serde(default, deserialize_with = "usable", skip_serializing_if = "Option::is_none")]
    pub report: Option<Report>,
}

#[cfg(test)]
#[path = "deployment_tests.rs"]
mod tests;
