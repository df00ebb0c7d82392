//! Rule 15: which version of the connector runs, and what the registry has to do with it.

use std::time::Duration;

use connect_api::model::SecuredKey;
use connect_operator::names;
use dev_server::{Fault, FaultAnswer};
use serde_json::{Value, json};

use super::merging::{applications, with_enabler};
use super::{DEPLOYING, Leaping, condition, is, message, ready, status};
use crate::shop::SECRET;

/// Longer than the interval at which the registry is read.
const INTERVAL: Duration = Duration::from_mins(6);

/// Publishes the next version of the demo connector.
fn publish(shop: &Leaping) -> i64 {
    shop.dev.world().raise_connector("demo-connector", false, |_| {}).unwrap()
}

fn version(version: i64) -> Value {
    json!({"spec": {"connector": {"version": version}}})
}

#[tokio::test]
async fn rule_15_a_pinned_deployment_says_that_there_is_a_newer_version_and_moves_when_it_is_named() {
    let shop = Leaping::live().await;
    assert!(!is(&shop.look_again().await, names::UPDATE_AVAILABLE));
    assert_eq!(publish(&shop), 2);
    // Nobody touches it: the registry is read at the interval.
    shop.clock.step(INTERVAL);
    let told = shop.until("newer version", |object| is(object, names::UPDATE_AVAILABLE)).await;
    assert_eq!(ready(&told), ("True", "Deployed"));
    let said = condition(&told, names::UPDATE_AVAILABLE).unwrap();
    assert!(said.message.contains("Version 2 (tag ") && said.message.contains("runs"), "{}", said.message);
    assert_eq!(shop.sent(), [1, 0, 0]);

    shop.change(&version(2)).await;
    let moved = shop.redeployed("Deployed").await;
    assert_eq!(status(&moved).connector.and_then(|connector| connector.version), Some(2));
    assert!(!is(&moved, names::UPDATE_AVAILABLE));
    shop.pass(INTERVAL).await;
    assert_eq!(shop.sent(), [1, 1, 0]);
}

#[tokio::test]
async fn rule_15_latest_follows_without_anybody_and_once_for_each_version() {
    let shop = Leaping::open().await;
    shop.apply_deployment(&json!({"connector": {"key": "demo-connector", "updatePolicy": "Latest"}})).await;
    shop.finish("Deployed").await;
    for expected in [2, 3] {
        assert_eq!(publish(&shop), expected);
        shop.clock.step(INTERVAL);
        let moved = shop.redeployed("Deployed").await;
        assert_eq!(status(&moved).connector.and_then(|connector| connector.version), Some(expected));
        assert!(!is(&moved, names::UPDATE_AVAILABLE), "it follows");
    }
    shop.pass(INTERVAL).await;
    assert_eq!(shop.sent(), [1, 2, 0]);
}

#[tokio::test]
async fn rule_12_a_newer_version_of_the_connector_does_not_wait_for_the_pause_after_a_refusal() {
    let shop = Leaping::open().await;
    shop.apply_deployment(&json!({"connector": {"key": "demo-connector", "updatePolicy": "Latest"}})).await;
    shop.finish("Deployed").await;
    let refused = FaultAnswer::error(400, "DeploymentUnknownApplicationConfiguration");
    shop.dev.fault(Fault::of("updateDeploymentById", refused)).unwrap();
    shop.change(&json!({"metadata": {"annotations": {names::REDEPLOY_REQUESTED_AT: "now"}}})).await;
    shop.until("refused", |object| ready(object).1 == "ConfigurationInvalid").await;
    let told = shop.clock.now();
    shop.dev.clear_faults();
    publish(&shop);
    shop.clock.step(INTERVAL);
    let moved = shop.redeployed("Deployed").await;
    assert_eq!(status(&moved).connector.and_then(|connector| connector.version), Some(2));
    let took = shop.clock.now().duration_since(told).as_mins();
    assert!(took < 10, "{took} minutes: what the version before refused, this one takes");
}

#[tokio::test]
async fn rule_15_a_version_that_is_not_the_latest_waits_until_it_is() {
    let shop = Leaping::live().await;
    shop.change(&version(2)).await;
    let waiting = shop.until_reason("ConnectorVersionUnavailable").await;
    assert!(is(&waiting, names::STALLED));
    shop.pass(INTERVAL).await;
    assert_eq!(shop.sent(), [1, 0, 0]);
    publish(&shop);
    shop.clock.step(INTERVAL);
    let moved = shop.redeployed("Deployed").await;
    assert_eq!(status(&moved).connector.and_then(|connector| connector.version), Some(2));
    assert_eq!(shop.sent(), [1, 1, 0]);
}

#[tokio::test]
async fn rule_15_a_version_is_named_right_after_it_was_published() {
    let shop = Leaping::live().await;
    shop.look_again().await;
    // What is remembered of the registry does not know it yet, which is no reason to bother anybody.
    publish(&shop);
    let mut history = shop.history().await;
    shop.change(&version(2)).await;
    shop.redeployed("Deployed").await;
    let versions = history.until(|object| ready(object).1 == "Redeploying").await;
    assert!(versions.iter().all(|object| ready(object).1 != "ConnectorVersionUnavailable"), "{versions:#?}");
    assert_eq!(shop.sent(), [1, 1, 0]);
}

#[tokio::test]
async fn rule_15_a_version_that_was_left_behind_cannot_be_reached_and_which_one_can_is_said() {
    let shop = Leaping::live().await;
    publish(&shop);
    publish(&shop);
    shop.change(&version(2)).await;
    let told = shop.until_reason("ConnectorVersionUnavailable").await;
    assert!(message(&told).contains("only deploys version 3"));
    shop.change(&version(3)).await;
    shop.redeployed("Deployed").await;
    // Back in Git: no redeploy goes back.
    shop.change(&version(1)).await;
    let told = shop.until_reason("ConnectorVersionMismatch").await;
    assert!(message(&told).contains("set connector.version to 3"));
    assert_eq!(shop.sent(), [1, 1, 0]);
}

#[tokio::test]
async fn rule_15_a_version_that_is_not_there_yet_is_waited_for_and_nothing_else_is_created() {
    let shop = Leaping::open().await;
    shop.apply_deployment(&json!({"connector": {"key": "demo-connector", "version": 2}})).await;
    shop.until_reason("ConnectorVersionUnavailable").await;
    shop.pass(Duration::from_mins(9)).await;
    assert_eq!(shop.sent(), [0, 0, 0], "the connector is there, and that version is not");
    publish(&shop);
    shop.clock.step(INTERVAL);
    let live = shop.finish("Deployed").await;
    assert_eq!(status(&live).connector.and_then(|connector| connector.version), Some(2));
    assert_eq!(shop.sent(), [1, 0, 0]);
}

#[tokio::test]
async fn rule_15_a_version_that_wants_more_is_not_followed_before_that_is_there() {
    let shop = Leaping::open().await;
    shop.apply_deployment(&json!({"connector": {"key": "demo-connector", "updatePolicy": "Latest"}})).await;
    shop.finish("Deployed").await;
    let key = SecuredKey { key: "SIGNING_KEY".into(), description: "Signs".into(), required: true };
    let add = |connector: &mut dev_server::ConnectorDefinition| {
        connector.configurations[0].secured_configuration.push(key);
    };
    shop.dev.world().raise_connector("demo-connector", false, add).unwrap();
    shop.clock.step(INTERVAL);
    let told = shop.until_reason("ConfigurationInvalid").await;
    let message = message(&told);
    assert!(message.contains("requires a value for the secured SIGNING_KEY"), "{message}");
    assert_eq!(shop.sent(), [1, 0, 0]);

    shop.put_secret(SECRET, &[("token", "first-token-of-the-shop"), ("signing", "signing-key-of-the-shop")]).await;
    let reference =
        |name: &str, key: &str| json!({"key": name, "valueFrom": {"secretKeyRef": {"name": SECRET, "key": key}}});
    let secured = json!([reference("API_TOKEN", "token"), reference("SIGNING_KEY", "signing")]);
    shop.change(&json!({"spec": {"configurations": [{
        "applicationName": "service",
        "standardConfiguration": [{"key": "LOG_LEVEL", "value": "info"}],
        "securedConfiguration": secured,
    }]}}))
    .await;
    let moved = shop.redeployed("Deployed").await;
    assert_eq!(status(&moved).connector.and_then(|connector| connector.version), Some(2));
    assert_eq!(shop.sent(), [1, 1, 0]);
}

#[tokio::test]
async fn rule_15_what_was_known_of_the_registry_stays_while_it_does_not_answer() {
    let shop = Leaping::live().await;
    publish(&shop);
    shop.clock.step(INTERVAL);
    shop.until("newer version", |object| is(object, names::UPDATE_AVAILABLE)).await;
    shop.dev.fault(Fault::of("getConnectorByKey", FaultAnswer::error(403, "AuthorizationError"))).unwrap();
    let told = shop.pass(INTERVAL).await;
    assert_eq!(ready(&told), ("True", "Deployed"), "deployments go on");
    assert!(is(&told, names::UPDATE_AVAILABLE));
}

/// Lets the deployment follow to version 2, and somebody else roll it back to version 1; returns once that is over.
async fn rolled_back(shop: &Leaping, drift: &str) -> connect_operator::crd::ConnectorDeployment {
    let connector = json!({"key": "demo-connector", "updatePolicy": "Latest"});
    shop.apply_deployment(&json!({"connector": connector, "drift": {"policy": drift}})).await;
    let live = shop.finish("Deployed").await;
    publish(shop);
    shop.clock.step(INTERVAL);
    shop.redeployed("Deployed").await;
    let id = status(&live).id.expect("an id");
    shop.dev.world().rollback_elsewhere(&id, shop.dev.now()).expect("there is an earlier one");
    shop.look_again().await;
    shop.pass(DEPLOYING).await
}

#[tokio::test]
async fn rule_16_what_somebody_rolled_back_is_said_in_one_sentence_and_left_so() {
    let mut shop = Leaping::open().await;
    rolled_back(&shop, "Detect").await;
    let told = shop.until("rolled back", |object| is(object, names::DRIFTED)).await;
    let drifted = condition(&told, names::DRIFTED).unwrap();
    assert_eq!(drifted.reason, "RolledBack");
    assert!(drifted.message.contains("rolled the deployment back to revision"), "{}", drifted.message);
    assert_eq!(ready(&told), ("True", "Deployed"));
    assert!(is(&told, names::SECRETS_UNVERIFIED), "secured values of the revision cannot be read");
    shop.stop_operator().await;
    shop.start_operator();
    shop.pass(INTERVAL).await;
    shop.pass(INTERVAL).await;
    assert_eq!(shop.sent(), [1, 1, 0], "nobody fights");
    // What is new goes on.
    publish(&shop);
    shop.clock.step(INTERVAL);
    let moved = shop.redeployed("Deployed").await;
    assert_eq!(status(&moved).connector.and_then(|connector| connector.version), Some(3));
    assert!(!is(&moved, names::DRIFTED));
    assert_eq!(shop.sent(), [1, 2, 0]);
}

#[tokio::test]
async fn rule_16_what_somebody_rolled_back_is_corrected_once() {
    let shop = Leaping::open().await;
    rolled_back(&shop, "Correct").await;
    let live = shop.redeployed("Deployed").await;
    assert_eq!(status(&live).connector.and_then(|connector| connector.version), Some(2));
    shop.pass(INTERVAL).await;
    shop.pass(INTERVAL).await;
    assert_eq!(shop.sent(), [1, 2, 0]);
}

#[tokio::test]
async fn rule_16_a_change_after_a_rollback_follows_again_with_every_application() {
    let shop = Leaping::open().await;
    let connector = json!({"key": "demo-connector", "updatePolicy": "Latest"});
    shop.apply_deployment(&json!({"connector": connector})).await;
    let live = shop.finish("Deployed").await;
    shop.dev.world().raise_connector("demo-connector", false, with_enabler).unwrap();
    shop.clock.step(INTERVAL);
    shop.redeployed("Deployed").await;
    let id = status(&live).id.expect("an id");
    shop.dev.world().rollback_elsewhere(&id, shop.dev.now()).expect("there is an earlier one");
    shop.look_again().await;
    shop.pass(DEPLOYING).await;
    shop.until("rolled back", |object| is(object, names::DRIFTED)).await;
    shop.put_secret(SECRET, &[("token", "second-token-of-the-shop")]).await;
    let moved = shop.redeployed("Deployed").await;
    assert_eq!(status(&moved).connector.and_then(|connector| connector.version), Some(2));
    assert_eq!(applications(&shop), ["service", "enabler"]);
    shop.pass(INTERVAL).await;
    assert_eq!(shop.sent(), [1, 2, 0], "one redeploy for both");
}
