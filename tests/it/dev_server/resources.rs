//! Extensions and Subscriptions that the scripts of connectors create: what is readable of them, and for whom.

use super::{Caller, pipeline};
use crate::prelude::*;

const EXTENSION: &str = "/demo/extensions/key=demo-intake";
const SUBSCRIPTION: &str = "/demo/subscriptions/key=demo-orders";

/// Returns a dev server with `/_dev` and a deployment in progress, and its id.
async fn deploying() -> (Caller, String) {
    let caller = Caller::new(Options { control: true, ..Options::default() }).await;
    let (status, body) = caller.call(Method::POST, "/demo/deployments", Some(&pipeline("pipeline"))).await;
    assert_eq!(status, 201, "{body}");
    let id = body["id"].as_str().expect("an id").to_owned();
    (caller, id)
}

async fn statuses(caller: &Caller) -> [u16; 2] {
    let extension = caller.get(EXTENSION).await.0;
    let subscription = caller.get(SUBSCRIPTION).await.0;
    [extension.as_u16(), subscription.as_u16()]
}

async fn control(caller: &Caller, method: Method, path: &str, body: &Value) {
    let (status, answer) = caller.call(method, path, Some(body)).await;
    assert!(status.is_success(), "{path}: {answer}");
}

/// Redeploys it, with or without scripts, and passes the time that this takes.
async fn redeploy(caller: &Caller, id: &str, skip: bool) {
    let path = format!("/demo/deployments/{id}");
    let (_, deployment) = caller.get(&path).await;
    let redeploy = json!({"version": deployment["version"], "actions": [{"action": "redeploy", "skipScripts": skip}]});
    let (status, body) = caller.post(&path, &redeploy).await;
    assert_eq!(status, 201, "{body}");
    caller.step(5);
}

#[tokio::test]
async fn scripts_create_resources_that_point_to_the_deployment_and_remove_them_with_it() {
    let (caller, id) = deploying().await;
    assert_eq!(statuses(&caller).await, [404, 404], "the scripts run at the end");
    caller.step(5);
    let (_, deployment) = caller.get(&format!("/demo/deployments/{id}")).await;
    let (status, extension) = caller.get(EXTENSION).await;
    assert_eq!(status, 200, "{extension}");
    let url = extension["destination"]["url"].as_str().expect("a URL");
    assert!(url.starts_with(deployment["applications"][0]["url"].as_str().expect("a URL")), "{url}");
    assert_eq!((&extension["key"], &extension["destination"]["type"]), (&json!("demo-intake"), &json!("HTTP")));
    let (status, subscription) = caller.get(SUBSCRIPTION).await;
    assert_eq!(status, 200, "{subscription}");
    let there = &subscription["destination"];
    let topic = format!(
        "projects/{}/topics/{}",
        there["projectId"].as_str().expect("a project"),
        there["topic"].as_str().expect("a topic")
    );
    assert_eq!(deployment["applications"][1]["topic"], json!(topic));

    caller.call(Method::DELETE, &format!("/demo/deployments/{id}"), None).await;
    assert_eq!(statuses(&caller).await, [200, 200], "they exist as long as the deployment");
    caller.step(5);
    assert_eq!(statuses(&caller).await, [404, 404]);
}

#[tokio::test]
async fn what_scripts_do_can_be_chosen_and_changed() {
    let (caller, id) = deploying().await;
    let path = format!("/_dev/deployments/{id}");
    control(&caller, Method::POST, &path, &json!({"action": "planResources", "creation": "Omitted"})).await;
    caller.step(5);
    assert_eq!(statuses(&caller).await, [404, 404], "omitted silently");
    let (_, deployment) = caller.get(&format!("/demo/deployments/{id}")).await;
    assert_eq!(deployment["status"], "Deployed");

    control(&caller, Method::POST, &path, &json!({"action": "createResources", "creation": "Elsewhere"})).await;
    let (_, extension) = caller.get(EXTENSION).await;
    assert_eq!(extension["destination"]["url"], "https://elsewhere.example/check");
    let (_, all) = caller.get("/_dev/resources").await;
    assert_eq!(all.as_array().map(Vec::len), Some(2), "{all}");

    control(&caller, Method::POST, &path, &json!({"action": "planResources", "creation": null})).await;
    redeploy(&caller, &id, false).await;
    let (_, extension) = caller.get(EXTENSION).await;
    assert_ne!(extension["destination"]["url"], "https://elsewhere.example/check", "the script corrected it");
    assert_eq!(extension["version"], 2);
    let removed = json!({"project": "demo", "type": "Extension", "key": "demo-intake"});
    control(&caller, Method::DELETE, "/_dev/resources", &removed).await;
    assert_eq!(statuses(&caller).await, [404, 200]);
}

#[tokio::test]
async fn a_redeploy_without_scripts_and_a_failure_create_nothing() {
    let (caller, id) = deploying().await;
    control(
        &caller,
        Method::POST,
        &format!("/_dev/deployments/{id}"),
        &json!({"action": "planOutcome", "outcome": {"fails": true}}),
    )
    .await;
    caller.step(5);
    assert_eq!(statuses(&caller).await, [404, 404]);
    for (skip, expected) in [(true, [404, 404]), (false, [200, 200])] {
        redeploy(&caller, &id, skip).await;
        assert_eq!(statuses(&caller).await, expected, "skipScripts: {skip}");
    }
}

#[tokio::test]
async fn each_kind_needs_its_scope() {
    let (mut caller, _) = deploying().await;
    caller.step(5);
    for (scope, expected) in [
        ("manage_project:demo", [200, 200]),
        ("manage_extensions:demo", [200, 403]),
        ("manage_subscriptions:demo", [403, 200]),
        ("manage_connectors_deployments:demo", [403, 403]),
    ] {
        caller.token = caller.token_for("dev-client", scope).await;
        assert_eq!(statuses(&caller).await, expected, "{scope}");
    }
}
