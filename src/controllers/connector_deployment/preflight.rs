//! Finds what the service would refuse, or what would fail minutes later, before anything is sent. Pure.
//!
//! Reports all problems at once, with the names that exist. What is not known is not a problem: the service decides
//! then.

use std::collections::{BTreeMap, BTreeSet};

use connect_api::model::{
    ApplicationType, DeclaredApplication, DeclaredGlobal, IsPreviewable, SecuredKey, StandardKey,
};
use secrecy::SecretString;

use super::application_urls;
use super::desired::UrlValue;
use crate::controllers::remote::RegistryConnector;
use crate::controllers::values::{ApplicationValues, Values};

/// Least similarity (Jaro-Winkler) of a name that a message suggests.
const LIKENESS: f64 = 0.8;

/// Checks a connector that is about to be created from or moved to: its state, its regions and its declarations.
pub(super) fn of_offering(values: &Values, region: &str, offering: &RegistryConnector) -> Vec<String> {
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
    problems.extend(of_declarations(values, offering.applications.as_deref(), offering.global.as_ref()));
    problems
}

/// Compares the values with what a connector declares; `applications`: `None` if that is not known.
pub(super) fn of_declarations(
    values: &Values,
    applications: Option<&[DeclaredApplication]>,
    global: Option<&DeclaredGlobal>,
) -> Vec<String> {
    let Some(applications) = applications else { return Vec::new() };
    let mut problems = Vec::new();
    let names: BTreeSet<&str> = applications.iter().map(|application| application.application_name.as_str()).collect();
    for name in values.applications.keys().filter(|name| !names.contains(name.as_str())) {
        problems.push(format!("the connector has no application {name}{}", others(name, &names)));
    }
    let none = ApplicationValues::default();
    for application in applications {
        let name = &application.application_name;
        let keys = Variables::of(&application.standard_configuration, &application.secured_configuration);
        let given = values.applications.get(name).unwrap_or(&none);
        keys.check(&format!("application {name}"), given, &mut problems);
        problems.extend(retry_policy(application, given));
    }
    let declared = DeclaredGlobal::default();
    let global = global.unwrap_or(&declared);
    let keys = Variables::of(&global.standard_configuration, &global.secured_configuration);
    keys.check("globalConfiguration", &values.global, &mut problems);
    problems
}

/// Finds values that are the URL of an application which never gets one, or which the connector does not have.
pub(super) fn of_urls(values: &[UrlValue], applications: Option<&[DeclaredApplication]>) -> Vec<String> {
    let Some(applications) = applications else { return Vec::new() };
    let names: BTreeSet<&str> = applications.iter().map(|application| application.application_name.as_str()).collect();
    let problem = |value: &UrlValue| {
        let name = &value.application;
        let declared = applications.iter().find(|application| application.application_name == *name);
        match declared.map(|declared| &declared.application_type) {
            None => Some(format!(
                "{} takes the URL of application {name}, which does not exist{}",
                value.item,
                others(name, &names)
            )),
            Some(kind) if application_urls::has_none(kind) => Some(format!(
                "{} takes the URL of application {name}, which is of type {} and never has one",
                value.item,
                kind.as_str()
            )),
            Some(_) => None,
        }
    };
    values.iter().filter_map(problem).collect()
}

/// Finds a retry policy where it has no effect: only messages of an event application are redelivered. An unknown type
/// is not a problem.
fn retry_policy(application: &DeclaredApplication, given: &ApplicationValues) -> Option<String> {
    let (name, kind) = (&application.application_name, &application.application_type);
    let takes_one = matches!(kind, ApplicationType::Event | ApplicationType::Other(_));
    (given.retry_policy.is_some() && !takes_one).then(|| {
        format!(
            "application {name} takes no retryPolicy: it is of type {}, and only type event takes one",
            kind.as_str()
        )
    })
}

/// The variables of an application, or the global ones.
struct Variables<'a> {
    /// By key: whether a value is required.
    plain: BTreeMap<&'a str, bool>,
    hidden: BTreeMap<&'a str, bool>,
}

impl<'a> Variables<'a> {
    fn of(standard: &'a [StandardKey], secured: &'a [SecuredKey]) -> Self {
        let plain = |key: &'a StandardKey| (key.key.as_str(), key.required && key.default.is_none());
        Self {
            plain: standard.iter().map(plain).collect(),
            hidden: secured.iter().map(|key| (key.key.as_str(), key.required)).collect(),
        }
    }

    fn check(&self, place: &str, given: &ApplicationValues, problems: &mut Vec<String>) {
        self.unknown(place, given.standard.keys(), ("plain", &self.plain), ("secured", &self.hidden), problems);
        self.unknown(place, given.secured.keys(), ("secured", &self.hidden), ("plain", &self.plain), problems);
        let missing = |given: &BTreeSet<&str>, declared: &BTreeMap<&'a str, bool>| {
            let required = declared.iter().filter(|(key, required)| **required && !given.contains(**key));
            required.map(|(key, _)| (*key).to_owned()).collect::<Vec<_>>()
        };
        let plain = missing(&names(&given.standard), &self.plain);
        let secured = missing(&secured_names(&given.secured), &self.hidden);
        for (kind, keys) in [("plain", plain), ("secured", secured)] {
            if !keys.is_empty() {
                problems.push(format!("{place} requires a value for the {kind} {}", keys.join(", ")));
            }
        }
    }

    fn unknown<'k>(
        &self,
        place: &str,
        given: impl Iterator<Item = &'k String>,
        (kind, declared): (&str, &BTreeMap<&'a str, bool>),
        (other_kind, other_keys): (&str, &BTreeMap<&'a str, bool>),
        problems: &mut Vec<String>,
    ) {
        for key in given.filter(|key| !declared.contains_key(key.as_str())) {
            problems.push(if other_keys.contains_key(key.as_str()) {
                format!("{place} declares {key} as {other_kind}, not as {kind}: move it to the other list")
            } else {
                let all: BTreeSet<&str> = self.plain.keys().chain(self.hidden.keys()).copied().collect();
                format!("{place} has no key {key}{}", others(key, &all))
            });
        }
    }
}

fn names(values: &BTreeMap<String, String>) -> BTreeSet<&str> {
    values.keys().map(String::as_str).collect()
}

fn secured_names(values: &BTreeMap<String, SecretString>) -> BTreeSet<&str> {
    values.keys().map(String::as_str).collect()
}

/// Lists the names that exist, and suggests the most similar one.
fn others(name: &str, names: &BTreeSet<&str>) -> String {
    if names.is_empty() {
        return "; it has none".to_owned();
    }
    let likeness = |other: &str| strsim::jaro_winkler(&name.to_lowercase(), &other.to_lowercase());
    let like = names.iter().map(|other| (likeness(other), *other)).filter(|(likeness, _)| *likeness >= LIKENESS);
    let meant = like.max_by(|(one, _), (other, _)| one.total_cmp(other));
    let hint = meant.map(|(_, other)| format!(": did you mean {other}?")).unwrap_or_default();
    let all = names.iter().copied().collect::<Vec<_>>().join(", ");
    format!("{hint} (it has {all})")
}

#[cfg(test)]
#[path = "preflight_tests.rs"]
mod tests;
