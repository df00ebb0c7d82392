//! What a resource asks for, computed from the objects of the cluster by code of its own: the operator's computation is
//! what is under test.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::checker::TOKEN;
use crate::prelude::*;
use crate::remote::GLOBAL;
use crate::users::{APPLICATION, FEATURES};

/// Returns the values that a resource asks for, with defaults for what is not set; `None`: an object that it references
/// is missing.
pub(crate) fn values(cluster: &Cluster, namespace: &str, object: &Value) -> Option<Values> {
    let mut values = Values::default();
    for source in object["spec"]["configurationFrom"].as_array().into_iter().flatten() {
        put_declared(&mut values, cluster, namespace, source)?;
    }
    for configuration in object.pointer("/spec/configurations")?.as_array()? {
        let application = configuration["applicationName"].as_str()?;
        put(&mut values, cluster, namespace, (application, configuration))?;
        if let Ok(policy) = serde_json::from_value(configuration["retryPolicy"].clone()) {
            values.put(application, &[], Some(&policy));
        }
    }
    put(&mut values, cluster, namespace, (GLOBAL, &object["spec"]["globalConfiguration"]))?;
    // The connector requires it.
    values.secured.contains_key(TOKEN).then(|| values.with_defaults())
}

/// Returns the plain values that the spec of a resource names one by one, also those that it sets to their defaults.
pub(crate) fn named(object: &ConnectorDeployment) -> BTreeSet<String> {
    let configurations = object.spec.configurations.iter();
    let keys = configurations
        .flat_map(|of| of.values.standard_configuration.iter().map(|entry| (&of.application_name, &entry.key)));
    keys.map(|(application, key)| Values::key(application, key)).collect()
}

/// Rule 14: the one plain and the one secured value that the connector of the histories declares.
fn put_declared(values: &mut Values, cluster: &Cluster, namespace: &str, source: &Value) -> Option<()> {
    if let Some(named) = source.pointer("/configMapRef/name") {
        let config_map = cluster.get(&Key::new(Kind::ConfigMap, namespace, named.as_str()?))?;
        let declared = config_map["data"].get(FEATURES).and_then(Value::as_str);
        values.plain.extend(declared.map(|value| (Values::key(APPLICATION, FEATURES), value.to_owned())));
    } else {
        let secret = cluster.get(&Key::new(Kind::Secret, namespace, source.pointer("/secretRef/name")?.as_str()?))?;
        let declared = secret["data"].get(TOKEN).and_then(Value::as_str);
        values.secured.extend(declared.map(|encoded| (Values::key(APPLICATION, TOKEN), decoded(encoded))));
    }
    Some(())
}

fn put(values: &mut Values, cluster: &Cluster, namespace: &str, (application, of): (&str, &Value)) -> Option<()> {
    let key = |key: &str| Values::key(application, key);
    let entries = |name: &str| of[name].as_array().cloned().unwrap_or_default();
    for entry in entries("standardConfiguration") {
        let value = if let Some(value) = entry["value"].as_str() {
            value.to_owned()
        } else {
            let named = &entry["valueFrom"]["configMapKeyRef"];
            let config_map = cluster.get(&Key::new(Kind::ConfigMap, namespace, named["name"].as_str()?))?;
            config_map["data"][named["key"].as_str()?].as_str()?.to_owned()
        };
        values.plain.insert(key(entry["key"].as_str()?), value);
    }
    for entry in entries("securedConfiguration") {
        let named = &entry["valueFrom"]["secretKeyRef"];
        let secret = cluster.get(&Key::new(Kind::Secret, namespace, named["name"].as_str()?))?;
        let encoded = secret["data"][named["key"].as_str()?].as_str()?;
        values.secured.insert(key(entry["key"].as_str()?), decoded(encoded));
    }
    Some(())
}

fn decoded(encoded: &str) -> String {
    let bytes = STANDARD.decode(encoded).expect("the Secrets of a history are Base64");
    String::from_utf8(bytes).expect("the value is UTF-8")
}
