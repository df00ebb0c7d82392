//! What users and tools see: the status of an object before its first reconcile, columns, explanations, differences and
//! field ownership.

use connect_operator::crd::ActionCheckStatus;

use super::small;
use crate::manifests::{deployment, project};
use crate::prelude::*;

#[tokio::test]
async fn the_committed_crds_equal_those_of_the_code_after_kubectl_apply() {
    let sandbox = Sandbox::new().await;
    sandbox.succeed(&["apply", "--server-side", "--force-conflicts", "--filename", "-"], &crd::yaml()).await;
    let definitions: Api<CustomResourceDefinition> = Api::all(sandbox.client.clone());
    for crd in crd::all() {
        let stored = definitions.get(crd.metadata.name.as_deref().unwrap()).await.unwrap();
        assert_eq!(stored.spec.versions, crd.spec.versions);
        let conditions = stored.status.unwrap_or_default().conditions.unwrap_or_default();
        assert!(conditions.iter().all(|condition| condition.type_ != "NonStructuralSchema"), "{conditions:?}");
    }
}

#[tokio::test]
async fn an_object_has_observed_generation_minus_1_before_its_first_reconcile() {
    let sandbox = Sandbox::new().await;
    for manifest in [project("unseen"), deployment("unseen"), small("ActionCheck", "unseen")] {
        let created = sandbox.apply(&manifest).await.unwrap();
        let read = sandbox.api(&manifest).get("unseen").await.unwrap();
        for object in [created, read] {
            assert_eq!(object.data["status"], json!({"observedGeneration": -1}));
        }
    }
}

#[tokio::test]
async fn a_status_with_every_field_is_stored() {
    let sandbox = Sandbox::new().await;
    for (kind, status) in [("ConnectorDeployment", full_status()), ("ActionCheck", full_status_of_a_check())] {
        let manifest = small(kind, "remembers");
        sandbox.apply(&manifest).await.unwrap();
        let stored = sandbox.set_status(&manifest, &status).await.unwrap();
        assert_eq!(stored.data["status"], status, "{kind}");
    }
    let typed: ConnectorDeploymentStatus = serde_json::from_value(full_status()).unwrap();
    assert_eq!(serde_json::to_value(typed).unwrap(), full_status(), "the type has every field");
    let typed: ActionCheckStatus = serde_json::from_value(full_status_of_a_check()).unwrap();
    assert_eq!(serde_json::to_value(typed).unwrap(), full_status_of_a_check(), "the type has every field");
}

/// Every field of the status of a deployment.
fn full_status() -> Value {
    json!({
        "observedGeneration": 2,
        "conditions": [{"type": "Ready", "status": "True", "reason": "Deployed", "message": "live",
            "observedGeneration": 2, "lastTransitionTime": "2026-01-02T03:04:05Z"}],
        "id": "4711",
        "key": "default_tax",
        "deletionPolicy": "Delete",
        "connector": {"id": "c-1", "key": "demo-connector", "version": 3, "tag": "1.2.0", "name": "Demo"},
        "remote": {"apiUrl": "http://127.0.0.1:8787", "projectKey": "demo", "region": "europe-west1.gcp", "type": "sandbox",
            "state": "Deployed", "version": 5},
        "operation": {"type": "Redeploy", "startedAt": "2026-01-02T03:04:05Z"},
        "applications": [
            {"applicationName": "events", "type": "event", "topic": "projects/p/topics/t"},
            {"applicationName": "nightly", "type": "job", "schedule": "0 5 * * *"},
            {"applicationName": "service", "type": "service", "url": "https://service.example.com"},
            {"applicationName": "second", "type": "service", "url": "https://second.example.com"},
        ],
        "state": "{}",
        "report": [{"type": "Warning", "title": "t", "message": "m", "applicationName": "service",
            "createdAt": "2026-01-02T03:04:05Z"}],
        "handledReconcileRequest": "r",
        "handledRedeployRequest": "d",
    })
}

/// The same of a check.
fn full_status_of_a_check() -> Value {
    json!({
        "observedGeneration": 1,
        "conditions": [{"type": "Ready", "status": "True", "reason": "CheckPassed", "message": "as expected",
            "lastTransitionTime": "2026-01-02T03:04:05Z"}],
        "checkedAt": "2026-01-02T03:04:05Z",
        "handledRerunRequest": "now",
        "state": "{}",
    })
}

#[tokio::test]
async fn a_status_that_is_too_large_is_refused() {
    let sandbox = Sandbox::new().await;
    let manifest = deployment("bounded");
    sandbox.apply(&manifest).await.unwrap();
    let entry = json!({"type": "Error", "title": "t"});
    for (case, status, words) in [
        ("report", json!({"report": vec![entry; 21]}), "must have at most 20 items"),
        ("a request", json!({"handledReconcileRequest": "x".repeat(257)}), "may not be more than 256"),
    ] {
        let refusal = sandbox.set_status(&manifest, &status).await.err();
        let refusal = refusal.unwrap_or_else(|| panic!("{case}: accepted"));
        assert!(refusal.contains(words), "{case}: {refusal}");
    }
}

#[tokio::test]
async fn kubectl_get_shows_the_columns() {
    let sandbox = Sandbox::new().await;
    let ready = full_status()["conditions"].clone();
    for (manifest, status) in [
        (project("shop"), json!({"conditions": ready, "deployments": 1})),
        (deployment("tax"), full_status()),
        (small("ActionCheck", "cart"), full_status_of_a_check()),
    ] {
        sandbox.apply(&manifest).await.unwrap();
        sandbox.set_status(&manifest, &status).await.unwrap();
    }
    for (resource, output, header, line) in [
        ("ctp", "", "NAME PROJECT REGION READY REASON DEPLOYMENTS AGE", "shop demo europe-west1.gcp True Deployed 1 _"),
        ("cdep", "", "NAME CONNECTOR VERSION READY REASON AGE", "tax demo-connector 3 True Deployed _"),
        (
            "cdep",
            "wide",
            "NAME CONNECTOR VERSION READY REASON AGE KEY STATUS URL REGION TAG DELETION MESSAGE",
            "tax demo-connector 3 True Deployed _ default_tax Deployed https://service.example.com europe-west1.gcp 1.2.0 \
             Delete live",
        ),
        (
            "acheck",
            "wide",
            "NAME ACTION METHOD READY REASON LAST AGE MESSAGE",
            "cart getCart GET True CheckPassed _ _ as expected",
        ),
    ] {
        let text = sandbox.succeed(&["get", resource, "--output", output], "").await;
        let lines: Vec<Vec<_>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[0].join(" "), header);
        let line: Vec<_> = line.split(' ').collect();
        let same = line.iter().zip(&lines[1]).all(|(wanted, shown)| *wanted == "_" || wanted == shown);
        assert!(same && line.len() == lines[1].len(), "{line:?}, not {text}");
    }
    let text = sandbox.succeed(&["get", "connect", "--output", "name"], "").await;
    // Objects of the whole cluster belong to other tests.
    let of_namespace = text.lines().filter(|line| !line.starts_with("clusterconnectproject"));
    assert_eq!(of_namespace.count(), 3, "the category contains each kind: {text}");
}

#[tokio::test]
async fn kubectl_get_shows_the_connector_of_the_spec_before_the_first_reconcile() {
    let sandbox = Sandbox::new().await;
    for (name, connector, column) in [
        ("by-key", json!({"key": "demo-connector", "version": 3}), "demo-connector"),
        ("by-id", json!({"id": "c-1"}), "c-1"),
        ("by-ref", json!({"stagedRef": {"name": "kit"}}), "kit"),
    ] {
        let mut manifest = deployment(name);
        manifest["spec"]["connector"] = connector;
        sandbox.apply(&manifest).await.unwrap();
        let text = sandbox.succeed(&["get", "cdep", name], "").await;
        let (header, line) = text.split_once('\n').unwrap();
        assert!(line[header.find("CONNECTOR").unwrap()..].starts_with(column), "{text}");
    }
}

#[tokio::test]
async fn kubectl_selects_by_fields_on_the_server() {
    let sandbox = Sandbox::new().await;
    let staged = json!({
        "apiVersion": "connect-operator.io/v1alpha1", "kind": "ConnectorStaged", "metadata": {"name": "kit"},
        "spec": {"projectRef": {"name": "shop"}, "key": "my-kit", "name": "Kit", "creator": {"email": "dev@example.com"},
            "repository": {"url": "https://example.com/kit.git", "tag": "v1"}},
    });
    let other = with_spec(deployment("other"), &json!({"projectRef": {"name": "blog"}, "connector": {"key": "feed"}}));
    for manifest in [&deployment("tax"), &other, &staged] {
        sandbox.apply(manifest).await.unwrap();
    }
    sandbox.set_status(&other, &json!({"observedGeneration": 1, "key": "default_other"})).await.unwrap();
    for (kind, selector, expected) in [
        ("cdep", "spec.projectRef.name=blog", "other"),
        ("cdep", "spec.connector.key=feed", "other"),
        ("cdep", "status.key=default_other", "other"),
        ("cdep", "spec.projectRef.name!=blog", "tax"),
        ("cst", "spec.projectRef.name=shop,spec.key=my-kit", "kit"),
        ("cst", "spec.key=another", ""),
    ] {
        let names = ["get", kind, "--field-selector", selector, "--output", "jsonpath={.items[*].metadata.name}"];
        let text = sandbox.succeed(&names, "").await;
        assert_eq!(text.trim(), expected, "{kind} {selector}");
    }
}

#[tokio::test]
async fn two_managers_own_different_values_of_one_list() {
    let sandbox = Sandbox::new().await;
    let value = |key: &str| {
        let values = json!([{"key": key, "value": key}]);
        json!({"configurations": [{"applicationName": "service", "standardConfiguration": values}]})
    };
    let (first, second) = (with_spec(deployment("shared"), &value("A")), with_spec(deployment("shared"), &value("B")));
    sandbox.apply_as("first", &first).await.unwrap();
    let both = sandbox.apply_as("second", &second).await.expect("they do not conflict");
    assert_eq!(both.data["spec"]["configurations"][0]["standardConfiguration"].as_array().unwrap().len(), 2);
    let rest = sandbox.apply_as("first", &deployment("shared")).await.unwrap();
    let rest = &rest.data["spec"]["configurations"][0]["standardConfiguration"];
    assert_eq!(*rest, json!([{"key": "B", "value": "B"}]), "a value that its manager no longer applies is removed");
}

#[tokio::test]
async fn kubectl_explains_every_field() {
    let sandbox = Sandbox::new().await;
    // The API server publishes the schemas a moment after it serves the kinds.
    let published = async { while !sandbox.kubectl(&["explain", "ctp.spec"], "").await.status.success() {} };
    in_time(published).await.expect("the schemas are published");
    for (field, words) in [
        ("cdep", "deletes the deployment, unless deletionPolicy says otherwise"),
        ("cdep.spec.deletionPolicy", "Default: Orphan for type production, else Delete"),
        ("cdep.spec.configurations.securedConfiguration.valueFrom", "put it into a Secret"),
        ("ctp.spec.region", "europe-west1.gcp"),
    ] {
        let text = sandbox.succeed(&["explain", field], "").await;
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(words), "{field}: {text}");
    }
}
