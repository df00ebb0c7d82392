//! `wait`, as a process: its exit codes and its output.

use crate::patience::brief;
use crate::prelude::*;

async fn wait(shop: &Shop, arguments: &[&str]) -> (Option<i32>, String) {
    let (code, stdout, stderr) = run(&shop.sandbox, &[&["wait"], arguments].concat()).await;
    (code, stdout + &stderr)
}

#[tokio::test]
async fn wait_ends_when_ready_when_stalled_and_at_its_timeout() {
    let shop = Shop::open().await;
    let (code, printed) = wait(&shop, &["deployment/tax"]).await;
    assert!(code == Some(1) && printed.contains("deployment/tax does not exist in the namespace"), "{printed}");

    // Its Secret does not exist, which may change.
    shop.apply_until(&shop.deployment(), "SecretMissing").await;
    let limit = format!("{}s", brief().as_secs().max(1));
    let (code, printed) = wait(&shop, &["deployment/tax", "--timeout", &limit]).await;
    assert!(code == Some(1) && printed.contains(&format!("not ready after {limit}: SecretMissing")), "{printed}");
    shop.put_token("first-token-of-the-shop").await;
    let (code, printed) = wait(&shop, &["cdep/tax"]).await;
    assert!(code == Some(0) && printed.contains("deployment/tax: Deployed: Deployed"), "{printed}");

    shop.change(&json!({"spec": level("loud")})).await;
    let (code, printed) = wait(&shop, &["deployment/tax"]).await;
    assert_eq!(code, Some(1), "{printed}");
    assert!(printed.contains("RedeployFailed") && printed.contains("LOG_LEVEL of application service"), "{printed}");
    assert!(!printed.contains("first-token"), "{printed}");
    assert!(printed.contains("kubectl annotate connectordeployment tax"), "{printed}");
    let report = printed.lines().find(|line| line.starts_with("  ")).expect("a report").to_owned();

    shop.change(&json!({"spec": {"configurations": [{"applicationName": "servcie"}]}})).await;
    let (code, printed) = wait(&shop, &["deployment/tax"]).await;
    assert!(code == Some(1) && printed.contains("ConfigurationInvalid"), "{printed}");
    assert!(!printed.contains(&report), "the report is about the redeploy before: {printed}");

    let (code, printed) = wait(&shop, &["staged/kit"]).await;
    assert!(code == Some(1) && printed.contains("staged/kit does not exist in the namespace"), "{printed}");
}
