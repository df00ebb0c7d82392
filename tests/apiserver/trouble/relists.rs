//! Watches that have expired and list again: no change is missed, however many pages the list has.
//!
//! The clock of the operator stands still, so neither a requeue timer nor the resync can help.

use std::time::Duration;

use connect_operator::crd::ConnectorDeployment;
use connect_operator::names;
use connect_operator::operator::cluster::initial_lists::PAGE;
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use kube::api::{DeleteParams, ListParams};
use serde_json::{Value, json};

use super::cluster::{shop, until_live};
use crate::patience::in_time;
use crate::shop::{SECRET, Shop};
use crate::unreliable::{Hold, Unreliable, WATCHES, Which, Wrong};

/// More than twenty pages of a list hold ([`PAGE`] objects each).
const MANY: usize = 20 * PAGE as usize + 10;
/// Number of objects that are edited at a time.
const EDITED: usize = 8;

/// A deployment that waits for a missing project, and that only its own events enqueue: it shares neither project nor
/// source with any other.
fn idle(shop: &Shop, name: &str) -> Value {
    let mut manifest = shop.deployment();
    manifest["metadata"] = json!({"name": name, "finalizers": [names::FINALIZER]});
    manifest["spec"]["projectRef"]["name"] = json!(format!("of-{name}"));
    manifest["spec"]["configurations"][0]["securedConfiguration"] = json!([]);
    manifest
}

fn name(number: usize) -> String {
    format!("tax-{number:04}")
}

async fn edit(shop: &Shop, numbers: std::ops::Range<usize>) {
    for number in numbers {
        let change = json!({"spec": {"key": format!("edited-{number}")}});
        shop.sandbox.change(&idle(shop, &name(number)), &change).await.unwrap();
    }
}

/// Returns once this many exist, and each reports its newest generation.
async fn until_all_observed(shop: &Shop, what: &str, many: usize) {
    let api = shop.api::<ConnectorDeployment>();
    let mut late = Vec::new();
    let observed = async {
        loop {
            let objects = api.list(&ListParams::default()).await.unwrap().items;
            let seen = |object: &&ConnectorDeployment| {
                object.status.as_ref().map(|status| status.observed_generation) == object.metadata.generation
                    && object.metadata.deletion_timestamp.is_none()
            };
            late = objects.iter().filter(|object| !seen(object)).map(ResourceExt::name_any).collect();
            if late.is_empty() && objects.len() == many {
                break;
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    };
    let in_time = in_time(observed).await;
    assert!(in_time.is_ok(), "{what}: not observed: {late:?}");
}

async fn interrupt_watches(unreliable: &Unreliable) {
    unreliable.begin(Which::Watches, Wrong::Away);
    unreliable.cut_watches();
    unreliable.until_met(WATCHES).await;
}

#[tokio::test]
async fn changes_while_a_long_list_is_read_are_not_missed() {
    let (shop, unreliable) = shop().await;
    let made = futures::stream::iter((0..MANY).map(|number| idle(&shop, &name(number))));
    let sandbox = &shop.sandbox;
    made.for_each_concurrent(16, |manifest| async move {
        sandbox.apply(&manifest).await.unwrap();
    })
    .await;
    until_all_observed(&shop, "at first", MANY).await;

    interrupt_watches(&unreliable).await;
    edit(&shop, 0..EDITED).await;
    let api = shop.api::<ConnectorDeployment>();
    api.delete(&name(EDITED), &DeleteParams::default()).await.unwrap();
    shop.sandbox.apply(&idle(&shop, "a-new-one")).await.unwrap();
    unreliable.hold(Hold::NextPages);
    unreliable.begin(Which::Watches, Wrong::Expired);
    unreliable.until_held(1).await;
    // The first page has been read.
    edit(&shop, 2 * EDITED..3 * EDITED).await;
    edit(&shop, MANY - EDITED..MANY).await;
    api.delete(&name(4 * EDITED), &DeleteParams::default()).await.unwrap();
    shop.sandbox.apply(&idle(&shop, "another-new-one")).await.unwrap();
    unreliable.end();
    unreliable.release();
    until_all_observed(&shop, "after the list", MANY).await;
}

#[tokio::test]
async fn a_secret_that_was_deleted_while_no_watch_was_open_is_noticed() {
    let (shop, unreliable) = shop().await;
    let mut manifest = shop.deployment();
    manifest["spec"]["configurations"][0]["standardConfiguration"] = json!([]);
    shop.sandbox.apply(&manifest).await.unwrap();
    until_live(&shop).await;

    interrupt_watches(&unreliable).await;
    shop.api::<Secret>().delete(SECRET, &DeleteParams::default()).await.unwrap();
    unreliable.begin(Which::Watches, Wrong::Expired);
    unreliable.until_met(WATCHES).await;
    unreliable.end();
    shop.until_reason("SecretMissing").await;
}
