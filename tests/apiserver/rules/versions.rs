//! Rule 15: which version of the connector runs, and how the registry decides it.

use connect_api::model::SecuredKey;

use super::merging::{applications, with_enabler};
use crate::prelude::*;

/// Longer than the poll interval of the registry.
const INTERVAL: Duration = Duration::from_mins(6);

/// Publishes the next version of the demo connector.
fn publish(shop: &Leaping) -> i64 {
    shop.dev.world().raise_connector("demo-connector", false, |_| {}).unwrap()
}

/// The version that runs.
pub(super) fn running(object: &ConnectorDeployment) -> Option<i64> {
    status(object).connector.and_then(|connector| connector.version)
}

/// A deployment that follows the newest version.
fn following() -> Value {
    json!({"connector": {"key": "demo-connector", "updatePolicy": "Latest"}})
}

/// A shop with such a deployment, live.
async fn follows() -> Leaping {
    Leaping::live_as(&following()).await
}

/// Rolls the deployment back outside the operator, and returns it once that has ended.
async fn roll_back(shop: &Leaping) -> ConnectorDeployment {
    let id = shop.there().remove(0).id;
    shop.dev.world().rollback_elsewhere(&id, shop.dev.now()).expect("an earlier revision exists");
    shop.reconcile_again().await;
    shop.pass(DEPLOYING).await
}

fn version(version: i64) -> Value {
    json!({"spec": {"connector": {"version": version}}})
}

#[tokio::test]
async fn rule_15_a_pinned_deployment_reports_a_newer_version_and_moves_when_the_spec_names_it() {
    let shop = Leaping::live().await;
    assert!(!is(&shop.reconcile_again().await, names::UPDATE_AVAILABLE));
    assert_eq!(publish(&shop), 2);
    // Without any change, the registry is read at the interval.
    shop.clock.step(INTERVAL);
    let reported = shop.until("newer version", |object| is(object, names::UPDATE_AVAILABLE)).await;
    assert_eq!(ready(&reported), ("True", "Deployed"));
    let update = condition(&reported, names::UPDATE_AVAILABLE).unwrap();
    assert!(update.message.contains("Version 2 (tag ") && update.message.contains("runs"), "{}", update.message);
    assert_eq!(shop.sent(), [1, 0, 0]);

    let moved = shop.redeploy(&version(2), "Deployed").await;
    assert_eq!(running(&moved), Some(2));
    assert!(!is(&moved, names::UPDATE_AVAILABLE));
    shop.pass(INTERVAL).await;
    assert_eq!(shop.sent(), [1, 1, 0]);
}

#[tokio::test]
async fn rule_12_a_newer_connector_version_does_not_wait_for_the_pause_after_a_refusal() {
    let shop = follows().await;
    let refused = FaultAnswer::error(400, "DeploymentUnknownApplicationConfiguration");
    shop.dev.fault(Fault::of("updateDeploymentById", refused)).unwrap();
    shop.annotate(names::REDEPLOY_REQUESTED_AT, "now").await;
    shop.until("refused", |object| ready(object).1 == "ConfigurationInvalid").await;
    let reported = shop.clock.now();
    shop.dev.clear_faults();
    publish(&shop);
    shop.clock.step(INTERVAL);
    let moved = shop.redeployed("Deployed").await;
    assert_eq!(running(&moved), Some(2));
    let took = shop.clock.now().duration_since(reported).as_mins();
    assert!(took < 10, "{took} minutes: the new version accepts what the previous one refused");
}

#[tokio::test]
async fn rule_15_a_version_that_is_not_the_latest_waits_until_it_is_with_the_values_for_it() {
    let shop = Leaping::live().await;
    let mut spec = level("debug");
    spec["connector"] = json!({"version": 2});
    let waiting = shop.change_until(&json!({"spec": spec}), "ConnectorVersionUnavailable").await;
    assert!(is(&waiting, names::STALLED));
    shop.pass(INTERVAL).await;
    assert_eq!(shop.sent(), [1, 0, 0]);
    publish(&shop);
    shop.clock.step(INTERVAL);
    let moved = shop.redeployed("Deployed").await;
    assert_eq!(running(&moved), Some(2));
    assert_eq!(shop.sent(), [1, 1, 0]);
}

#[tokio::test]
async fn rule_15_a_version_can_be_named_right_after_it_was_published() {
    let shop = Leaping::live().await;
    shop.reconcile_again().await;
    // The cached registry entry does not have this version yet, which is not reported.
    publish(&shop);
    let mut history = shop.history().await;
    shop.redeploy(&version(2), "Deployed").await;
    let versions = history.until(|object| ready(object).1 == "Redeploying").await;
    assert!(versions.iter().all(|object| ready(object).1 != "ConnectorVersionUnavailable"), "{versions:#?}");
    assert_eq!(shop.sent(), [1, 1, 0]);
}

#[tokio::test]
async fn rule_15_an_outdated_version_cannot_be_deployed_and_the_possible_one_is_reported() {
    let shop = Leaping::live().await;
    publish(&shop);
    publish(&shop);
    let reported = shop.change_until(&version(2), "ConnectorVersionUnavailable").await;
    assert!(message(&reported).contains("only deploys version 3"));
    shop.redeploy(&version(3), "Deployed").await;
    // The manifest is reverted: no redeploy goes back to a former version.
    let reported = shop.change_until(&version(1), "ConnectorVersionMismatch").await;
    assert!(message(&reported).contains("set connector.version to 3"));
    assert_eq!(shop.sent(), [1, 1, 0]);
    // Changes are sent to the version that runs.
    let changed = shop.redeploy(&json!({"spec": level("debug")}), "ConnectorVersionMismatch").await;
    assert_eq!(running(&changed), Some(3));
    shop.pass(INTERVAL).await;
    assert_eq!(shop.sent(), [1, 2, 0]);
}

#[tokio::test]
async fn rule_15_a_missing_version_is_waited_for_and_no_other_is_created() {
    let shop = Leaping::applied(&json!({"connector": {"key": "demo-connector", "version": 2}})).await;
    shop.until_reason("ConnectorVersionUnavailable").await;
    shop.pass(Duration::from_mins(9)).await;
    assert_eq!(shop.sent(), [0, 0, 0], "the connector exists, and that version does not");
    publish(&shop);
    shop.clock.step(INTERVAL);
    let live = shop.finish("Deployed").await;
    assert_eq!(running(&live), Some(2));
    assert_eq!(shop.sent(), [1, 0, 0]);
}

#[tokio::test]
async fn rule_15_a_version_with_new_required_values_is_not_followed_before_they_exist() {
    let shop = follows().await;
    let key = SecuredKey { key: "SIGNING_KEY".into(), description: "Signs".into(), required: true };
    let add = |connector: &mut dev_server::ConnectorDefinition| {
        connector.configurations[0].secured_configuration.push(key);
    };
    shop.dev.world().raise_connector("demo-connector", false, add).unwrap();
    shop.clock.step(INTERVAL);
    let reported = shop.until_reason("ConfigurationInvalid").await;
    let message = message(&reported);
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
    assert_eq!(running(&moved), Some(2));
    assert_eq!(shop.sent(), [1, 1, 0]);
}

#[tokio::test]
async fn rule_15_the_last_registry_entry_stays_while_the_registry_is_unavailable() {
    let shop = Leaping::live().await;
    publish(&shop);
    shop.clock.step(INTERVAL);
    shop.until("newer version", |object| is(object, names::UPDATE_AVAILABLE)).await;
    shop.dev.fault(Fault::of("getConnectorByKey", FaultAnswer::error(403, "AuthorizationError"))).unwrap();
    let reported = shop.pass(INTERVAL).await;
    assert_eq!(ready(&reported), ("True", "Deployed"), "deployments continue");
    assert!(is(&reported, names::UPDATE_AVAILABLE));
    shop.redeploy(&json!({"spec": level("debug")}), "Deployed").await;
    assert_eq!(shop.sent(), [1, 1, 0], "changes are sent");
}

/// Lets the deployment follow to version 2, and rolls it back to version 1.
async fn rolled_back(shop: &Leaping, drift: &str) -> ConnectorDeployment {
    let mut spec = following();
    spec["driftPolicy"] = json!(drift);
    shop.apply_deployment(&spec).await;
    shop.finish("Deployed").await;
    publish(shop);
    shop.clock.step(INTERVAL);
    shop.redeployed("Deployed").await;
    roll_back(shop).await
}

#[tokio::test]
async fn rule_16_a_foreign_rollback_is_reported_and_not_corrected_by_detect() {
    let mut shop = Leaping::open().await;
    rolled_back(&shop, "Detect").await;
    let reported = shop.until("rolled back", |object| is(object, names::DRIFTED)).await;
    let drifted = condition(&reported, names::DRIFTED).unwrap();
    assert_eq!(drifted.reason, "RolledBack");
    assert!(drifted.message.contains("rolled the deployment back to revision"), "{}", drifted.message);
    assert!(drifted.message.contains("the connector version"), "{}", drifted.message);
    assert_eq!(ready(&reported), ("True", "Deployed"));
    assert!(is(&reported, names::SECRETS_UNVERIFIED), "secured values of the revision cannot be read");
    shop.restart_operator().await;
    shop.pass(INTERVAL).await;
    shop.pass(INTERVAL).await;
    assert_eq!(shop.sent(), [1, 1, 0], "the rollback is not corrected");
    // A newer version is followed again.
    publish(&shop);
    shop.clock.step(INTERVAL);
    let moved = shop.redeployed("Deployed").await;
    assert_eq!(running(&moved), Some(3));
    assert!(!is(&moved, names::DRIFTED) && !is(&moved, names::UPDATE_AVAILABLE));
    shop.pass(INTERVAL).await;
    assert_eq!(shop.sent(), [1, 2, 0]);
}

#[tokio::test]
async fn rule_16_a_foreign_rollback_is_corrected_once() {
    let shop = Leaping::open().await;
    rolled_back(&shop, "Correct").await;
    let live = shop.redeployed("Deployed").await;
    assert_eq!(running(&live), Some(2));
    shop.pass(INTERVAL).await;
    shop.pass(INTERVAL).await;
    assert_eq!(shop.sent(), [1, 2, 0]);
}

#[tokio::test]
async fn rule_16_a_change_after_a_rollback_follows_again_with_every_application() {
    let shop = follows().await;
    shop.dev.world().raise_connector("demo-connector", false, with_enabler).unwrap();
    shop.clock.step(INTERVAL);
    shop.redeployed("Deployed").await;
    roll_back(&shop).await;
    shop.until("rolled back", |object| is(object, names::DRIFTED)).await;
    let moved = shop.rotate("second-token-of-the-shop", "Deployed").await;
    assert_eq!(running(&moved), Some(2));
    assert_eq!(applications(&shop), ["service", "enabler"]);
    shop.pass(INTERVAL).await;
    assert_eq!(shop.sent(), [1, 2, 0], "one redeploy for both");
}
