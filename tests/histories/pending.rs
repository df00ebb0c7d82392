//! The operation of a first create, which only an annotation has until the status has it (rule 1). Pure.

use connect_operator::names;
use serde_json::Value;

/// Returns the object with the operation of its annotation in its status, as long as that counts.
pub(crate) fn with_pending_create(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(operation) = pending(&object) {
        object["status"]["operation"] = operation;
    }
    object
}

fn pending(object: &Value) -> Option<Value> {
    let status = &object["status"];
    if !status["operation"].is_null() || !status["id"].is_null() {
        return None;
    }
    let (_signature, text) = object["metadata"]["annotations"][names::PENDING_CREATE].as_str()?.split_once(':')?;
    let pending: Value = serde_json::from_str(text).expect("the operator writes JSON");
    (pending["uid"] == object["metadata"]["uid"]).then(|| pending["operation"].clone())
}
