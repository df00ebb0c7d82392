//! Changes by other writers are restored and reported.

use kube::api::{DeleteParams, Patch, PatchParams};

use super::*;
use crate::unreliable::{Unreliable, WATCHES, Which, Wrong};

async fn patch(shop: &Shop, name: &str, change: &Value) {
    shop.api::<Connector>().patch(name, &PatchParams::default(), &Patch::Merge(change)).await.unwrap();
}

async fn patch_status(shop: &Shop, name: &str, change: &Value) {
    shop.api::<Connector>().patch_status(name, &PatchParams::default(), &Patch::Merge(change)).await.unwrap();
}

#[tokio::test]
async fn a_change_by_hand_is_restored_and_reported() {
    let shop = Shop::open().await;
    offer(&shop, &[record("a", 1), record("b", 1)]);
    mirror(&shop, everything()).await;
    let before = objects(&shop).await;
    patch(&shop, "shop.a", &json!({"spec": {"id": "another", "projectRef": {"name": "other"}}})).await;
    patch_status(&shop, "shop.b", &json!({"status": {"version": 7, "description": "by hand"}})).await;
    for name in ["shop.a", "shop.b"] {
        let wanted = before[name].clone();
        let back = shop
            .until_object(name, "it is restored", move |object: &Connector| {
                object.spec == wanted.spec && object.status == wanted.status
            })
            .await;
        assert_eq!(back.metadata.uid, before[name].metadata.uid);
    }
    let notes = until_reported(&shop).await;
    assert!(
        notes
            .iter()
            .all(|note| note.starts_with("This Connector was changed by hand, and the operator has restored it")),
        "{notes:?}"
    );
}

#[tokio::test]
async fn a_deleted_object_comes_back() {
    let shop = Shop::open().await;
    offer(&shop, &[record("a", 1)]);
    mirror(&shop, everything()).await;
    let before = objects(&shop).await;
    shop.api::<Connector>().delete("shop.a", &DeleteParams::default()).await.unwrap();
    let (old, status) = (before["shop.a"].uid(), before["shop.a"].status.clone());
    shop.until_object("shop.a", "it is created again", move |object: &Connector| {
        object.uid() != old && object.status == status
    })
    .await;
    let notes = until_reported(&shop).await;
    assert!(notes[0].starts_with("This Connector was deleted by hand"), "{notes:?}");
}

#[tokio::test]
async fn changes_made_while_no_operator_ran_are_restored_too() {
    let mut shop = Shop::open().await;
    offer(&shop, &[record("a", 1), record("b", 1)]);
    mirror(&shop, everything()).await;
    let before = objects(&shop).await;
    shop.stop_operator().await;
    patch_status(&shop, "shop.a", &json!({"status": {"certified": false}})).await;
    patch(&shop, "shop.b", &json!({"metadata": {"ownerReferences": null}})).await;
    let mut own = serde_json::to_value(&before["shop.a"]).unwrap();
    own["metadata"] = json!({"name": "shop.invented"});
    shop.sandbox.apply(&own).await.unwrap();
    shop.start_operator();
    let wanted = before["shop.a"].status.clone();
    shop.until_object("shop.a", "it is restored", move |object: &Connector| object.status == wanted).await;
    shop.until_object("shop.b", "owned again", |object: &Connector| !object.owner_references().is_empty()).await;
    until_there_are(&shop, &["shop.a", "shop.b"]).await;
    until_reported(&shop).await;
}

#[tokio::test]
async fn labels_and_annotations_of_users_are_kept() {
    let shop = Shop::open().await;
    offer(&shop, &[record("a", 1)]);
    mirror(&shop, everything()).await;
    patch(&shop, "shop.a", &json!({"metadata": {"labels": {"team": "tax"}}})).await;
    offer(&shop, &[record("a", 2)]);
    look(&shop).await;
    let object = shop
        .until_object("shop.a", "the second version", |object: &Connector| {
            object.status.as_ref().is_some_and(|status| status.version == 2)
        })
        .await;
    assert_eq!(object.labels().get("team").map(String::as_str), Some("tax"));
    assert_eq!(shop.events("ChangedByHand").await, Vec::<String>::new());
}

/// Returns the notes of the Events once there is one; an Event is written after the change that it reports.
async fn until_reported(shop: &Shop) -> Vec<String> {
    until_so(shop, "an Event", async || !shop.events("ChangedByHand").await.is_empty()).await;
    shop.events("ChangedByHand").await
}

/// A list that follows such an interruption shows only what exists, so no event reports the deletion.
#[tokio::test]
async fn an_object_that_was_deleted_while_no_watch_was_open_comes_back() {
    let mut shop = Shop::open().await;
    shop.stop_operator().await;
    let (cluster, client) = Unreliable::client(&shop.sandbox.client, &shop.clock);
    shop.start_operator_as(client);
    offer(&shop, &[record("a", 1), record("b", 1)]);
    mirror(&shop, everything()).await;
    let before = objects(&shop).await;
    cluster.begin(Which::Watches, Wrong::Away);
    cluster.cut_watches();
    cluster.until_met(WATCHES).await;
    shop.api::<Connector>().delete("shop.a", &DeleteParams::default()).await.unwrap();
    cluster.begin(Which::Watches, Wrong::Expired);
    cluster.until_met(WATCHES).await;
    cluster.end();
    let old = before["shop.a"].uid();
    shop.until_object("shop.a", "it is created again", move |object: &Connector| object.uid() != old).await;
    let notes = until_reported(&shop).await;
    assert!(notes.len() == 1 && notes[0].starts_with("This Connector was deleted by hand"), "{notes:?}");
}
