//! `ActionCheck`: what is sent when, and what the condition reports for each response.

mod answers;
mod asked;
mod once;
mod refused;

use connect_operator::crd::LastCall;

use crate::prelude::*;

pub(crate) const CHECK: &str = "add-to-cart";

/// A check that sends a write to the dev server of a shop.
pub(crate) fn check(shop: &Shop) -> Value {
    json!({
        "apiVersion": "connect-operator.io/v1alpha1",
        "kind": "ActionCheck",
        "metadata": {"name": CHECK},
        "spec": {
            "frontend": {"url": shop.dev.url()},
            "action": {"namespace": "cart", "name": "addToCart"},
            "method": "POST",
            "locale": "en-GB",
            "extensionVersion": "1.4.0",
            "body": r#"{"variant": {"sku": "A1", "count": 1}}"#,
            "expect": {"status": 200, "body": r#"{"lineItems": [{"variant": {}}]}"#},
        },
    })
}

/// A check that reads.
fn reading(shop: &Shop) -> Value {
    let expect = json!({"body": r#"{"lineItems": []}"#});
    let action = json!({"namespace": "cart", "name": "getCart"});
    let change = json!({"action": action, "method": "GET", "body": null, "expect": expect});
    with_spec(check(shop), &change)
}

/// Returns the check once its Ready condition has this reason for its generation.
async fn until_reason(shop: &Shop, reason: &str) -> ActionCheck {
    shop.until_reason_of(CHECK, reason).await
}

/// Applies a check, and returns it once it reports this reason.
async fn apply_until(shop: &Shop, check: &Value, reason: &str) -> ActionCheck {
    shop.sandbox.apply(check).await.unwrap();
    until_reason(shop, reason).await
}

pub(crate) fn last_call(check: &ActionCheck) -> Option<LastCall> {
    check.status.as_ref().and_then(|status| status.last_call().expect("the operator reads what it writes"))
}

fn outcome(check: &ActionCheck) -> Option<CheckOutcome> {
    last_call(check).map(|call| call.outcome)
}
