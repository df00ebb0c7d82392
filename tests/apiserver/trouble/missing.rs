//! Objects that a resource needs do not exist yet: each has a reason, a message that names it, and the resource
//! continues within seconds of its creation.

use std::time::Duration;

use connect_operator::crd::{ConnectProject, ConnectorDeployment};
use connect_operator::operator::reporting::conditions::ready_message;
use dev_server::Options;
use k8s_openapi::api::core::v1::Secret;
use kube::api::DeleteParams;
use serde_json::json;

use super::condition;
use super::pace::{FINE, meanwhile, stepped};
use crate::shop::{CREDENTIALS, SECRET, Shop};

/// Maximum time from the event in the cluster to the resulting call, on a clock that hardly advances: a reconcile that
/// waits for a timer instead of the event never starts.
const HEALS_WITHIN: Duration = Duration::from_secs(5);
/// Step of the clock in each beat, because the rate limiter uses it. The sum stays below [`HEALS_WITHIN`] while a test
/// waits.
const HARDLY: Duration = Duration::from_micros(100);

/// Waits for the reason, and asserts that message and conditions report what is missing, and that nothing is sent.
async fn waits(shop: &Shop, reason: &str, named: &str) {
    let object = meanwhile(&shop.clock, HARDLY, shop.until_reason(reason)).await;
    assert_eq!(condition(&object, "Reconciling"), Some("True"), "{reason} may pass without a change");
    assert_eq!(condition(&object, "Stalled"), None, "{reason} may pass without a change");
    let message = message(&object);
    assert!(message.contains(named), "{reason}: {message}");
    assert_eq!(shop.calls("createDeployment"), 0, "{reason}: nothing is sent");
}

/// Creates what was missing, and measures the time until the deployment is created.
async fn heals(shop: &Shop, appears: impl Future<Output = ()>) {
    let started = shop.clock.elapsed();
    appears.await;
    let created = shop.until("created", |object| object.status.as_ref().is_some_and(|status| status.id.is_some()));
    meanwhile(&shop.clock, HARDLY, created).await;
    let took = shop.clock.elapsed().saturating_sub(started);
    assert!(took < HEALS_WITHIN, "it took {took:?}");
    meanwhile(&shop.clock, FINE, shop.until_reason("Deployed")).await;
    assert_eq!(shop.calls("createDeployment"), 1);
    assert_eq!(shop.calls("updateDeploymentById"), 0);
}

async fn empty_shop() -> Shop {
    let options = Options { deploy_duration: Duration::from_millis(200), ..Options::default() };
    Shop::with(options, stepped()).await
}

#[tokio::test]
async fn a_secret_and_then_its_key_are_waited_for_and_named() {
    let shop = empty_shop().await;
    shop.sandbox.apply(&shop.deployment()).await.unwrap();
    waits(&shop, "SecretMissing", "Secret tax").await;
    shop.put_secret(SECRET, &[("other", "something else")]).await;
    let named = shop.until("the key is named", |object| message(object).contains("Secret tax has no key token"));
    meanwhile(&shop.clock, HARDLY, named).await;
    waits(&shop, "SecretMissing", "Secret tax has no key token (needed by API_TOKEN of application service)").await;
    heals(&shop, shop.put_secret(SECRET, &[("token", "first-token-of-the-shop")])).await;
}

#[tokio::test]
async fn a_config_map_is_waited_for_and_named() {
    let shop = empty_shop().await;
    shop.put_token("first-token-of-the-shop").await;
    let mut deployment = shop.deployment();
    deployment["spec"]["configurations"][0]["standardConfiguration"] =
        json!([{"key": "LOG_LEVEL", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "level"}}}]);
    shop.sandbox.apply(&deployment).await.unwrap();
    waits(&shop, "ConfigMapMissing", "ConfigMap settings").await;
    heals(&shop, shop.put_config_map("settings", &[("level", "info")])).await;
}

#[tokio::test]
async fn several_that_are_missing_are_named_in_one_message() {
    let shop = empty_shop().await;
    let mut deployment = shop.deployment();
    deployment["spec"]["configurations"][0]["standardConfigurationFrom"] =
        json!([{"configMapRef": {"name": "settings"}}]);
    shop.sandbox.apply(&deployment).await.unwrap();
    waits(&shop, "SecretMissing", "; ConfigMap settings does not exist in this namespace").await;
}

#[tokio::test]
async fn wrong_names_are_reported_together_with_what_is_missing() {
    let shop = empty_shop().await;
    let mut deployment = shop.deployment();
    let lists = deployment["spec"]["configurations"].as_array_mut().expect("they are a list");
    lists[0]["standardConfiguration"] = json!([{"key": "LOG_LEVLE", "value": "info"}]);
    lists.push(json!({"applicationName": "servcie"}));
    shop.sandbox.apply(&deployment).await.unwrap();
    waits(&shop, "SecretMissing", "Secret tax").await;
    let reported = shop.until_reason("SecretMissing").await;
    for named in ["no application servcie", "no key LOG_LEVLE: did you mean LOG_LEVEL?"] {
        assert!(message(&reported).contains(named), "{}", message(&reported));
    }
    assert!(!message(&reported).contains("requires a value"), "the Secret may contain it: {}", message(&reported));
}

#[tokio::test]
async fn a_project_is_waited_for_and_named() {
    let shop = empty_shop().await;
    shop.put_token("first-token-of-the-shop").await;
    shop.tear_out_project().await;
    shop.sandbox.apply(&shop.deployment()).await.unwrap();
    waits(&shop, "ProjectMissing", "ConnectProject shop").await;
    heals(&shop, async {
        shop.sandbox.apply(&shop.project()).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn the_credentials_of_the_project_are_waited_for_and_named() {
    for (case, broken) in [
        ("no Secret", None),
        ("no client secret in it", Some(vec![("clientId", "dev-client")])),
        ("an empty client id", Some(vec![("clientId", ""), ("clientSecret", "dev-secret")])),
    ] {
        let shop = empty_shop().await;
        shop.put_token("first-token-of-the-shop").await;
        shop.api::<Secret>().delete(CREDENTIALS, &DeleteParams::default()).await.unwrap();
        if let Some(data) = &broken {
            shop.put_secret(CREDENTIALS, data).await;
        }
        let missing = shop.until_project(case, |project| ready(project) == Some("SecretMissing"));
        let project = meanwhile(&shop.clock, HARDLY, missing).await;
        let reported = serde_json::to_string(&project.status).unwrap();
        assert!(reported.contains(CREDENTIALS), "{case}: {reported}");
        shop.sandbox.apply(&shop.deployment()).await.unwrap();
        waits(&shop, "ProjectNotReady", CREDENTIALS).await;
        heals(&shop, shop.put_secret(CREDENTIALS, &[("clientId", "dev-client"), ("clientSecret", "dev-secret")])).await;
    }
}

fn message(object: &ConnectorDeployment) -> &str {
    object.status.as_ref().and_then(|status| ready_message(&status.conditions)).unwrap_or_default()
}

fn ready(project: &ConnectProject) -> Option<&str> {
    let conditions = &project.status.as_ref()?.conditions;
    conditions.iter().find(|condition| condition.type_ == "Ready").map(|condition| condition.reason.as_str())
}

/// A Secret that is deleted while it is used does not affect the live deployment, and is reported.
#[tokio::test]
async fn a_secret_that_is_deleted_later_is_reported_and_nothing_is_sent() {
    let shop = Shop::live().await;
    shop.api::<Secret>().delete(SECRET, &DeleteParams::default()).await.unwrap();
    let object = shop.until_reason("SecretMissing").await;
    assert_eq!(object.status.and_then(|status| status.deployment_status).as_deref(), Some("Deployed"));
    shop.put_token("first-token-of-the-shop").await;
    shop.until_reason("Deployed").await;
    assert_eq!(shop.calls("updateDeploymentById"), 0, "the sent value has not changed");
}
