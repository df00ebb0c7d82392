//! One version of a connector: the members of the contract, and how its deployments behave.
//!
//! Next: `build.rs` for the effect of the members that the contract does not have (`scripts`, `builds`,
//! `allowedValues`, `schedules`), `addresses.rs` for `endpoints`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::names::is_key;
use super::resources::ScriptResource;
use connect_api::model::{
    ApplicationType, Connector, ConnectorApiClient, Creator, DeclaredApplication, DeclaredGlobal, DeployedConnector,
    IntegrationType, IsPreviewable, REGIONS, Repository, RetryPolicy,
};

/// Result of the `postDeploy` scripts of a connector. The deployment is live in any case (contract section 15.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scripts {
    /// The connector has no scripts; the report has an entry about that for each application.
    #[default]
    NotDefined,
    /// The scripts succeed, with an entry in the report.
    Succeed,
    /// The scripts fail, with a `Warning` in the report.
    Warn,
    /// The scripts fail, but the report has the entry of a success.
    FailSilently,
}

/// Result of the builds of a connector if all values are valid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Builds {
    /// Builds succeed.
    #[default]
    Succeed,
    /// Builds fail, with an `Error` in the report; the deployment is `Failed`.
    Fail,
}

/// Values with which the build of an application succeeds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AllowedValues {
    /// Name of the application.
    pub application_name: String,
    /// Key of the plain variable.
    pub key: String,
    /// The allowed values.
    pub one_of: Vec<String>,
}

/// One version of a connector: the members of contract section 4.2, and how its deployments behave.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConnectorDefinition {
    /// Unique id, a version 4 UUID; derived from the key if it is left out.
    #[serde(default)]
    pub id: String,
    /// Unique name chosen by the user. Empty if it has none, which is possible only for staged connectors and what was
    /// published from them.
    pub key: String,
    /// Version number, from 1.
    #[serde(default = "first_version")]
    pub version: i64,
    /// Name for users.
    pub name: String,
    /// Description for users.
    #[serde(default)]
    pub description: Option<String>,
    /// What it integrates with.
    #[serde(default)]
    pub integration_types: Vec<IntegrationType>,
    /// Author of the connector.
    #[serde(default)]
    pub creator: Creator,
    /// Repository of its source.
    #[serde(default)]
    pub repository: Repository,
    /// Its applications and their variables.
    #[serde(default)]
    pub configurations: Vec<DeclaredApplication>,
    /// Variables of all its applications.
    #[serde(default)]
    pub global_configuration: Option<DeclaredGlobal>,
    /// API client that is generated with each deployment.
    #[serde(default)]
    pub api_client: Option<ConnectorApiClient>,
    /// Whether only `privateProjects` may use it.
    #[serde(default)]
    pub private: bool,
    /// Projects that may use it while it is private: keys, or identifiers of the form `{region}:{projectKey}`.
    #[serde(default)]
    pub private_projects: Vec<String>,
    /// Key of the project that owns it. The owner may use it while it is private and `privateProjects` is empty, and
    /// change it while it is staged. If left out, every project that may use it may change it.
    #[serde(default)]
    pub owner: Option<String>,
    /// Regions in which it may be deployed; empty: all.
    #[serde(default)]
    pub supported_regions: Vec<String>,
    /// Whether it passed certification.
    #[serde(default)]
    pub certified: bool,
    /// URL of its documentation.
    #[serde(default)]
    pub documentation_url: Option<String>,
    /// Whether it is a staged connector; otherwise it is published.
    #[serde(default)]
    pub staged: bool,
    /// `true`, `false`, `pending` or `none` (contract section 4.1); used for staged connectors only.
    #[serde(default)]
    pub is_previewable: IsPreviewable,
    /// Result of its scripts.
    #[serde(default)]
    pub scripts: Scripts,
    /// Result of its builds.
    #[serde(default)]
    pub builds: Builds,
    /// Values that its builds check.
    #[serde(default)]
    pub allowed_values: Vec<AllowedValues>,
    /// Cron expressions of its `connect.yaml`, by job application.
    #[serde(default)]
    pub schedules: BTreeMap<String, String>,
    /// Retry policies of its `connect.yaml`, by event application.
    #[serde(default)]
    pub retry_policies: BTreeMap<String, RetryPolicy>,
    /// Endpoints of its `connect.yaml`, by application: the path of the address of a service.
    #[serde(default)]
    pub endpoints: BTreeMap<String, String>,
    /// Resources that its `postDeploy` script creates in the project and its `preUndeploy` script removes.
    #[serde(default)]
    pub creates: Vec<ScriptResource>,
}

fn first_version() -> i64 {
    1
}

/// Returns the project key of a `ProjectIdentifier` (contract section 4.1), or the whole text if it has no region.
pub(super) fn project_of(identifier: &str) -> &str {
    identifier.rsplit(':').next().unwrap_or(identifier)
}

/// Returns the newest version for each connector id, in the order in which the ids first appear.
pub(super) fn newest<'a>(versions: impl Iterator<Item = &'a ConnectorDefinition>) -> Vec<&'a ConnectorDefinition> {
    let mut places = BTreeMap::new();
    let mut newest: Vec<&ConnectorDefinition> = Vec::new();
    for connector in versions {
        let place = *places.entry(connector.id.as_str()).or_insert(newest.len());
        match newest.get_mut(place) {
            Some(known) if known.version < connector.version => *known = connector,
            Some(_) => {}
            None => newest.push(connector),
        }
    }
    newest
}

impl ConnectorDefinition {
    /// Returns the application with this name.
    pub fn application(&self, name: &str) -> Option<&DeclaredApplication> {
        self.configurations.iter().find(|application| application.application_name == name)
    }

    /// Whether a project may use the connector.
    pub fn is_open_to(&self, project: &str) -> bool {
        let is_owner = self.owner.as_ref().is_some_and(|owner| owner == project);
        !self.private
            || (self.private_projects.is_empty() && is_owner)
            || self.private_projects.iter().any(|open| project_of(open) == project)
    }

    /// Returns the next version. `change` can modify everything except id, key, version and `staged`.
    pub(super) fn raised(&self, change: impl FnOnce(&mut Self)) -> Self {
        let mut raised = self.clone();
        change(&mut raised);
        let (id, key) = (self.id.clone(), self.key.clone());
        Self { id, key, staged: self.staged, version: self.version + 1, ..raised }
    }

    /// Returns the key, if the connector has one.
    pub(super) fn shown_key(&self) -> Option<String> {
        (!self.key.is_empty()).then(|| self.key.clone())
    }

    /// Whether the connector can be deployed in a region.
    pub fn supports(&self, region: &str) -> bool {
        REGIONS.contains(&region)
            && (self.supported_regions.is_empty() || self.supported_regions.iter().any(|supported| supported == region))
    }

    /// Returns the connector as `GET /connectors/…` shows it.
    pub fn published(&self) -> Connector {
        Connector {
            id: self.id.clone(),
            key: self.shown_key(),
            version: self.version,
            name: self.name.clone(),
            description: self.description.clone(),
            integration_types: self.integration_types.clone(),
            creator: self.creator.clone(),
            repository: self.repository.clone(),
            configurations: Some(self.configurations.clone()),
            api_client: self.api_client.clone(),
            private: self.private,
            global_configuration: self.global_configuration.clone(),
            supported_regions: self.supported_regions.clone(),
            certified: self.certified,
            documentation_url: self.documentation_url.clone(),
        }
    }

    /// Returns the connector as a deployment shows it.
    pub fn deployed(&self) -> DeployedConnector {
        DeployedConnector {
            id: self.id.clone(),
            key: self.shown_key(),
            version: self.version,
            name: self.name.clone(),
            description: self.description.clone(),
            integration_types: self.integration_types.clone(),
            creator: self.creator.clone(),
            repository: self.repository.clone(),
            configurations: Some(self.configurations.clone()),
            global_configuration: self.global_configuration.clone(),
            certified: self.certified,
            supported_regions: self.supported_regions.clone(),
            documentation_url: self.documentation_url.clone(),
        }
    }
}

impl ConnectorDefinition {
    /// Checks the definition; the error says what to change.
    pub(super) fn check(&self) -> Result<(), String> {
        if !is_key(&self.key, 256) {
            return Err("key must be 2 to 256 characters of A-Z a-z 0-9 _ -".to_owned());
        }
        if uuid::Uuid::parse_str(&self.id).is_err() {
            return Err("id must be a UUID, or left out".to_owned());
        }
        if matches!(self.is_previewable, IsPreviewable::Other(_)) {
            return Err("isPreviewable must be one of true, false, pending, none, in quotes".to_owned());
        }
        if let Some(region) = self.supported_regions.iter().find(|region| !REGIONS.contains(&region.as_str())) {
            return Err(format!("`{region}` is not a region; use some of {}", REGIONS.join(", ")));
        }
        for application in &self.configurations {
            if !is_key(&application.application_name, 256) {
                return Err(format!(
                    "applicationName `{}` must be 2 to 256 characters of A-Z a-z 0-9 _ -",
                    application.application_name
                ));
            }
            if let ApplicationType::Other(word) = &application.application_type {
                return Err(format!(
                    "`{word}` is not an applicationType; use one of {}",
                    ApplicationType::KNOWN.join(", ")
                ));
            }
        }
        let checked = self.allowed_values.iter().map(|allowed| &allowed.application_name);
        let named = self.schedules.keys().chain(self.retry_policies.keys()).chain(self.endpoints.keys());
        if let Some(name) = named.chain(checked).find(|name| self.application(name).is_none()) {
            return Err(format!(
                "schedules, retryPolicies, endpoints or allowedValues name the unknown application `{name}`"
            ));
        }
        for created in &self.creates {
            if !is_key(&created.key, 256) {
                return Err(format!("creates: key `{}` must be 2 to 256 characters of A-Z a-z 0-9 _ -", created.key));
            }
            if self.application(&created.application_name).is_none() {
                return Err(format!("creates names the unknown application `{}`", created.application_name));
            }
        }
        Ok(())
    }
}
