//! The API server refuses a manifest that violates a rule, with a sentence that names the fix.

use serde_json::json;

use crate::shop::Shop;

#[tokio::test]
async fn kubectl_prints_what_to_change_and_nothing_is_sent() {
    let shop = Shop::open().await;
    shop.until_available().await;
    let before = shop.dev.counts();
    let mut both = shop.deployment();
    both["spec"]["connector"] = json!({"key": "demo-connector", "id": "4711"});
    let mut clear = shop.deployment();
    clear["spec"]["configurations"][0]["securedConfiguration"][0] =
        json!({"key": "API_TOKEN", "value": "in-the-clear"});
    for (case, manifest, words) in [
        ("two names", both, "give exactly one of connector.key, connector.id and connector.stagedRef"),
        ("a secret in the clear", clear, "unknown field \"spec.configurations[0].securedConfiguration[0].value\""),
    ] {
        let output = shop.sandbox.kubectl(&["apply", "--filename", "-"], &manifest.to_string()).await;
        let printed = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success(), "{case}: accepted");
        assert!(printed.contains(words), "{case}: {printed}");
    }
    // The operator reconciles a resource that is applied after the refused ones: by then it would have acted on them.
    shop.put_secret("tax", &[("token", "first-token-of-the-shop")]).await;
    shop.sandbox.apply(&shop.deployment()).await.unwrap();
    shop.until_reason("Deployed").await;
    let creates = |counts: &std::collections::BTreeMap<&str, u64>| counts.get("createDeployment").copied().unwrap_or(0);
    assert_eq!(creates(&before), 0);
    assert_eq!(creates(&shop.dev.counts()), 1);
}
