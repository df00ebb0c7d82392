//! Finds what the service would refuse, or what would fail minutes later, before anything is sent. Pure.
//!
//! Reports all problems at once, with the names that exist. What is not known is not a problem: the service decides
//! then.

use std::collections::BTreeSet;

use connect_api::model::{ApplicationType, IsPreviewable};

use super::declared::Declared;
use super::desired::UrlValue;
use crate::operator::remote::RegistryConnector;
use crate::operator::values::names::{GLOBAL, Item, Kind};
use crate::operator::values::{Values, place};

/// Checks a connector that is about to be created from or moved to: its state and its regions.
pub(super) fn of_offering(region: &str, offering: &RegistryConnector) -> Vec<String> {
    let mut problems = Vec::new();
    if let Some(previewable) = offering.previewable.as_ref().filter(|word| **word != IsPreviewable::Yes) {
        let state = previewable.as_str();
        problems.push(format!(
            "the staged connector cannot be deployed, its isPreviewable is {state}: request preview permission, and \
             wait until it is true"
        ));
    }
    let regions = &offering.supported_regions;
    if !regions.is_empty() && !regions.iter().any(|supported| supported == region) {
        problems.push(format!("region {region} is not supported; the connector supports {}", regions.join(", ")));
    }
    problems
}

/// Compares the values with what a connector declares.
pub(super) fn of_values(values: &Values, url_values: &[UrlValue], declared: &Declared) -> Vec<String> {
    let names: BTreeSet<&str> = declared.applications.keys().map(String::as_str).collect();
    let unknown = values.applications.iter().filter(|name| !names.contains(name.as_str()));
    let unknown = unknown.map(|name| format!("the connector has no application {name}{}", others(&names)));
    let mut problems: Vec<String> = unknown.collect();
    for name in declared.applications.keys() {
        of_keys(name, declared, values, &mut problems);
    }
    of_keys(GLOBAL, declared, values, &mut problems);
    problems.extend(url_values.iter().filter_map(|value| of_url(value, declared, &names)));
    problems
}

/// Finds a value that is the URL of an application which never gets one, or which the connector does not have.
fn of_url(value: &UrlValue, declared: &Declared, names: &BTreeSet<&str>) -> Option<String> {
    let (item, name) = (&value.item, &value.application);
    let Some(kind) = declared.applications.get(name) else {
        let others = others(names);
        return Some(format!("{item} takes the URL of application {name}, which does not exist{others}"));
    };
    // Contract section 15.3. An unknown type may have one.
    let has_none = matches!(kind, ApplicationType::Event | ApplicationType::Job);
    has_none.then(|| {
        let kind = kind.as_str();
        format!("{item} takes the URL of application {name}, which is of type {kind} and never has one")
    })
}

/// Compares the values of an application, or the global ones, with the declared keys.
fn of_keys(application: &str, declared: &Declared, values: &Values, problems: &mut Vec<String>) {
    let place = place(application);
    let own = |item: &&Item| item.application == application;
    let lists = [(Kind::Standard, Kind::Secured), (Kind::Secured, Kind::Standard)];
    for (kind, other) in lists {
        let given = values.visible.keys().chain(values.secured.keys()).filter(own).filter(|item| item.kind == kind);
        for item in given.filter(|item| !declared.keys.contains_key(*item)) {
            let (key, words) = (&item.key, [kind, other].map(Kind::as_str));
            problems.push(if declared.keys.contains_key(&Item { kind: other, ..item.clone() }) {
                format!("{place} declares {key} as {}, not as {}: move it to the other list", words[1], words[0])
            } else {
                let all = declared.keys.keys().filter(own).map(|item| item.key.as_str()).collect();
                format!("{place} has no key {key}{}", others(&all))
            });
        }
    }
    for (kind, _) in lists {
        let keys = declared.keys.iter().filter(|(item, key)| own(item) && item.kind == kind && key.required);
        let missing: Vec<_> = keys.filter(|(item, _)| !values.has(item)).map(|(item, _)| item.key.as_str()).collect();
        if !missing.is_empty() {
            problems.push(format!("{place} requires a value for the {} {}", kind.as_str(), missing.join(", ")));
        }
    }
}

/// Lists the names that exist.
fn others(names: &BTreeSet<&str>) -> String {
    if names.is_empty() {
        return "; it has none".to_owned();
    }
    format!(" (it has {})", names.iter().copied().collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
#[path = "preflight_tests.rs"]
mod tests;
