//! The commands that read a project, with the credentials of a ConnectProject of the cluster.

use crate::prelude::*;

async fn ask(shop: &Shop, what: &[&str], project: &str) -> (Option<i32>, String) {
    let (code, stdout, stderr) = run(&shop.sandbox, &[what, &["--project", project]].concat()).await;
    (code, stdout + &stderr)
}

async fn deployments(shop: &Shop, project: &str) -> (Option<i32>, String) {
    ask(shop, &["deployments", "list"], project).await
}

#[tokio::test]
async fn commands_use_the_credentials_of_a_connect_project() {
    let shop = Shop::live().await;
    let (code, shown) = deployments(&shop, PROJECT).await;
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains(&format!("{}_tax", shop.sandbox.namespace)) && shown.contains("Deployed"), "{shown}");

    let (code, shown) = deployments(&shop, "nope").await;
    assert!(code == Some(1) && shown.contains("ConnectProject nope: it does not exist in the namespace"), "{shown}");
    shop.put_secret(CREDENTIALS, &[("clientSecret", "")]).await;
    let (code, shown) = deployments(&shop, PROJECT).await;
    assert!(code == Some(1) && shown.contains("lacks the key clientSecret, or it is empty"), "{shown}");
}

#[tokio::test]
async fn exported_manifests_apply_without_changes_and_are_managed_once_their_values_exist() {
    let shop = Leaping::open().await;
    shop.make_elsewhere_under("Tax_of_old", "info");
    let (code, manifests, said) = run(&shop.sandbox, &["deployments", "export", "--project", PROJECT]).await;
    assert_eq!((code, said.as_str()), (Some(0), "Next: create the Secret tax-of-old with API_TOKEN\n"));
    shop.sandbox.succeed(&["apply", "--server-side", "--filename", "-"], &manifests).await;
    let name = "tax-of-old";
    shop.sandbox.until_reason(name, "Observed").await;

    shop.patch::<ConnectorDeployment>(name, &json!({"spec": {"managementPolicy": "Full"}})).await;
    shop.sandbox.until_reason(name, "Adopting").await;
    shop.clock.step(QUIET);
    let look = json!({"metadata": {"annotations": {names::RECONCILE_REQUESTED_AT: "now"}}});
    shop.patch::<ConnectorDeployment>(name, &look).await;
    shop.sandbox.until_reason(name, "SecretMissing").await;
    shop.clock.step(Duration::from_mins(10));
    assert_eq!(shop.sent(), [0, 0, 0]);
    shop.put_secret(name, &[("API_TOKEN", "first-token-of-the-shop")]).await;
    shop.sandbox.until_reason(name, "Deployed").await;
    assert_eq!(shop.sent(), [0, 0, 0], "nothing is sent");
}
