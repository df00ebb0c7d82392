//! Dry runs: asks the API server what a manifest would become, with the same request that `kubectl apply` sends.
//!
//! The only file of this command that sends requests other than reads; each of them has `dry_run` set. Nothing of a
//! Secret is quoted, not even from an error of the API server.

use k8s_openapi::ByteString;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams, ValidationDirective};
use serde_json::{Map, Value, json};

use super::manifests::Document;
use super::projected_cluster::ProjectedCluster;
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

impl ProjectedCluster {
    /// Checks a manifest in a dry run; returns what it would become, or why the API server rejects it. `namespace`: empty for
    /// a cluster-scoped kind.
    ///
    /// # Errors
    /// If the API server does not respond.
    pub(super) async fn dry_run(
        &self,
        kind: &ApiResource,
        namespace: &str,
        document: &Document,
    ) -> Result<Result<WouldBe, String>, kube::Error> {
        let (client, name, is_secret) = (&self.before, &document.name, document.kind == "Secret");
        let api = match namespace {
            "" => Api::<DynamicObject>::all_with(client.clone(), kind),
            namespace => Api::namespaced_with(client.clone(), namespace, kind),
        };
        let refuse = |error| match error {
            kube::Error::Api(status) => Ok(Err(refused(is_secret, kind, &status))),
            error => Err(error),
        };
        let found = if is_secret {
            secret::read(client, namespace, name).await.map(|found| found.map(serde_json::to_value))
        } else {
            api.get_opt(name).await.map(|found| found.map(serde_json::to_value))
        };
        let before = match found {
            Ok(before) => before.transpose().map_err(kube::Error::SerdeError)?,
            Err(error) => return refuse(error),
        };
        let body = document.body_in(namespace);
        let (patch, parameters) = request(before.as_ref(), &body);
        let makes_namespace = self.labelled.contains(namespace) && before.is_none();
        let unchecked = match api.patch(name, &parameters, &patch).await {
            Ok(after) => {
                let after = serde_json::to_value(after).map_err(kube::Error::SerdeError)?;
                return Ok(Ok(WouldBe { before, after, unchecked: None }));
            }
            Err(kube::Error::Api(status)) if status.code == 403 => {
                "you may not apply it, so the API server did not check it".to_owned()
            }
            Err(kube::Error::Api(status)) if status.code == 404 && makes_namespace => {
                format!("the namespace {namespace} does not exist yet, so the API server could not check it")
            }
            Err(error) => return refuse(error),
        };
        let after = apply_locally(before.as_ref(), &body);
        Ok(Ok(WouldBe { before, after, unchecked: Some(unchecked) }))
    }
}

/// Returns the request that `kubectl apply` would send.
fn request(before: Option<&Value>, body: &Value) -> (Patch<Value>, PatchParams) {
    let (patch, manager) = match (before.and_then(applied_by), before.and_then(last_applied)) {
        (None, Some(last)) => (Patch::Merge(three_way(&last, body)), CLIENT_SIDE.to_owned()),
        (by, _) => (Patch::Apply(body.clone()), by.unwrap_or_else(|| KUBECTL.to_owned())),
    };
    let parameters = PatchParams {
        dry_run: true,
        force: matches!(patch, Patch::Apply(_)),
        field_manager: Some(manager),
        field_validation: Some(ValidationDirective::Strict),
    };
    (patch, parameters)
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
pub(super) fn apply_locally(before: Option<&Value>, body: &Value) -> Value {
    let mut after = before.cloned().unwrap_or_default();
    let last = before.and_then(last_applied).unwrap_or_default();
    json_patch::merge(&mut after, &three_way(&last, body));
    if let Value::Object(texts) = after["stringData"].take() {
        for (key, text) in texts {
            let value = ByteString(text.as_str().unwrap_or_default().into());
            json_patch::merge(&mut after["data"], &json!({ key: value }));
        }
    }
    json_patch::merge(&mut after, &json!({"stringData": null}));
    if let Some(before) = before.filter(|before| before["spec"] != after["spec"]) {
        after["metadata"]["generation"] = json!(before["metadata"]["generation"].as_i64().unwrap_or_default() + 1);
    }
    after
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
        let body = json!({"data": "oops", "stringData": {"token": "b"}});
        assert_eq!(apply_locally(None, &body)["data"], json!({"token": "Yg=="}));
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
            json_patch::merge(&mut after, &three_way(&last, &now));
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
