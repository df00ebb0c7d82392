//! What a user has to correct: reported as Stalled, retried rarely, and resolved once the cause is gone.

use std::time::Duration;

use connect_api::ErrorCode;
use connect_operator::crd::ConnectProject;
use connect_operator::operator::reporting::conditions::ready_message;
use dev_server::{Fault, FaultAnswer, Options};
use serde_json::json;

use super::condition;
use super::pace::{COARSE, FINE, meanwhile, pass, stepped};
use crate::shop::{CREDENTIALS, Shop};

/// A shop on a stepped clock; a Secret exists, nothing is deployed.
async fn shop() -> Shop {
    let shop = Shop::with(Options { deploy_duration: Duration::from_secs(5), ..Options::default() }, stepped()).await;
    shop.put_token("first-token-of-the-shop").await;
    shop
}

/// Waits for the reason, and asserts that it is Stalled with a message that contains `named`.
async fn stalls(shop: &Shop, case: &str, reason: &str, named: &str) {
    let object = meanwhile(&shop.clock, FINE, shop.until_reason(reason)).await;
    assert_eq!(condition(&object, "Stalled"), Some("True"), "{case}");
    assert_eq!(condition(&object, "Reconciling"), None, "{case}");
    assert_eq!(condition(&object, "Ready"), Some("False"), "{case}");
    let message = object.status.as_ref().and_then(|status| ready_message(&status.conditions)).unwrap_or_default();
    assert!(message.contains(named), "{case}: {message}");
}

/// Lets an hour pass, and returns the number of all calls and of attempted writes in it.
async fn in_an_hour(shop: &Shop) -> (u64, u64) {
    let (all, writes) = counted(shop);
    pass(&shop.clock, COARSE, Duration::from_hours(1)).await;
    let (all_now, writes_now) = counted(shop);
    (all_now - all, writes_now - writes)
}

fn counted(shop: &Shop) -> (u64, u64) {
    (shop.dev.counts().values().sum(), shop.calls("createDeployment"))
}

async fn heals(shop: &Shop, case: &str) {
    meanwhile(&shop.clock, FINE, shop.until_reason("Deployed")).await;
    assert_eq!(shop.dev.world().all(shop.clock.now()).len(), 1, "{case}");
}

#[tokio::test]
async fn a_refused_create_is_not_repeated_until_its_cause_changes() {
    for (case, reason, code) in [
        ("unknown connector", "ConnectorNotFound", "ConnectorReferenceNotFound"),
        ("unknown application", "ConfigurationInvalid", "DeploymentUnknownApplicationConfiguration"),
        ("unknown key", "ConfigurationInvalid", "DeploymentUnknownApplicationConfigurationKey"),
        ("region", "ConfigurationInvalid", "DeploymentUnsupportedRegion"),
    ] {
        let shop = shop().await;
        // The registry is checked before anything is sent, so the service refuses with codes that no check predicts.
        shop.dev.fault(Fault::of("createDeployment", FaultAnswer::error(400, code))).unwrap();
        let mut manifest = shop.deployment();
        shop.sandbox.apply(&manifest).await.unwrap();
        stalls(&shop, case, reason, "").await;
        assert_eq!(shop.calls("createDeployment"), 1, "{case}");
        let (all, writes) = in_an_hour(&shop).await;
        assert!(writes <= 3, "{case}: {writes} creates in an hour");
        assert!(all <= 60, "{case}: {all} calls in an hour");

        shop.dev.clear_faults();
        manifest["spec"]["configurations"][0]["standardConfiguration"][0]["value"] = json!("debug");
        shop.sandbox.apply(&manifest).await.unwrap();
        heals(&shop, case).await;
    }
}

#[tokio::test]
async fn refused_credentials_are_not_retried_until_the_secret_changes() {
    let shop = shop().await;
    shop.put_secret(CREDENTIALS, &[("clientId", "dev-client"), ("clientSecret", "wrong")]).await;
    shop.sandbox.apply(&shop.deployment()).await.unwrap();
    stalls(&shop, "401", "CredentialsRejected", "").await;
    let stalled = shop.until_project("the project reports it too", |project| {
        let conditions = project.status.as_ref().map(|status| status.conditions.clone()).unwrap_or_default();
        let has = |kind: &str, reason: &str| {
            conditions.iter().any(|condition| condition.type_ == kind && condition.reason == reason)
        };
        has("Ready", "CredentialsRejected") && has("Stalled", "CredentialsRejected")
    });
    let _: ConnectProject = meanwhile(&shop.clock, FINE, stalled).await;
    let (all, writes) = in_an_hour(&shop).await;
    assert_eq!(writes, 0);
    assert!((1..=13).contains(&all), "{all} calls in an hour: about one each 5 minutes");

    shop.put_credentials("dev-client").await;
    heals(&shop, "401").await;
}

#[tokio::test]
async fn a_missing_right_is_reported_and_retried_rarely() {
    let refused = || FaultAnswer::error(403, ErrorCode::AuthorizationError.as_str());
    for (case, operation) in [("reading", "getDeploymentByKey"), ("writing", "createDeployment")] {
        let shop = shop().await;
        shop.dev.fault(Fault::of(operation, refused())).unwrap();
        if operation == "getDeploymentByKey" {
            shop.dev.fault(Fault::of("queryDeployments", refused())).unwrap();
        }
        shop.sandbox.apply(&shop.deployment()).await.unwrap();
        stalls(&shop, case, "PermissionMissing", "").await;
        let (all, writes) = in_an_hour(&shop).await;
        assert!(writes <= 3, "{case}: {writes} creates in an hour");
        assert!(all <= 60, "{case}: {all} calls in an hour");
        shop.dev.clear_faults();
        shop.put_credentials("api-clients-client").await;
        heals(&shop, case).await;
    }
}

#[tokio::test]
async fn an_unknown_error_code_is_classified_by_its_status() {
    let shop = shop().await;
    shop.dev.fault(Fault::of("createDeployment", FaultAnswer::error(400, "SurprisinglyNew"))).unwrap();
    shop.sandbox.apply(&shop.deployment()).await.unwrap();
    stalls(&shop, "unknown code", "RequestRejected", "SurprisinglyNew").await;
    let (all, writes) = in_an_hour(&shop).await;
    assert!(writes <= 3, "{writes} creates in an hour");
    assert!(all <= 60, "{all} calls in an hour");
    shop.dev.clear_faults();
    shop.change(&json!({"spec": {"interval": "6m"}})).await;
    heals(&shop, "unknown code").await;
}
