//! What a plan can compare: with and without the operator's digest key, with read permission only, and with fields that
//! an earlier apply set.

use super::*;

#[tokio::test]
async fn secured_values_are_compared_by_resource_versions() {
    let shop = live().await;
    for (case, manifests, code, action) in [
        ("nothing changed since", vec![shop.deployment()], 0, "none"),
        ("changed in the files", vec![secret(SECRET, &json!({"token": NEXT}))], 2, "redeploy"),
    ] {
        let planned = plan_with(&shop, &manifests, code).await;
        assert_eq!(planned["deployments"][0]["action"], action, "{case}: {planned:#}");
    }
    // Nothing has applied this resource version, and nothing shows whether the value is the same.
    shop.put_secret(SECRET, &[("token", TOKEN), ("more", "unrelated")]).await;
    let planned = plan_with(&shop, &[shop.deployment()], 2).await;
    let token = difference("secured", "API_TOKEN", "unknown", &Value::Null, &Value::Null);
    assert_eq!(planned["deployments"][0]["action"], "unknown", "{planned:#}");
    assert_eq!(planned["deployments"][0]["differences"], json!([token]));
}

/// An edit that the operator handles without a redeploy does not make the values unknown.
#[tokio::test]
async fn secured_values_are_known_after_an_edit_that_sends_nothing() {
    let mut shop = Shop::live().await;
    shop.sandbox.apply(&with_spec(shop.deployment(), &json!({"interval": "10m"}))).await.unwrap();
    shop.until("reconciled", |object| {
        object.status.as_ref().is_some_and(|status| Some(status.observed_generation) == object.metadata.generation)
    })
    .await;
    shop.until_reason("Deployed").await;
    shop.stop_operator().await;
    plan_with(&shop, &[with_spec(shop.deployment(), &json!({"interval": "10m"}))], 0).await;
}

#[tokio::test]
async fn a_field_that_is_no_longer_in_the_manifest_is_removed_whoever_applied_it() {
    for server_side in ["--server-side=true", "--server-side=false"] {
        let mut shop = Shop::open().await;
        shop.put_token(TOKEN).await;
        let debug = shop.with_level("debug");
        shop.sandbox.succeed(&["apply", server_side, "--filename", "-"], &debug.to_string()).await;
        shop.until_reason("Deployed").await;
        shop.stop_operator().await;
        let mut without = debug.clone();
        without["spec"]["configurations"][0].as_object_mut().unwrap().remove("standardConfiguration");
        let planned = plan_with(&shop, &[without], 2).await;
        // The connector has a default.
        let level = difference("plain", "LOG_LEVEL", "changed", &json!("debug"), &json!("info"));
        assert_eq!(planned["deployments"][0]["differences"], json!([level]), "{server_side}");
    }
}

#[tokio::test]
async fn a_user_with_read_permission_gets_a_plan() {
    let shop = live().await;
    let user = format!("reader-of-{}", shop.sandbox.namespace);
    let subject = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user});
    let rules = [
        json!({"apiGroups": [names::GROUP], "resources": ["*"], "verbs": ["get", "list"]}),
        json!({"apiGroups": [""], "resources": ["secrets", "configmaps"], "verbs": ["get"]}),
    ];
    shop.sandbox.grant(&subject, &rules).await;
    let mut config: Value =
        serde_saphyr::from_str(&std::fs::read_to_string(shop.sandbox.kubeconfig()).unwrap()).unwrap();
    config["users"][0]["user"]["as"] = json!(user);
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), config.to_string()).unwrap();
    let manifests = [shop.with_level("debug"), secret(SECRET, &json!({"token": NEXT}))];
    let planned = plan_as(&shop, file.path(), &manifests, &["-o", "json"]).await;
    assert_eq!(planned.code, Some(2), "{} {}", planned.output, planned.error);
    let planned = planned.json();
    let expected = [
        difference("plain", "LOG_LEVEL", "changed", &json!("info"), &json!("debug")),
        difference("secured", "API_TOKEN", "changed", &Value::Null, &Value::Null),
    ];
    assert_eq!(planned["deployments"][0]["differences"], json!(expected), "{planned:#}");
    assert!(planned["notes"].to_string().contains("of all namespaces"), "{planned:#}");
    let place = format!("{}/tax", shop.sandbox.namespace);
    let unchecked = format!("ConnectorDeployment {place}, Secret {place}: you may not apply it");
    assert!(planned["notes"].to_string().contains(&unchecked), "{planned:#}");
}

#[tokio::test]
async fn a_plan_works_if_everything_is_new() {
    let shop = nothing_live().await;
    let new = format!("{}-new", shop.sandbox.namespace);
    let place = |mut manifest: Value| {
        manifest["metadata"]["namespace"] = json!(new);
        manifest
    };
    let manifests = [
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": new}}),
        place(secret("shop-credentials", &json!({"clientId": "dev-client", "clientSecret": "dev-secret"}))),
        place(shop.project()),
        place(secret(SECRET, &json!({"token": TOKEN}))),
        place(shop.deployment()),
        json!({
            "apiVersion": "connect-operator.io/v1alpha1", "kind": "ConnectorStaged", "metadata": {"name": "mine"},
            "spec": {
                "projectRef": {"name": "shop"}, "key": "mine", "name": "Mine", "creator": {"email": "dev@example.com"},
                "repository": {"url": "git@example.com:mine.git", "tag": "v1"},
            },
        }),
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}),
    ];
    let planned = plan_with(&shop, &manifests, 2).await;
    assert_eq!(planned["deployments"][0]["action"], "create", "{planned:#}");
    assert_eq!(planned["deployments"][0]["key"], format!("{new}_{NAME}"));
    let unchecked = format!(
        "Secret {new}/shop-credentials, ConnectProject {new}/shop, Secret {new}/tax, ConnectorDeployment {new}/tax: the \
         namespace {new} does not exist yet, so the API server could not check it"
    );
    assert_eq!(planned["staged"][0]["action"], json!("create"), "{planned:#}");
    assert_eq!(planned["notes"], json!([unchecked]));
}
