//! The schemas on a real API server: what it accepts, what it refuses with which message, which fields are immutable,
//! and what users and tools see. The tables are in `tests/fixtures/manifests/`.

mod identity;
mod shown;
mod tables;

use crate::prelude::*;

/// A small manifest of this kind.
fn small(kind: &str, name: &str) -> Value {
    let mut manifest = match kind {
        "ConnectorDeployment" => manifests::deployment(name),
        "ActionCheck" => json!({
            "apiVersion": "connect-operator.io/v1alpha1",
            "metadata": {"name": name},
            "spec": {
                "frontend": {"url": "https://shop-example.frontastic.live"},
                "action": {"namespace": "cart", "name": "getCart"},
                "method": "GET", "locale": "en-GB", "extensionVersion": "1.4.0",
            },
        }),
        "ConnectorStaged" => manifests::named(kit(), name),
        _ => manifests::project(name),
    };
    manifest["kind"] = json!(kind);
    manifest
}
