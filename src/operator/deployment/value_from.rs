//! From which Secrets and ConfigMaps a spec takes its values. Pure.

use std::collections::BTreeSet;

use crate::crd::ConnectorDeploymentSpec;
use crate::operator::cluster::references::{Reference, Referenced};

/// Returns the Secrets and ConfigMaps that a spec names for its values.
pub fn references(spec: &ConnectorDeploymentSpec) -> BTreeSet<Reference> {
    let mut named = BTreeSet::new();
    let applications = spec.configurations.iter().map(|application| &application.values);
    for values in applications.chain(&spec.global_configuration) {
        let plain = values.standard_configuration.iter().filter_map(|value| value.value_from.as_ref());
        let keys = plain.filter_map(|from| from.config_map_key_ref.as_ref());
        named.extend(keys.map(|key| (Referenced::ConfigMap, key.name.clone())));
        let secured = values.secured_configuration.iter().map(|value| &value.value_from.secret_key_ref);
        named.extend(secured.map(|key| (Referenced::Secret, key.name.clone())));
    }
    for from in &spec.configuration_from {
        named.extend(from.secret_ref.iter().map(|secret| (Referenced::Secret, secret.name.clone())));
        named.extend(from.config_map_ref.iter().map(|config_map| (Referenced::ConfigMap, config_map.name.clone())));
    }
    named
}
