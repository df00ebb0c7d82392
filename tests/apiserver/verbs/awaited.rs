//! `wait` for several resources and for every kind.

use crate::prelude::*;

#[tokio::test]
async fn several_resources_are_awaited_together() {
    let shop = Shop::live().await;
    let sandbox = &shop.sandbox;
    sandbox.apply(&check(&shop)).await.unwrap();
    let printed = printed(sandbox, &["wait", "project/shop", "tax", &format!("check/{CHECK}")]).await;
    let mut lines: Vec<&str> = printed.lines().filter_map(|line| line.split(": ").next()).collect();
    lines.sort_unstable();
    assert_eq!(lines, ["check/add-to-cart", "deployment/tax", "project/shop"], "{printed}");

    let names = super::printed(sandbox, &["wait", "project/shop", "tax", "--output", "name"]).await;
    assert_eq!(names, "connectproject.connect-operator.io/shop\nconnectordeployment.connect-operator.io/tax\n");
    let object = super::printed(sandbox, &["wait", "tax", "--output", "json"]).await;
    let object: serde_json::Value = serde_json::from_str(&object).expect("nothing but the object is printed");
    assert_eq!(object["metadata"]["name"], "tax");
    let again = ["reconcile", "tax", "--wait", "--output", "json"];
    let object: serde_json::Value = serde_json::from_str(&super::printed(sandbox, &again).await).expect("an object");
    assert_eq!(object["metadata"]["name"], "tax");

    // One that needs a user to act does not hide that another is ready, and the other way round.
    let mut wrong = with_spec(shop.deployment(), &level("loud"));
    wrong["metadata"]["name"] = "wrong".into();
    sandbox.apply(&wrong).await.unwrap();
    let (code, stdout, stderr) = run(sandbox, &["wait", "deployments", "--all"]).await;
    assert_eq!(code, Some(1), "{stdout}{stderr}");
    assert!(stdout.starts_with("deployment/tax: Deployed"), "{stdout}");
    assert!(stderr.contains("Error: deployment/wrong: DeploymentFailed") && stderr.contains("\n  Error in service"));
    assert!(!stderr.contains('\u{1b}'), "a pipe gets plain lines: {stderr}");
}

#[tokio::test]
async fn nothing_to_wait_for_is_a_failure() {
    let sandbox = Sandbox::new().await;
    let (code, stdout, stderr) = run(&sandbox, &["wait", "deployments", "--selector", "team=tax"]).await;
    assert_eq!((code, stdout.as_str()), (Some(1), ""), "{stderr}");
    assert!(stderr.contains("there is nothing to wait for"), "{stderr}");
}
