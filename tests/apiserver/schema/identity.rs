//! Immutable fields: they change neither in one step, nor by removing a field and adding it again.

use serde_json::{Value, json};

use crate::cluster::Sandbox;
use crate::manifests::{deployment, project, with_spec};

/// The status that the operator writes once the deployment exists.
fn known() -> Value {
    json!({
        "observedGeneration": 1,
        "id": "4711",
        "key": "tax-eu",
        "type": "sandbox",
        "region": "europe-west1.gcp",
        "connector": {"id": "c-1", "key": "demo-connector", "version": 3, "name": "Demo"},
    })
}

struct Row {
    case: &'static str,
    /// Merged into the spec of the small manifest.
    before: Value,
    /// Whether the status has the deployment when the change comes.
    known: bool,
    /// Merged into the spec.
    change: Value,
    /// The field that the refusal must name; `None`: the change is accepted.
    refused: Option<&'static str>,
}

fn row(case: &'static str, before: Value, known: bool, change: Value, refused: Option<&'static str>) -> Row {
    Row { case, before, known, change, refused }
}

/// The rows that compare with the old spec hold before the status is known, too; the second half needs the status.
fn rows() -> Vec<Row> {
    let (unwritten, written) = (json!({}), json!({"key": "tax-eu", "type": "sandbox", "region": "europe-west1.gcp"}));
    let id = json!({"connector": {"key": null, "id": "c-1"}});
    let staged = json!({"connector": {"staged": true}});
    let reference = json!({"connector": {"key": null, "stagedRef": {"name": "mine"}}});
    vec![
        row("key, unknown", written.clone(), false, json!({"key": "tax-us"}), Some("key")),
        row("region, unknown", written.clone(), false, json!({"region": "us-central1.gcp"}), Some("region")),
        row("type, unknown", written.clone(), false, json!({"type": "production"}), Some("type")),
        row(
            "connector's key, unknown",
            unwritten.clone(),
            false,
            json!({"connector": {"key": "other"}}),
            Some("connector.key"),
        ),
        row("connector's id, unknown", id.clone(), false, json!({"connector": {"id": "c-2"}}), Some("connector.id")),
        row(
            "connector's reference",
            reference.clone(),
            false,
            json!({"connector": {"stagedRef": {"name": "yours"}}}),
            Some("connector.stagedRef"),
        ),
        row("staged, added", unwritten.clone(), false, staged.clone(), Some("connector.staged")),
        row("staged, removed", staged.clone(), false, json!({"connector": {"staged": null}}), Some("connector.staged")),
        row("staged, by a reference", unwritten.clone(), true, reference, Some("connector.staged")),
        row("key, added while unknown", unwritten.clone(), false, json!({"key": "tax-us"}), None),
        row("key", written.clone(), true, json!({"key": "tax-us"}), Some("key")),
        row("region", written.clone(), true, json!({"region": "us-central1.gcp"}), Some("region")),
        row("type", written.clone(), true, json!({"type": "production"}), Some("type")),
        row("connector's key", unwritten.clone(), true, json!({"connector": {"key": "other"}}), Some("connector.key")),
        row("another key, added", unwritten.clone(), true, json!({"key": "tax-us"}), Some("key")),
        row("another region, added", unwritten.clone(), true, json!({"region": "us-central1.gcp"}), Some("region")),
        row("another type, added", unwritten.clone(), true, json!({"type": "production"}), Some("type")),
        row(
            "another connector by id",
            unwritten.clone(),
            true,
            json!({"connector": {"key": null, "id": "c-2"}}),
            Some("connector.id"),
        ),
        row(
            "another connector by key",
            id.clone(),
            true,
            json!({"connector": {"id": null, "key": "other"}}),
            Some("connector.key"),
        ),
        row("the default key, written out", unwritten.clone(), true, json!({"key": "tax-eu"}), None),
        row("all defaults, written out", unwritten.clone(), true, written.clone(), None),
        row("all defaults, removed", written, true, json!({"key": null, "type": null, "region": null}), None),
        row(
            "the same connector by id",
            unwritten.clone(),
            true,
            json!({"connector": {"key": null, "id": "c-1"}}),
            None,
        ),
        row("staged false, written out", unwritten.clone(), true, json!({"connector": {"staged": false}}), None),
        row("a higher version", json!({"connector": {"version": 3}}), true, json!({"connector": {"version": 4}}), None),
        row("a lower version", json!({"connector": {"version": 3}}), true, json!({"connector": {"version": 2}}), None),
        row("no version", json!({"connector": {"version": 3}}), true, json!({"connector": {"version": null}}), None),
        row("updatePolicy", unwritten.clone(), true, json!({"connector": {"updatePolicy": "Latest"}}), None),
        row(
            "everything else",
            unwritten,
            true,
            json!({"interval": "1m", "deletionPolicy": "Orphan", "suspend": true}),
            None,
        ),
    ]
}

#[tokio::test]
async fn a_deployment_keeps_its_identity() {
    let sandbox = Sandbox::new().await;
    for (index, Row { case, before, known: is_known, change, refused }) in rows().into_iter().enumerate() {
        let manifest = with_spec(deployment(&format!("identity-{index}")), &before);
        sandbox.apply(&manifest).await.unwrap_or_else(|refusal| panic!("{case}, before: {refusal}"));
        if is_known {
            sandbox.set_status(&manifest, &known()).await.unwrap_or_else(|refusal| panic!("{case}, status: {refusal}"));
        }
        let changed = sandbox.change(&manifest, &json!({"spec": change})).await;
        match (changed, refused) {
            (Ok(_), None) => {}
            (Err(refusal), Some(field)) => {
                let words =
                    format!("{field} cannot be changed, because the remote cannot change it either: set it back");
                assert!(refusal.contains(&words), "{case}: {refusal}");
            }
            (Ok(_), Some(_)) => panic!("{case}: accepted"),
            (Err(refusal), None) => panic!("{case}: {refusal}"),
        }
    }
}

#[tokio::test]
async fn removing_and_adding_a_field_does_not_bypass_immutability() {
    let sandbox = Sandbox::new().await;
    let manifest = with_spec(deployment("twice"), &json!({"key": "tax-eu"}));
    sandbox.apply(&manifest).await.unwrap();
    sandbox.set_status(&manifest, &known()).await.unwrap();
    sandbox.change(&manifest, &json!({"spec": {"key": null}})).await.unwrap();
    let refusal = sandbox.change(&manifest, &json!({"spec": {"key": "tax-us"}})).await.unwrap_err();
    assert!(refusal.contains("key cannot be changed"), "{refusal}");
    sandbox.change(&manifest, &json!({"spec": {"key": "tax-eu"}})).await.unwrap();
}

#[tokio::test]
async fn no_rule_blocks_a_status_or_a_finalizer() {
    let sandbox = Sandbox::new().await;
    let manifest = with_spec(
        deployment("contradicted"),
        &json!({"key": "tax-us", "type": "production", "connector": {"key": "other"}}),
    );
    sandbox.apply(&manifest).await.unwrap();
    sandbox.set_status(&manifest, &known()).await.expect("a status is accepted");
    let finalizers = json!({"metadata": {"finalizers": ["connect-operator.io/undeploy"]}});
    sandbox.change(&manifest, &finalizers).await.expect("a finalizer is added");
    sandbox.api(&manifest).delete("contradicted", &kube::api::DeleteParams::default()).await.unwrap();
    sandbox.change(&manifest, &json!({"spec": {"deletionPolicy": "Orphan"}})).await.expect("the policy is changed");
    sandbox.change(&manifest, &json!({"metadata": {"finalizers": []}})).await.expect("a finalizer is removed");
    assert!(sandbox.api(&manifest).get_opt("contradicted").await.unwrap().is_none());
}

#[tokio::test]
async fn a_project_keeps_its_identity() {
    let sandbox = Sandbox::new().await;
    let default_address = "https://connect.europe-west1.gcp.commercetools.com";
    let everything_else = json!({"authUrl": "http://127.0.0.1:1", "requestsPerSecond": 1,
        "deploymentPaths": "Unscoped", "credentialsSecretRef": {"name": "other"}});
    let own_address = json!({"apiUrl": "http://127.0.0.1:8787"});
    for (index, (case, before, change, refused)) in [
        ("key", json!({}), json!({"projectKey": "other"}), Some("projectKey is immutable")),
        ("region", json!({}), json!({"region": "us-central1.gcp"}), Some("region is immutable")),
        ("address, added", json!({}), own_address.clone(), Some("apiUrl is immutable")),
        ("address, changed", own_address.clone(), json!({"apiUrl": "http://127.0.0.1:1"}), Some("apiUrl is immutable")),
        ("address, removed", own_address, json!({"apiUrl": null}), Some("apiUrl is immutable")),
        ("the default address, written out", json!({}), json!({"apiUrl": default_address}), None),
        ("the default address, removed", json!({"apiUrl": default_address}), json!({"apiUrl": null}), None),
        ("everything else", json!({}), everything_else, None),
    ]
    .into_iter()
    .enumerate()
    {
        let manifest = with_spec(project(&format!("identity-{index}")), &before);
        sandbox.apply(&manifest).await.unwrap_or_else(|refusal| panic!("{case}, before: {refusal}"));
        match (sandbox.change(&manifest, &json!({"spec": change})).await, refused) {
            (Ok(_), None) => {}
            (Err(refusal), Some(words)) => assert!(refusal.contains(words), "{case}: {refusal}"),
            (Ok(_), Some(_)) => panic!("{case}: accepted"),
            (Err(refusal), None) => panic!("{case}: {refusal}"),
        }
    }
}
