use json_patch::merge;
use serde_json::{Value, json};

use super::*;
use crate::crd::{PublishAfter, StagedDeployable};

const DIGEST: &str = "v1:aa";
const AT: &str = "2026-11-22T10:00:00Z";

fn after(checks: &[&str]) -> PublishAfter {
    let checks: Vec<Value> = checks.iter().map(|name| json!({"name": name})).collect();
    serde_json::from_value(json!({"deploymentRef": {"name": "preview"}, "checkRefs": checks})).expect("it is one")
}

/// A deployment that is Ready with tag 2 of version 7, changed by `patch`.
fn deployment(patch: &Value) -> ConnectorDeployment {
    let mut object = json!({
        "apiVersion": "connect-operator.io/v1alpha1", "kind": "ConnectorDeployment",
        "metadata": {"name": "preview", "generation": 3},
        "spec": {"projectRef": {"name": "shop"}, "connector": {"stagedRef": {"name": "kit"}}},
        "status": {
            "observedGeneration": 3,
            "conditions": [{
                "type": "Ready", "status": "True", "reason": "Deployed", "message": "", "observedGeneration": 3,
                "lastTransitionTime": AT,
            }],
            "connector": {"id": "one", "version": 7, "tag": "2"},
            "state": state(&Value::Null),
        },
    });
    merge(&mut object, patch);
    serde_json::from_value(object).expect("it is a deployment")
}

/// The state of that deployment, with an operation.
fn state(operation: &Value) -> String {
    let applied = json!({"generation": 3, "digest": DIGEST, "at": AT, "outcome": "Deployed", "serves": true});
    json!({"v": 1, "applied": applied, "operation": operation}).to_string()
}

/// A check that passed for that deployment, changed by `patch`.
fn check(patch: &Value) -> ActionCheck {
    let mut object = json!({
        "apiVersion": "connect-operator.io/v1alpha1", "kind": "ActionCheck",
        "metadata": {"name": "cart", "generation": 5},
        "spec": {
            "frontend": {"url": "http://127.0.0.1:8787"}, "action": {"namespace": "cart", "name": "getCart"}, "method": "GET",
            "locale": "en-GB", "extensionVersion": "1.4.0", "deploymentRef": {"name": "preview"},
        },
        "status": {
            "observedGeneration": 5, "state": {
                "v": 1, "outcome": "Passed",
                "cause": {"generation": 5, "deploymentDigest": DIGEST, "deploymentAppliedAt": AT},
            },
        },
    });
    merge(&mut object, patch);
    if object["status"].is_object() {
        object["status"]["state"] = object["status"]["state"].to_string().into();
    }
    serde_json::from_value(object).expect("it is a check")
}

/// Digest of the spec of [`check`].
fn digest() -> String {
    spec_digest(&check(&json!({})).spec)
}

fn waits(checks: &[&str], objects: &Objects) -> String {
    let spec = json!({
        "projectRef": {"name": "shop"}, "key": "kit", "name": "Kit", "creator": {"email": "dev@example.com"},
        "repository": {"url": "https://example.com/kit.git", "tag": "2"}, "publishAfter": after(checks),
    });
    let spec: ConnectorStagedSpec = serde_json::from_value(spec).expect("it is one");
    let deployable = Some(StagedDeployable { repository: spec.repository.clone(), version: 6 });
    let state = State { id: Some("one".into()), deployable, ..State::default() };
    missing("kit", &spec, &state, objects).join("; ")
}

/// A condition `Ready` of this generation.
fn ready(status: &str, reason: &str, generation: i64) -> Value {
    json!({"status": {"conditions": [{
        "type": "Ready", "status": status, "reason": reason, "message": "", "observedGeneration": generation,
        "lastTransitionTime": AT,
    }]}})
}

#[test]
fn a_deployment_proves_a_tag_only_if_it_is_ready_with_exactly_that_tag() {
    const NOT_RECONCILED: &str = "has not been reconciled";
    let runs = json!({"type": "Redeploy", "state": "Accepted", "attempt": 1, "generation": 3, "startedAt": AT});
    let connector = |connector: Value| json!({"spec": {"connector": connector}});
    let shows = |connector: Value| json!({"status": {"connector": connector}});
    let published = connector(json!({"stagedRef": null, "key": "kit"}));
    for (case, patch, expected) in [
        ("it is Ready with the tag", json!({}), ""),
        ("another connector", connector(json!({"stagedRef": {"name": "other"}})), "does not deploy this"),
        ("the published connector", published, "stagedRef.name to kit"),
        ("being deleted", json!({"metadata": {"deletionTimestamp": AT}}), "is being deleted"),
        ("changed since", json!({"metadata": {"generation": 4}}), NOT_RECONCILED),
        ("never reconciled", json!({"status": null}), NOT_RECONCILED),
        ("an operation runs", json!({"status": {"state": state(&runs)}}), "is not Ready (Deployed)"),
        ("failed", ready("False", "DeploymentFailed", 3), "is not Ready (DeploymentFailed)"),
        ("a condition from before", ready("True", "Deployed", 2), NOT_RECONCILED),
        ("the tag before", shows(json!({"tag": "1"})), "does not run tag 2 yet, but 1"),
        ("a service that shows no tag", shows(json!({"tag": null})), "but an unknown one"),
        ("another id", shows(json!({"id": "two"})), "does not run tag 2 yet"),
        ("the first version with this tag", shows(json!({"version": 6})), ""),
        ("the same tag in an earlier version", shows(json!({"version": 5})), "an earlier version"),
    ] {
        let objects = Objects { deployment: Some(deployment(&patch)), checks: Vec::new() };
        let waits = waits(&[], &objects);
        assert!(waits.contains(expected) && waits.is_empty() == expected.is_empty(), "{case}: {waits}");
        assert!(waits.is_empty() || waits.starts_with("ConnectorDeployment preview "), "{case}: {waits}");
    }
    assert_eq!(waits(&[], &Objects::default()), "ConnectorDeployment preview is missing");
}

#[test]
fn a_check_proves_a_tag_only_if_it_passed_for_what_its_deployment_has_deployed() {
    const NOT_YET: &str = "has not passed for this tag yet";
    let after = |after: Value| json!({"spec": {"deploymentRef": after}});
    let checked_for = |checked_for: Value| json!({"status": {"state": {"cause": checked_for}}});
    let resumed = json!({"metadata": {"generation": 7}, "status": {"state": {"cause": {"specDigest": digest()}}}});
    let mut edited = resumed.clone();
    merge(&mut edited, &json!({"spec": {"locale": "de-DE"}}));
    let failed_before = json!({"status": {"state": {"outcome": "Failed", "cause": {"deploymentDigest": "v1:bb"}}}});
    let another = after(json!({"name": "other"}));
    for (case, patch, expected) in [
        ("it passed", json!({}), ""),
        ("it names no deployment", after(Value::Null), "spec.deploymentRef.name to preview"),
        ("it comes after another deployment", another, "does not come after that deployment"),
        ("never called", json!({"status": null}), NOT_YET),
        ("changed since", json!({"metadata": {"generation": 6}}), NOT_YET),
        ("suspended and resumed since", resumed, ""),
        ("changed since its digest was stored", edited, NOT_YET),
        ("for other values", checked_for(json!({"deploymentDigest": "v1:bb"})), NOT_YET),
        ("for an earlier deployment", checked_for(json!({"deploymentAppliedAt": "2026-11-22T09:00:00Z"})), NOT_YET),
        ("under way", json!({"status": {"state": {"outcome": "Sent"}}}), NOT_YET),
        ("failed", json!({"status": {"state": {"outcome": "Failed"}}}), "did not pass for this tag"),
        ("failed for other values", failed_before, NOT_YET),
        ("being deleted", json!({"metadata": {"deletionTimestamp": AT}}), NOT_YET),
    ] {
        let objects = Objects { deployment: Some(deployment(&json!({}))), checks: vec![Some(check(&patch))] };
        let waits = waits(&["cart"], &objects);
        assert!(waits.contains(expected) && waits.is_empty() == expected.is_empty(), "{case}: {waits}");
        assert!(waits.is_empty() || waits.starts_with("ActionCheck cart "), "{case}: {waits}");
    }
    let objects = Objects { deployment: Some(deployment(&json!({}))), checks: vec![None] };
    assert_eq!(waits(&["cart"], &objects), "ActionCheck cart is missing");
    let objects = Objects { deployment: None, checks: vec![Some(check(&json!({})))] };
    let both = format!("ConnectorDeployment preview is missing; ActionCheck cart {NOT_YET}");
    assert_eq!(waits(&["cart"], &objects), both, "everything is reported at once");
}
