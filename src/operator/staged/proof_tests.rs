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
            "locale": "en-GB", "extensionVersion": "1.4.0", "after": {"deploymentRef": {"name": "preview"}},
        },
        "status": {
            "observedGeneration": 5, "outcome": "Passed",
            "checkedFor": {"generation": 5, "deploymentDigest": DIGEST, "deploymentAppliedAt": AT},
        },
    });
    merge(&mut object, patch);
    serde_json::from_value(object).expect("it is a check")
}

/// Digest of the spec of [`check`].
fn digest() -> String {
    spec_digest(&check(&json!({})).spec)
}

fn merge(into: &mut Value, patch: &Value) {
    match patch {
        Value::Object(members) if into.is_object() => {
            for (name, value) in members {
                merge(&mut into[name], value);
            }
        }
        other => *into = other.clone(),
    }
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

#[test]
fn a_deployment_proves_a_tag_only_if_it_is_ready_with_exactly_that_tag() {
    for (case, patch, expected) in [
        ("it is Ready with the tag", json!({}), ""),
        ("another connector", json!({"spec": {"connector": {"stagedRef": {"name": "other"}}}}), "does not deploy this"),
        (
            "the published connector",
            json!({"spec": {"connector": {"stagedRef": null, "key": "kit"}}}),
            "stagedRef.name to kit",
        ),
        ("being deleted", json!({"metadata": {"deletionTimestamp": AT}}), "is being deleted"),
        ("changed since", json!({"metadata": {"generation": 4}}), "has not been reconciled"),
        ("never reconciled", json!({"status": null}), "has not been reconciled"),
        (
            "an operation runs",
            json!({"status": {"state": state(&json!({
                "type": "Redeploy", "state": "Accepted", "attempt": 1, "generation": 3, "startedAt": AT,
            }))}}),
            "is not Ready (Deployed)",
        ),
        (
            "failed",
            json!({"status": {"conditions": [{
                "type": "Ready", "status": "False", "reason": "DeploymentFailed", "message": "", "observedGeneration": 3,
                "lastTransitionTime": AT,
            }]}}),
            "is not Ready (DeploymentFailed)",
        ),
        (
            "a condition from before",
            json!({"status": {"conditions": [{
                "type": "Ready", "status": "True", "reason": "Deployed", "message": "", "observedGeneration": 2,
                "lastTransitionTime": AT,
            }]}}),
            "has not been reconciled",
        ),
        ("the tag before", json!({"status": {"connector": {"tag": "1"}}}), "does not run tag 2 yet, but 1"),
        ("a service that shows no tag", json!({"status": {"connector": {"tag": null}}}), "but an unknown one"),
        ("another id", json!({"status": {"connector": {"id": "two"}}}), "does not run tag 2 yet"),
        ("the first version with this tag", json!({"status": {"connector": {"version": 6}}}), ""),
        ("the same tag in an earlier version", json!({"status": {"connector": {"version": 5}}}), "an earlier version"),
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
    for (case, patch, expected) in [
        ("it passed", json!({}), ""),
        ("it has no spec.after", json!({"spec": {"after": null}}), "spec.after.deploymentRef.name to preview"),
        (
            "it comes after another deployment",
            json!({"spec": {"after": {"deploymentRef": {"name": "other"}}}}),
            "does not come after that deployment",
        ),
        ("never called", json!({"status": null}), "has not passed for this tag yet"),
        ("changed since", json!({"metadata": {"generation": 6}}), "has not passed for this tag yet"),
        (
            "suspended and resumed since",
            json!({"metadata": {"generation": 7}, "status": {"checkedFor": {"specDigest": digest()}}}),
            "",
        ),
        (
            "changed since its digest was stored",
            json!({"metadata": {"generation": 7}, "spec": {"locale": "de-DE"}, "status": {"checkedFor": {"specDigest": digest()}}}),
            "has not passed for this tag yet",
        ),
        (
            "for other values",
            json!({"status": {"checkedFor": {"deploymentDigest": "v1:bb"}}}),
            "has not passed for this tag yet",
        ),
        (
            "for an earlier deployment",
            json!({"status": {"checkedFor": {"deploymentAppliedAt": "2026-11-22T09:00:00Z"}}}),
            "has not passed for this tag yet",
        ),
        ("under way", json!({"status": {"outcome": "Sent"}}), "has not passed for this tag yet"),
        ("failed", json!({"status": {"outcome": "Failed"}}), "did not pass for this tag"),
        (
            "failed for other values",
            json!({"status": {"outcome": "Failed", "checkedFor": {"deploymentDigest": "v1:bb"}}}),
            "has not passed for this tag yet",
        ),
        ("being deleted", json!({"metadata": {"deletionTimestamp": AT}}), "has not passed for this tag yet"),
    ] {
        let objects = Objects { deployment: Some(deployment(&json!({}))), checks: vec![Some(check(&patch))] };
        let waits = waits(&["cart"], &objects);
        assert!(waits.contains(expected) && waits.is_empty() == expected.is_empty(), "{case}: {waits}");
        assert!(waits.is_empty() || waits.starts_with("ActionCheck cart "), "{case}: {waits}");
    }
    let objects = Objects { deployment: Some(deployment(&json!({}))), checks: vec![None] };
    assert_eq!(waits(&["cart"], &objects), "ActionCheck cart is missing");
    let objects = Objects { deployment: None, checks: vec![Some(check(&json!({})))] };
    let both = "ConnectorDeployment preview is missing; ActionCheck cart has not passed for this tag yet";
    assert_eq!(waits(&["cart"], &objects), both, "everything is reported at once");
}
