//! Conditions after unexpected responses: bounded, without secrets, and without a repeated write.

use dev_server::ActionFile;

use super::{apply_until, last_call, outcome, reading, until_reason};
use crate::prelude::*;

/// Makes every call of the action receive this response.
async fn failing(answer: FaultAnswer, writes: bool, change: serde_json::Value) -> (Shop, ActionCheck) {
    let shop = Shop::open().await;
    let operation = if writes { "writeFrontasticActionPost" } else { "readFrontasticAction" };
    shop.dev.fault(Fault { operation: Some(operation.into()), answer, ..Fault::default() }).expect("a valid fault");
    let manifest = with_spec(if writes { check(&shop) } else { reading(&shop) }, &change);
    let seen = apply_until(&shop, &manifest, if writes { "CheckFailed" } else { "CheckFailing" }).await;
    assert_eq!(outcome(&seen), Some(CheckOutcome::Failed));
    assert_eq!((has(&seen, "Stalled"), has(&seen, "Reconciling")), (writes, false));
    assert_eq!(shop.calls(operation), 1);
    (shop, seen)
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let headers = [("Location".to_owned(), "/frontastic/action/cart/getCart".to_owned())].into();
    let answer = FaultAnswer { status: Some(302), headers, ..FaultAnswer::default() };
    let (shop, seen) = failing(answer, true, json!({})).await;
    assert!(message(&seen).contains("status 302 instead of 200"), "{}", message(&seen));
    assert_eq!(shop.calls("readFrontasticAction"), 0);
}

#[tokio::test]
async fn an_unexpected_response_is_reported_and_only_a_write_is_stalled() {
    let body = |body: serde_json::Value| FaultAnswer { body: Some(body), status: Some(200), ..FaultAnswer::default() };
    let other = json!({"sum": {"currencyCode": "EUR", "centAmount": 300}, "lineItems": [{"sku": "A1"}]});
    let expect = json!({"expect": {"body": r#"{"sum": {"currencyCode": "EUR"}, "lineItems": [{"sku": "B2"}]}"#}});
    let large = FaultAnswer { body_bytes: Some(10_000_000), status: Some(200), ..FaultAnswer::default() };
    let (same, soon) = (json!({}), json!({"timeout": "1s"}));
    for (writes, answer, change, status, words) in [
        (true, FaultAnswer::text(500, ""), &same, Some(500), "status 500 instead of 200"),
        (false, body(json!("<html>no JSON</html>")), &same, Some(200), "not JSON. The answer: <html>no JSON"),
        (true, large, &same, Some(200), "more than 256 KiB"),
        (
            true,
            FaultAnswer { delay_ms: 3_600_000, ..FaultAnswer::default() },
            &soon,
            None,
            "The request got no answer: ",
        ),
        (
            true,
            body(other),
            &expect,
            Some(200),
            r#"/lineItems in the body has no element that contains {"sku":"B2"}. The answer: {"#,
        ),
    ] {
        let (_shop, seen) = failing(answer, writes, change.clone()).await;
        assert!(message(&seen).contains(words), "{words}: {}", message(&seen));
        assert_eq!(last_call(&seen).and_then(|call| call.http_status), status, "{words}");
        assert!(serde_json::to_string(&seen.status).unwrap().len() < 4_096, "{words}: the status stays small");
    }
}

#[tokio::test]
async fn header_values_are_masked_and_a_secret_that_is_created_later_is_used() {
    let file = json!({"actions": [{"namespace": "cart", "name": "echo", "status": 400, "text": "your cookie was session=canary-41, no?"}]});
    let actions = ActionFile::parse(&file.to_string()).expect("a valid file");
    let shop = Shop::with(Options { actions, ..Options::default() }, fast()).await;
    let from = json!([{"name": "Cookie", "valueFrom": {"secretKeyRef": {"name": "session", "key": "cookie"}}}]);
    let manifest = with_spec(check(&shop), &json!({"action": {"name": "echo"}, "headers": from}));
    let waiting = apply_until(&shop, &manifest, "SecretMissing").await;
    assert!(has(&waiting, "Reconciling") && message(&waiting).contains("Secret session"), "{}", message(&waiting));
    shop.put_secret("session", &[("other", "x")]).await;
    shop.until_object(CHECK, "the key is missing", |it: &ActionCheck| message(it).contains("lacks the key cookie"))
        .await;
    assert_eq!(shop.calls("writeFrontasticActionPost"), 0);
    shop.put_secret("session", &[("cookie", "session=canary-41")]).await;
    let seen = until_reason(&shop, "CheckFailed").await;
    assert!(message(&seen).contains("your cookie was ***"), "{}", message(&seen));
    assert!(!serde_json::to_string(&seen).unwrap().contains("canary-41"));
    assert_eq!(shop.calls("writeFrontasticActionPost"), 1);
}
