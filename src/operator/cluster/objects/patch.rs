//! Writes of a status, and of metadata that the operator owns: one merge patch each, conditional on the resourceVersion
//! that was read. Pure except for the call itself.

use std::fmt::Debug;

use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::{Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::names;

/// Returns the merge patch (RFC 7386) that turns `before` into `after`; `None` if they are equal.
pub fn merge_patch(before: &Value, after: &Value) -> Option<Value> {
    let (Value::Object(old), Value::Object(new)) = (before, after) else {
        return (before != after).then(|| after.clone());
    };
    let mut patch = Map::new();
    for (key, value) in new {
        match old.get(key) {
            Some(earlier) => {
                if let Some(change) = merge_patch(earlier, value) {
                    patch.insert(key.clone(), change);
                }
            }
            None => {
                patch.insert(key.clone(), value.clone());
            }
        }
    }
    for key in old.keys().filter(|key| !new.contains_key(*key)) {
        patch.insert(key.clone(), Value::Null);
    }
    (!patch.is_empty()).then_some(Value::Object(patch))
}

/// Returns the patch that turns one status into another; `None` if they are equal, so that nothing is written (rule 21).
///
/// # Errors
/// That a status cannot be serialized.
fn status_patch<S: Serialize>(before: &S, after: &S) -> Result<Option<Value>, kube::Error> {
    let before = serde_json::to_value(before).map_err(kube::Error::SerdeError)?;
    let after = serde_json::to_value(after).map_err(kube::Error::SerdeError)?;
    Ok(merge_patch(&before, &after))
}

/// Returns the parameters of the operator's patches.
pub fn patch_params() -> PatchParams {
    PatchParams { field_manager: Some(names::FIELD_MANAGER.to_owned()), ..PatchParams::default() }
}

/// Returns the parameters with which the operator creates objects.
pub fn post_params() -> PostParams {
    PostParams { field_manager: Some(names::FIELD_MANAGER.to_owned()), ..PostParams::default() }
}

/// Writes `after` into the status of `object`, if it differs from `before`, and only if the object is still the version that
/// was read. Returns the object as the API server stored it; `None` if the status is unchanged (rule 21).
///
/// # Errors
/// Those of the API server; 409 if the object was changed meanwhile.
pub async fn write_status<K, S: Serialize>(
    api: &Api<K>,
    object: &K,
    before: &S,
    after: &S,
) -> Result<Option<K>, kube::Error>
where
    K: Resource + Clone + DeserializeOwned + Debug,
{
    let Some(status) = status_patch(before, after)? else { return Ok(None) };
    patch_status(api, object, status).await.map(Some)
}

/// Merges `status` into that of `object`, only if the object is still the version that was read.
///
/// # Errors
/// Those of the API server; 409 if the object was changed meanwhile.
async fn patch_status<K>(api: &Api<K>, object: &K, status: Value) -> Result<K, kube::Error>
where
    K: Resource + Clone + DeserializeOwned + Debug,
{
    let patch = json!({ "metadata": { "resourceVersion": object.resource_version() }, "status": status });
    api.patch_status(&object.name_any(), &patch_params(), &Patch::Merge(patch)).await
}

/// Merges `metadata` into that of `object`, only if the object is still the version that was read.
///
/// # Errors
/// Those of the API server; 409 if the object was changed meanwhile.
pub async fn patch_metadata<K>(api: &Api<K>, object: &K, mut metadata: Value) -> Result<K, kube::Error>
where
    K: Resource + Clone + DeserializeOwned + Debug,
{
    metadata["resourceVersion"] = json!(object.resource_version());
    api.patch(&object.name_any(), &patch_params(), &Patch::Merge(json!({ "metadata": metadata }))).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_contains_changed_members_and_nulls_for_removed_ones() {
        for (case, before, after, patch) in [
            ("nothing", json!({"a": 1}), json!({"a": 1}), None),
            ("a value", json!({"a": 1, "b": 2}), json!({"a": 1, "b": 3}), Some(json!({"b": 3}))),
            ("a removed member", json!({"a": 1, "b": 2}), json!({"a": 1}), Some(json!({"b": null}))),
            ("an added member", json!({}), json!({"a": {"b": 1}}), Some(json!({"a": {"b": 1}}))),
            ("deep", json!({"a": {"b": 1, "c": 2}}), json!({"a": {"b": 1}}), Some(json!({"a": {"c": null}}))),
            ("lists as a whole", json!({"a": [1, 2]}), json!({"a": [2]}), Some(json!({"a": [2]}))),
            ("an object becomes empty", json!({"a": {"b": 1}}), json!({"a": {}}), Some(json!({"a": {"b": null}}))),
        ] {
            assert_eq!(merge_patch(&before, &after), patch, "{case}");
        }
    }
}
