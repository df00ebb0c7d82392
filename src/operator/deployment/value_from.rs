//! From which Secrets and ConfigMaps a spec takes its values. Pure.

use std::collections::BTreeSet;

use crate::crd::{ConfigurationValues, ConnectorDeploymentSpec};
use crate::operator::cluster::references::{Named, Reference};

/// A value that is one key of an object: its own key, and the object with the key of it.
struct Selected<'a> {
    key: &'a str,
    kind: Named,
    object: &'a str,
    entry: &'a str,
}

fn all(spec: &ConnectorDeploymentSpec) -> impl Iterator<Item = &ConfigurationValues> {
    spec.configurations.iter().map(|application| &application.values).chain(&spec.global_configuration)
}

fn selected(values: &ConfigurationValues) -> impl Iterator<Item = Selected<'_>> {
    let standard = values.standard_configuration.iter().filter_map(|value| {
        let reference = value.value_from.as_ref()?.config_map_key_ref.as_ref()?;
        Some(Selected { key: &value.key, kind: Named::ConfigMap, object: &reference.name, entry: &reference.key })
    });
    let secured = values.secured_configuration.iter().map(|value| {
        let reference = &value.value_from.secret_key_ref;
        Selected { key: &value.key, kind: Named::Secret, object: &reference.name, entry: &reference.key }
    });
    standard.chain(secured)
}

/// Returns the Secrets and ConfigMaps that a spec names for its values.
pub fn references(spec: &ConnectorDeploymentSpec) -> BTreeSet<Reference> {
    let mut named = BTreeSet::new();
    for values in all(spec) {
        named.extend(selected(values).map(|value| (value.kind, value.object.to_owned())));
    }
    for from in &spec.configuration_from {
        named.extend(from.secret_ref.iter().map(|secret| (Named::Secret, secret.name.clone())));
        named.extend(from.config_map_ref.iter().map(|config_map| (Named::ConfigMap, config_map.name.clone())));
    }
    named
}

/// Returns where the values come from whose keys a text of the service names, as sentences without a full stop. Objects
/// that are taken as a whole are left out: which of them has the key is not known here.
pub fn sources_of(spec: &ConnectorDeploymentSpec, text: &str) -> Vec<String> {
    let is_part = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-');
    let words: BTreeSet<&str> = text.split(|letter| !is_part(letter)).collect();
    let mut sources = Vec::new();
    for Selected { key, kind, object, entry } in all(spec).flat_map(selected).filter(|it| words.contains(it.key)) {
        let source = format!("{key} is key {entry} of {} {object}", kind.as_str());
        if !sources.contains(&source) {
            sources.push(source);
        }
    }
    sources
}

/// Returns the note about these values with invisible characters at an end, if there are any.
pub fn invisible_note(invisible: &[String]) -> Option<String> {
    (!invisible.is_empty()).then(|| {
        format!(
            "Invisible characters at an end of the value are sent with it: {}. If they are not meant, write the value without \
             them, for example with `printf %s` in place of `echo`, and files as UTF-8 without a byte order mark",
            invisible.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_sources_of_the_values_that_a_text_names_are_found() {
        let spec: ConnectorDeploymentSpec = serde_json::from_value(json!({
            "projectRef": {"name": "shop"}, "connector": {"key": "tax"},
            "configurations": [
                {"applicationName": "service", "standardConfiguration": [
                    {"key": "URL", "valueFrom": {"configMapKeyRef": {"name": "urls", "key": "tax"}}},
                    {"key": "LOG_LEVEL", "value": "info"}]},
                {"applicationName": "job", "securedConfiguration": [
                    {"key": "API_TOKEN", "valueFrom": {"secretKeyRef": {"name": "tax", "key": "token"}}},
                    {"key": "PIN", "valueFrom": {"secretKeyRef": {"name": "tax", "key": "pin"}}}]}],
            "configurationFrom": [{"secretRef": {"name": "whole"}}],
            "globalConfiguration": {"securedConfiguration": [
                {"key": "API_TOKEN", "valueFrom": {"secretKeyRef": {"name": "tax", "key": "token"}}}]},
        }))
        .expect("a spec");
        let token = "API_TOKEN is key token of Secret tax";
        for (text, expected) in [
            ("the build failed", vec![]),
            ("API_TOKEN is not valid", vec![token]),
            ("is `API_TOKEN` set? API_TOKEN: no", vec![token]),
            ("API_TOKENS is not valid, nor X_API_TOKEN, nor API_TOKEN-2", vec![]),
            ("LOG_LEVEL is in the spec itself", vec![]),
            ("URL and PIN", vec!["URL is key tax of ConfigMap urls", "PIN is key pin of Secret tax"]),
        ] {
            assert_eq!(sources_of(&spec, text), expected, "{text}");
        }
    }
}
