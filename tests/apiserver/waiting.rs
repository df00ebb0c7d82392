//! `wait`, as a process: its exit codes and its output.

use std::process::Output;

use serde_json::json;
use tokio::process::Command;

use crate::patience::{brief, in_time};
use crate::rules::level;
use crate::shop::{SECRET, Shop};

async fn wait(shop: &Shop, arguments: &[&str]) -> (Option<i32>, String) {
    let command = Command::new(env!("CARGO_BIN_EXE_connect-operator"))
        .arg("wait")
        .args(arguments)
        .args(["--namespace", &shop.sandbox.namespace])
        .env_clear()
        .env("KUBECONFIG", shop.sandbox.kubeconfig())
        .kill_on_drop(true)
        .output();
    let Output { status, stdout, stderr } = in_time(command).await.expect("it ends").unwrap();
    (status.code(), [stdout, stderr].map(|text| String::from_utf8(text).unwrap()).join(""))
}

#[tokio::test]
async fn wait_ends_when_ready_when_stalled_and_at_its_timeout() {
    let shop = Shop::open().await;
    let (code, said) = wait(&shop, &["deployment/tax"]).await;
    assert!(code == Some(1) && said.contains("deployment/tax: it does not exist in the namespace"), "{said}");

    // Its Secret does not exist, which may change.
    shop.sandbox.apply(&shop.deployment()).await.unwrap();
    shop.until_reason("SecretMissing").await;
    let limit = format!("{}s", brief().as_secs().max(1));
    let (code, said) = wait(&shop, &["deployment/tax", "--timeout", &limit]).await;
    assert!(code == Some(1) && said.contains(&format!("not ready after {limit}: SecretMissing")), "{said}");
    shop.put_secret(SECRET, &[("token", "first-token-of-the-shop")]).await;
    let (code, said) = wait(&shop, &["cdep/tax"]).await;
    assert!(code == Some(0) && said.contains("deployment/tax: Deployed: Deployed"), "{said}");

    shop.change(&json!({"spec": level("loud")})).await;
    let (code, said) = wait(&shop, &["deployment/tax"]).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("RedeployFailed") && said.contains("LOG_LEVEL of application service"), "{said}");
    assert!(!said.contains("first-token"), "{said}");
}
