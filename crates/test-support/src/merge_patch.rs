//! Variants of a JSON document.

use serde_json::{Value, json};

/// Merges a patch into a document (RFC 7386): objects member by member, and a null removes a member.
pub fn merge(target: &mut Value, change: &Value) {
    let Value::Object(members) = change else {
        *target = change.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (name, value) in members {
        if !value.is_null() {
            merge(&mut target[name], value);
        } else if let Some(target) = target.as_object_mut() {
            target.remove(name);
        }
    }
}
