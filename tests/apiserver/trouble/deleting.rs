//! A resource is deleted after its project, its API client or its credentials: it says how it is deleted all the same.

use super::cluster::options;
use super::not_found::nothing_is_there;
use crate::prelude::*;

/// A shop with a live deployment and a staged connector, both of which are deleted with what they created.
pub(super) async fn live() -> Shop {
    let shop = Shop::with(options(), stepped()).await;
    shop.put_token("first-token-of-the-shop").await;
    shop.sandbox.apply(&shop.deployment()).await.unwrap();
    shop.sandbox.apply(&with_spec(kit(), &json!({"deletionPolicy": "Delete"}))).await.unwrap();
    until_reported_with::<ConnectorDeployment>(&shop, NAME, "Deployed", &[]).await;
    until_reported_with::<ConnectorStaged>(&shop, KIT, "Staged", &[]).await;
    shop
}

#[tokio::test]
async fn rule_23_a_deletion_that_waits_for_an_outage_names_the_policy_with_which_it_ends() {
    let rows = [
        ("a revoked API client", "CredentialsRejected"),
        ("no such project", "ProjectNotFound"),
        ("no Secret", "ProjectNotReady"),
    ];
    let lives = rows.map(|(case, reason)| async move {
        let shop = live().await;
        match reason {
            "CredentialsRejected" => {
                shop.put_secret(CREDENTIALS, &[("clientId", "dev-client"), ("clientSecret", "revoked")]).await;
            }
            "ProjectNotFound" => {
                nothing_is_there(&shop);
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
        let words = [&*command("connectorstaged", KIT)];
        until_reported_with::<ConnectorStaged>(&shop, KIT, reason, &words).await;
        assert_eq!(shop.calls("deleteDeploymentById"), 0, "{case}");
        let orphan = json!({"spec": {"deletionPolicy": "Orphan"}}).to_string();
        for object in ["cdep/tax", "cst/kit"] {
            shop.sandbox.succeed(&["patch", object, "--type=merge", "--patch", &orphan], "").await;
        }
        let timeout = timeout_option();
        let gone = ["wait", "--for=delete", "cdep/tax", "cst/kit", timeout.as_str()];
        meanwhile(&shop.clock, FINE, shop.sandbox.succeed(&gone, "")).await;
    });
    futures::future::join_all(lives).await;
}
