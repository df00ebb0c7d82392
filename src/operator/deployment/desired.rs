//! What a deployment should have, from its spec and from the objects that the spec names. Pure.
//!
//! Reads nothing (`observe.rs` does) and sends nothing (`act.rs` does). All problems are reported at once.

use std::collections::{BTreeMap, BTreeSet};

use connect_api::model::RetryPolicy;
use connect_api::text::has_invisible_ends;
use secrecy::{ExposeSecret as _, SecretSlice, SecretString};

use super::decide::DesiredPayload;
use super::declared::Declared;
use super::missing::Missing;
use super::persisted::{OperationType, Payload, PersistedState, Sources};
use crate::crd::{
    ApplicationUrl, ConfigMapKeyRef, ConfigurationSource, ConfigurationValues, ConnectorDeploymentSpec, PlainKeys,
    RetryStrategy, SecretKeyRef, StandardValue,
};
use crate::operator::cluster::references::Source;
use crate::operator::cluster::references::{Reference, Referenced};
use crate::operator::context::content_cache::Content;
use crate::operator::reporting::conditions::ConditionUpdate;
use crate::operator::reporting::reason::Reason;
use crate::operator::values::digest::DigestKey;
use crate::operator::values::names::{GLOBAL, Item, Kind, Names};
use crate::operator::values::{Values, place, retry_policy};

/// The objects that a spec names, or why one cannot be used. An object that does not exist has no entry.
pub type Contents = BTreeMap<Reference, Result<Content, ConditionUpdate>>;

/// A value that is the URL of an application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UrlValue {
    /// The value.
    pub item: Item,
    /// The application whose URL it is.
    pub application: String,
    /// The path that is appended to the URL.
    pub(super) path: String,
    /// Whether the URL is not known yet, so that the placeholder is used instead.
    pub is_awaited: bool,
}

impl UrlValue {
    /// Returns a value of the spec, with its placeholder until it is resolved.
    pub fn of(item: Item, from: &ApplicationUrl) -> Self {
        let path = from.path.clone().unwrap_or_default();
        Self { item, application: from.application_name.clone(), path, is_awaited: true }
    }
}

/// Why an entry of `configurationFrom` is not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NotSent {
    /// The connector does not declare it.
    Undeclared,
    /// It is declared as plain, and comes from a Secret.
    Plain,
    /// It is declared as secured, and comes from a `ConfigMap`.
    Secured,
}

/// What should be sent.
#[derive(Clone, Debug, Default)]
pub struct Desired {
    /// Every value.
    pub values: Values,
    /// Where they came from, in a fixed order.
    pub sources: Vec<Source>,
    /// Entries of `configurationFrom` that are not sent, and why.
    pub not_sent: BTreeSet<(NotSent, String)>,
    /// Values that are no longer desired and are sent with the default that the connector declares.
    pub reset: BTreeSet<Item>,
    /// Values that are the URL of an application.
    pub url_values: Vec<UrlValue>,
    /// Values that are a key of an object, which is described.
    origins: BTreeMap<Item, String>,
}

/// Why the values cannot be sent, and what is known of them anyway.
#[derive(Clone, Debug)]
pub struct Unready {
    /// What a user has to correct.
    pub condition: ConditionUpdate,
    /// Every value by its name, so that the names can be checked; missing values are empty. Never sent.
    pub names: Box<Desired>,
    /// The message of the condition for a plan that knows files, and no namespace.
    pub among_files: String,
}

impl Unready {
    /// Returns the condition together with other problems, so that a user can correct all of them at once.
    pub fn with(self, problems: &[String]) -> ConditionUpdate {
        besides(self.condition, problems)
    }
}

fn besides(condition: ConditionUpdate, problems: &[String]) -> ConditionUpdate {
    let message = also(condition.message, problems);
    ConditionUpdate::new(condition.reason, message)
}

fn also(message: String, problems: &[String]) -> String {
    if problems.is_empty() { message } else { format!("{message}. Also: {}", problems.join("; ")) }
}

/// Returns the values that this resource sent, as far as they are known, and that the deployment may still have.
fn held(persisted: &PersistedState) -> impl Iterator<Item = &Item> {
    let creates = persisted.operation.as_ref().is_some_and(|operation| operation.kind == OperationType::Create);
    // A deployment that is created again has none of the earlier values.
    let applied = persisted.applied.iter().filter(move |_| !creates);
    let sent = applied.flat_map(|applied| applied.names.iter().chain([&applied.retained]));
    let begun = persisted.operation.iter().filter_map(|operation| operation.payload.as_ref());
    sent.chain(begun.map(|payload| &payload.names)).flat_map(Names::iter)
}

impl Desired {
    /// Adapts the values to a deployment that exists. Values for applications that it lacks are left out. A plain value
    /// that was sent once and is no longer desired would stay (contract section 6.1), so it is set to the default that
    /// the connector declares, if there is one. From then on it is sent like any other value, so that the result is
    /// stable.
    pub fn fit(&mut self, missing: &BTreeSet<String>, declared: Option<&Declared>, persisted: &PersistedState) {
        self.values.leave_out(missing);
        let Some(declared) = declared else { return };
        for item in held(persisted).filter(|item| item.kind == Kind::Standard && !missing.contains(&item.application)) {
            let Some(default) = declared.default_of(item) else { continue };
            if !self.values.has(item) && !self.values.has(&Item::secured(&item.application, &item.key)) {
                self.values.applications.extend(Some(item.application.clone()).filter(|name| name != GLOBAL));
                self.values.visible.insert(item.clone(), default.clone());
                self.reset.insert(item.clone());
            }
        }
    }

    /// Names the values with invisible characters at an end, if there are any: these are sent with them.
    pub fn invisible_note(&self) -> Option<String> {
        let visible = self.values.visible.iter().filter(|(item, _)| item.kind == Kind::Standard);
        let secured = self.values.secured.iter().map(|(item, text)| (item, text.expose_secret()));
        let given = visible.map(|(item, text)| (item, text.as_str())).chain(secured);
        let names: Vec<_> = given.filter(|(_, text)| has_invisible_ends(text)).map(|it| it.0.to_string()).collect();
        (!names.is_empty()).then(|| {
            format!(
                "White space or another invisible character at an end of the value is sent with it: {}. If it is not meant, write \
                 the value without it, for example with `printf %s` in place of `echo`",
                names.join(", ")
            )
        })
    }

    /// Returns where the values come from whose keys a text of the service names, as sentences without a full stop.
    pub fn origins_of(&self, text: &str) -> Vec<String> {
        let is_part = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-');
        let words: BTreeSet<&str> = text.split(|letter| !is_part(letter)).collect();
        let named = self.origins.iter().filter(|(item, _)| words.contains(item.key.as_str()));
        let said: BTreeSet<_> = named.map(|(item, origin)| format!("{} is {origin}", item.key)).collect();
        said.into_iter().collect()
    }

    /// Names the entries of `configurationFrom` that are not sent, if there are any, and says why.
    pub fn not_sent_note(&self) -> Option<String> {
        let why = |why: NotSent| {
            let names: Vec<_> = self.not_sent.iter().filter(|it| it.0 == why).map(|(_, name)| name.as_str()).collect();
            let (cause, remedy) = match why {
                NotSent::Undeclared => ("the connector does not declare them", ""),
                NotSent::Plain => (
                    "the connector declares them as plain, so that they could be read at the service",
                    "; set plainKeys: Allow there, or take them from a ConfigMap",
                ),
                NotSent::Secured => ("the connector declares them as secured", "; put them into a Secret"),
            };
            (!names.is_empty()).then(|| format!("Not sent, because {cause}: {}{remedy}", names.join(", ")))
        };
        let all: Vec<_> = [NotSent::Undeclared, NotSent::Plain, NotSent::Secured].into_iter().filter_map(why).collect();
        (!all.is_empty()).then(|| all.join(". "))
    }

    /// Returns the digests that stand for the values.
    pub fn wanted(&self, digests: &DigestKey) -> DesiredPayload {
        let (names, values) = (Names::of(&self.values), self.values.visible.clone());
        DesiredPayload {
            payload: Payload {
                digest: digests.digest(&self.values),
                visible: digests.of_visible(&names, &values),
                names,
                sources: Sources::of(&self.sources),
            },
            values,
        }
    }
}

/// Converts a retry policy to what is sent.
fn sent_retry_policy(policy: &crate::crd::RetryPolicy) -> RetryPolicy {
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

/// Collects the desired values, with placeholders in place of URLs ([`Desired::resolve`]). `declared`: `None` if the
/// declarations cannot be read; then `configurationFrom` gives no value.
///
/// # Errors
/// What a user has to correct, all of it in one message. The reason is `KubernetesError`, `SecretMissing` or
/// `ConfigMapMissing` rather than `ConfigurationInvalid`, because these may pass without a change of the spec.
pub fn from_spec(
    spec: &ConnectorDeploymentSpec,
    contents: &Contents,
    declared: Option<&Declared>,
) -> Result<Desired, Unready> {
    let mut gather = Gather {
        contents,
        declared,
        desired: Desired::default(),
        misplaced: Vec::new(),
        missing: Missing::default(),
        unusable: BTreeMap::new(),
        invalid: Vec::new(),
    };
    for from in &spec.configuration_from {
        gather.source(from);
    }
    for application in &spec.configurations {
        let name = &application.application_name;
        gather.values(name, &application.values);
        let values = &mut gather.desired.values;
        values.applications.insert(name.clone());
        values.visible.extend(application.schedule.iter().map(|schedule| (Item::schedule(name), schedule.clone())));
        let policy = application.retry_policy.as_ref().map(sent_retry_policy);
        values.visible.extend(policy.iter().flat_map(|policy| retry_policy(name, policy)));
    }
    if let Some(global) = &spec.global_configuration {
        gather.values(GLOBAL, global);
    }
    gather.desired.sources = contents.values().flatten().map(|content| content.source.clone()).collect();
    gather.finish()
}

struct Gather<'a> {
    contents: &'a Contents,
    declared: Option<&'a Declared>,
    desired: Desired,
    /// Values whose object is of the wrong kind, with its description.
    misplaced: Vec<(Item, String)>,
    missing: Missing,
    unusable: BTreeMap<Reference, ConditionUpdate>,
    invalid: Vec<String>,
}

impl<'a> Gather<'a> {
    /// Adds the entries of an object to the applications that declare them.
    fn source(&mut self, from: &ConfigurationSource) {
        let (kind, object) = match (&from.secret_ref, &from.config_map_ref) {
            (Some(secret), _) => (Referenced::Secret, secret.name.as_str()),
            (None, Some(config_map)) => (Referenced::ConfigMap, config_map.name.as_str()),
            (None, None) => return,
        };
        // Preflight reports those that the connector does not have.
        self.desired.values.applications.extend(from.applications.iter().cloned());
        let content = self.content((kind, object), from.optional, "configurationFrom");
        if content.is_none() && from.optional {
            return;
        }
        let prefix = from.prefix.as_deref().unwrap_or_default();
        let all = self.declared.into_iter().flat_map(|declared| declared.keys.keys());
        let candidates: Vec<&Item> = all.filter(|item| is_for(from, item)).collect();
        let Some(content) = content else {
            // The missing object may contain any of them.
            for item in candidates.into_iter().filter(|item| fills(from, item) && item.key.starts_with(prefix)) {
                self.insert(item, String::new());
            }
            return;
        };
        for (key, value) in &content.data {
            let (named, described) = (format!("{prefix}{key}"), format!("{prefix}{key} of {} {object}", kind.as_str()));
            let mut declaring = candidates.iter().filter(|item| item.key == named).peekable();
            if declaring.peek().is_none() {
                self.desired.not_sent.insert((NotSent::Undeclared, described.clone()));
            }
            for item in declaring {
                if !fills(from, item) {
                    self.misplaced.push(((*item).clone(), described.clone()));
                } else if let Some(text) = self.text(kind, object, key, value) {
                    self.insert(item, text);
                    self.desired.origins.insert((*item).clone(), origin(kind, object, key));
                }
            }
        }
    }

    fn insert(&mut self, item: &Item, text: String) {
        let values = &mut self.desired.values;
        values.applications.extend(Some(item.application.clone()).filter(|name| name != GLOBAL));
        if item.kind == Kind::Secured {
            values.secured.insert(item.clone(), SecretString::from(text));
        } else {
            values.visible.insert(item.clone(), text);
        }
    }

    /// Adds the single values of an application, or the global ones for [`GLOBAL`].
    fn values(&mut self, application: &str, spec: &ConfigurationValues) {
        for value in &spec.standard_configuration {
            let item = Item::standard(application, &value.key);
            if let Some(text) = self.standard(&item, value) {
                self.desired.values.visible.insert(item, text);
            }
        }
        for value in &spec.secured_configuration {
            let SecretKeyRef { name, key, optional } = &value.value_from.secret_key_ref;
            let item = Item::secured(application, &value.key);
            if let Some(text) = self.one(&item, (Referenced::Secret, name), key, *optional) {
                self.desired.values.secured.insert(item, SecretString::from(text));
            }
        }
        let place = place(application);
        let Values { visible, secured, .. } = &self.desired.values;
        let own = secured.keys().filter(|item| item.application == application);
        for Item { key, .. } in own.filter(|item| visible.contains_key(&Item::standard(application, &item.key))) {
            self.invalid.push(format!("{place}: {key} is both plain and secured; remove one of the two"));
        }
    }

    /// Returns one plain value; `None`: it is left out.
    fn standard(&mut self, item: &Item, value: &StandardValue) -> Option<String> {
        let from = value.value_from.as_ref();
        let config_map = from.and_then(|from| from.config_map_key_ref.as_ref());
        if let (None, Some(ConfigMapKeyRef { name, key, optional })) = (&value.value, config_map) {
            return self.one(item, (Referenced::ConfigMap, name), key, *optional);
        }
        // It wins over an object that is taken as a whole.
        self.desired.origins.remove(item);
        if value.value.is_some() {
            return value.value.clone();
        }
        let url = from?.application_url.as_ref()?;
        self.desired.url_values.push(UrlValue::of(item.clone(), url));
        Some(url.placeholder.clone())
    }

    /// Returns an object, if it can be used. `optional`: it may be missing; `field`: the field that needs it.
    fn content(&mut self, (kind, object): (Referenced, &str), optional: bool, field: &str) -> Option<&'a Content> {
        let reference = (kind, object.to_owned());
        match self.contents.get(&reference) {
            Some(Ok(content)) => return Some(content),
            Some(Err(condition)) => drop(self.unusable.insert(reference, condition.clone())),
            None if optional => {}
            None => self.missing.object(kind, object, field),
        }
        None
    }

    /// Returns a value that is one key of an object; `None`: it is left out. A value that cannot be had is empty, and nothing
    /// is sent. `optional`: object and key may be missing.
    fn one(&mut self, item: &Item, (kind, object): (Referenced, &str), key: &str, optional: bool) -> Option<String> {
        let field = format!("{} of {}", item.key, place(&item.application));
        let content = self.content((kind, object), optional, &field);
        let value = content.and_then(|content| content.data.get(key));
        if let Some(value) = value {
            self.desired.origins.insert(item.clone(), origin(kind, object, key));
            return Some(self.text(kind, object, key, value).unwrap_or_default());
        }
        if content.is_some() && !optional {
            self.missing.key(kind, object, key, &field);
        }
        (!optional).then(String::new)
    }

    fn text(&mut self, kind: Referenced, object: &str, key: &str, value: &SecretSlice<u8>) -> Option<String> {
        let text = std::str::from_utf8(value.expose_secret()).ok().map(ToOwned::to_owned);
        if text.is_none() {
            let kind = kind.as_str();
            self.invalid
                .push(format!("key {key} of {kind} {object} is not UTF-8, and the API takes text only; encode it"));
        }
        text
    }

    fn finish(mut self) -> Result<Desired, Unready> {
        for (item, described) in self.misplaced {
            // Another object may give the value.
            if !self.desired.values.has(&item) {
                let why = if item.kind == Kind::Secured { NotSent::Secured } else { NotSent::Plain };
                self.desired.not_sent.insert((why, described));
            }
        }
        let missing = self.missing.report();
        let refused = self.unusable.values().any(|condition| condition.reason == Reason::KubernetesError);
        let reason = match &missing {
            // The operator retries by itself.
            _ if refused => Reason::KubernetesError,
            Some((reason, _)) => *reason,
            None if self.invalid.is_empty() && self.unusable.is_empty() => return Ok(self.desired),
            None => Reason::ConfigurationInvalid,
        };
        let problems: Vec<_> =
            self.unusable.into_values().map(|condition| condition.message).chain(self.invalid).collect();
        let names = Box::new(self.desired);
        let among_files = also(self.missing.among_files(), &problems);
        let condition = if let Some((_, missing)) = missing {
            besides(ConditionUpdate::new(reason, missing), &problems)
        } else {
            ConditionUpdate::new(reason, problems.join("; "))
        };
        Err(Unready { condition, names, among_files })
    }
}

fn origin(kind: Referenced, object: &str, key: &str) -> String {
    format!("key {key} of {} {object}", kind.as_str())
}

/// Whether the values of an object are for the application of this value.
fn is_for(from: &ConfigurationSource, item: &Item) -> bool {
    from.applications.is_empty() || from.applications.contains(&item.application)
}

/// Whether an object fills values of this kind.
fn fills(from: &ConfigurationSource, item: &Item) -> bool {
    match item.kind {
        Kind::Secured => from.secret_ref.is_some(),
        _ => from.secret_ref.is_none() || from.plain_keys == Some(PlainKeys::Allow),
    }
}
