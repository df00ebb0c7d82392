//! Ownership of staged connectors: keys, adoption, deletion, and the project that waits for them.

use kube::api::Api;

use super::{apply_until, change, change_until, open, record, records, until_reason, updates};
use crate::prelude::*;

#[tokio::test]
async fn rules_2_and_22_an_orphaned_connector_is_not_owned_until_it_is_adopted_and_then_it_can_be_deleted() {
    let shop = open(&[]).await;
    let first = apply_until(&shop, &json!({}), "Staged").await;
    shop.sandbox.delete::<ConnectorStaged>(KIT).await;
    let id = first.status.unwrap().id.unwrap();
    assert_eq!(record(&shop).id, id, "the record stays by default");

    let taken = apply_until(&shop, &json!({}), "KeyTaken").await;
    let shown = taken.status.as_ref().unwrap();
    assert_eq!((&shown.published_tag, shown.preview), (&None, None), "it is not ours");
    assert!(has(&taken, "Stalled") && message(&taken).contains("adoptionPolicy: Adopt"), "{}", message(&taken));
    change(&shop, &json!({"spec": {"adoptionPolicy": "Adopt", "deletionPolicy": "Delete"}})).await;
    let adopted = until_reason(&shop, "Staged").await;
    assert_eq!(adopted.status.unwrap().id.as_ref(), Some(&id));
    assert_eq!((shop.calls("createConnectorStaged"), updates(&shop)), (1, 0), "it is adopted unchanged");
    shop.sandbox.delete::<ConnectorStaged>(KIT).await;
    assert!(records(&shop).is_empty());
    assert_eq!(shop.calls("deleteConnectorStagedById"), 1);
}

#[tokio::test]
async fn rule_4_of_two_with_one_key_one_owns_it() {
    let shop = open(&[]).await;
    apply_until(&shop, &json!({}), "Staged").await;
    let second = with_spec(kit(), &json!({"name": "Second", "deletionPolicy": "Delete"}));
    shop.sandbox.apply(&named(second, "second")).await.unwrap();
    let reported = shop.until_object("second", "the conflict", |object: &ConnectorStaged| has(object, "Stalled")).await;
    assert!(message(&reported).contains(&format!("ConnectorStaged {}/kit has the key kit", shop.sandbox.namespace)));
    shop.sandbox.delete::<ConnectorStaged>("second").await;
    assert_eq!(record(&shop).name, "Kit", "nothing was changed");
}

#[tokio::test]
async fn rule_24_a_project_stays_while_a_staged_connector_names_it() {
    let shop = open(&[]).await;
    apply_until(&shop, &json!({"deletionPolicy": "Delete"}), "Staged").await;
    let projects: Api<ConnectProject> = shop.api();
    projects.delete(PROJECT, &DeleteParams::default()).await.unwrap();
    let words = ["1 ConnectorStaged that names it"];
    until_reported_with::<ConnectProject>(&shop, PROJECT, "InUse", &words).await;
    shop.sandbox.delete::<ConnectorStaged>(KIT).await;
    assert!(records(&shop).is_empty(), "it was deleted at the remote first");
    until_deleted(projects, PROJECT).await;
}

#[tokio::test]
async fn nothing_is_sent_while_suspended_and_everything_afterwards() {
    let shop = open(&[]).await;
    let held = apply_until(&shop, &json!({"suspend": true}), "Suspended").await;
    assert!(has(&held, "Suspended"));
    assert!(records(&shop).is_empty());
    change_until(&shop, &json!({"spec": {"suspend": false}}), "Staged").await;

    change(&shop, &json!({"spec": {"suspend": true, "deletionPolicy": "Delete"}})).await;
    let api = shop.api::<ConnectorStaged>();
    api.delete(KIT, &DeleteParams::default()).await.unwrap();
    let held = until_reason(&shop, "Suspended").await;
    assert!(held.metadata.deletion_timestamp.is_some());
    assert_eq!(records(&shop).len(), 1, "not even a DELETE");
    change(&shop, &json!({"spec": {"suspend": false}})).await;
    until_deleted(api, KIT).await;
    assert!(records(&shop).is_empty());
}
