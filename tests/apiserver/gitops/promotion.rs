//! `examples/promotion/`: kubectl renders each stage, and it becomes live.

use super::dev_server_of;
use crate::prelude::*;

#[tokio::test]
async fn each_stage_of_the_promotion_example_becomes_live_as_its_overlay_says() {
    for (stage, level, connector, kind, deletion_policy) in [
        ("dev", "debug", json!({"key": "demo-connector", "updatePolicy": "Latest"}), "sandbox", "Delete"),
        ("staging", "info", json!({"key": "demo-connector", "version": 1}), "sandbox", "Delete"),
        ("production", "warn", json!({"key": "demo-connector", "version": 1}), "production", "Orphan"),
    ] {
        // Of the two projects of a dev server, one may have deployments of type production.
        let (project, client) =
            if kind == "production" { ("demo-production", "production-client") } else { ("demo", "dev-client") };
        let shop = dev_server_of().await;
        let overlay = format!("{}/examples/promotion/overlays/{stage}", env!("CARGO_MANIFEST_DIR"));
        let rendered = documents(&shop.sandbox.succeed(&["kustomize", &overlay], "").await);
        let projects: Vec<_> = rendered.iter().filter_map(|it| it["spec"]["projectKey"].as_str()).collect();
        assert_eq!(projects, [format!("shop-{stage}")]);
        let (namespaces, rendered): (Vec<_>, Vec<_>) = rendered.into_iter().partition(|it| it["kind"] == "Namespace");
        assert_eq!(namespaces[0]["metadata"]["name"], format!("shop-{stage}"));
        for manifest in rendered {
            assert_eq!(manifest["metadata"]["namespace"], format!("shop-{stage}"), "{manifest}");
            let here = here(manifest, &shop.dev.url(), project);
            let arguments = ["apply", "--server-side", "--validate=strict", "--filename", "-"];
            shop.sandbox.succeed(&arguments, &here.to_string()).await;
        }
        shop.put_credentials(client).await;
        shop.put_secret(SECRET, &[("API_TOKEN", "first-token-of-the-shop")]).await;
        let live = shop.until_reason("Deployed").await;
        assert_eq!(json!(live.spec.connector), connector, "{stage}");
        let status = json!(live.status);
        assert_eq!((&status["remote"]["type"], &status["deletionPolicy"]), (&json!(kind), &json!(deletion_policy)));
        assert_eq!((status["key"].as_str(), &status["connector"]["version"]), (Some("tax"), &json!(1)), "{stage}");
        let settings = shop.sandbox.succeed(&["get", "configmap", "tax-settings", "-o", "jsonpath={.data}"], "").await;
        assert_eq!(settings, format!(r#"{{"logLevel":"{level}"}}"#), "{stage}");
        taken_away(&shop, u64::from(deletion_policy == "Delete")).await;
    }
}

/// Deletes a whole stage at once, as a prune does: projects wait for deployments, in whatever order they are deleted.
async fn taken_away(shop: &crate::shop::Shop, undeployed: u64) {
    let everything = ["delete", "ctp,cdep", "--all", &timeout_option()];
    shop.sandbox.succeed(&everything, "").await;
    assert_eq!(shop.calls("deleteDeploymentById"), undeployed);
    let deployments: Api<ConnectorDeployment> = shop.api();
    assert!(deployments.get_opt(NAME).await.unwrap().is_none());
    let projects: Api<ConnectProject> = shop.api();
    assert!(projects.list(&ListParams::default()).await.unwrap().items.is_empty());
}

/// Adapts a manifest to the dev server of the test, in its namespace.
fn here(mut manifest: Value, url: &str, project: &str) -> Value {
    manifest["metadata"].as_object_mut().unwrap().remove("namespace");
    if manifest["kind"] == "ConnectProject" {
        manifest["spec"]["projectKey"] = json!(project);
        manifest["spec"]["apiUrl"] = json!(url);
        manifest["spec"]["authUrl"] = json!(url);
    }
    manifest
}
