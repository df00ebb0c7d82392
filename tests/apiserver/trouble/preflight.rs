//! Mistakes that the registry knows of: told at once and all together, before anything is sent.

use std::time::Duration;

use connect_api::model::StandardKey;
use dev_server::{Fault, FaultAnswer};
use serde_json::{Value, json};

use crate::rules::{Leaping, QUIET_PERIOD, message};
use crate::shop::SECRET;

fn secured(key: &str) -> Value {
    json!({"key": key, "valueFrom": {"secretKeyRef": {"name": SECRET, "key": "token"}}})
}

fn application(name: &str, standard: &[&str], secrets: &[&str]) -> Value {
    let standard: Vec<_> = standard.iter().map(|key| json!({"key": key, "value": "info"})).collect();
    let secured: Vec<_> = secrets.iter().map(|key| secured(key)).collect();
    json!({"applicationName": name, "standardConfiguration": standard, "securedConfiguration": secured})
}

#[tokio::test]
async fn every_mistake_is_told_at_once_and_nothing_is_sent() {
    let shop = Leaping::open().await;
    let wrong = [application("service", &["LOG_LEVL"], &["API_TOKN"]), application("servce", &[], &[])];
    shop.apply_deployment(&json!({"configurations": wrong})).await;
    let told = shop.until_reason("ConfigurationInvalid").await;
    let words = message(&told);
    for part in [
        "no application servce: did you mean service?",
        "no key LOG_LEVL: did you mean LOG_LEVEL?",
        "no key API_TOKN: did you mean API_TOKEN?",
        "requires a value for the secured API_TOKEN",
    ] {
        assert!(words.contains(part), "{part}: {words}");
    }
    shop.pass(Duration::from_mins(10)).await;
    assert_eq!(shop.sent(), [0, 0, 0]);
    shop.change(&json!({"spec": {"configurations": [application("service", &["LOG_LEVEL"], &["API_TOKEN"])]}})).await;
    shop.finish("Deployed").await;
    assert_eq!(shop.sent(), [1, 0, 0]);

    // What is live stays as it is while a change of it is wrong.
    shop.change(&json!({"spec": {"configurations": [application("service", &["FEATURE"], &["API_TOKEN"])]}})).await;
    let told = shop.until_reason("ConfigurationInvalid").await;
    assert!(message(&told).contains("did you mean FEATURES?"));
    shop.pass(QUIET_PERIOD).await;
    shop.change(&json!({"spec": {"configurations": [application("service", &["LOG_LEVEL"], &["API_TOKEN"])]}})).await;
    shop.until_reason("Deployed").await;
    assert_eq!(shop.sent(), [1, 0, 0], "as it was");
}

#[tokio::test]
async fn a_region_that_the_connector_does_not_support_is_told_with_those_that_it_does() {
    let shop = Leaping::open().await;
    shop.apply_deployment(&json!({"connector": {"key": "demo-us-only"}, "configurations": null})).await;
    let told = shop.until_reason("ConfigurationInvalid").await;
    let message = message(&told);
    assert!(
        message.contains("region europe-west1.gcp is not supported") && message.contains("us-central1.gcp"),
        "{message}"
    );
    assert_eq!(shop.sent(), [0, 0, 0]);
}

#[tokio::test]
async fn a_staged_connector_is_deployed_only_if_it_may_be() {
    let plain = json!([{"applicationName": "service"}]);
    let shop = Leaping::open().await;
    let hidden = json!({"connector": {"key": "demo-staged-hidden", "staged": true}, "configurations": plain});
    shop.apply_deployment(&hidden).await;
    let told = shop.until_reason("ConfigurationInvalid").await;
    let message = message(&told);
    assert!(message.contains("its isPreviewable is none: request preview permission"), "{message}");
    assert_eq!(shop.sent(), [0, 0, 0]);

    let shop = Leaping::open().await;
    let may = json!({"connector": {"key": "demo-staged", "staged": true}, "configurations": plain});
    shop.apply_deployment(&may).await;
    shop.finish("Deployed").await;
    assert_eq!(shop.sent(), [1, 0, 0]);
}

#[tokio::test]
async fn what_is_remembered_of_the_registry_is_no_reason_to_refuse() {
    let shop = Leaping::live().await;
    let key = StandardKey { key: "BRAND_NEW".into(), ..StandardKey::default() };
    let add = |connector: &mut dev_server::ConnectorDefinition| {
        connector.configurations[0].standard_configuration.push(key);
    };
    shop.dev.world().raise_connector("demo-connector", false, add).unwrap();
    let before = shop.calls("getConnectorByKey");
    let mut other = shop.deployment();
    other["metadata"]["name"] = json!("other");
    other["spec"]["configurations"] = json!([application("service", &["BRAND_NEW"], &["API_TOKEN"])]);
    shop.sandbox.apply(&other).await.unwrap();
    shop.until_calls("createDeployment", 2).await;
    assert_eq!(shop.calls("getConnectorByKey"), before + 1, "once more, to be sure");
}

#[tokio::test]
async fn without_a_registry_what_is_live_goes_on() {
    let shop = Leaping::live().await;
    shop.dev.fault(Fault::of("getConnectorByKey", FaultAnswer::error(403, "AuthorizationError"))).unwrap();
    let mut changed = application("service", &["LOG_LEVEL"], &["API_TOKEN"]);
    changed["standardConfiguration"][0]["value"] = json!("debug");
    shop.change(&json!({"spec": {"configurations": [changed]}})).await;
    shop.redeployed("Deployed").await;
    assert_eq!(shop.sent(), [1, 1, 0]);
}

#[tokio::test]
async fn twenty_deployments_of_one_connector_ask_for_it_once() {
    let shop = Leaping::open().await;
    shop.put_secret(SECRET, &[("token", "first-token-of-the-shop")]).await;
    for number in 0..20 {
        let mut deployment = shop.deployment();
        deployment["metadata"]["name"] = json!(format!("tax-{number}"));
        shop.sandbox.apply(&deployment).await.unwrap();
    }
    shop.until_calls("createDeployment", 20).await;
    assert_eq!(shop.calls("getConnectorByKey"), 1);
}
