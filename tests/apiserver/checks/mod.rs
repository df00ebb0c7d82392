//! `ActionCheck`: what is sent when, and what the condition reports for each response.

mod answers;
mod asked;
mod once;
mod refused;

use connect_operator::crd::{ActionCheck, CheckOutcome};
use serde_json::{Value, json};

use crate::manifests::with_spec;
use crate::shop::Shop;

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
    shop.until_object(CHECK, reason, |object: &ActionCheck| {
        let status = object.status.as_ref();
        status.is_some_and(|status| {
            Some(status.observed_generation) == object.metadata.generation
                && status.conditions.iter().any(|it| it.type_ == "Ready" && it.reason == reason)
        })
    })
    .await
}

fn outcome(check: &ActionCheck) -> Option<CheckOutcome> {
    check.status.as_ref().and_then(|status| status.outcome)
}

fn message(check: &ActionCheck) -> String {
    let conditions = check.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    conditions.iter().find(|it| it.type_ == "Ready").map(|it| it.message.clone()).unwrap_or_default()
}

/// Whether it has a condition of this type, which is then true.
fn has(check: &ActionCheck, type_: &str) -> bool {
    check
        .status
        .as_ref()
        .is_some_and(|status| status.conditions.iter().any(|it| it.type_ == type_ && it.status == "True"))
}
