//! What follows a panic, which `manager/reconciled.rs` catches. It is always a bug; it ends the reconcile in which it
//! happens, and nothing else.
//!
//! The resource reports `InternalError`, the panic is counted, and the reconcile is retried with exponential backoff.
//! The message of a panic may quote a secured value, so it is never shown: the log contains only the source location.
//!
//! Why the state after a panic is usable: every lock here ignores poisoning, and what it guards is changed in single
//! steps or derived again by later events; the local cache of a resource is replaced as a whole, at the end of a reconcile
//! and when a response arrives; and what is held for a reconcile, such as its slot at the remote, is released when its guard
//! is dropped. The operation is in the status before its call is sent, so the next reconcile knows of it.

use std::panic::Location;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::api::{Api, ApiResource, DynamicObject, Patch};
use kube::{Resource as _, ResourceExt as _};
use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::operator::cluster::objects::patch::patch_params;
use crate::operator::context::Context;
use crate::operator::kinds::managed_kind::{ManagedKind, object_ref};
use crate::operator::reporting::conditions::{ConditionUpdate, with_main};
use crate::operator::reporting::reason::Reason;

/// Installs a panic hook for the process that logs the source location of a panic, and never its message.
pub fn log_places() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map_or_else(|| "an unknown place".to_owned(), place);
        tracing::error!(place, "a panic, which is a bug of the operator: please report it");
    }));
}

/// Formats a source location, without the folders of the build machine.
fn place(location: &Location<'_>) -> String {
    let file = location.file();
    // The path of another crate is `…/registry/src/INDEX/CRATE/src/…`.
    let crates = file.split_once("/registry/src/").and_then(|(_, rest)| rest.split_once('/'));
    let file = crates.map_or(file, |(_, file)| file);
    format!("{file}:{}:{}", location.line(), location.column())
}

/// The condition of an object whose reconcile panicked.
pub(in crate::operator) fn condition() -> ConditionUpdate {
    let message = "A bug of the operator ended this reconcile. The operator retries with exponential backoff; please report the \
                   bug, with the log of the operator, which names its place";
    ConditionUpdate::new(Reason::InternalError, message)
}

/// Reports a panic in the conditions of a resource, unless another install manages it. Everything else in the status
/// stays.
///
/// # Errors
/// Those of the API server; 409 if the object was changed meanwhile.
pub(in crate::operator) async fn report<K: ManagedKind>(
    object: &K,
    context: &Context,
    condition: &ConditionUpdate,
) -> Result<(), kube::Error> {
    let object_ref = object_ref(object);
    let kind = ApiResource::erase::<K>(&());
    let client = context.client.clone();
    let api: Api<DynamicObject> = match object.meta().namespace.as_deref() {
        Some(namespace) => Api::namespaced_with(client, namespace, &kind),
        None => Api::all_with(client, &kind),
    };
    // The reconcile may have written the object before it panicked, so its own copy may be outdated.
    let Some(found) = api.get_opt(&object_ref.name).await? else { return Ok(()) };
    if !context.settings.scope.selects(found.labels()) || found.meta().uid != object.meta().uid {
        return Ok(());
    }
    let Some(patch) = patch(&found, condition, context.clock.now()) else { return Ok(()) };
    api.patch_status(&object_ref.name, &patch_params(), &Patch::Merge(patch)).await?;
    context.event(object, "Reconcile", condition);
    Ok(())
}

/// Returns the merge patch that puts `condition` into the status; `None` if the status has it already.
fn patch(found: &DynamicObject, condition: &ConditionUpdate, now: jiff::Timestamp) -> Option<Value> {
    let before: Vec<Condition> = Vec::deserialize(&found.data["status"]["conditions"]).unwrap_or_default();
    let generation = found.metadata.generation.unwrap_or_default();
    let after = with_main(&before, condition, generation, now);
    let version = found.resource_version();
    (after != before).then(|| {
        json!({
            "metadata": {"resourceVersion": version},
            "status": {"observedGeneration": generation, "conditions": after},
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_location_names_no_machine() {
        let here = Location::caller();
        assert!(place(here).starts_with("src/operator/reconcile/panics.rs:"), "{}", place(here));
    }

    #[test]
    fn a_panic_replaces_the_main_conditions_only_and_is_written_once() {
        let mut found: DynamicObject = serde_json::from_value(json!({
            "apiVersion": "connect-operator.io/v1alpha1", "kind": "ConnectorDeployment",
            "metadata": {"name": "tax", "generation": 3, "resourceVersion": "7"},
            "status": {"id": "1", "observedGeneration": 2, "conditions": [
                {"type": "Ready", "status": "True", "reason": "Deployed", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"},
                {"type": "Drifted", "status": "True", "reason": "Drifted", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"},
            ]},
        }))
        .expect("an object");
        let condition = condition();
        let now = "2026-01-02T00:00:00Z".parse().expect("a time");
        let change = patch(&found, &condition, now).expect("the condition differs");
        let of = |name: &str| {
            let conditions = change["status"]["conditions"].as_array().expect("a list");
            let found = conditions.iter().find(|condition| condition["type"] == name);
            found.map(|condition| (condition["status"].clone(), condition["reason"].clone()))
        };
        assert_eq!(of("Ready"), Some((json!("False"), json!("InternalError"))));
        assert_eq!(of("Reconciling"), Some((json!("True"), json!("InternalError"))));
        assert_eq!(of("Drifted"), Some((json!("True"), json!("Drifted"))));
        assert_eq!(change["metadata"]["resourceVersion"], "7");
        assert!(change["status"].get("id").is_none(), "the rest of the status stays");
        found.data["status"]["conditions"] = change["status"]["conditions"].clone();
        assert_eq!(patch(&found, &condition, now), None);
    }
}
