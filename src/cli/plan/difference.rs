//! Compares values: which ones a redeploy would change. Pure.
//!
//! Plain values, schedules and retry policies are compared with the record of the remote. Secured values cannot be read
//! there: they are compared with those of the cluster, if these are known to be the applied ones. A difference never
//! contains a secured value.

use std::collections::BTreeSet;

use secrecy::SecretString;
use serde::Serialize;

use crate::operator::deployment::declared::Declared;
use crate::operator::deployment::persisted::ObservedDeployment;
use crate::operator::values::Values;
use crate::operator::values::digest::DigestKey;
use crate::operator::values::names::{GLOBAL, Item, Kind, Names, VisibleValues};

/// Kind of a field of a staged connector; the values of deployments have the words of the operator.
pub(super) const FIELD: &str = "field";

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
    /// The word for its kind.
    pub(super) kind: &'static str,
    /// Its key, the field of a retry policy, or the path of a field; `null` for a schedule.
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
        let application = Some(item.application.clone()).filter(|name| name != GLOBAL);
        let key = Some(item.key.clone()).filter(|key| !key.is_empty());
        Self { application, kind: item.kind.as_str(), key, change, before, after }
    }

    /// Whether it is about this value.
    pub(super) fn is_of(&self, item: &Item) -> bool {
        let texts = [&self.application, &self.key].map(|text| text.as_deref().unwrap_or_default());
        self.kind == item.kind.as_str() && texts == [&item.application, &item.key]
    }
}

/// Returns the differences, ordered by application. `seen`: what the remote has; `None` if there is nothing yet. `applied`: the
/// values that were applied last, if they are known. `key`: for comparing secured values without exposing them.
pub(super) fn differences(
    seen: Option<&ObservedDeployment>,
    applied: Option<&Values>,
    desired: &Values,
    declared: Option<&Declared>,
    key: &DigestKey,
) -> Vec<Difference> {
    let names = Names::of(desired);
    let desired = comparable(desired, key);
    // Nothing stays of what was applied to a deployment that is gone.
    let last = applied.filter(|_| seen.is_some()).map(|applied| comparable(applied, key));
    let mut there = seen.map(|seen| seen.values.clone()).unwrap_or_default();
    if let Some(last) = &last {
        // The service shows no secured value, and older versions of it no retry policy: these are what was applied.
        let shown: Vec<Item> = there.keys().filter(|item| item.kind == Kind::RetryPolicy).cloned().collect();
        let is_hidden = |item: &Item| match item.kind {
            Kind::Secured => true,
            Kind::RetryPolicy => !shown.iter().any(|shown| shown.application == item.application),
            Kind::Standard | Kind::Schedule => false,
        };
        there.extend(last.iter().filter(|(item, _)| is_hidden(item)).map(|(item, text)| (item.clone(), text.clone())));
    } else {
        there.extend(seen.into_iter().flat_map(|seen| seen.secured.iter()).map(|item| (item.clone(), String::new())));
    }
    let default = |item| declared.and_then(|declared| declared.default_of(item));
    let mut found = Vec::new();
    for item in desired.keys().chain(there.keys()).collect::<BTreeSet<_>>() {
        let [before, after] = [&there, &desired].map(|values| values.get(item));
        let is_ours = last.as_ref().and_then(|last| last.get(item)) == before;
        let (change, after) = match (before, after, item.kind) {
            (before, after, _) if before == after => continue,
            (None, after, _) => (Change::Added, after),
            (Some(before), after @ Some(_), Kind::Secured) if before.is_empty() => (Change::Unknown, after),
            (_, after @ Some(_), _) => (Change::Changed, after),
            // What the spec leaves out is that of the connector, or a default of the service.
            (_, None, Kind::Schedule | Kind::RetryPolicy) if !is_ours => continue,
            (_, None, _) if item.is_replaced_by(&names) => (Change::Changed, None),
            (before, None, _) if before == default(item) || !item.is_listed() => continue,
            (before, None, _) => (Change::Retained, before),
        };
        let [before, after] = [before, after].map(|text| text.filter(|_| item.kind != Kind::Secured).cloned());
        found.push(Difference::of(item, change, before, after));
    }
    found.sort();
    found
}

/// Returns texts that differ if the values do: of a secured value its digest, which does not expose it.
fn comparable(values: &Values, key: &DigestKey) -> VisibleValues {
    let digest = |(item, text): (&Item, &SecretString)| {
        let secured = [(item.clone(), text.clone())].into();
        (item.clone(), key.digest(&Values { secured, ..Values::default() }).to_string())
    };
    let visible = values.visible.iter().map(|(item, text)| (item.clone(), text.clone()));
    visible.chain(values.secured.iter().map(digest)).collect()
}

#[cfg(test)]
#[path = "difference_tests.rs"]
mod tests;
