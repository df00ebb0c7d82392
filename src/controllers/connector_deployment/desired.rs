//! What a deployment is to have, from its spec and from the objects that the spec names. Pure.
//!
//! Reads nothing by itself (`observe.rs` does) and sends nothing (`act.rs` does). What is wrong is said all at once.

use std::collections::{BTreeMap, BTreeSet};

use connect_api::model::RetryPolicy;
use secrecy::{SecretSlice, SecretString};

use super::application_urls::UrlValue;
use super::decide::DesiredPayload;
use super::persisted::{OperationKind, Payload, PersistedState, Source, Sources};
use crate::controllers::conditions::ConditionUpdate;
use crate::controllers::digest::DigestKey;
use crate::controllers::reason::Reason;
use crate::controllers::references::{Named, Reference};
use crate::controllers::tags::{FOREIGN, GLOBAL, Item, Kind, Tags};
use crate::controllers::values::{ApplicationValues, Values};
use crate::crd::{ConfigurationValues, ConnectorDeploymentSpec, RetryStrategy, StandardValue};

/// An object that values come from, as it was read.
#[derive(Clone, Debug)]
pub struct Content {
    /// Which version of which object.
    pub source: Source,
    /// Its data, by key.
    pub data: BTreeMap<String, SecretSlice<u8>>,
}

/// The objects that a spec names, or why one cannot be used; one that does not exist is not in it.
pub type Contents = BTreeMap<Reference, Result<Content, ConditionUpdate>>;

/// Keys that a connector declares, for the `…From` lists (rule 14).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Declared {
    /// By application name.
    pub applications: BTreeMap<String, DeclaredKeys>,
    /// For all applications.
    pub global: DeclaredKeys,
}

/// Declared keys of one application, or the global ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeclaredKeys {
    /// Plain ones.
    pub standard: BTreeSet<String>,
    /// Secured ones.
    pub secured: BTreeSet<String>,
    /// Values of the plain ones that have one if none is given.
    pub defaults: BTreeMap<String, String>,
}

impl Declared {
    /// The keys of an application, or the global ones of [`GLOBAL`].
    #[must_use]
    pub fn of(&self, application: &str) -> Option<&DeclaredKeys> {
        if application == GLOBAL { Some(&self.global) } else { self.applications.get(application) }
    }
}

/// What is to be sent.
#[derive(Clone, Debug, Default)]
pub struct Desired {
    /// Every value.
    pub values: Values,
    /// Where they came from, in a fixed order.
    pub sources: Vec<Source>,
    /// Keys of `…From` objects that the connector does not declare, so that they are not sent.
    pub undeclared: Vec<String>,
    /// Values that are wanted no more, and sent with the default that the connector declares.
    pub reset: BTreeSet<Item>,
    /// Values that are the URL of an application.
    pub url_values: Vec<UrlValue>,
}

/// Why the values cannot be sent, and what is known of them all the same.
#[derive(Clone, Debug)]
pub struct Unready {
    /// What a person has to put right.
    pub condition: ConditionUpdate,
    /// Every value by its name, to check the names; what is missing stands there empty. Never sent.
    pub names: Box<Desired>,
}

impl Unready {
    /// What to tell, with what else is wrong: all of it is to be put right at once.
    #[must_use]
    pub fn with(self, problems: &[String]) -> ConditionUpdate {
        besides(self.condition, problems)
    }
}

fn besides(condition: ConditionUpdate, problems: &[String]) -> ConditionUpdate {
    if problems.is_empty() {
        return condition;
    }
    let message = format!("{}. Besides: {}", condition.message, problems.join("; "));
    ConditionUpdate::new(condition.reason, message)
}

/// What was sent from here, as far as it is known, and may still be there.
fn held(persisted: &PersistedState) -> impl Iterator<Item = &Item> {
    let creates = persisted.operation.as_ref().is_some_and(|operation| operation.kind == OperationKind::Create);
    // What is created anew has nothing of what was there before.
    let applied = persisted.applied.iter().filter(move |_| !creates);
    let sent = applied.flat_map(|applied| applied.sent.iter().chain([&applied.retained]));
    let begun =
        persisted.operation.iter().filter_map(|operation| operation.payload.as_ref()).map(|payload| &payload.tags);
    let all = sent.chain(begun).flat_map(Tags::iter);
    all.filter(|(_, tag)| *tag != FOREIGN).map(|(item, _)| item)
}

impl Desired {
    /// Makes them fit a deployment that exists. What it lacks is left out. A plain value that was sent once and is not wanted
    /// any more would stay (contract section 6.1), so that it is set to the default that the connector declares, if it
    /// declares one; it is sent from then on like any other value, so that the same is wanted each time.
    pub fn fit(&mut self, missing: &BTreeSet<String>, declared: Option<&Declared>, persisted: &PersistedState) {
        self.values.applications.retain(|name, _| !missing.contains(name));
        let Some(declared) = declared else { return };
        for item in held(persisted).filter(|item| item.kind == Kind::Standard && !missing.contains(&item.application)) {
            let default = declared.of(&item.application).and_then(|keys| keys.defaults.get(&item.key));
            let Some(default) = default else { continue };
            let values = if item.application == GLOBAL {
                &mut self.values.global
            } else {
                self.values.applications.entry(item.application.clone()).or_default()
            };
            if !values.standard.contains_key(&item.key) && !values.secured.contains_key(&item.key) {
                values.standard.insert(item.key.clone(), default.clone());
                self.reset.insert(item.clone());
            }
        }
    }

    /// The same without showing any value, as it is remembered and compared.
    #[must_use]
    pub fn wanted(&self, key: &DigestKey) -> DesiredPayload {
        DesiredPayload {
            payload: Payload {
                digest: key.digest(&self.values),
                tags: Tags::of_values(&self.values, key),
                sources: Sources::of(&self.sources),
            },
            secured: self.values.secrets().next().is_some(),
        }
    }
}

/// A retry policy as it is sent.
fn retry_policy(policy: &crate::crd::RetryPolicy) -> RetryPolicy {
    let strategy = match policy.strategy {
        RetryStrategy::Immediate => "immediate",
        RetryStrategy::ExponentialBackoff => "exponential-backoff",
    };
    RetryPolicy {
        strategy: strategy.to_owned(),
        min_backoff_seconds: policy.min_backoff_seconds,
        max_backoff_seconds: policy.max_backoff_seconds,
        max_attempts: policy.max_attempts,
    }
}

/// The Secrets and ConfigMaps that a spec names for its values.
#[must_use]
pub fn references(spec: &ConnectorDeploymentSpec) -> BTreeSet<Reference> {
    let mut named = BTreeSet::new();
    let all = spec.configurations.iter().map(|application| &application.values).chain(&spec.global_configuration);
    for values in all {
        named.extend(values.standard_configuration.iter().filter_map(|value| {
            let from = value.value_from.as_ref()?;
            Some((Named::ConfigMap, from.config_map_key_ref.as_ref()?.name.clone()))
        }));
        named.extend(
            values.standard_configuration_from.iter().map(|from| (Named::ConfigMap, from.config_map_ref.name.clone())),
        );
        named.extend(
            values
                .secured_configuration
                .iter()
                .map(|value| (Named::Secret, value.value_from.secret_key_ref.name.clone())),
        );
        named
            .extend(values.secured_configuration_from.iter().map(|from| (Named::Secret, from.secret_ref.name.clone())));
    }
    named
}

/// Puts the desired values together, with placeholders in place of URLs ([`Desired::resolve`]). `declared`: `None` if the declarations cannot be read; then every key of a
/// `…From` object is sent.
///
/// # Errors
/// What a person has to put right, all of it in one message, under `KubernetesError`, `SecretMissing` or
/// `ConfigMapMissing` rather than `ConfigurationInvalid`, because these may come by themselves.
pub fn from_spec(
    spec: &ConnectorDeploymentSpec,
    contents: &Contents,
    declared: Option<&Declared>,
) -> Result<Desired, Unready> {
    let mut gather = Gather {
        contents,
        desired: Desired::default(),
        missing: BTreeMap::new(),
        unusable: BTreeMap::new(),
        invalid: Vec::new(),
    };
    for application in &spec.configurations {
        let name = &application.application_name;
        let keys = declared.map(|declared| declared.applications.get(name).cloned().unwrap_or_default());
        let mut values = gather.values(name, &application.values, keys.as_ref());
        values.schedule.clone_from(&application.schedule);
        values.retry_policy = application.retry_policy.as_ref().map(retry_policy);
        gather.desired.values.applications.insert(name.clone(), values);
    }
    if let Some(global) = &spec.global_configuration {
        let keys = declared.map(|declared| declared.global.clone());
        gather.desired.values.global = gather.values(GLOBAL, global, keys.as_ref());
    }
    gather.desired.sources = contents.values().flatten().map(|content| content.source.clone()).collect();
    gather.finish()
}

struct Gather<'a> {
    contents: &'a Contents,
    desired: Desired,
    missing: BTreeMap<Named, BTreeSet<String>>,
    unusable: BTreeMap<Reference, ConditionUpdate>,
    invalid: Vec<String>,
}

impl<'a> Gather<'a> {
    /// The values of an application, or the global ones of [`GLOBAL`].
    fn values(
        &mut self,
        application: &str,
        spec: &ConfigurationValues,
        declared: Option<&DeclaredKeys>,
    ) -> ApplicationValues {
        let mut values = ApplicationValues::default();
        for from in &spec.standard_configuration_from {
            let prefix = from.prefix.as_deref().unwrap_or_default();
            let keys = declared.map(|declared| &declared.standard);
            for (key, text) in self.all(Named::ConfigMap, &from.config_map_ref.name, prefix, keys) {
                values.standard.insert(key, text);
            }
        }
        for value in &spec.standard_configuration {
            let text = self.standard(application, value);
            // An empty one is only met where nothing is sent.
            values.standard.insert(value.key.clone(), text.unwrap_or_default());
        }
        for from in &spec.secured_configuration_from {
            let prefix = from.prefix.as_deref().unwrap_or_default();
            let keys = declared.map(|declared| &declared.secured);
            for (key, text) in self.all(Named::Secret, &from.secret_ref.name, prefix, keys) {
                values.secured.insert(key, SecretString::from(text));
            }
        }
        for value in &spec.secured_configuration {
            let reference = &value.value_from.secret_key_ref;
            let text = self.one(Named::Secret, &reference.name, &reference.key);
            values.secured.insert(value.key.clone(), SecretString::from(text.unwrap_or_default()));
        }
        for key in values.standard.keys().filter(|key| values.secured.contains_key(*key)) {
            let place = place(application);
            self.invalid.push(format!("{place}: {key} is both plain and secured; remove one of the two"));
        }
        values
    }

    /// One plain value.
    fn standard(&mut self, application: &str, value: &StandardValue) -> Option<String> {
        let from = value.value_from.as_ref();
        let config_map = from.and_then(|from| from.config_map_key_ref.as_ref());
        let url = from.and_then(|from| from.application_url.as_ref());
        match (&value.value, config_map, url) {
            (Some(text), _, _) => Some(text.clone()),
            (None, Some(reference), _) => self.one(Named::ConfigMap, &reference.name, &reference.key),
            (None, None, Some(url)) => {
                let item = Item::standard(application, &value.key);
                self.desired.url_values.push(UrlValue::of(item, url));
                Some(url.placeholder.clone())
            }
            // The schema refuses it; an object from before the schema may still hold it.
            (None, None, None) => {
                let place = place(application);
                self.invalid.push(format!("{place}: {} has neither value nor valueFrom", value.key));
                None
            }
        }
    }

    /// An object, if it can be used.
    fn content(&mut self, kind: Named, object: &str) -> Option<&'a Content> {
        let reference = (kind, object.to_owned());
        match self.contents.get(&reference) {
            Some(Ok(content)) => return Some(content),
            Some(Err(condition)) => drop(self.unusable.insert(reference, condition.clone())),
            None => drop(self.missing.entry(kind).or_default().insert(object.to_owned())),
        }
        None
    }

    /// The value of one key of an object.
    fn one(&mut self, kind: Named, object: &str, key: &str) -> Option<String> {
        let content = self.content(kind, object)?;
        let Some(value) = content.data.get(key) else {
            self.missing.entry(kind).or_default().insert(format!("{object} (key {key})"));
            return None;
        };
        self.text(kind, object, key, value)
    }

    /// Every key of an object that the connector declares.
    fn all(
        &mut self,
        kind: Named,
        object: &str,
        prefix: &str,
        declared: Option<&BTreeSet<String>>,
    ) -> Vec<(String, String)> {
        let Some(content) = self.content(kind, object) else {
            // It may bring any of them.
            let may = declared.into_iter().flatten().filter(|name| name.starts_with(prefix));
            return may.map(|name| (name.clone(), String::new())).collect();
        };
        let mut found = Vec::new();
        for (key, value) in &content.data {
            let name = format!("{prefix}{key}");
            if declared.is_some_and(|declared| !declared.contains(&name)) {
                self.desired.undeclared.push(format!("{name} of {} {object}", word(kind)));
            } else if let Some(text) = self.text(kind, object, key, value) {
                found.push((name, text));
            }
        }
        found
    }

    fn text(&mut self, kind: Named, object: &str, key: &str, value: &SecretSlice<u8>) -> Option<String> {
        use secrecy::ExposeSecret;
        let text = std::str::from_utf8(value.expose_secret()).ok().map(ToOwned::to_owned);
        if text.is_none() {
            let kind = word(kind);
            self.invalid
                .push(format!("key {key} of {kind} {object} is not UTF-8, and the API takes text only; encode it"));
        }
        text
    }

    fn finish(self) -> Result<Desired, Unready> {
        let listed = |kind: Named| {
            let names = self.missing.get(&kind)?;
            Some(format!("{} {}", word(kind), names.iter().cloned().collect::<Vec<_>>().join(", ")))
        };
        let (secrets, config_maps) = (listed(Named::Secret), listed(Named::ConfigMap));
        let refused = self.unusable.values().find(|condition| condition.reason == Reason::KubernetesError);
        let reason = match (&secrets, &config_maps) {
            // The operator tries again by itself.
            _ if refused.is_some() => Reason::KubernetesError,
            (Some(_), _) => Reason::SecretMissing,
            (None, Some(_)) => Reason::ConfigMapMissing,
            (None, None) if self.invalid.is_empty() && self.unusable.is_empty() => return Ok(self.desired),
            (None, None) => Reason::ConfigurationInvalid,
        };
        let missing: Vec<String> = secrets.into_iter().chain(config_maps).collect();
        let missing = (!missing.is_empty()).then(|| format!("Missing in this namespace: {}", missing.join("; ")));
        let problems: Vec<_> =
            self.unusable.into_values().map(|condition| condition.message).chain(self.invalid).collect();
        let names = Box::new(self.desired);
        let condition = if let Some(missing) = missing {
            besides(ConditionUpdate::new(reason, missing), &problems)
        } else {
            ConditionUpdate::new(reason, problems.join("; "))
        };
        Err(Unready { condition, names })
    }
}

/// An application, or the global values, in messages.
fn place(application: &str) -> String {
    if application == GLOBAL { "globalConfiguration".to_owned() } else { format!("application {application}") }
}

fn word(kind: Named) -> &'static str {
    match kind {
        Named::Secret => "Secret",
        Named::ConfigMap => "ConfigMap",
        Named::Project => "ConnectProject",
        Named::Deployment => "ConnectorDeployment",
        Named::Staged => "ConnectorStaged",
        Named::Check => "ActionCheck",
    }
}
