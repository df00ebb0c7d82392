//! A tag that is published only after a preview of it is live and a check of that preview has passed.

use super::deploying::preview;
use super::{apply, change, open, record, until_reason};
use crate::prelude::*;

/// Waits until the tag is not published, with a message that contains `words`.
async fn waits_for(shop: &crate::shop::Shop, words: &str) {
    shop.until_object("kit", words, |object: &ConnectorStaged| message(object).contains(words)).await;
    until_reason(shop, "AwaitingProof").await;
}

#[tokio::test]
async fn a_tag_is_published_once_its_preview_is_ready_and_its_checks_have_passed_for_it() {
    let shop = open(&["new-tag=resets-preview"]).await;
    shop.put_token("first-token-of-the-shop").await;
    let after = json!({"deploymentRef": {"name": NAME}, "checkRefs": [{"name": CHECK}]});
    apply(&shop, &json!({"preview": "Request", "publishPolicy": "Private", "publishAfter": after})).await;
    waits_for(&shop, &format!("ConnectorDeployment {NAME} is missing; ActionCheck {CHECK} is missing")).await;

    // A check without `after` proves nothing.
    shop.sandbox.apply(&check(&shop)).await.unwrap();
    waits_for(&shop, "spec.deploymentRef.name").await;
    let mut manifest = preview(&shop);
    manifest["spec"]["connector"].as_object_mut().unwrap().remove("key");
    shop.apply_until(&manifest, "Deployed").await;
    waits_for(&shop, "does not come after that deployment").await;
    assert!(!record(&shop).already_listed, "nothing is published yet");
    shop.sandbox.apply(&with_spec(check(&shop), &json!({"deploymentRef": {"name": NAME}}))).await.unwrap();
    until_reason(&shop, "Published").await;

    // For the next tag, neither the deployment nor the check of the previous one counts.
    let before = shop.calls("writeFrontasticActionPost");
    change(&shop, &json!({"spec": {"repository": {"tag": "1.1.0"}}})).await;
    shop.until_object("kit", "published too", |object: &ConnectorStaged| {
        object.status.as_ref().is_some_and(|status| status.published_tag.as_deref() == Some("1.1.0"))
    })
    .await;
    assert_eq!(shop.calls("writeFrontasticActionPost"), before + 1, "the check was repeated for the second tag");
    shop.until("its tag is in the status", |object: &ConnectorDeployment| {
        let connector = object.status.as_ref().and_then(|status| status.connector.as_ref());
        connector.is_some_and(|connector| connector.tag.as_deref() == Some("1.1.0"))
    })
    .await;

    // The check is deleted: the tag after that waits.
    shop.api::<connect_operator::crd::ActionCheck>().delete(CHECK, &DeleteParams::default()).await.unwrap();
    change(&shop, &json!({"spec": {"repository": {"tag": "1.0.0"}}})).await;
    waits_for(&shop, &format!("ActionCheck {CHECK} is missing")).await;
    assert_eq!(record(&shop).repository.tag, "1.0.0");
    assert!(record(&shop).has_changes, "it is not published");
}
