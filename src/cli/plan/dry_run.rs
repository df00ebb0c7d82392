//! Dry runs: asks the API server what a manifest would become, with the same request that `kubectl apply` sends.
//!
//! The only file of this command that sends requests other than reads; each of them has `dry_run` set. Nothing of a
//! Secret is quoted, not even from an error of the API server.

use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams, ValidationDirective};
use serde_json::{Map, Value, json};

use super::manifests::Document;
use crate::names;
use crate::operator::cluster::objects::secret;
use crate::operator::reporting::conditions::{LONGEST_MESSAGE, cut};

/// Field manager of `kubectl apply --server-side` (kubectl, `--field-manager`).
const KUBECTL: &str = "kubectl";
/// Field manager of client-side `kubectl apply`.
const CLIENT_SIDE: &str = "kubectl-client-side-apply";
/// Annotation with the manifest that `kubectl apply` applied last.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// An object before and after applying. Not `Debug`: it may be a Secret.
pub(super) struct WouldBe {
    /// The object in the cluster.
    pub(super) before: Option<Value>,
    /// The object after applying.
    pub(super) after: Value,
    /// Why the API server did not check it, if so.
    pub(super) unchecked: Option<String>,
}

/// The API server's response to a manifest.
pub(super) enum Checked {
    /// It accepts the manifest.
    Taken(Box<WouldBe>),
    /// It rejects the manifest, with this message.
    Refused(String),
}

/// Checks a manifest in a dry run. `namespace`: empty for a cluster-scoped kind. `makes_namespace`: whether the manifests
/// also create its namespace.
///
/// # Errors
/// If the API server does not respond.
pub(super) async fn check(
    client: &Client,
    kind: &ApiResource,
    namespace: &str,
    document: &Document,
    makes_namespace: bool,
) -> Result<Checked, kube::Error> {
    let is_secret = document.kind == "Secret";
    let api = match namespace {
        "" => Api::<DynamicObject>::all_with(client.clone(), kind),
        namespace => Api::namespaced_with(client.clone(), namespace, kind),
    };
    let before = match read(client, &api, namespace, document).await {
        Ok(before) => before,
        Err(kube::Error::Api(status)) => return Ok(Checked::Refused(refused(is_secret, kind, &status))),
        Err(error) => return Err(error),
    };
    let mut body = document.body.clone();
    if let Some(body) = body.as_object_mut() {
        body.remove("status");
    }
    if !namespace.is_empty() {
        body["metadata"]["namespace"] = json!(namespace);
    }
    let unchecked = match send(&api, document, before.as_ref(), &body).await {
        Ok(after) => {
            let mut after = serde_json::to_value(after).map_err(kube::Error::SerdeError)?;
            if changed(before.as_ref(), &after) && (is_secret || document.kind == "ConfigMap") {
                // A dry run returns the old resourceVersion, which a real write would change.
                after["metadata"]["resourceVersion"] = json!("");
            }
            return Ok(Checked::Taken(Box::new(WouldBe { before, after, unchecked: None })));
        }
        Err(kube::Error::Api(status)) if status.code == 403 => {
            "you may not apply it, so the API server did not check it".to_owned()
        }
        Err(kube::Error::Api(status)) if status.code == 404 && makes_namespace && before.is_none() => {
            format!("the namespace {namespace} does not exist yet, so the API server could not check it")
        }
        Err(kube::Error::Api(status)) => {
            return Ok(Checked::Refused(refused(is_secret, kind, &status)));
        }
        Err(error) => return Err(error),
    };
    let after = apply_locally(before.as_ref(), &body, document);
    Ok(Checked::Taken(Box::new(WouldBe { before, after, unchecked: Some(unchecked) })))
}

async fn read(
    client: &Client,
    api: &Api<DynamicObject>,
    namespace: &str,
    document: &Document,
) -> Result<Option<Value>, kube::Error> {
    let found = if document.kind == "Secret" {
        secret::read(client, namespace, &document.name).await?.map(serde_json::to_value)
    } else {
        api.get_opt(&document.name).await?.map(serde_json::to_value)
    };
    found.transpose().map_err(kube::Error::SerdeError)
}

async fn send(
    api: &Api<DynamicObject>,
    document: &Document,
    before: Option<&Value>,
    body: &Value,
) -> Result<DynamicObject, kube::Error> {
    let mut parameters = PatchParams {
        dry_run: true,
        force: false,
        field_manager: Some(CLIENT_SIDE.to_owned()),
        field_validation: Some(ValidationDirective::Strict),
    };
    let applied_by = before.and_then(applied_by);
    if let (None, Some(last)) = (&applied_by, before.and_then(last_applied)) {
        let patch = Patch::Merge(three_way(&last, body));
        return api.patch(&document.name, &parameters, &patch).await;
    }
    parameters.force = true;
    parameters.field_manager = Some(applied_by.unwrap_or_else(|| KUBECTL.to_owned()));
    api.patch(&document.name, &parameters, &Patch::Apply(body)).await
}

/// Returns the manager that last applied the object server-side, such as kubectl or a controller that follows Git.
fn applied_by(before: &Value) -> Option<String> {
    let entries = before["metadata"]["managedFields"].as_array()?.iter();
    let applied = entries.filter(|entry| {
        entry["operation"] == "Apply" && entry["subresource"].is_null() && entry["manager"] != names::FIELD_MANAGER
    });
    let last = applied.max_by_key(|entry| entry["time"].as_str().unwrap_or_default().to_owned())?;
    last["manager"].as_str().map(ToOwned::to_owned)
}

fn last_applied(before: &Value) -> Option<Value> {
    serde_json::from_str(before["metadata"]["annotations"][LAST_APPLIED].as_str()?).ok()
}

/// Returns the merge patch (RFC 7386) of `kubectl apply`: the manifest, with `null` for fields that only the last one
/// had.
fn three_way(last: &Value, now: &Value) -> Value {
    let (Value::Object(last), Value::Object(now)) = (last, now) else { return now.clone() };
    let mut patch: Map<String, Value> = now
        .iter()
        .map(|(name, value)| {
            (name.clone(), last.get(name).map_or_else(|| value.clone(), |last| three_way(last, value)))
        })
        .collect();
    for gone in last.keys().filter(|name| !now.contains_key(*name)) {
        patch.insert(gone.clone(), Value::Null);
    }
    Value::Object(patch)
}

/// Computes the result without the API server.
pub(super) fn apply_locally(before: Option<&Value>, body: &Value, document: &Document) -> Value {
    let mut after = before.cloned().unwrap_or_else(|| json!({}));
    let last = before.and_then(last_applied).unwrap_or(Value::Null);
    merge(&mut after, &three_way(&last, body));
    if let Value::Object(texts) = after["stringData"].take() {
        for (key, text) in texts {
            use base64::Engine as _;
            let encoded = base64::engine::general_purpose::STANDARD.encode(text.as_str().unwrap_or_default());
            merge(&mut after, &json!({ "data": { key: encoded } }));
        }
    }
    if let Some(after) = after.as_object_mut() {
        after.remove("stringData");
    }
    if after["metadata"]["uid"].is_null() {
        after["metadata"]["uid"] = json!(format!("{}-that-is-new", document.name));
    }
    if changed(before, &after) {
        let generation = before.and_then(|before| before["metadata"]["generation"].as_i64()).unwrap_or(0);
        after["metadata"]["generation"] = json!(generation + 1);
        after["metadata"]["resourceVersion"] = json!("");
    }
    after
}

fn merge(into: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *into = patch.clone();
        return;
    };
    if !into.is_object() {
        *into = json!({});
    }
    for (name, value) in patch {
        if value.is_null() {
            if let Some(into) = into.as_object_mut() {
                into.remove(name);
            }
        } else {
            merge(&mut into[name], value);
        }
    }
}

/// Whether a field that users write has changed.
fn changed(before: Option<&Value>, after: &Value) -> bool {
    let parts = ["spec", "data", "binaryData", "stringData"];
    before.is_none_or(|before| parts.iter().any(|part| before[*part] != after[*part]))
}

fn refused(is_secret: bool, kind: &ApiResource, status: &kube::core::Status) -> String {
    let (code, reason) = (status.code, &status.reason);
    if is_secret {
        return format!(
            "the API server rejects it: {reason} ({code}); its details are not shown, because they may quote a value"
        );
    }
    if code == 404 && kind.group == names::GROUP && !status.message.contains("namespaces") {
        return format!(
            "the cluster does not know the kind {}: connect-operator crds | kubectl apply --server-side -f -",
            kind.kind
        );
    }
    cut(&status.message.split_whitespace().collect::<Vec<_>>().join(" "), LONGEST_MESSAGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn string_data_takes_the_place_of_data_that_is_no_map() {
        let text = "{apiVersion: v1, kind: Secret, metadata: {name: a}, data: oops, stringData: {token: b}}";
        let document = crate::cli::plan::manifests::parse("a file", text).expect("an object").remove(0);
        let body = json!({"data": "oops", "stringData": {"token": "b"}});
        assert_eq!(apply_locally(None, &body, &document)["data"], json!({"token": "Yg=="}));
    }

    #[test]
    fn fields_that_only_the_last_applied_manifest_had_are_removed() {
        for (case, last, now, before, expected) in [
            ("the same", json!({"a": 1}), json!({"a": 1}), json!({"a": 1, "b": 2}), json!({"a": 1, "b": 2})),
            ("removed", json!({"a": 1, "c": 1}), json!({"a": 1}), json!({"a": 1, "c": 1}), json!({"a": 1})),
            (
                "deep",
                json!({"s": {"x": 1, "y": [1]}}),
                json!({"s": {"y": [2]}}),
                json!({"s": {"x": 1, "y": [1], "z": 1}}),
                json!({"s": {"y": [2], "z": 1}}),
            ),
            ("never applied", json!(null), json!({"a": 2}), json!({"a": 1, "b": 1}), json!({"a": 2, "b": 1})),
        ] {
            let mut after = before;
            merge(&mut after, &three_way(&last, &now));
            assert_eq!(after, expected, "{case}");
        }
    }

    #[test]
    fn the_manager_that_applied_is_found_in_managed_fields() {
        let entry = |manager: &str, operation: &str, time: &str| json!({"manager": manager, "operation": operation, "time": time});
        let object = |entries: Vec<Value>| json!({"metadata": {"managedFields": entries}});
        for (case, entries, expected) in [
            ("no manager", vec![], None),
            ("written, not applied", vec![entry("kubectl-edit", "Update", "1")], None),
            ("the operator itself", vec![entry(names::FIELD_MANAGER, "Apply", "1")], None),
            ("one manager", vec![entry("argocd-controller", "Apply", "1")], Some("argocd-controller")),
            ("the last manager", vec![entry("one", "Apply", "2"), entry("two", "Apply", "1")], Some("one")),
        ] {
            assert_eq!(applied_by(&object(entries)).as_deref(), expected, "{case}");
        }
    }
}
