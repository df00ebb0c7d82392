//! Manifests that tests start from, and functions that change them.

use json_patch::merge;

use crate::prelude::*;

/// Every field of every spec.
pub(crate) const FULL: &str = include_str!("../fixtures/manifests/full.yaml");
/// What a first-time user writes.
pub(crate) const MINIMAL: &str = include_str!("../fixtures/manifests/minimal.yaml");

/// Returns the documents of a stream.
pub(crate) fn documents(yaml: &str) -> Vec<Value> {
    serde_saphyr::from_multiple(yaml).unwrap()
}

/// A small `ConnectProject`.
pub(crate) fn project(name: &str) -> Value {
    json!({
        "apiVersion": "connect-operator.io/v1alpha1",
        "kind": "ConnectProject",
        "metadata": {"name": name},
        "spec": {
            "projectKey": "demo",
            "region": "europe-west1.gcp",
            "credentialsSecretRef": {"name": "shop-credentials"},
        },
    })
}

/// A small `ConnectorDeployment`.
pub(crate) fn deployment(name: &str) -> Value {
    json!({
        "apiVersion": "connect-operator.io/v1alpha1",
        "kind": "ConnectorDeployment",
        "metadata": {"name": name},
        "spec": {"projectRef": {"name": "shop"}, "connector": {"key": "demo-connector"}},
    })
}

/// A Secret.
pub(crate) fn secret(name: &str, data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data})
}

/// `manifest` under another name.
pub(crate) fn named(mut manifest: Value, name: &str) -> Value {
    manifest["metadata"]["name"] = json!(name);
    manifest
}

/// `manifest` with `change` merged into its spec (RFC 7386: null removes).
pub(crate) fn with_spec(mut manifest: Value, change: &Value) -> Value {
    merge(&mut manifest["spec"], change);
    manifest
}
