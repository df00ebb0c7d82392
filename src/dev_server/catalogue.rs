//! What can be deployed, where and by whom: connectors, projects and clients (design section 6).
//!
//! Pure but for the shipped file `catalogue.yaml`, which is part of the binary and an example of the form. Nothing of
//! it changes by itself; [`super::world`] raises versions of connectors. Next: `build.rs` for what the members that
//! the contract does not have (`scripts`, `allowedValues`) make of a deployment.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::connect::model::{
    ApplicationType, Connector, ConnectorApiClient, Creator, DeclaredApplication, DeclaredGlobal, DeployedConnector,
    Repository,
};

/// The five regions of contract section 1.
pub const REGIONS: [&str; 5] =
    ["europe-west1.gcp", "us-central1.gcp", "australia-southeast1.gcp", "us-east-2.aws", "eu-central-1.aws"];

/// What the dev server offers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalogue {
    /// Projects.
    #[serde(default)]
    pub projects: Vec<Project>,
    /// API clients.
    #[serde(default)]
    pub clients: Vec<Client>,
    /// Connectors, published and staged; several entries of one key are its versions.
    #[serde(default)]
    pub connectors: Vec<ConnectorDefinition>,
}

/// A project.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Project {
    /// 2 to 36 characters of `A-Z a-z 0-9 _ -` (contract section 9).
    pub key: String,
    /// Where the project is, one of [`REGIONS`].
    #[serde(default = "first_region")]
    pub region: String,
    /// Whether it may deploy with type `production`.
    #[serde(default)]
    pub production: bool,
}

fn first_region() -> String {
    REGIONS[0].to_owned()
}

/// An API client. Its secret is for development only: it stands in files and is shown by nothing else.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Client {
    /// Client id.
    pub id: String,
    /// Client secret.
    pub secret: String,
    /// What its tokens may do at most, such as `manage_project:demo`.
    pub scopes: Vec<String>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Client").field("id", &self.id).field("scopes", &self.scopes).finish_non_exhaustive()
    }
}

/// How the `postDeploy` scripts of a connector end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scripts {
    /// Well.
    #[default]
    Succeed,
    /// With a `Warning` in the report; the deployment is live.
    Warn,
    /// With an `Error` in the report; the deployment failed.
    Fail,
}

/// Values that a connector's `postDeploy` script puts up with.
#[derive(Clone, Debug, Serialize, Deserialize)]
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
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConnectorDefinition {
    /// Unique id, a UUID of version 4; made from the key if left out.
    #[serde(default)]
    pub id: String,
    /// The user's own unique name.
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
    pub integration_types: Vec<String>,
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
    /// Keys of the projects that may use it while it is private.
    #[serde(default)]
    pub private_projects: Vec<String>,
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
    #[serde(default = "never_asked")]
    pub is_previewable: String,
    /// How its scripts end.
    #[serde(default)]
    pub scripts: Scripts,
    /// What its scripts check.
    #[serde(default)]
    pub allowed_values: Vec<AllowedValues>,
    /// Cron expressions of its `connect.yaml`, by job application.
    #[serde(default)]
    pub schedules: BTreeMap<String, String>,
}

fn first_version() -> i64 {
    1
}

fn never_asked() -> String {
    "none".to_owned()
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
        !self.private || self.private_projects.iter().any(|open| open == project)
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
            key: Some(self.key.clone()),
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
            key: Some(self.key.clone()),
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

/// Why a catalogue cannot be used, in words that say what to change.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("catalogue: {0}")]
pub struct CatalogueError(String);

impl Catalogue {
    /// What the dev server starts with.
    #[must_use]
    pub fn built_in() -> Self {
        Self::parse(include_str!("catalogue.yaml")).expect("a test parses the shipped catalogue")
    }

    /// Reads YAML or JSON.
    ///
    /// # Errors
    /// When it is neither, has a member that is not known, or breaks a rule; the text names the entry.
    pub fn parse(text: &str) -> Result<Self, CatalogueError> {
        let mut catalogue: Self = serde_saphyr::from_str(text).map_err(|error| CatalogueError(error.to_string()))?;
        for connector in &mut catalogue.connectors {
            if connector.id.is_empty() {
                connector.id = id_from(&connector.key, connector.staged);
            }
        }
        catalogue.check()?;
        Ok(catalogue)
    }

    /// This catalogue with the entries of another, which win where key (or client id) are the same.
    #[must_use]
    pub fn and(mut self, more: Self) -> Self {
        self.projects.retain(|old| more.projects.iter().all(|new| new.key != old.key));
        self.clients.retain(|old| more.clients.iter().all(|new| new.id != old.id));
        let same =
            |old: &ConnectorDefinition, new: &ConnectorDefinition| old.key == new.key && old.staged == new.staged;
        self.connectors.retain(|old| more.connectors.iter().all(|new| !same(old, new)));
        self.projects.extend(more.projects);
        self.clients.extend(more.clients);
        self.connectors.extend(more.connectors);
        self
    }

    fn check(&self) -> Result<(), CatalogueError> {
        let fail = |text: String| Err(CatalogueError(text));
        for project in &self.projects {
            if !is_key(&project.key, 36) {
                return fail(format!("project key `{}` must be 2 to 36 characters of A-Z a-z 0-9 _ -", project.key));
            }
            if !REGIONS.contains(&project.region.as_str()) {
                return fail(format!("project `{}`: region must be one of {}", project.key, REGIONS.join(", ")));
            }
        }
        for client in &self.clients {
            if client.id.is_empty() || client.secret.is_empty() || client.scopes.is_empty() {
                return fail(format!("client `{}` needs an id, a secret and at least one scope", client.id));
            }
        }
        for (index, connector) in self.connectors.iter().enumerate() {
            if let Err(what) = connector.check() {
                return fail(format!("connector `{}`: {what}", connector.key));
            }
            let twin = |other: &&ConnectorDefinition| {
                other.key == connector.key && other.staged == connector.staged && other.version == connector.version
            };
            if self.connectors[..index].iter().any(|other| twin(&other)) {
                return fail(format!("connector `{}` version {} is there twice", connector.key, connector.version));
            }
        }
        Ok(())
    }
}

impl ConnectorDefinition {
    fn check(&self) -> Result<(), String> {
        if !is_key(&self.key, 256) {
            return Err("key must be 2 to 256 characters of A-Z a-z 0-9 _ -".to_owned());
        }
        if uuid::Uuid::parse_str(&self.id).is_err() {
            return Err("id must be a UUID, or left out".to_owned());
        }
        if !["true", "false", "pending", "none"].contains(&self.is_previewable.as_str()) {
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
        for name in self.schedules.keys().chain(self.allowed_values.iter().map(|allowed| &allowed.application_name)) {
            if self.application(name).is_none() {
                return Err(format!("schedules and allowedValues name the application `{name}`, which is not there"));
            }
        }
        Ok(())
    }
}

/// Whether a text is a key after contract section 4.1.
pub(super) fn is_key(text: &str, longest: usize) -> bool {
    (2..=longest).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

/// The same id for the same key at each start, so that ids can stand in files.
fn id_from(key: &str, staged: bool) -> String {
    let hash = Sha256::digest(format!("{}/{key}", if staged { "staged" } else { "published" }));
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash[..16]);
    uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_catalogue_is_the_one_of_the_design() {
        let catalogue = Catalogue::built_in();
        let find = |key: &str| catalogue.connectors.iter().find(|connector| connector.key == key).expect(key);
        let demo = find("demo-connector");
        assert_eq!((demo.version, demo.staged), (1, false));
        let service = demo.application("service").expect("the application of the design");
        assert_eq!(service.standard_configuration[0].default.as_deref(), Some("info"));
        assert!(service.secured_configuration[0].required);
        assert_eq!(find("demo-failing").scripts, Scripts::Fail);
        assert_eq!(find("demo-warning").scripts, Scripts::Warn);
        assert!(!find("demo-us-only").supports("europe-west1.gcp"));
        assert_eq!(find("demo-staged").is_previewable, "true");
        assert_eq!(find("demo-staged-hidden").is_previewable, "none");
        assert!(catalogue.connectors.iter().all(|connector| connector.repository.url.ends_with(".git")));
        assert!(
            catalogue
                .connectors
                .iter()
                .all(|connector| { uuid::Uuid::parse_str(&connector.id).is_ok_and(|id| id.get_version_num() == 4) })
        );
    }

    #[test]
    fn a_wrong_catalogue_is_refused_with_the_name_of_the_entry() {
        for (case, text, expected) in [
            ("not YAML", "projects: [", "catalogue:"),
            ("unknown member", "projects: [{key: shop, color: red}]", "color"),
            ("bad project key", "projects: [{key: 'a b'}]", "`a b`"),
            ("bad region", "projects: [{key: shop, region: moon}]", "europe-west1.gcp"),
            ("client without scopes", "clients: [{id: a, secret: b, scopes: []}]", "client `a`"),
            ("bad connector key", "connectors: [{key: x, name: X}]", "connector `x`"),
            ("bad id", "connectors: [{key: xy, name: X, id: '7'}]", "UUID"),
            ("unknown region", "connectors: [{key: xy, name: X, supportedRegions: [moon]}]", "`moon`"),
            ("twice", "connectors: [{key: xy, name: X}, {key: xy, name: Y}]", "twice"),
            (
                "unknown type",
                "connectors: [{key: xy, name: X, configurations: [{applicationName: ab, applicationType: c}]}]",
                "`c`",
            ),
        ] {
            let error = Catalogue::parse(text).expect_err(case).to_string();
            assert!(error.contains(expected), "{case}: {error}");
        }
    }

    #[test]
    fn entries_of_a_file_win_over_those_that_are_built_in() {
        let more = Catalogue::parse(
            r#"{"clients": [{"id": "dev-client", "secret": "other", "scopes": ["view_connectors:demo"]}]}"#,
        )
        .expect("JSON is YAML");
        let both = Catalogue::built_in().and(more);
        let client: Vec<_> = both.clients.iter().filter(|client| client.id == "dev-client").collect();
        assert_eq!(client.len(), 1);
        assert_eq!(client[0].secret, "other");
        assert!(both.projects.iter().any(|project| project.key == "demo"));
    }
}
