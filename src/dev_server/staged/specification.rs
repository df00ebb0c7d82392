//! `connect.yaml`, the file in which a repository says what its connector consists of: pure.
//!
//! The contract says only that the service reads declarations from it (contract section 4.2). Its form is the one that
//! makers of connectors write: `deployAs` with an entry for each application, `inheritAs` for what all of them get.
//! Members that say nothing about declarations, such as `scripts`, are passed over.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::connect::model::{
    ApplicationType, ConnectorApiClient, DeclaredApplication, DeclaredGlobal, SecuredKey, StandardKey,
};
use crate::dev_server::catalogue::is_key;
use crate::dev_server::connector::{AllowedValues, ConnectorDefinition, Scripts};
use crate::dev_server::refusal::cut;

/// What a tag of a repository declares, and how deployments of it go.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Specification {
    configurations: Vec<DeclaredApplication>,
    global_configuration: Option<DeclaredGlobal>,
    api_client: Option<ConnectorApiClient>,
    schedules: BTreeMap<String, String>,
    scripts: Scripts,
    allowed_values: Vec<AllowedValues>,
}

/// The file as people write it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    deploy_as: Vec<Application>,
    #[serde(default)]
    inherit_as: Option<Inherited>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Application {
    name: String,
    application_type: ApplicationType,
    #[serde(default)]
    endpoint: Option<String>,
    #[serde(default)]
    properties: Option<Properties>,
    #[serde(default)]
    configuration: Option<Variables>,
}

#[derive(Deserialize)]
struct Properties {
    #[serde(default)]
    schedule: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Inherited {
    #[serde(default)]
    configuration: Option<Variables>,
    #[serde(default)]
    api_client: Option<ConnectorApiClient>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Variables {
    #[serde(default)]
    standard_configuration: Option<Vec<StandardKey>>,
    #[serde(default)]
    secured_configuration: Option<Vec<SecuredKey>>,
}

impl Specification {
    /// Reads the text of a `connect.yaml`.
    ///
    /// # Errors
    /// When it is not YAML, lacks something, or breaks a rule: a text that says what is wrong where, without the file.
    pub fn parse(text: &str) -> Result<Self, String> {
        let file: File = serde_saphyr::from_str(text).map_err(|error| {
            let text = error.to_string();
            cut(text.lines().next().unwrap_or_default().trim_start_matches("error: "))
        })?;
        if file.deploy_as.is_empty() {
            return Err("deployAs: at least one application is required".to_owned());
        }
        let mut read = Self::default();
        for (index, application) in file.deploy_as.into_iter().enumerate() {
            read.add(application).map_err(|(member, what)| format!("deployAs[{index}].{member}: {what}"))?;
        }
        if let Some(inherited) = file.inherit_as {
            let variables = inherited.configuration;
            let global = variables.map(Variables::checked).transpose();
            let global = global.map_err(|(member, what)| format!("inheritAs.{member}: {what}"))?;
            read.global_configuration = global.map(|(standard_configuration, secured_configuration)| DeclaredGlobal {
                standard_configuration,
                secured_configuration,
            });
            read.api_client = inherited.api_client;
        }
        Ok(read)
    }

    fn add(&mut self, application: Application) -> Result<(), (String, String)> {
        let wrong = |member: &str, what: &str| Err((member.to_owned(), what.to_owned()));
        let Application { name, application_type, endpoint, properties, configuration } = application;
        if !is_key(&name, 256) {
            return wrong("name", &format!("`{}` must be 2 to 256 characters of A-Z a-z 0-9 _ -", cut(&name)));
        }
        if self.configurations.iter().any(|other| other.application_name == name) {
            return wrong("name", &format!("`{name}` is there twice"));
        }
        if let ApplicationType::Other(word) = &application_type {
            let known = ApplicationType::KNOWN.join(", ");
            return wrong("applicationType", &format!("`{}` must be one of {known}", cut(word)));
        }
        if endpoint.is_some_and(|endpoint| !endpoint.starts_with('/')) {
            return wrong("endpoint", "must start with /");
        }
        if let Some(schedule) = properties.and_then(|properties| properties.schedule) {
            if application_type != ApplicationType::Job {
                return wrong("properties.schedule", "only an application of the type job has one");
            }
            if schedule.split_whitespace().count() != 5 {
                return wrong("properties.schedule", "must have five fields, as in `0 5 * * *`");
            }
            self.schedules.insert(name.clone(), schedule);
        }
        let (standard_configuration, secured_configuration) = configuration.unwrap_or_default().checked()?;
        self.configurations.push(DeclaredApplication {
            application_name: name,
            application_type,
            standard_configuration,
            secured_configuration,
        });
        Ok(())
    }

    /// What a connector declares now.
    pub(in crate::dev_server) fn of(connector: &ConnectorDefinition) -> Self {
        Self {
            configurations: connector.configurations.clone(),
            global_configuration: connector.global_configuration.clone(),
            api_client: connector.api_client.clone(),
            schedules: connector.schedules.clone(),
            scripts: connector.scripts,
            allowed_values: connector.allowed_values.clone(),
        }
    }

    /// Gives a connector these declarations instead of its own.
    pub(in crate::dev_server) fn put_into(self, connector: &mut ConnectorDefinition) {
        connector.configurations = self.configurations;
        connector.global_configuration = self.global_configuration;
        connector.api_client = self.api_client;
        connector.schedules = self.schedules;
        connector.scripts = self.scripts;
        connector.allowed_values = self.allowed_values;
    }
}

impl Variables {
    fn checked(self) -> Result<(Vec<StandardKey>, Vec<SecuredKey>), (String, String)> {
        let standard = self.standard_configuration.unwrap_or_default();
        let secured = self.secured_configuration.unwrap_or_default();
        let mut seen = BTreeSet::new();
        let keys = [
            ("standardConfiguration", standard.iter().map(|variable| &variable.key).collect::<Vec<_>>()),
            ("securedConfiguration", secured.iter().map(|variable| &variable.key).collect()),
        ];
        for (list, keys) in keys {
            for (index, key) in keys.into_iter().enumerate() {
                let member = || format!("configuration.{list}[{index}].key");
                if key.is_empty() {
                    return Err((member(), "must not be empty".to_owned()));
                }
                if !seen.insert(key) {
                    return Err((member(), format!("`{}` is there twice", cut(key))));
                }
            }
        }
        Ok((standard, secured))
    }
}
