//! Compares values: which ones a redeploy would change. Pure.
//!
//! Plain values, schedules and retry policies are compared with the record of the remote. Secured values cannot be read
//! there: they are compared with those of the cluster, if these are known to be the applied ones. A difference never
//! contains a secured value.

use std::collections::{BTreeMap, BTreeSet};

use secrecy::SecretString;
use serde::Serialize;

use crate::operator::deployment::declared::Declared;
use crate::operator::deployment::persisted::ObservedDeployment;
use crate::operator::values::digest::DigestKey;
use crate::operator::values::names::{self, GLOBAL, Item, VisibleValues};
use crate::operator::values::{RETRY_STRATEGY, Values};

/// The kind of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Kind {
    /// A plain value.
    Plain,
    /// A secured value.
    Secured,
    /// Cron expression of a job.
    Schedule,
    /// Retry policy of an event application.
    RetryPolicy,
    /// Field of a staged connector.
    Field,
}

/// How a value would change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Change {
    /// It is added.
    Added,
    /// It gets another value.
    Changed,
    /// It is no longer desired, but stays, because a redeploy removes nothing.
    Retained,
    /// A secured value that is sent and that may or may not differ.
    Unknown,
}

/// One value that would change. It never contains the text of a secured value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct Difference {
    /// Its application; `null` for a global value.
    pub(super) application: Option<String>,
    /// Its kind.
    pub(super) kind: Kind,
    /// Its key, or the path of a field; `null` for a schedule and for a retry policy.
    pub(super) key: Option<String>,
    /// How it would change.
    pub(super) change: Change,
    /// The value at the remote; `null` if there is none or it is secured.
    pub(super) before: Option<String>,
    /// The value afterwards.
    pub(super) after: Option<String>,
}

impl Difference {
    fn of(item: &Item, change: Change, before: Option<String>, after: Option<String>) -> Self {
        let kind = match item.kind {
            names::Kind::Standard => Kind::Plain,
            names::Kind::Secured => Kind::Secured,
            names::Kind::Schedule => Kind::Schedule,
            names::Kind::RetryPolicy => Kind::RetryPolicy,
        };
        let application = Some(item.application.clone()).filter(|name| name != GLOBAL);
        let key = Some(item.key.clone()).filter(|_| matches!(kind, Kind::Plain | Kind::Secured));
        Self { application, kind, key, change, before, after }
    }

    /// Identifies the value as the status does.
    pub(super) fn item(&self) -> Item {
        let application = self.application.as_deref().unwrap_or(GLOBAL);
        let key = self.key.as_deref().unwrap_or_default();
        match self.kind {
            Kind::Plain | Kind::Field => Item::standard(application, key),
            Kind::Secured => Item::secured(application, key),
            Kind::Schedule => Item::schedule(application),
            Kind::RetryPolicy => Item::retry_policy(application, RETRY_STRATEGY),
        }
    }
}

/// The inputs of the comparison.
pub(super) struct Sides<'a> {
    /// What the remote has; `None` if there is nothing yet.
    pub(super) seen: Option<&'a ObservedDeployment>,
    /// The values that were applied last, if they are known.
    pub(super) applied: Option<&'a Values>,
    /// The desired values.
    pub(super) desired: &'a Values,
    /// The declarations of the connector.
    pub(super) declared: Option<&'a Declared>,
    /// Key for comparing secured values without exposing them.
    pub(super) key: &'a DigestKey,
}

/// Returns the differences, ordered by application.
pub(super) fn differences(sides: &Sides<'_>) -> Vec<Difference> {
    // Nothing stays of what was applied to a deployment that is gone.
    let applied = sides.applied.filter(|_| sides.seen.is_some());
    let [desired, applied_last] =
        [Some(sides.desired), applied].map(|it| it.map(|it| it.visible.clone()).unwrap_or_default());
    let seen = sides.seen.map(|seen| seen.values.clone()).unwrap_or_default();
    let mut found = Vec::new();
    for item in desired.keys().chain(seen.keys()).collect::<BTreeSet<_>>() {
        let [before, after, last] = [&seen, &desired, &applied_last].map(|values| values.get(item));
        let change = match (before, after, item.kind) {
            (_, _, names::Kind::RetryPolicy | names::Kind::Secured) => continue,
            (before, after, _) if before == after => continue,
            (None, _, _) => Change::Added,
            (_, Some(_), _) => Change::Changed,
            // Without a schedule in the spec, that of the connector applies.
            (before, None, names::Kind::Schedule) if before != last => continue,
            // The service may return the default for a value that was not sent.
            (before, None, _) if before == default(sides.declared, item) => continue,
            (_, None, _) => Change::Retained,
        };
        found.push(Difference::of(item, change, before.cloned(), after.or(before).cloned()));
    }
    retry_policies([&desired, &applied_last, &seen], &mut found);
    secured(sides, applied, &mut found);
    found.sort();
    found
}

fn default<'a>(declared: Option<&'a Declared>, item: &Item) -> Option<&'a String> {
    declared?.default_of(item)
}

/// Compares the retry policies, which are replaced as a whole. If the record has none, it is assumed to be the one that
/// was applied, because older versions of the service omit it; members that were not sent are defaults of the service.
fn retry_policies([desired, applied, seen]: [&VisibleValues; 3], found: &mut Vec<Difference>) {
    let all = desired.keys().chain(applied.keys()).chain(seen.keys());
    let applications: BTreeSet<&String> =
        all.filter(|item| item.kind == names::Kind::RetryPolicy).map(|item| &item.application).collect();
    for name in applications {
        let members = |values: &VisibleValues| -> BTreeMap<String, String> {
            let own = |item: &Item| item.kind == names::Kind::RetryPolicy && item.application == *name;
            values.iter().filter(|(item, _)| own(item)).map(|(it, text)| (it.key.clone(), text.clone())).collect()
        };
        let [desired, applied, seen] = [desired, applied, seen].map(members);
        let there = if seen.is_empty() { &applied } else { &seen };
        let has = |these: &BTreeMap<String, String>| these.iter().all(|(name, text)| there.get(name) == Some(text));
        let change = match (there.is_empty(), desired.is_empty()) {
            (true, false) => Change::Added,
            (false, false) if !has(&desired) || (!applied.is_empty() && applied != desired) => Change::Changed,
            (false, true) if !applied.is_empty() && has(&applied) => Change::Retained,
            _ => continue,
        };
        let [before, after] = [there, if desired.is_empty() { there } else { &desired }].map(in_words);
        found.push(Difference::of(&Item::retry_policy(name, RETRY_STRATEGY), change, before, after));
    }
}

/// Formats a retry policy on one line, strategy first.
fn in_words(members: &BTreeMap<String, String>) -> Option<String> {
    let others = members.iter().filter(|(member, _)| *member != RETRY_STRATEGY);
    let others = others.map(|(member, value)| format!("{member} {value}"));
    let words: Vec<_> = members.get(RETRY_STRATEGY).cloned().into_iter().chain(others).collect();
    (!words.is_empty()).then(|| words.join(", "))
}

fn secured(sides: &Sides<'_>, applied: Option<&Values>, found: &mut Vec<Difference>) {
    let listed: BTreeSet<Item> = sides.seen.into_iter().flat_map(|seen| seen.secured.iter().cloned()).collect();
    let desired = &sides.desired.secured;
    let applied = applied.map(|applied| &applied.secured);
    let before = applied.map_or(listed, |applied| applied.keys().cloned().collect());
    for item in before.iter().chain(desired.keys()).collect::<BTreeSet<_>>() {
        let change = match (desired.get(item), applied.and_then(|applied| applied.get(item))) {
            (None, _) => Change::Retained,
            (Some(_), None) if !before.contains(item) => Change::Added,
            (Some(_), None) => Change::Unknown,
            (Some(after), Some(applied)) if same(sides.key, after, applied) => continue,
            (Some(_), Some(_)) => Change::Changed,
        };
        found.push(Difference::of(item, change, None, None));
    }
}

/// Compares two secured values by their digests, without exposing them.
fn same(key: &DigestKey, one: &SecretString, other: &SecretString) -> bool {
    let digest = |value: &SecretString| {
        let secured = [(Item::secured(GLOBAL, ""), value.clone())].into();
        key.digest(&Values { secured, ..Values::default() })
    };
    digest(one) == digest(other)
}

#[cfg(test)]
#[path = "difference_tests.rs"]
mod tests;
