//! A deployment as the service shows it (contract section 4.4).

use serde::{Deserialize, Serialize};

use super::{
    ConfigurationValue, Creator, DeclaredApplication, DeclaredGlobal, DeploymentStatus, DeploymentType,
    GlobalConfiguration, IntegrationType, Report, ReportEntry, Repository, RetryPolicy, SecuredValue,
};
use crate::lenient::{nullable, text};

/// A deployment as the service shows it (contract section 4.4).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Deployment {
    /// Unique id.
    pub id: String,
    /// The user's own unique name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Version now; goes into the next update. Compared for equality only (contract section 10).
    pub version: i64,
    /// Kind of deployment.
    #[serde(rename = "type", default = "sandbox")]
    pub kind: DeploymentType,
    /// What is deployed.
    #[serde(default, deserialize_with = "nullable")]
    pub connector: DeployedConnector,
    /// Values for all applications.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub global_configuration: Option<GlobalConfiguration>,
    /// API client that it uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_client: Option<DeploymentApiClient>,
    /// Build and its outcome.
    #[serde(default, deserialize_with = "nullable")]
    pub details: DeploymentDetails,
    /// Where.
    #[serde(default, deserialize_with = "nullable")]
    pub deployed_region: String,
    /// Its applications.
    #[serde(default, deserialize_with = "nullable")]
    pub applications: Vec<ApplicationDeployment>,
    /// Is a preview.
    #[serde(default, deserialize_with = "nullable")]
    pub preview: bool,
    /// Where it is in its life.
    pub status: DeploymentStatus,
    /// The revision that a rollback restored, by its name; its form is unspecified.
    #[serde(default, deserialize_with = "text", skip_serializing_if = "Option::is_none")]
    pub rollback_revision: Option<String>,
}

fn sandbox() -> DeploymentType {
    DeploymentType::Sandbox
}

impl Deployment {
    /// Id of the build run; absent before a build can exist (contract section 13, row 12).
    #[must_use]
    pub fn build_id(&self) -> Option<&str> {
        self.details.build.as_ref().map(|build| build.id.as_str()).filter(|id| !id.is_empty())
    }

    /// Findings of the last build, in the order of the service.
    #[must_use]
    pub fn report(&self) -> &[ReportEntry] {
        self.details.build.as_ref().and_then(|build| build.report.as_ref()).map_or(&[], |report| &report.entries)
    }
}

/// The connector inside a deployment (contract section 4.4).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeployedConnector {
    /// Id of the connector.
    #[serde(default, deserialize_with = "nullable")]
    pub id: String,
    /// Key of the connector.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Version of the connector.
    #[serde(default, deserialize_with = "nullable")]
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
    /// Variables that all its applications want.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub global_configuration: Option<DeclaredGlobal>,
    /// Passed certification.
    #[serde(default, deserialize_with = "nullable")]
    pub certified: bool,
    /// Where it may be deployed; empty: anywhere.
    #[serde(default, deserialize_with = "nullable")]
    pub supported_regions: Vec<String>,
    /// Its documentation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub documentation_url: Option<String>,
}

/// API client of a deployment (contract section 4.4).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeploymentApiClient {
    /// Holds the client id, despite its name.
    #[serde(default, deserialize_with = "nullable")]
    pub name: String,
    /// Its scopes.
    #[serde(default, deserialize_with = "nullable")]
    pub scopes: Vec<String>,
}

/// An application of a deployment (contract section 4.4).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationDeployment {
    /// Unique id.
    #[serde(default, deserialize_with = "nullable")]
    pub id: String,
    /// As in `connect.yaml`.
    pub application_name: String,
    /// Plain values.
    #[serde(default, deserialize_with = "nullable")]
    pub standard_configuration: Vec<ConfigurationValue>,
    /// Secured values; what stands here is unspecified and never compared.
    #[serde(default, deserialize_with = "nullable")]
    pub secured_configuration: Vec<SecuredValue>,
    /// Address of an application that has one, once deployed: a service, assets, or one of the Merchant Center; may lack
    /// a scheme.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Topic of an event application, once deployed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
    /// Cron schedule of a job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
    /// Policy of an event application.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_policy: Option<RetryPolicy>,
}

/// Build of a deployment and its outcome (contract section 4.4).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeploymentDetails {
    /// The build; absent before one can exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<Build>,
}

/// A build run (contract section 4.4).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// Id of the run.
    #[serde(default, deserialize_with = "nullable")]
    pub id: String,
    /// Its findings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<Report>,
}
