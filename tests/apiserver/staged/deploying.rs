//! A deployment that names a `ConnectorStaged`, from its first tag to the next.

use super::{apply_until, change, open, record, until_reason};
use crate::prelude::*;

/// A deployment of the staged connector, which follows its tags.
pub(super) fn preview(shop: &Shop) -> Value {
    with_spec(
        shop.deployment(),
        &json!({"connector": {"key": null, "stagedRef": {"name": "kit"}, "updatePolicy": "Latest"}}),
    )
}

#[tokio::test]
async fn a_new_tag_in_one_manifest_leads_to_a_live_preview() {
    let mut shop = open(&[]).await;
    shop.put_token("first-token-of-the-shop").await;
    let mut manifest = preview(&shop);
    manifest["spec"]["connector"].as_object_mut().unwrap().remove("key");
    let waits = shop.apply_until(&manifest, "StagedNotReady").await;
    assert!(message(&waits).contains("ConnectorStaged kit: it is missing in this namespace"));

    apply_until(&shop, &json!({}), "Staged").await;
    let named = |object: &ConnectorDeployment| message(object).contains("set preview: Request there");
    shop.until("the condition names the fix", named).await;
    assert_eq!(shop.calls("createDeployment"), 0, "nothing is sent that the service would refuse");

    change(&shop, &json!({"spec": {"preview": "Request", "publishPolicy": "Private"}})).await;
    let live = shop.until_reason("Deployed").await;
    let status = live.status.unwrap();
    assert_eq!(status.connector.as_ref().and_then(|connector| connector.id.clone()), Some(record(&shop).id));
    assert_eq!(shop.calls("createDeployment"), 1);
    until_reason(&shop, "Published").await;

    let first_version = status.connector.and_then(|connector| connector.version);
    change(&shop, &json!({"spec": {"repository": {"tag": "1.1.0"}}})).await;
    let moved = |object: &ConnectorDeployment| {
        let status = object.status.as_ref();
        let version = status.and_then(|status| status.connector.as_ref()).and_then(|connector| connector.version);
        version > first_version && state(object).operation.is_none()
    };
    shop.until("it follows", moved).await;
    shop.until_reason("Deployed").await;
    shop.until_object("kit", "published too", |object: &connect_operator::crd::ConnectorStaged| {
        object.status.as_ref().is_some_and(|status| status.published_tag.as_deref() == Some("1.1.0"))
    })
    .await;
    let redeploys = |shop: &Shop| shop.calls("updateDeploymentById");
    assert_eq!(redeploys(&shop), 1, "one redeploy for one tag");

    // A restarted operator knows the tag that was followed.
    shop.restart_operator().await;
    shop.annotate("connect-operator.io/reconcile-requested-at", "now").await;
    shop.until("reconciled again", |object| {
        object.status.as_ref().is_some_and(|status| status.handled_reconcile_request.as_deref() == Some("now"))
    })
    .await;
    assert_eq!(redeploys(&shop), 1, "later steps of the same tag cause no redeploy");
}
