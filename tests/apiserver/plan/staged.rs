//! The plan of staged connectors: their steps, the conditions for publishing, and the deployments of them.

use super::*;
use crate::prelude::*;

/// A staged connector that is published once its preview is proven.
fn kit(spec: &Value) -> Value {
    let kit = json!({
        "apiVersion": "connect-operator.io/v1alpha1", "kind": "ConnectorStaged", "metadata": {"name": "kit"},
        "spec": {
            "projectRef": {"name": "shop"}, "key": "kit", "name": "Kit", "creator": {"email": "dev@example.com"},
            "repository": {"url": "https://github.com/example/demo-kit.git", "tag": "1.0.0"},
            "privateProjects": [{"region": "europe-west1.gcp", "projectKey": "demo"}], "preview": "Request", "publishPolicy": "Private", "interval": "30s",
            "publishAfter": {"deploymentRef": {"name": NAME}},
        },
    });
    with_spec(kit, spec)
}

/// A deployment that follows the staged connector.
fn preview(shop: &Shop) -> Value {
    let mut manifest =
        with_spec(shop.deployment(), &json!({"connector": {"stagedRef": {"name": "kit"}, "updatePolicy": "Latest"}}));
    manifest["spec"]["connector"].as_object_mut().unwrap().remove("key");
    manifest
}

#[tokio::test]
async fn a_staged_connector_is_planned_alone_and_with_its_deployment() {
    let shop = nothing_live().await;
    let alone = plan_with(&shop, &[kit(&json!({"publishAfter": null}))], 2).await;
    assert_eq!(alone["changes"], true, "{alone:#}");
    assert_eq!(alone["staged"][0]["action"], json!("create"), "{alone:#}");

    let both = [kit(&json!({})), preview(&shop), secret(SECRET, &json!({"token": TOKEN}))];
    let planned = plan_with(&shop, &both, 2).await;
    assert_eq!(planned["staged"][0]["action"], json!("create"), "{planned:#}");
    let follows = &planned["deployments"][0];
    assert_eq!(follows["action"], "notKnown", "{planned:#}");
    assert!(follows["notes"][0].as_str().unwrap().starts_with("its ConnectorStaged changes first"), "{planned:#}");
}

#[tokio::test]
async fn a_new_tag_is_an_update_which_its_deployment_follows() {
    let mut shop = Shop::open().await;
    shop.put_token(TOKEN).await;
    for manifest in [kit(&json!({})), preview(&shop)] {
        shop.sandbox.apply(&manifest).await.unwrap();
    }
    shop.until_object("kit", "published", |object: &ConnectorStaged| {
        object.status.as_ref().is_some_and(|status| {
            status.published_tag.as_deref() == Some("1.0.0")
                && status.conditions.iter().any(|it| it.type_ == "Ready" && it.status == "True")
        })
    })
    .await;
    shop.until_reason("Deployed").await;
    shop.stop_operator().await;

    plan_with(&shop, &[kit(&json!({})), preview(&shop)], 0).await;

    let planned = plan_with(&shop, &[kit(&json!({"repository": {"tag": "1.1.0"}}))], 2).await;
    let staged = &planned["staged"][0];
    assert_eq!(staged["action"], json!("update"), "{planned:#}");
    let tag = json!({"application": null, "kind": "field", "key": "repository.tag", "change": "changed",
        "before": "1.0.0", "after": "1.1.0"});
    assert_eq!(staged["differences"], json!([tag]), "{planned:#}");
    assert_eq!(planned["deployments"][0]["action"], "notKnown", "the deployment is not in the files: {planned:#}");

    let other = named(kit(&json!({"key": "kit"})), "other");
    let refused = plan_with(&shop, &[other], 1).await;
    assert_eq!(refused["staged"][0]["problem"]["reason"], "KeyConflict");
    assert_eq!(shop.api::<ConnectorDeployment>().list(&ListParams::default()).await.unwrap().items.len(), 1);
}

/// The examples in the order in which a new user applies them.
#[tokio::test]
async fn the_examples_are_planned_together() {
    let shop = nothing_live().await;
    let texts = [include_str!("../../../examples/quickstart.yaml"), include_str!("../../../examples/staged.yaml")];
    let mut manifests: Vec<Value> = Vec::new();
    for text in texts {
        let text = text.replace("http://127.0.0.1:8787", &shop.dev.url());
        manifests.extend(serde_saphyr::from_multiple::<Value>(&text).unwrap());
    }
    let planned = plan_with(&shop, &manifests, 2).await;
    assert_eq!(planned["problems"], false, "{planned:#}");
    assert_eq!(planned["staged"][0]["action"], json!("create"), "{planned:#}");
    let deployments = planned["deployments"].as_array().unwrap();
    let actions: Vec<_> = deployments.iter().map(|it| (it["name"].as_str(), it["action"].as_str())).collect();
    assert_eq!(actions, [(Some("my-preview"), Some("notKnown")), (Some("tax"), Some("create"))], "{planned:#}");
}
