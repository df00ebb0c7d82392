//! What an object of any kind reports.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use crate::prelude::*;

/// The condition of this type.
pub(crate) fn condition(object: &impl Serialize, type_: &str) -> Option<Condition> {
    let object = serde_json::to_value(object).expect("it is JSON");
    let conditions = object["status"]["conditions"].as_array()?;
    let found = conditions.iter().find(|condition| condition["type"] == type_)?;
    serde_json::from_value(found.clone()).ok()
}

/// Whether it has a condition of this type that is true.
pub(crate) fn has(object: &impl Serialize, type_: &str) -> bool {
    condition(object, type_).is_some_and(|condition| condition.status == "True")
}

/// The message of its Ready condition.
pub(crate) fn message(object: &impl Serialize) -> String {
    condition(object, "Ready").map(|ready| ready.message).unwrap_or_default()
}

/// The reason of its Ready condition.
pub(crate) fn reason(object: &impl Serialize) -> String {
    condition(object, "Ready").map(|ready| ready.reason).unwrap_or_default()
}

/// Whether its Ready condition has this reason for its newest generation.
pub(crate) fn is_for_its_generation(object: &impl Serialize, wanted: &str) -> bool {
    let json = serde_json::to_value(object).expect("it is JSON");
    json["status"]["observedGeneration"] == json["metadata"]["generation"] && reason(object) == wanted
}
