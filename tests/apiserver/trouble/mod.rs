//! Invalid input and failures of all kinds, one after the other, and the recovery from each.

mod away;
mod canary;
pub(crate) mod cluster;
mod deleting;
mod faults;
mod forbidden;
mod forged;
mod gateway;
mod half_open;
mod long_texts;
mod many;
mod missing;
mod namespaces;
mod not_found;
mod outage;
pub(crate) mod pace;
mod panics;
mod preflight;
mod projects;
mod refused;
mod relists;
mod repeated;
mod responses;
mod scopes;
mod slow;
mod stalled;
mod starting;
mod unreadable;
mod unusable;
mod values;
mod webhook;

use connect_operator::crd::ConnectorDeployment;
use connect_operator::names;
use connect_operator::operator::kinds::managed_kind::Object;
use kube::Resource;
use kube::core::NamespaceResourceScope;
use serde::Serialize;

use crate::shop::Shop;
use pace::{FINE, meanwhile};

/// Status of a condition; `None` if there is no such condition.
fn condition<'a>(object: &'a ConnectorDeployment, kind: &str) -> Option<&'a str> {
    let conditions = &object.status.as_ref()?.conditions;
    conditions.iter().find(|condition| condition.type_ == kind).map(|condition| condition.status.as_str())
}

/// Returns an object once its Ready condition has this reason, and a message that contains these words. The clock of
/// `shop` is stepped meanwhile.
pub(crate) async fn until_reported_with<K: Object + Resource<Scope = NamespaceResourceScope> + Serialize>(
    shop: &Shop,
    name: &str,
    reason: &str,
    words: &[&str],
) -> K {
    let says = |object: &K| {
        let object = serde_json::to_value(object).expect("it is JSON");
        object["status"]["conditions"].as_array().into_iter().flatten().any(|condition| {
            let message = condition["message"].as_str().unwrap_or_default();
            condition["type"] == names::READY
                && condition["reason"] == reason
                && words.iter().all(|word| message.contains(word))
        })
    };
    meanwhile(&shop.clock, FINE, shop.until_object(name, &format!("{reason}: {words:?}"), says)).await
}
