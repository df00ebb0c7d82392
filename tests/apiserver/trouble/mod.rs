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
mod repeated;
mod responses;
mod scopes;
mod slow;
mod stalled;
mod starting;
mod unreadable;
mod unusable;
mod values;

use crate::prelude::*;
use crate::reported::condition;
use pace::{FINE, meanwhile};

/// Returns an object once its Ready condition has this reason, and a message that contains these words. The clock of
/// `shop` is stepped meanwhile.
pub(crate) async fn until_reported_with<K: Object + Resource<Scope = NamespaceResourceScope> + Serialize>(
    shop: &Shop,
    name: &str,
    reason: &str,
    words: &[&str],
) -> K {
    let says = |object: &K| {
        let ready = condition(object, names::READY);
        ready.is_some_and(|ready| ready.reason == reason && words.iter().all(|word| ready.message.contains(word)))
    };
    meanwhile(&shop.clock, FINE, shop.until_object(name, &format!("{reason}: {words:?}"), says)).await
}
