//! A resource is deleted after its project, its API client or its credentials: it says how it is deleted all the same.

use std::time::Duration;

use connect_operator::crd::{ConnectProject, ConnectorDeployment, ConnectorStaged};
use dev_server::{Fault, FaultAnswer};
use k8s_openapi::api::core::v1::Secret;
use kube::api::DeleteParams;
use serde_json::json;

use super::cluster::options;
use super::pace::{COARSE, FINE, meanwhile, pass, stepped};
use super::until_reported_with;
use crate::patience::timeout_option;
use crate::shop::{CREDENTIALS, NAME, PROJECT, Shop};

const STAGED: &str = "kit";

/// A shop with a live deployment and a staged connector, both of which are deleted with what they created.
async fn live() -> Shop {
    let shop = Shop::with(options(), stepped()).await;
    shop.put_token("first-token-of-the-shop").await;
    shop.sandbox.apply(&shop.deployment()).await.unwrap();
    let repository = json!({"url": "https://github.com/example/demo-kit.git", "tag": "1.0.0"});
    let staged = json!({"apiVersion": "connect-operator.io/v1alpha1", "kind": "ConnectorStaged",
        "metadata": {"name": STAGED},
        "spec": {"projectRef": {"name": PROJECT}, "key": "kit", "name": "Kit", "repository": repository,
            "creator": {"email": "dev@example.com"}, "integrationTypes": ["tax"], "deletionPolicy": "Delete"}});
    shop.sandbox.apply(&staged).await.unwrap();
    until_reported_with::<ConnectorDeployment>(&shop, NAME, "Deployed", &[]).await;
    until_reported_with::<ConnectorStaged>(&shop, STAGED, "Staged", &[]).await;
    shop
}

#[tokio::test]
async fn rule_23_a_deletion_that_waits_for_an_outage_names_the_policy_with_which_it_ends() {
    for (case, reason) in [
        ("a revoked API client", "CredentialsRejected"),
        ("no such project", "ProjectNotFound"),
        ("no Secret", "ProjectNotReady"),
    ] {
        let shop = live().await;
        match reason {
            "CredentialsRejected" => {
                shop.put_secret(CREDENTIALS, &[("clientId", "dev-client"), ("clientSecret", "revoked")]).await;
            }
            "ProjectNotFound" => {
                let answer = FaultAnswer::error(404, "ResourceNotFound");
                shop.dev.fault(Fault { path: Some("/demo/".to_owned()), answer, ..Fault::default() }).unwrap();
            }
            _ => drop(shop.api::<Secret>().delete(CREDENTIALS, &DeleteParams::default()).await.unwrap()),
        }
        // Only now is it known why nothing answers.
        let of_project = if reason == "ProjectNotReady" { "SecretMissing" } else { reason };
        until_reported_with::<ConnectProject>(&shop, PROJECT, of_project, &[]).await;
        let delete = ["delete", "--wait=false", "cdep/tax", "cst/kit"];
        shop.sandbox.succeed(&delete, "").await;
        let command = |kind: &str, name: &str| {
            let namespace = &shop.sandbox.namespace;
            format!("deletionPolicy: Orphan: kubectl patch {kind} {name} --namespace {namespace} ")
        };
        let words = [&*command("connectordeployment", NAME)];
        until_reported_with::<ConnectorDeployment>(&shop, NAME, reason, &words).await;
        let words = [&*command("connectorstaged", STAGED)];
        until_reported_with::<ConnectorStaged>(&shop, STAGED, reason, &words).await;
        assert_eq!(shop.calls("deleteDeploymentById"), 0, "{case}");
        let orphan = json!({"spec": {"deletionPolicy": "Orphan"}}).to_string();
        for object in ["cdep/tax", "cst/kit"] {
            shop.sandbox.succeed(&["patch", object, "--type=merge", "--patch", &orphan], "").await;
        }
        let timeout = timeout_option();
        let gone = ["wait", "--for=delete", "cdep/tax", "cst/kit", timeout.as_str()];
        meanwhile(&shop.clock, FINE, shop.sandbox.succeed(&gone, "")).await;
    }
}

#[tokio::test]
async fn rules_5_and_22_a_project_that_answers_404_to_everything_proves_nothing_about_its_staged_connector() {
    let shop = live().await;
    let answer = FaultAnswer::error(404, "ResourceNotFound");
    shop.dev.fault(Fault { path: Some("/demo/".to_owned()), answer, ..Fault::default() }).unwrap();
    // Before anything has found out about the project.
    shop.sandbox.succeed(&["delete", "--wait=false", "cst/kit"], "").await;
    until_reported_with::<ConnectorStaged>(&shop, STAGED, "ProjectNotFound", &["deletionPolicy: Orphan"]).await;
    pass(&shop.clock, COARSE, Duration::from_mins(15)).await;
    let kept = shop.api::<ConnectorStaged>().get_opt(STAGED).await.unwrap();
    assert!(kept.is_some(), "its connector still exists");
    shop.dev.clear_faults();
    let gone = ["wait", "--for=delete", "cst/kit", timeout_option().as_str()].map(str::to_owned);
    let gone = gone.each_ref().map(String::as_str);
    meanwhile(&shop.clock, FINE, shop.sandbox.succeed(&gone, "")).await;
    let now = shop.dev.now();
    let left = shop.dev.world().all_staged(now).into_iter().find(|record| record.key.as_deref() == Some("kit"));
    assert_eq!(left, None, "it was deleted once the project was there again");
}
