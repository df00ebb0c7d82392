//! Tags: short digests of the values that were sent, one for each value, which do not reveal the values. Pure.
//!
//! A redeploy merges its values into those of the deployment (contract section 6.1). So values are compared by key, and
//! only for keys that were sent; and a key that is no longer desired stays at the remote and must be recorded by name.
//! The tag of a secured value depends on the key of the install, so that the value cannot be guessed; that of a visible
//! value does not, so that it remains valid if that key is lost. Next: `digest.rs` for the digest of all values.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest as _, Sha256};

use super::digest::{DigestKey, feed, hex};
use super::{ApplicationValues, RETRY_STRATEGY, Values, VisibleValues};

/// Stands for all applications in place of an application name.
pub const GLOBAL: &str = "";
/// Tag of a missing value: the remote does not show it.
pub const NOTHING: &str = "";
/// Tag of an unknown value that may have been sent.
pub const UNKNOWN: &str = "?";
/// Tag of a value that the remote shows and that this resource did not send.
pub const FOREIGN: &str = "*";

/// Kind of a value. Kinds that cannot be read back from the remote come first, so that their tags are kept first where
/// space is limited.
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
    #[must_use]
    pub fn standard(application: &str, key: &str) -> Self {
        Self { kind: Kind::Standard, application: application.to_owned(), key: key.to_owned() }
    }

    /// Names a secured value.
    #[must_use]
    pub fn secured(application: &str, key: &str) -> Self {
        Self { kind: Kind::Secured, application: application.to_owned(), key: key.to_owned() }
    }

    /// Names the schedule of an application.
    #[must_use]
    pub fn schedule(application: &str) -> Self {
        Self { kind: Kind::Schedule, application: application.to_owned(), key: String::new() }
    }

    /// Names a field of the retry policy of an application.
    #[must_use]
    pub fn retry_policy(application: &str, member: &str) -> Self {
        Self { kind: Kind::RetryPolicy, application: application.to_owned(), key: member.to_owned() }
    }

    /// Returns whether messages list this name. The strategy stands for the other fields of a retry policy.
    #[must_use]
    pub fn is_listed(&self) -> bool {
        self.kind != Kind::RetryPolicy || self.key == RETRY_STRATEGY
    }

    /// Returns whether sending `tags` replaces this value even if they do not contain it: a retry policy replaces the
    /// previous one as a whole.
    #[must_use]
    pub fn is_replaced_by(&self, tags: &Tags) -> bool {
        self.kind == Kind::RetryPolicy && tags.has(&Self::retry_policy(&self.application, RETRY_STRATEGY))
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

/// A set of values with their tags.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tags(BTreeMap<Item, String>);

impl Tags {
    /// Returns a tag for each of these values; the tags of secured values depend on `key`.
    #[must_use]
    pub fn of_values(values: &Values, key: &DigestKey) -> Self {
        let mut tags = Self::visible(&values.visible());
        let mut add = |place: &str, values: &ApplicationValues| {
            for (name, value) in &values.secured {
                tags.set(Item::secured(place, name), key.of_secured(place, name, value));
            }
        };
        for (name, application) in &values.applications {
            add(name, application);
        }
        add(GLOBAL, &values.global);
        tags
    }

    /// Returns the tags of visible values.
    #[must_use]
    pub fn visible(values: &VisibleValues) -> Self {
        let mut tags = Self::default();
        let mut add = |item: Item, text: &str| {
            let tag = visible_tag(&item, text);
            tags.0.insert(item, tag);
        };
        for (name, application) in &values.applications {
            for (key, text) in &application.standard {
                add(Item::standard(name, key), text);
            }
            if let Some(schedule) = &application.schedule {
                add(Item::schedule(name), schedule);
            }
            for (member, value) in &application.retry_policy {
                add(Item::retry_policy(name, member), value);
            }
        }
        for (key, text) in &values.global {
            add(Item::standard(GLOBAL, key), text);
        }
        tags
    }

    /// Returns the tag of one of these values; [`NOTHING`] if they do not contain it. See [`Tags::visible`] for all.
    #[must_use]
    pub fn of(values: &VisibleValues, item: &Item) -> String {
        text(values, item).map_or_else(|| NOTHING.to_owned(), |text| visible_tag(item, text))
    }

    /// Returns the tag of a value.
    #[must_use]
    pub fn get(&self, item: &Item) -> Option<&str> {
        self.0.get(item).map(String::as_str)
    }

    /// Returns whether there is a tag of this value.
    #[must_use]
    pub fn has(&self, item: &Item) -> bool {
        self.0.contains_key(item)
    }

    /// Sets the tag of a value.
    pub fn set(&mut self, item: Item, tag: impl Into<String>) {
        self.0.insert(item, tag.into());
    }

    /// Keeps the tags for which `holds` returns true.
    pub fn retain(&mut self, holds: impl Fn(&Item, &str) -> bool) {
        self.0.retain(|item, tag| holds(item, tag));
    }

    /// Iterates over all tags, secured values first.
    pub fn iter(&self) -> impl Iterator<Item = (&Item, &str)> {
        self.0.iter().map(|(item, tag)| (item, tag.as_str()))
    }

    /// Returns whether there are no tags.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the visible values that the remote shows otherwise than these tags, each with the tag of what it shows.
    /// It covers only values that have a tag, ignored ones included. A retry policy that is not shown is no difference:
    /// services from before 2026-10-23 do not show retry policies.
    #[must_use]
    pub fn shown_otherwise(&self, seen: &VisibleValues) -> Self {
        let there = Self::visible(seen);
        let visible = self.0.iter().filter(|(item, _)| item.kind != Kind::Secured);
        let shown = visible.filter_map(|(item, tag)| {
            let now = match (there.get(item), item.kind) {
                (Some(now), _) => now,
                (None, Kind::RetryPolicy) => return None,
                (None, _) => NOTHING,
            };
            (now != tag).then(|| (item.clone(), now.to_owned()))
        });
        Self(shown.collect())
    }

    /// Returns [`Tags::shown_otherwise`] without ignored values.
    #[must_use]
    pub fn differences(&self, seen: &VisibleValues) -> Self {
        let mut differences = self.shown_otherwise(seen);
        differences.retain(|item, _| !is_ignored(item, &seen.ignored));
        differences
    }

    /// Returns whether both have the same tags of visible values.
    #[must_use]
    pub fn shows_the_same(&self, other: &Self) -> bool {
        let visible = |tags: &Self| {
            let visible = tags.0.iter().filter(|(item, _)| item.kind != Kind::Secured);
            visible.map(|(item, tag)| (item.clone(), tag.clone())).collect::<Vec<_>>()
        };
        visible(self) == visible(other)
    }

    /// Replaces the tags of secured values by those of the same names in `others`, which depend on another key.
    pub fn take_secured(&mut self, others: &Self) {
        for (item, tag) in self.0.iter_mut().filter(|(item, _)| item.kind == Kind::Secured) {
            if let Some(other) = others.0.get(item) {
                tag.clone_from(other);
            }
        }
    }

    /// Returns whether there are tags of a retry policy of which the remote shows nothing.
    #[must_use]
    pub fn has_hidden_retry_policy(&self, seen: &VisibleValues) -> bool {
        let hidden = |item: &Item| {
            let shown = seen.applications.get(&item.application);
            item.kind == Kind::RetryPolicy && shown.is_none_or(|shown| shown.retry_policy.is_empty())
        };
        self.0.keys().any(hidden)
    }

    /// Returns whether the remote shows every visible value as its tag says, except for ignored values.
    #[must_use]
    pub fn fits(&self, seen: &VisibleValues) -> bool {
        self.differences(seen).is_empty()
    }
}

impl FromIterator<(Item, String)> for Tags {
    fn from_iter<I: IntoIterator<Item = (Item, String)>>(tags: I) -> Self {
        Self(tags.into_iter().collect())
    }
}

fn is_ignored(item: &Item, ignored: &BTreeSet<(String, String)>) -> bool {
    item.kind == Kind::Standard
        && ignored.iter().any(|(application, key)| *application == item.application && *key == item.key)
}

/// Returns the visible value of this name.
fn text<'v>(values: &'v VisibleValues, item: &Item) -> Option<&'v String> {
    let application = || values.applications.get(&item.application);
    match item.kind {
        Kind::Secured => None,
        Kind::Schedule => application()?.schedule.as_ref(),
        Kind::RetryPolicy => application()?.retry_policy.get(item.key.as_str()),
        Kind::Standard if item.application == GLOBAL => values.global.get(&item.key),
        Kind::Standard => application()?.standard.get(&item.key),
    }
}

/// Returns the tag of a visible value: eight hexadecimal digits of the SHA-256 of its name and the value.
fn visible_tag(item: &Item, text: &str) -> String {
    let mut hash = Sha256::new();
    feed(&mut hash, &[&item.application, &item.key, text]);
    hex(&hash.finalize()[..4])
}

/// Most bytes that the names of values take in a message.
const NAMES_LENGTH: usize = 600;

/// Lists names of values up to [`NAMES_LENGTH`], and how many more there are.
#[must_use]
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
#[path = "tags_tests.rs"]
mod tests;
