//! The commands that look at a project, with the credentials of a ConnectProject of the cluster.

use tokio::process::Command;

use crate::shop::{CREDENTIALS, PROJECT, Shop};

async fn deployments(shop: &Shop, project: &str) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_connect-operator"))
        .args(["deployments", "list", "--project", project, "--namespace", &shop.sandbox.namespace])
        .args(["--allowed-api-hosts", "127.0.0.1"])
        .env_clear()
        .env("KUBECONFIG", shop.sandbox.kubeconfig())
        .output()
        .await
        .unwrap();
    let texts = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    (output.status.code(), texts.join(""))
}

#[tokio::test]
async fn a_project_of_the_cluster_is_asked_with_its_own_credentials() {
    let shop = Shop::live().await;
    let (code, shown) = deployments(&shop, PROJECT).await;
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains(&format!("{}_tax", shop.sandbox.namespace)) && shown.contains("Deployed"), "{shown}");

    let (code, shown) = deployments(&shop, "nope").await;
    assert!(code == Some(1) && shown.contains("ConnectProject nope: there is none in the namespace"), "{shown}");
    shop.put_secret(CREDENTIALS, &[("clientSecret", "")]).await;
    let (code, shown) = deployments(&shop, PROJECT).await;
    assert!(code == Some(1) && shown.contains("lacks the key clientSecret, or it is empty"), "{shown}");
}
