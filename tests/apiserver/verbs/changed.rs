//! `suspend`, `resume`, `reconcile`, `redeploy` and `rerun`.

use crate::checks::last_call;
use crate::prelude::*;

#[tokio::test]
async fn a_deployment_is_suspended_and_resumed() {
    let shop = Shop::live().await;
    let sandbox = &shop.sandbox;
    let line = |what: &str| format!("connectordeployment.connect-operator.io/tax {what}\n");
    assert_eq!(printed(sandbox, &["suspend", "tax"]).await, line("suspended"));
    let suspended = shop.get().await;
    assert!(suspended.spec.suspend);
    let managers = suspended.metadata.managed_fields.unwrap_or_default();
    assert!(managers.iter().any(|it| it.manager.as_deref() == Some(names::COMMAND_FIELD_MANAGER)), "{managers:?}");
    assert_eq!(printed(sandbox, &["suspend", "tax"]).await, line("suspended (no change)"));

    shop.change_until(&json!({"spec": level("debug")}), "Suspended").await;
    let (code, stdout, stderr) = run(sandbox, &["redeploy", "tax", "--wait"]).await;
    assert_eq!((code, stdout), (Some(1), line("redeploy requested")), "{stderr}");
    assert!(stderr.contains("suspended, so nothing is sent until it is resumed: connect-operator resume"), "{stderr}");
    let page = printed(sandbox, &["status", "tax"]).await;
    assert!(page.contains("Notices:") && page.contains("redeploy ("), "{page}");

    assert_eq!(printed(sandbox, &["resume", "cdep", "tax", "-o", "name"]).await, line("").replace(' ', ""));
    assert!(!shop.get().await.spec.suspend);
    shop.until_reason("Deployed").await;
    assert_eq!(printed(sandbox, &["resume", "deployments", "--all"]).await, line("resumed (no change)"));
}

#[tokio::test]
async fn a_redeploy_is_requested_once_and_awaited() {
    let shop = Shop::live().await;
    let sandbox = &shop.sandbox;
    let before = shop.get().await.status.and_then(|status| status.remote_version());
    let printed = super::printed(sandbox, &["redeploy", "deployment/tax", "--wait"]).await;
    assert!(printed.starts_with("connectordeployment.connect-operator.io/tax redeploy requested\n"), "{printed}");
    assert!(printed.contains("deployment/tax: Deployed: "), "{printed}");
    let after = shop.get().await.status.and_then(|status| status.remote_version());
    assert_eq!(after, before.map(|version| version + 1), "one redeploy, which has ended");
    let reconciled = super::printed(sandbox, &["reconcile", "tax", "--wait"]).await;
    assert!(reconciled.contains("reconcile requested\n") && reconciled.contains("Deployed: "), "{reconciled}");
    assert_eq!(shop.get().await.status.and_then(|status| status.remote_version()), after, "a read sends nothing");
    let lists = shop.calls("queryDeployments");
    let reconciled = super::printed(sandbox, &["reconcile", "project/shop", "--wait"]).await;
    assert!(reconciled.contains("project/shop: Available: "), "{reconciled}");
    assert!(shop.calls("queryDeployments") > lists, "it is listed again");

    shop.change_until(&json!({"spec": level("loud")}), "RedeployFailed").await;
    let (code, _, stderr) = run(sandbox, &["redeploy", "tax", "--wait"]).await;
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("RedeployFailed") && stderr.contains("\n  Error in service"), "{stderr}");
    assert!(!stderr.contains("first-token"), "{stderr}");
}

#[tokio::test]
async fn a_rerun_calls_the_action_once_more() {
    let shop = Shop::open().await;
    shop.sandbox.apply(&check(&shop)).await.unwrap();
    shop.until_object(CHECK, "it passed", |check: &ActionCheck| {
        last_call(check).is_some_and(|call| call.http_status == Some(200))
    })
    .await;
    let calls = || shop.calls("writeFrontasticActionPost");
    assert_eq!(calls(), 1);
    let printed = super::printed(&shop.sandbox, &["rerun", CHECK, "--wait"]).await;
    assert!(printed.contains("rerun requested\n") && printed.contains("check/add-to-cart: CheckPassed"), "{printed}");
    assert_eq!(calls(), 2);
}
