//! Several installs in one namespace: each reconciles the share that its selector selects.

use crate::prelude::*;

/// Starts an install whose own objects are in the namespace `home`, and that reconciles what the selector selects.
fn install(shop: &Shop, home: &Sandbox, selector: &str) -> Running {
    let scope = Scope::new(std::slice::from_ref(&shop.sandbox.namespace), selector).expect("a selector");
    Running::start(operators::options(home.client.clone(), shop.clock.clone(), scope, &home.namespace))
}

/// A shop without an operator, with its project and the Secret of its deployments, and the namespace of the operators.
async fn shop(labels: Value) -> (Shop, Sandbox) {
    let shop = Shop::without_operator(quick(), fast()).await;
    let home = Sandbox::new().await;
    shop.put_credentials("dev-client").await;
    shop.put_token("first-token-of-the-shop").await;
    let mut project = shop.project();
    project["metadata"]["labels"] = labels;
    shop.sandbox.apply(&project).await.unwrap();
    (shop, home)
}

fn team(name: &str) -> Value {
    json!({"team": name})
}

/// Whether no install reports on the project.
fn has_no_report(project: &ConnectProject) -> bool {
    project.status.as_ref().is_none_or(|status| status.conditions.is_empty())
}

/// A deployment with this name and team.
fn deployment(shop: &Shop, name: &str, team: &str) -> Value {
    let mut manifest = shop.deployment();
    manifest["metadata"] = json!({"name": name, "labels": {"team": team}});
    manifest
}

/// Returns once this deployment is live.
async fn until_live(shop: &Shop, name: &str) -> ConnectorDeployment {
    shop.until_object::<ConnectorDeployment>(name, "live", |object| {
        object.status.iter().flat_map(|status| &status.conditions).any(|condition| condition.reason == "Deployed")
    })
    .await
}

/// Changes the label, and asks the operator to read the remote; returns once an install did.
async fn move_to(shop: &Shop, team: &str) {
    let request = format!("moved to {team}");
    let metadata = json!({"labels": {"team": team}, "annotations": {names::RECONCILE_REQUESTED_AT: request}});
    shop.patch::<ConnectorDeployment>(NAME, &json!({ "metadata": metadata })).await;
    shop.until("reconciled", |object| {
        object.status.as_ref().and_then(|status| status.handled_reconcile_request.as_ref()) == Some(&request)
    })
    .await;
}

/// Changes the Secret; returns once this many more deployments were redeployed.
async fn rotate(shop: &Shop, value: &str, redeploys: u64) {
    let before = shop.calls("updateDeploymentById");
    shop.put_token(value).await;
    until("the new value is deployed", async || shop.calls("updateDeploymentById") >= before + redeploys).await;
}

#[tokio::test]
async fn each_shard_works_on_its_share_of_one_project() {
    let (shop, home) = shop(team("tax")).await;
    let cart = install(&shop, &home, "team=cart");
    for name in ["tax", "cart"] {
        shop.sandbox.apply(&deployment(&shop, name, name)).await.unwrap();
    }
    until_live(&shop, "cart").await;
    let other = shop.api::<ConnectorDeployment>().get("tax").await.unwrap();
    assert!(other.finalizers().is_empty(), "it is of another shard");
    let project = shop.api::<ConnectProject>().get(PROJECT).await.unwrap();
    assert!(has_no_report(&project), "another shard reports on it");
    let tax = install(&shop, &home, "team=tax");
    until_live(&shop, "tax").await;
    let reports = |project: &ConnectProject| project.status.as_ref().is_some_and(|it| it.deployments == Some(1));
    shop.until_project("one install manages the project, and counts its own deployments", reports).await;
    assert_eq!(shop.sent(), [2, 0, 0]);
    rotate(&shop, "second-token-of-the-shop", 2).await;
    until_live(&shop, "tax").await;
    until_live(&shop, "cart").await;
    assert_eq!(shop.sent(), [2, 2, 0]);
    tax.stop().await;
    cart.stop().await;
}

#[tokio::test]
async fn rule_26_labels_move_a_live_deployment_to_another_shard_and_back() {
    let (shop, home) = shop(team("tax")).await;
    let tax = install(&shop, &home, "team=tax");
    let rest = install(&shop, &home, "team!=tax");
    shop.sandbox.apply(&deployment(&shop, NAME, "tax")).await.unwrap();
    until_live(&shop, NAME).await;
    for team in ["cart", "tax", "cart"] {
        move_to(&shop, team).await;
        until_live(&shop, NAME).await;
    }
    assert_eq!(shop.sent(), [1, 0, 0], "changed labels send nothing");
    tax.stop().await;
    rotate(&shop, "second-token-of-the-shop", 1).await;
    until_live(&shop, NAME).await;
    assert_eq!(shop.sent(), [1, 1, 0], "a change is deployed once");
    shop.delete_wholly().await;
    assert_eq!(shop.sent(), [1, 1, 1]);
    rest.stop().await;
}

#[tokio::test]
async fn a_label_moves_a_project_to_a_shard() {
    let (shop, home) = shop(team("nobody")).await;
    let tax = install(&shop, &home, "team=tax");
    shop.sandbox.apply(&deployment(&shop, NAME, "tax")).await.unwrap();
    until_live(&shop, NAME).await;
    assert!(has_no_report(&shop.api().get(PROJECT).await.unwrap()), "no install manages it");
    shop.patch::<ConnectProject>(PROJECT, &json!({"metadata": {"labels": team("tax")}})).await;
    let reports = |project: &ConnectProject| project.status.as_ref().is_some_and(|it| it.deployments == Some(1));
    shop.until_project("managed", reports).await;
    tax.stop().await;
}

#[tokio::test]
async fn rule_24_a_project_stays_while_a_deployment_of_another_shard_names_it() {
    let (shop, home) = shop(team("nobody")).await;
    let tax = install(&shop, &home, "team=tax");
    let cart = install(&shop, &home, "team=cart");
    for name in ["tax", "cart"] {
        shop.sandbox.apply(&deployment(&shop, name, name)).await.unwrap();
    }
    until_live(&shop, "tax").await;
    until_live(&shop, "cart").await;
    let projects = shop.api::<ConnectProject>();
    let project = projects.get(PROJECT).await.unwrap();
    assert!(!project.finalizers().is_empty(), "it has a finalizer although no install reconciles it");
    assert!(has_no_report(&project));
    projects.delete(PROJECT, &DeleteParams::default()).await.unwrap();
    for (name, left) in [("tax", true), ("cart", false)] {
        shop.sandbox.delete::<ConnectorDeployment>(name).await;
        if left {
            assert!(projects.get_opt(PROJECT).await.unwrap().is_some(), "the other deployment still needs it");
        }
    }
    until_deleted(projects, PROJECT).await;
    assert_eq!(shop.sent(), [2, 0, 2]);
    tax.stop().await;
    cart.stop().await;
}
