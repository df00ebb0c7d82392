//! One version of a connector: what the contract says of it, and how its deployments go.
//!
//! Next: `build.rs` for what the members that the contract does not have (`scripts`, `builds`, `allowedValues`,
//! `schedules`) make of a deployment, `addresses.rs` for `endpoints`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::catalogue::{REGIONS, is_key};
use super::resources::ScriptResource;
use connect_api::model::{
    ApplicationType, Connector, ConnectorApiClient, Creator, DeclaredApplication, DeclaredGlobal, DeployedConnector,
    IntegrationType, IsPreviewable, Repository, RetryPolicy,
};

/// What the `postDeploy` scripts of a connector do. However they end, the deployment is live (contract section 15.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scripts {
    /// There are none; the report says so for each application.
    #[default]
    NotDefined,
    /// They succeed, and the report says so.
    Succeed,
    /// They fail, with a `Warning` in the report.
    Warn,
    /// They fail, and the report says that they succeeded.
    FailSilently,
}

/// How the builds of a connector end, unless a value is wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Builds {
    /// Well.
    #[default]
    Succeed,
    /// With an `Error` in the report; the deployment is `Failed`.
    Fail,
}

/// Values with which the build of an application succeeds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AllowedValues {
    /// Application.
    pub application_name: String,
    /// Plain variable.
    pub key: String,
    /// Any of these.
    pub one_of: Vec<String>,
}

/// One version of a connector: the members of contract section 4.2, and how its deployments go.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConnectorDefinition {
    /// Unique id, a UUID of version 4; made from the key if left out.
    #[serde(default)]
    pub id: String,
    /// The user's own unique name; empty: it has none, which only a staged one may have, and what was published of it.
    pub key: String,
    /// Version.
    #[serde(default = "first_version")]
    pub version: i64,
    /// For people.
    pub name: String,
    /// For people.
    #[serde(default)]
    pub description: Option<String>,
    /// What it integrates with.
    #[serde(default)]
    pub integration_types: Vec<IntegrationType>,
    /// Who owns it.
    #[serde(default)]
    pub creator: Creator,
    /// Where its source is.
    #[serde(default)]
    pub repository: Repository,
    /// Its applications and their variables.
    #[serde(default)]
    pub configurations: Vec<DeclaredApplication>,
    /// Variables of all its applications.
    #[serde(default)]
    pub global_configuration: Option<DeclaredGlobal>,
    /// Describes the API client that is generated with each deployment.
    #[serde(default)]
    pub api_client: Option<ConnectorApiClient>,
    /// Only `privateProjects` may use it.
    #[serde(default)]
    pub private: bool,
    /// Projects that may use it while it is private: keys, or identifiers of the form `{region}:{projectKey}`.
    #[serde(default)]
    pub private_projects: Vec<String>,
    /// Key of the project of whoever prepared it, which may use it while it is private and no project is listed, and
    /// change it while it is staged. Left out: every project that may use it.
    #[serde(default)]
    pub owner: Option<String>,
    /// Where it may be deployed; empty: anywhere.
    #[serde(default)]
    pub supported_regions: Vec<String>,
    /// Passed certification.
    #[serde(default)]
    pub certified: bool,
    /// Its documentation.
    #[serde(default)]
    pub documentation_url: Option<String>,
    /// A staged connector, not a published one.
    #[serde(default)]
    pub staged: bool,
    /// `true`, `false`, `pending` or `none` (contract section 4.1); matters for a staged one.
    #[serde(default)]
    pub is_previewable: IsPreviewable,
    /// What its scripts do.
    #[serde(default)]
    pub scripts: Scripts,
    /// How its builds end.
    #[serde(default)]
    pub builds: Builds,
    /// What its builds check.
    #[serde(default)]
    pub allowed_values: Vec<AllowedValues>,
    /// Cron expressions of its `connect.yaml`, by job application.
    #[serde(default)]
    pub schedules: BTreeMap<String, String>,
    /// Retry policies of its `connect.yaml`, by event application.
    #[serde(default)]
    pub retry_policies: BTreeMap<String, RetryPolicy>,
    /// Endpoints of its `connect.yaml`, by application: the end of the address of a service.
    #[serde(default)]
    pub endpoints: BTreeMap<String, String>,
    /// What its `postDeploy` script creates in the project, and its `preUndeploy` script removes.
    #[serde(default)]
    pub creates: Vec<ScriptResource>,
}

fn first_version() -> i64 {
    1
}

/// The key in a `ProjectIdentifier` (contract section 4.1), or the whole text where no region stands before it.
pub(super) fn project_of(identifier: &str) -> &str {
    identifier.rsplit(':').next().unwrap_or(identifier)
}

/// The newest of some versions of connectors, one for each id, in the order in which they came.
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
    /// The application of that name.
    #[must_use]
    pub fn application(&self, name: &str) -> Option<&DeclaredApplication> {
        self.configurations.iter().find(|application| application.application_name == name)
    }

    /// Whether a project may use it.
    #[must_use]
    pub fn is_open_to(&self, project: &str) -> bool {
        let is_owner = self.owner.as_ref().is_some_and(|owner| owner == project);
        !self.private
            || (self.private_projects.is_empty() && is_owner)
            || self.private_projects.iter().any(|open| project_of(open) == project)
    }

    /// Its next version, changed in everything but what names it.
    pub(super) fn raised(&self, change: impl FnOnce(&mut Self)) -> Self {
        let mut raised = self.clone();
        change(&mut raised);
        let (id, key) = (self.id.clone(), self.key.clone());
        Self { id, key, staged: self.staged, version: self.version + 1, ..raised }
    }

    /// The key, if it has one.
    pub(super) fn shown_key(&self) -> Option<String> {
        (!self.key.is_empty()).then(|| self.key.clone())
    }

    /// Whether it can be deployed there.
    #[must_use]
    pub fn supports(&self, region: &str) -> bool {
        REGIONS.contains(&region)
            && (self.supported_regions.is_empty() || self.supported_regions.iter().any(|supported| supported == region))
    }

    /// As `GET /connectors/…` shows it.
    #[must_use]
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

    /// As it stands inside a deployment.
    #[must_use]
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
    /// Whether it can be offered; the text says what to change.
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
            return Err(format!("`{region}` is no region; use some of {}", REGIONS.join(", ")));
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
                    "`{word}` is no applicationType; use one of {}",
                    ApplicationType::KNOWN.join(", ")
                ));
            }
        }
        let checked = self.allowed_values.iter().map(|allowed| &allowed.application_name);
        let named = self.schedules.keys().chain(self.retry_policies.keys()).chain(self.endpoints.keys());
        if let Some(name) = named.chain(checked).find(|name| self.application(name).is_none()) {
            return Err(format!(
                "schedules, retryPolicies, endpoints and allowedValues name the application `{name}`, which is not there"
            ));
        }
        for created in &self.creates {
            if !is_key(&created.key, 256) {
                return Err(format!("creates: key `{}` must be 2 to 256 characters of A-Z a-z 0-9 _ -", created.key));
            }
            if self.application(&created.application_name).is_none() {
                return Err(format!(
                    "creates names the application `{}`, which is not there",
                    created.application_name
                ));
            }
        }
        Ok(())
    }
}
