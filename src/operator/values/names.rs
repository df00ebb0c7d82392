//! Names of values: what was sent, and how the deployment differs from it. Pure.
//!
//! A redeploy merges its values into those of the deployment (contract section 6.1). So values are compared by name, and only
//! those that were sent; and a value that is no longer desired stays at the remote, and is remembered by its name. Next:
//! `digest.rs` for the digests that stand for the values themselves.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{RETRY_STRATEGY, Values};

/// Stands for all applications in place of an application name.
pub const GLOBAL: &str = "";

/// Kind of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A secured value, which the service never shows.
    Secured,
    /// Cron expression of a job application.
    Schedule,
    /// A field of the retry policy of an event application. Older services do not show it.
    RetryPolicy,
    /// A plain value, visible to anyone who may read the deployment.
    Standard,
}

impl Kind {
    /// Returns the word that stands for it in digests and messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Secured => "secured",
            Self::Schedule => "schedule",
            Self::RetryPolicy => "retryPolicy",
            Self::Standard => "plain",
        }
    }
}

/// The name of one value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Item {
    /// Kind of the value.
    pub kind: Kind,
    /// Name of the application, or [`GLOBAL`].
    pub application: String,
    /// Key of the value; empty for a schedule, the field name for a retry policy.
    pub key: String,
}

impl Item {
    /// Names a plain value.
    pub fn standard(application: &str, key: &str) -> Self {
        Self { kind: Kind::Standard, application: application.to_owned(), key: key.to_owned() }
    }

    /// Names a secured value.
    pub fn secured(application: &str, key: &str) -> Self {
        Self { kind: Kind::Secured, application: application.to_owned(), key: key.to_owned() }
    }

    /// Names the schedule of an application.
    pub fn schedule(application: &str) -> Self {
        Self { kind: Kind::Schedule, application: application.to_owned(), key: String::new() }
    }

    /// Names a field of the retry policy of an application.
    pub fn retry_policy(application: &str, member: &str) -> Self {
        Self { kind: Kind::RetryPolicy, application: application.to_owned(), key: member.to_owned() }
    }

    /// Returns whether messages list this name. The strategy stands for the other fields of a retry policy.
    pub fn is_listed(&self) -> bool {
        self.kind != Kind::RetryPolicy || self.key == RETRY_STRATEGY
    }

    /// Returns whether sending `names` replaces this value even if they do not contain it: a retry policy replaces the
    /// previous one as a whole.
    pub fn is_replaced_by(&self, names: &Names) -> bool {
        self.kind == Kind::RetryPolicy && names.has(&Self::retry_policy(&self.application, RETRY_STRATEGY))
    }
}

impl std::fmt::Display for Item {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let application = if self.application == GLOBAL { "globalConfiguration" } else { &self.application };
        match self.kind {
            Kind::Secured => write!(formatter, "{application}/{} (secured)", self.key),
            Kind::Schedule => write!(formatter, "{application} (schedule)"),
            Kind::RetryPolicy if self.key == RETRY_STRATEGY => write!(formatter, "{application} (retryPolicy)"),
            Kind::RetryPolicy => write!(formatter, "{application} (retryPolicy.{})", self.key),
            Kind::Standard => write!(formatter, "{application}/{}", self.key),
        }
    }
}

/// A set of names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "BTreeMap<String, Place>", into = "BTreeMap<String, Place>")]
pub struct Names(BTreeSet<Item>);

/// How the names of one application are stored, or the global ones.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Place {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    standard: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    secured: Vec<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    schedule: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    retry_policy: Vec<String>,
}

impl From<BTreeMap<String, Place>> for Names {
    fn from(places: BTreeMap<String, Place>) -> Self {
        let mut names = Self::default();
        for (application, Place { standard, secured, schedule, retry_policy }) in places {
            let mut all = |kind, keys: Vec<String>| {
                let item = |key| Item { kind, application: application.clone(), key };
                names.0.extend(keys.into_iter().map(item));
            };
            all(Kind::Standard, standard);
            all(Kind::Secured, secured);
            all(Kind::RetryPolicy, retry_policy);
            all(Kind::Schedule, schedule.then(String::new).into_iter().collect());
        }
        names
    }
}

impl From<Names> for BTreeMap<String, Place> {
    fn from(names: Names) -> Self {
        let mut places = Self::new();
        for Item { kind, application, key } in names.0 {
            let place: &mut Place = places.entry(application).or_default();
            match kind {
                Kind::Standard => place.standard.push(key),
                Kind::Secured => place.secured.push(key),
                Kind::RetryPolicy => place.retry_policy.push(key),
                Kind::Schedule => place.schedule = true,
            }
        }
        places
    }
}

impl Names {
    /// Returns the names of these values.
    pub fn of(values: &Values) -> Self {
        values.visible.keys().chain(values.secured.keys()).cloned().collect()
    }

    /// Returns whether the name is in the set.
    pub fn has(&self, item: &Item) -> bool {
        self.0.contains(item)
    }

    /// Adds a name.
    pub fn insert(&mut self, item: Item) {
        self.0.insert(item);
    }

    /// Iterates over all names, those of secured values first.
    pub fn iter(&self) -> impl Iterator<Item = &Item> {
        self.0.iter()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether secured values are among them.
    pub fn has_secured(&self) -> bool {
        self.0.iter().any(|item| item.kind == Kind::Secured)
    }

    /// Returns whether there is a retry policy among them of which the remote shows nothing.
    pub fn has_hidden_retry_policy(&self, seen: &VisibleValues) -> bool {
        let of_policy = |item: &&Item| item.kind == Kind::RetryPolicy;
        let shown: BTreeSet<&str> = seen.keys().filter(of_policy).map(|item| item.application.as_str()).collect();
        self.0.iter().filter(of_policy).any(|item| !shown.contains(item.application.as_str()))
    }
}

impl FromIterator<Item> for Names {
    fn from_iter<I: IntoIterator<Item = Item>>(names: I) -> Self {
        Self(names.into_iter().collect())
    }
}

/// The values that the service returns, by their names: plain ones, schedules and the fields of retry policies (contract
/// section 4.4).
pub type VisibleValues = BTreeMap<Item, String>;

/// A visible value that the remote shows otherwise than it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference<'v> {
    /// What was sent.
    pub sent: &'v str,
    /// What the remote shows; `None`: nothing.
    pub shown: Option<&'v str>,
}

/// Returns the values of `sent` that the remote shows otherwise. A retry policy that is not shown is no difference: services
/// from before 2026-10-23 do not show retry policies.
pub fn differences<'v>(sent: &'v VisibleValues, seen: &'v VisibleValues) -> BTreeMap<&'v Item, Difference<'v>> {
    let differs = |(item, sent): (&'v Item, &'v String)| {
        let shown = seen.get(item).map(String::as_str);
        let is_hidden = shown.is_none() && item.kind == Kind::RetryPolicy;
        (!is_hidden && shown != Some(sent)).then_some((item, Difference { sent, shown }))
    };
    sent.iter().filter_map(differs).collect()
}

/// Most bytes that the names of values take in a message.
const NAMES_LENGTH: usize = 600;

/// Lists names of values up to [`NAMES_LENGTH`], and how many more there are.
pub fn listed<'i>(items: impl Iterator<Item = &'i Item>) -> String {
    let names: Vec<String> = items.map(ToString::to_string).collect();
    let (mut text, mut shown) = (String::new(), 0);
    for name in &names {
        if text.len() + name.len() > NAMES_LENGTH {
            break;
        }
        text = if text.is_empty() { name.clone() } else { format!("{text}, {name}") };
        shown += 1;
    }
    if shown < names.len() { format!("{text} and {} more", names.len() - shown) } else { text }
}

#[cfg(test)]
#[path = "names_tests.rs"]
mod tests;
