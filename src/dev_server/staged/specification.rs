//! `connect.yaml`, the file in which a repository says what its connector consists of: pure.
//!
//! The contract says only that the service reads declarations from it (contract section 4.2). Its form and its rules are
//! those that the tools for makers of connectors have: `deployAs` with an entry for each application, `inheritAs` for
//! what all of them get. What those tools want of the variables of a Merchant Center application is not checked.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::connect::model::{
    ApplicationType, ConnectorApiClient, DeclaredApplication, DeclaredGlobal, SecuredKey, StandardKey,
};
use crate::dev_server::catalogue::is_key;
use crate::dev_server::connector::{AllowedValues, ConnectorDefinition, Scripts};
use crate::dev_server::refusal::cut;

/// Variables that the platform sets itself.
const RESERVED: [&str; 4] = ["PORT", "K_SERVICE", "K_REVISION", "K_CONFIGURATION"];

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

/// The file as people write it. Members that are not known are refused, as the makers' own tools do.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct File {
    deploy_as: Vec<Application>,
    #[serde(default)]
    inherit_as: Option<Inherited>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Application {
    name: String,
    #[serde(rename = "applicationType")]
    kind: ApplicationType,
    #[serde(default)]
    endpoint: Option<String>,
    #[serde(default)]
    properties: Option<Properties>,
    #[serde(default)]
    configuration: Option<Variables>,
    #[serde(default, rename = "scripts")]
    _scripts: Option<Commands>,
    #[serde(default, rename = "healthCheck")]
    _health_check: IgnoredAny,
    #[serde(default, rename = "retryPolicy")]
    _retry_policy: IgnoredAny,
}

/// What runs around a deployment. The dev server runs nothing.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Commands {
    #[serde(default, rename = "postDeploy")]
    _post_deploy: Option<String>,
    #[serde(default, rename = "preUndeploy")]
    _pre_undeploy: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Properties {
    schedule: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Inherited {
    #[serde(default)]
    configuration: Option<Variables>,
    #[serde(default)]
    api_client: Option<Scopes>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scopes {
    scopes: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Variables {
    #[serde(default)]
    standard_configuration: Option<Vec<Plain>>,
    #[serde(default)]
    secured_configuration: Option<Vec<Hidden>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Plain {
    key: String,
    description: String,
    #[serde(default)]
    required: bool,
    #[serde(default)]
    default: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Hidden {
    key: String,
    description: String,
    #[serde(default)]
    required: bool,
}

/// A member and what is wrong with it.
type Mistake = (String, String);

fn mistake<T>(member: &str, what: &str) -> Result<T, Mistake> {
    Err((member.to_owned(), what.to_owned()))
}

impl Specification {
    /// Reads the text of a `connect.yaml`.
    ///
    /// # Errors
    /// When it is not YAML, lacks something, or breaks a rule: a text that says what is wrong where, without the file.
    pub fn parse(text: &str) -> Result<Self, String> {
        // Texts that look like numbers or flags must be quoted, as for every reader that knows no types.
        let options = serde_saphyr::options! { no_schema: true, strict_booleans: true };
        let file: File = serde_saphyr::from_str_with_options(text, options).map_err(|error| {
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
            read.inherit(inherited).map_err(|(member, what)| format!("inheritAs.{member}: {what}"))?;
        }
        Ok(read)
    }

    fn add(&mut self, application: Application) -> Result<(), Mistake> {
        let Application { name, kind, endpoint, properties, configuration, .. } = application;
        if !is_key(&name, 256) {
            return mistake("name", &format!("`{}` must be 2 to 256 characters of A-Z a-z 0-9 _ -", cut(&name)));
        }
        if self.configurations.iter().any(|other| other.application_name == name) {
            return mistake("name", &format!("`{name}` is there twice"));
        }
        check_type(&kind, endpoint.as_deref(), properties.is_some())?;
        if let Some(Properties { schedule }) = properties {
            if !schedule.starts_with('@') && !(5..=7).contains(&schedule.split_whitespace().count()) {
                return mistake("properties.schedule", "must be a cron expression, as `0 5 * * *` or `@daily`");
            }
            self.schedules.insert(name.clone(), schedule);
        }
        let (standard_configuration, secured_configuration) = configuration.unwrap_or_default().checked()?;
        self.configurations.push(DeclaredApplication {
            application_name: name,
            application_type: kind,
            standard_configuration,
            secured_configuration,
        });
        Ok(())
    }

    fn inherit(&mut self, inherited: Inherited) -> Result<(), Mistake> {
        if let Some(variables) = inherited.configuration {
            let (standard_configuration, secured_configuration) = variables.checked()?;
            let global = DeclaredGlobal { standard_configuration, secured_configuration };
            let own = self
                .configurations
                .iter()
                .flat_map(|application| keys(&application.standard_configuration, &application.secured_configuration));
            let own: BTreeSet<_> = own.collect();
            let taken =
                keys(&global.standard_configuration, &global.secured_configuration).find(|key| own.contains(key));
            if let Some(key) = taken {
                return mistake("configuration", &format!("`{}` is a key of an application too", cut(key)));
            }
            self.global_configuration = Some(global);
        }
        if let Some(Scopes { scopes }) = inherited.api_client {
            if scopes.is_empty() || scopes.iter().any(String::is_empty) {
                return mistake("apiClient.scopes", "must hold at least one scope, and none that is empty");
            }
            self.api_client = Some(ConnectorApiClient { scopes });
        }
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

/// What each type of application needs and what it does not have.
fn check_type(kind: &ApplicationType, endpoint: Option<&str>, has_properties: bool) -> Result<(), Mistake> {
    if let ApplicationType::Other(word) = kind {
        let known = ApplicationType::KNOWN.join(", ");
        return mistake("applicationType", &format!("`{}` must be one of {known}", cut(word)));
    }
    let is_job = *kind == ApplicationType::Job;
    let runs = is_job || matches!(kind, ApplicationType::Service | ApplicationType::Event);
    let is_path = |path: &str| {
        (1..=256).contains(&path.len())
            && path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-/".contains(&byte))
            && !path.contains("//")
    };
    match endpoint {
        None if runs => mistake("endpoint", &format!("is required for the type {kind}")),
        Some(_) if !runs => mistake("endpoint", &format!("an application of the type {kind} has none")),
        Some(path) if !is_path(path) => mistake("endpoint", "must be a path of A-Z a-z 0-9 _ - and single /"),
        _ if is_job && !has_properties => mistake("properties", "needs a schedule for the type job"),
        _ if !is_job && has_properties => mistake("properties", "only an application of the type job has them"),
        _ => Ok(()),
    }
}

fn keys<'a>(standard: &'a [StandardKey], secured: &'a [SecuredKey]) -> impl Iterator<Item = &'a String> {
    standard.iter().map(|variable| &variable.key).chain(secured.iter().map(|variable| &variable.key))
}

impl Variables {
    fn checked(self) -> Result<(Vec<StandardKey>, Vec<SecuredKey>), Mistake> {
        let mut seen = BTreeSet::new();
        let mut standard = Vec::new();
        for (index, Plain { key, description, required, default }) in
            self.standard_configuration.unwrap_or_default().into_iter().enumerate()
        {
            let place = format!("configuration.standardConfiguration[{index}]");
            check_variable(&place, &key, &description, &mut seen)?;
            if default.as_ref().is_some_and(|default| default.trim().is_empty()) {
                return mistake(&format!("{place}.default"), "must not be empty; leave it out");
            }
            standard.push(StandardKey { key, description, default, required });
        }
        let mut secured = Vec::new();
        for (index, Hidden { key, description, required }) in
            self.secured_configuration.unwrap_or_default().into_iter().enumerate()
        {
            check_variable(&format!("configuration.securedConfiguration[{index}]"), &key, &description, &mut seen)?;
            secured.push(SecuredKey { key, description, required });
        }
        Ok((standard, secured))
    }
}

fn check_variable(place: &str, key: &str, description: &str, seen: &mut BTreeSet<String>) -> Result<(), Mistake> {
    let place_of = |member: &str| format!("{place}.{member}");
    let is_name =
        (2..=256).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !is_name {
        return mistake(&place_of("key"), &format!("`{}` must be 2 to 256 characters of A-Z a-z 0-9 _", cut(key)));
    }
    if RESERVED.iter().any(|word| word.eq_ignore_ascii_case(key)) {
        return mistake(&place_of("key"), &format!("`{key}` is set by the platform"));
    }
    if description.trim().is_empty() {
        return mistake(&place_of("description"), "must not be empty");
    }
    if !seen.insert(key.to_owned()) {
        return mistake(&place_of("key"), &format!("`{key}` is there twice"));
    }
    Ok(())
}
