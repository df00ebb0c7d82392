//! What a resource asks for, read from the objects of the cluster by rules of its own: the operator's reading is what
//! is judged.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::cluster::{Cluster, Key, Kind};
use crate::remote::Values;

/// The values that a resource asks for; `None`: something that it names is missing.
pub(crate) fn values(cluster: &Cluster, namespace: &str, object: &Value) -> Option<Values> {
    let mut values = Values::default();
    let configuration = object.pointer("/spec/configurations/0")?;
    for entry in configuration["standardConfiguration"].as_array().into_iter().flatten() {
        let key = entry["key"].as_str()?.to_owned();
        let value = if let Some(value) = entry["value"].as_str() {
            value.to_owned()
        } else {
            let named = &entry["valueFrom"]["configMapKeyRef"];
            let config_map = cluster.get(&Key::new(Kind::ConfigMap, namespace, named["name"].as_str()?))?;
            config_map["data"][named["key"].as_str()?].as_str()?.to_owned()
        };
        values.plain.insert(key, value);
    }
    for entry in configuration["securedConfiguration"].as_array().into_iter().flatten() {
        let named = &entry["valueFrom"]["secretKeyRef"];
        let secret = cluster.get(&Key::new(Kind::Secret, namespace, named["name"].as_str()?))?;
        let encoded = secret["data"][named["key"].as_str()?].as_str()?;
        let bytes = STANDARD.decode(encoded).expect("Secrets here are Base64");
        values.secured.insert(entry["key"].as_str()?.to_owned(), String::from_utf8(bytes).expect("and text"));
    }
    Some(values)
}
