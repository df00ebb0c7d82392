//! Immutable fields: they change neither in one step, nor by removing a field and adding it again.

use super::small;
use crate::manifests::deployment;
use crate::prelude::*;

const IDENTITY: &str = include_str!("../../fixtures/manifests/identity.yaml");

#[derive(Deserialize)]
struct Group {
    kind: String,
    /// What a refusal says after the name of the field.
    refusal: String,
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    case: String,
    /// Merged into the spec of the small manifest.
    #[serde(default)]
    before: Value,
    /// Whether the status has the deployment when the change comes.
    #[serde(default)]
    known: bool,
    /// Merged into the spec.
    change: Value,
    /// The field that the refusal names; `None`: the change is accepted.
    refused: Option<String>,
}

/// The status that the operator writes once the deployment exists.
fn known() -> Value {
    json!({
        "observedGeneration": 1,
        "id": "4711",
        "key": "tax-eu",
        "remote": {"apiUrl": "https://connect.test", "projectKey": "shop", "type": "sandbox", "region": "europe-west1.gcp"},
        "connector": {"id": "c-1", "key": "demo-connector", "version": 3, "name": "Demo"},
    })
}

/// Rows without `known` compare with the old spec, the others with the status.
#[tokio::test]
async fn deployments_and_projects_keep_their_identity() {
    let sandbox = Sandbox::new().await;
    for Group { kind, refusal: words, rows } in serde_saphyr::from_str::<Vec<Group>>(IDENTITY).unwrap() {
        for (index, Row { case, before, known: is_known, change, refused }) in rows.into_iter().enumerate() {
            let before = if before.is_null() { json!({}) } else { before };
            let manifest = with_spec(small(&kind, &format!("identity-{index}")), &before);
            sandbox.apply(&manifest).await.unwrap_or_else(|refusal| panic!("{kind}, {case}, before: {refusal}"));
            if is_known {
                sandbox.set_status(&manifest, &known()).await.unwrap();
            }
            let changed = sandbox.change(&manifest, &json!({"spec": change})).await;
            match (changed, refused) {
                (Ok(_), None) => {}
                (Err(refusal), Some(field)) => {
                    assert!(refusal.contains(&format!("{field}{words}")), "{kind}, {case}: {refusal}");
                }
                (Ok(_), Some(_)) => panic!("{kind}, {case}: accepted"),
                (Err(refusal), None) => panic!("{kind}, {case}: {refusal}"),
            }
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
    let finalizers = json!({"metadata": {"finalizers": ["connect-operator.io/finalizer"]}});
    sandbox.change(&manifest, &finalizers).await.expect("a finalizer is added");
    sandbox.api(&manifest).delete("contradicted", &kube::api::DeleteParams::default()).await.unwrap();
    sandbox.change(&manifest, &json!({"spec": {"deletionPolicy": "Orphan"}})).await.expect("the policy is changed");
    sandbox.change(&manifest, &json!({"metadata": {"finalizers": []}})).await.expect("a finalizer is removed");
    assert!(sandbox.api(&manifest).get_opt("contradicted").await.unwrap().is_none());
}
