//! The main job on a real API server: from apply to live, a rotated Secret, an invalid value, and deletion.

use crate::prelude::*;

#[tokio::test]
async fn from_apply_to_live_to_one_redeploy_to_a_readable_failure_and_to_nothing() {
    let shop = Shop::live().await;
    let object = shop.get().await;
    let applied = state(&object).applied.and_then(|applied| applied.digest);
    let status = object.status.expect("a status");
    assert_eq!(status.remote_state(), Some("Deployed"));
    assert!(status.applications.iter().any(|application| application.url.is_some()));
    assert_eq!(shop.calls("createDeployment"), 1);

    shop.put_token("second-token-of-the-shop").await;
    shop.until("redeployed", |object| {
        let now = state(object);
        now.operation.is_none() && now.applied.is_some_and(|now| now.digest.is_some() && now.digest != applied)
    })
    .await;
    shop.until_reason("Deployed").await;
    assert_eq!(shop.calls("updateDeploymentById"), 1);

    shop.change(&json!({"spec": {"configurations": [{"applicationName": "service",
        "standardConfiguration": [{"key": "LOG_LEVEL", "value": "loud"}],
        "securedConfiguration": [{"key": "API_TOKEN", "valueFrom": {"secretKeyRef": {"name": SECRET, "key": "token"}}}]}]}}))
        .await;
    let failed = shop.until_reason("RedeployFailed").await.status.expect("a status");
    assert!(!failed.report.is_empty());

    shop.delete_wholly().await;
    assert_eq!(shop.calls("deleteDeploymentById"), 1);
}
