//! The pure steps around `decide`, which has its tables beside it: what users request, and what the status hides and
//! bounds.

mod desired;
mod intent;
mod size;
mod status;

use crate::prelude::*;

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
