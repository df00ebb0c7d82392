//! The pure steps of a reconcile, in tables: the intent, the values to send, and the reported conditions.
//!
//! The step between them, `decide`, has its tables beside it.

mod context;
mod desired;
mod intent;
mod known_objects;
mod namespaces;
mod size;
mod status;

use connect_api::model::Deployment;
use connect_operator::crd::ConnectorDeployment;
use serde_json::{Value, json};

/// Returns the resource `shop/tax` with `spec` merged over a small one.
fn resource(spec: &Value) -> ConnectorDeployment {
    let mut whole = json!({"projectRef": {"name": "shop"}, "connector": {"key": "demo-connector"}});
    for (name, value) in spec.as_object().unwrap() {
        whole[name] = value.clone();
    }
    let mut object = ConnectorDeployment::new("tax", serde_json::from_value(whole).unwrap());
    object.metadata.namespace = Some("shop".to_owned());
    object
}

/// Returns a deployment as the service shows it, with these findings in its report.
fn record(status: &str, report: &Value) -> Deployment {
    serde_json::from_value(json!({
        "id": "6f9619ff-8b86-4011-b42d-00c04fc964ff",
        "key": "shop_tax",
        "version": 3,
        "type": "sandbox",
        "status": status,
        "deployedRegion": "europe-west1.gcp",
        "connector": {
            "id": "0c5a3d7e-3f43-4a0a-8b39-5d0d3ef2c1aa",
            "key": "demo-connector",
            "version": 7,
            "name": "Demo connector",
            "repository": {"url": "https://git.test/demo", "tag": "1.0.7"},
            "configurations": [{"applicationName": "service", "applicationType": "service"}],
        },
        "applications": [{"id": "a", "applicationName": "service", "url": "https://service.test"}],
        "details": {"build": {"id": "build", "report": {"entries": report}}},
    }))
    .unwrap()
}
