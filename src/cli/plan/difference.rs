//! Compares values: which ones a redeploy would change. Pure.
//!
//! Plain values, schedules and retry policies are compared with the record of the remote. Secured values cannot be read
//! there: they are compared with those of the cluster, if these are known to be the applied ones. A difference never
//! contains a secured value.

use std::collections::{BTreeMap, BTreeSet};

use connect_api::model::{
    ApplicationDeployment, ConfigurationValue, DeclaredApplication, DeclaredGlobal, Deployment, SecuredValue,
};
use secrecy::SecretString;
use serde::Serialize;

use crate::controllers::values::digest::DigestKey;
use crate::controllers::values::names::{GLOBAL, Item};
use crate::controllers::values::{ApplicationValues, RETRY_STRATEGY, Values, retry_policy_members};

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
    /// Its key; `null` for a schedule and for a retry policy.
    pub(super) key: Option<String>,
    /// How it would change.
    pub(super) change: Change,
    /// The value at the remote; `null` if there is none or it is secured.
    pub(super) before: Option<String>,
    /// The value afterwards.
    pub(super) after: Option<String>,
}

impl Difference {
    /// Identifies the value as the status does.
    pub(super) fn item(&self) -> Item {
        let application = self.application.as_deref().unwrap_or(GLOBAL);
        let key = self.key.as_deref().unwrap_or_default();
        match self.kind {
            Kind::Plain => Item::standard(application, key),
            Kind::Secured => Item::secured(application, key),
            Kind::Schedule => Item::schedule(application),
            Kind::RetryPolicy => Item::retry_policy(application, RETRY_STRATEGY),
        }
    }
}

/// The inputs of the comparison.
pub(super) struct Sides<'a> {
    /// The record of the remote; `None` if there is none yet.
    pub(super) record: Option<&'a Deployment>,
    /// The values that were applied last, if they are known.
    pub(super) applied: Option<&'a Values>,
    /// The desired values.
    pub(super) desired: &'a Values,
    /// The declarations of the applications.
    pub(super) applications: Option<&'a [DeclaredApplication]>,
    /// The declarations of the global configuration.
    pub(super) global: Option<&'a DeclaredGlobal>,
    /// Key for comparing secured values without exposing them.
    pub(super) key: &'a DigestKey,
}

/// Returns the differences, ordered by name.
pub(super) fn differences(sides: &Sides<'_>) -> Vec<Difference> {
    let recorded = sides.record.map(|record| record.applications.as_slice()).unwrap_or_default();
    let names: BTreeSet<&String> = recorded
        .iter()
        .map(|application| &application.application_name)
        .chain(sides.desired.applications.keys())
        .collect();
    let mut found = Vec::new();
    let nothing = ApplicationValues::default();
    if sides.record.is_some() || !is_empty(&sides.desired.global) {
        let record = sides.record.and_then(|record| record.global_configuration.as_ref());
        let defaults = sides.global.map(|global| &global.standard_configuration).into_iter().flatten();
        compare(
            &ComparedValues {
                application: None,
                standard: record.map(|record| record.standard_configuration.as_slice()).unwrap_or_default(),
                secured: record.map(|record| record.secured_configuration.as_slice()).unwrap_or_default(),
                applied: sides.applied.map(|applied| &applied.global),
                desired: &sides.desired.global,
                defaults: defaults.filter_map(|key| Some((key.key.as_str(), key.default.as_deref()?))).collect(),
                key: sides.key,
            },
            &mut found,
        );
    }
    for name in names {
        let record = recorded.iter().find(|application| application.application_name == *name);
        let declared =
            sides.applications.into_iter().flatten().find(|application| application.application_name == *name);
        let defaults = declared.map(|declared| &declared.standard_configuration).into_iter().flatten();
        let desired = sides.desired.applications.get(name).unwrap_or(&nothing);
        compare(
            &ComparedValues {
                application: Some(name),
                standard: record.map(|record| record.standard_configuration.as_slice()).unwrap_or_default(),
                secured: record.map(|record| record.secured_configuration.as_slice()).unwrap_or_default(),
                applied: sides.applied.map(|applied| applied.applications.get(name).unwrap_or(&nothing)),
                desired,
                defaults: defaults.filter_map(|key| Some((key.key.as_str(), key.default.as_deref()?))).collect(),
                key: sides.key,
            },
            &mut found,
        );
        let applied = sides.applied.and_then(|applied| applied.applications.get(name));
        schedule(name, record, applied, desired, &mut found);
        retry_policy(name, record, applied, desired, &mut found);
    }
    found
}

/// Compares the schedule. Without one in the spec, the connector's own schedule applies.
fn schedule(
    name: &str,
    record: Option<&ApplicationDeployment>,
    applied: Option<&ApplicationValues>,
    desired: &ApplicationValues,
    found: &mut Vec<Difference>,
) {
    let before = record.and_then(|record| record.schedule.clone());
    let application = Some(name.to_owned());
    if let Some(after) = desired.schedule.clone().filter(|after| before.as_ref() != Some(after)) {
        let change = if before.is_some() { Change::Changed } else { Change::Added };
        found.push(Difference { application, kind: Kind::Schedule, key: None, change, before, after: Some(after) });
    } else if desired.schedule.is_none() {
        let applied = applied.and_then(|applied| applied.schedule.clone());
        if applied.is_some() && applied == before {
            let (after, change) = (applied, Change::Retained);
            found.push(Difference { application, kind: Kind::Schedule, key: None, change, before, after });
        }
    }
}

/// Compares the retry policy, which is replaced as a whole. If the record has none, it is assumed to be the one that
/// was applied, because older versions of the service omit it; members that were not sent are defaults of the service.
fn retry_policy(
    name: &str,
    record: Option<&ApplicationDeployment>,
    applied: Option<&ApplicationValues>,
    desired: &ApplicationValues,
    found: &mut Vec<Difference>,
) {
    let applied = applied.and_then(|applied| applied.retry_policy.as_ref()).map(retry_policy_members);
    let shown = record.and_then(|record| record.retry_policy.as_ref()).map(retry_policy_members);
    let there = shown.or_else(|| applied.clone().filter(|_| record.is_some()));
    let wanted = desired.retry_policy.as_ref().map(retry_policy_members);
    let has_all =
        |members: &Members, there: &Members| members.iter().all(|member| there.get(member.0) == Some(member.1));
    let change = match (&there, &wanted) {
        (None, Some(_)) => Change::Added,
        (Some(there), Some(wanted)) if !has_all(wanted, there) => Change::Changed,
        (Some(_), Some(wanted)) if applied.as_ref().is_some_and(|applied| applied != wanted) => Change::Changed,
        (Some(there), None) if applied.as_ref().is_some_and(|applied| has_all(applied, there)) => Change::Retained,
        _ => return,
    };
    let before = there.as_ref().map(in_words);
    let after = wanted.as_ref().map(in_words).or_else(|| before.clone());
    let application = Some(name.to_owned());
    found.push(Difference { application, kind: Kind::RetryPolicy, key: None, change, before, after });
}

/// Members of a retry policy by name.
type Members = BTreeMap<&'static str, String>;

/// Formats a retry policy on one line, strategy first.
fn in_words(members: &Members) -> String {
    let others = members.iter().filter(|(member, _)| **member != RETRY_STRATEGY);
    let others = others.map(|(member, value)| format!("{member} {value}"));
    members.get(RETRY_STRATEGY).cloned().into_iter().chain(others).collect::<Vec<_>>().join(", ")
}

fn is_empty(values: &ApplicationValues) -> bool {
    values.standard.is_empty() && values.secured.is_empty()
}

/// The values of one application, or the global values.
struct ComparedValues<'a> {
    application: Option<&'a String>,
    standard: &'a [ConfigurationValue],
    secured: &'a [SecuredValue],
    applied: Option<&'a ApplicationValues>,
    desired: &'a ApplicationValues,
    defaults: BTreeMap<&'a str, &'a str>,
    key: &'a DigestKey,
}

fn compare(place: &ComparedValues<'_>, found: &mut Vec<Difference>) {
    let there: BTreeMap<&String, &String> = place.standard.iter().map(|value| (&value.key, &value.value)).collect();
    let keys: BTreeSet<&String> = there.keys().copied().chain(place.desired.standard.keys()).collect();
    for key in keys {
        let before = there.get(key).map(|text| (*text).clone());
        let default = place.defaults.get(key.as_str()).map(|text| (*text).to_owned());
        let after = place.desired.standard.get(key).cloned();
        let change = match (&before, &after) {
            (before, after) if before == after => continue,
            // The service may return the default for a value that was not sent.
            (before, None) if *before == default => continue,
            (None, _) => Change::Added,
            (_, None) => Change::Retained,
            _ => Change::Changed,
        };
        let after = after.or_else(|| before.clone());
        let application = place.application.cloned();
        found.push(Difference { application, kind: Kind::Plain, key: Some(key.clone()), change, before, after });
    }
    let there: BTreeSet<&String> = place.secured.iter().map(|value| &value.key).collect();
    let before = place.applied.map_or(there, |applied| applied.secured.keys().collect());
    let keys: BTreeSet<&String> = before.iter().copied().chain(place.desired.secured.keys()).collect();
    for key in keys {
        let applied = place.applied.and_then(|applied| applied.secured.get(key));
        let change = match (place.desired.secured.get(key), applied) {
            (None, _) => Change::Retained,
            (Some(_), None) if !before.contains(key) => Change::Added,
            (Some(_), None) => Change::Unknown,
            (Some(after), Some(applied)) if same(place.key, after, applied) => continue,
            (Some(_), Some(_)) => Change::Changed,
        };
        let application = place.application.cloned();
        let key = Some(key.clone());
        found.push(Difference { application, kind: Kind::Secured, key, change, before: None, after: None });
    }
}

/// Compares two secured values by their digests, without exposing them.
fn same(key: &DigestKey, one: &SecretString, other: &SecretString) -> bool {
    let digest = |value: &SecretString| {
        let mut values = Values::default();
        values.global.secured.insert(String::new(), value.clone());
        key.digest(&values)
    };
    digest(one) == digest(other)
}

#[cfg(test)]
#[path = "difference_tests.rs"]
mod tests;
