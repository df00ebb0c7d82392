//! Checks that send nothing, because their spec is invalid or not allowed.

use super::apply_until;
use crate::prelude::*;

#[tokio::test]
async fn a_host_that_is_not_allowed_is_not_called() {
    let shop = Shop::open().await;
    let port = shop.dev.address().port();
    // The operator of the shop allows 127.0.0.1 only; the other hosts lead to the same server, or into the network of a
    // cluster.
    for url in [format!("http://localhost:{port}"), format!("http://[::1]:{port}"), "http://169.254.169.254".to_owned()]
    {
        let manifest = with_spec(check(&shop), &json!({"frontend": {"url": url}}));
        let seen = apply_until(&shop, &manifest, "HostNotAllowed").await;
        assert!(has(&seen, "Stalled") && message(&seen).contains("--allowed-action-hosts"), "{}", message(&seen));
    }
    let names = json!({"frontend": {"url": "https://shop-example.frontastic.live"}});
    let seen = apply_until(&shop, &with_spec(check(&shop), &names), "HostNotAllowed").await;
    assert!(message(&seen).contains("shop-example.frontastic.live"), "{}", message(&seen));
    assert_eq!(shop.calls("writeFrontasticActionPost"), 0);
}

#[tokio::test]
async fn a_check_that_cannot_be_sent_reports_what_to_change() {
    let shop = Shop::open().await;
    shop.put_secret("session", &[("cookie", "a line\nand another")]).await;
    let header = |name: &str| json!({"headers": [{"name": name, "valueFrom": {"secretKeyRef": {"name": "session", "key": "cookie"}}}]});
    for (case, change, words) in [
        ("a line break", header("Cookie"), "line break"),
        ("a header of the call", header("Frontastic-Locale"), "cannot be set"),
        ("a body that is no JSON", json!({"body": "{a: 1}"}), "body is not JSON"),
        (
            "an expected body that is no JSON",
            json!({"expect": {"body": "{a: 1}"}}),
            "expect.body is not JSON: key must",
        ),
        ("a step in the path", json!({"action": {"name": ".."}}), "another path"),
    ] {
        let seen = apply_until(&shop, &with_spec(check(&shop), &change), "ConfigurationInvalid").await;
        assert!(message(&seen).contains(words), "{case}: {}", message(&seen));
        assert!(!serde_json::to_string(&seen).unwrap().contains("a line\\nand"), "{case}");
    }
    assert_eq!(shop.calls("writeFrontasticActionPost") + shop.calls("readFrontasticAction"), 0);
}
