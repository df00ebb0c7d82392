//! Specs that cannot work, and refusals of the service: a reason that names the fix, and no retry loop.

use super::{apply, apply_until, change, change_until, open, record, until_reason, updates};
use crate::prelude::*;

#[tokio::test]
async fn a_failure_is_reported_with_its_report_and_retried_only_after_a_change() {
    for (tag, reason, finding, attempts) in [
        ("1.2.0-not-previewable", "PreviewRefused", "Preview refused (The container image is too large.)", 1),
        ("1.2.0-not-published", "PublishingFailed", "Build failed (npm run build ended with exit code 1.)", 2),
    ] {
        let shop = open(&[]).await;
        apply(&shop, &json!({"preview": "Request", "publishPolicy": "Private", "repository": {"tag": tag}})).await;
        let failed = until_reason(&shop, reason).await;
        assert!(has(&failed, "Stalled"), "{tag}: a user has to act");
        assert!(message(&failed).contains(finding), "{tag}: {}", message(&failed));
        assert_eq!(updates(&shop), attempts, "{tag}");
        // Requested again, by the annotation.
        change(&shop, &json!({"metadata": {"annotations": {"connect-operator.io/retry-requested-at": "1"}}})).await;
        shop.until_object(KIT, "another attempt", |object: &ConnectorStaged| {
            let status = object.status.as_ref();
            status.is_some_and(|status| status.handled_retry_request.as_deref() == Some("1")) && has(object, "Stalled")
        })
        .await;
        assert_eq!(updates(&shop), attempts + 1, "{tag}: exactly one more attempt");
        change_until(&shop, &json!({"spec": {"repository": {"tag": "1.1.0"}}}), "Published").await;
        assert_eq!(record(&shop).repository.tag, "1.1.0", "{tag}");
    }
}

#[tokio::test]
async fn a_tag_that_cannot_be_used_leaves_the_record_unchanged() {
    let shop = open(&[]).await;
    apply_until(&shop, &json!({}), "Staged").await;
    for (tag, hint) in [
        ("9.9.9", "GitRepositoryNotReachable"),
        ("0.1.0-empty", "ConnectorSpecificationFileNotFound"),
        ("0.2.0-broken", "ConnectorSpecificationFileNotValid"),
    ] {
        let before = updates(&shop);
        let refused = change_until(&shop, &json!({"spec": {"repository": {"tag": tag}}}), "RepositoryInvalid").await;
        assert!(has(&refused, "Stalled"), "{tag}");
        assert!(message(&refused).contains(hint), "{tag}: {}", message(&refused));
        assert_eq!(updates(&shop), before + 1, "{tag}: sent once");
        assert_eq!(record(&shop).repository.tag, "1.0.0", "{tag}: the record stays");
    }
    change_until(&shop, &json!({"spec": {"repository": {"tag": "1.1.0"}}}), "Staged").await;
    assert_eq!(record(&shop).repository.tag, "1.1.0");
}

#[tokio::test]
async fn a_connector_that_cannot_be_created_is_created_once_its_tag_is_right() {
    let shop = open(&[]).await;
    let refused = apply_until(&shop, &json!({"repository": {"tag": "0.2.0-broken"}}), "RepositoryInvalid").await;
    assert_eq!(refused.status.unwrap().state, None, "nothing has begun");
    change(&shop, &json!({"metadata": {"annotations": {"connect-operator.io/retry-requested-at": "now"}}})).await;
    let handled = |kit: &ConnectorStaged| kit.status.as_ref().and_then(|it| it.handled_retry_request.clone());
    shop.until_object(KIT, "sent again at once", |kit| handled(kit).as_deref() == Some("now")).await;
    change_until(&shop, &json!({"spec": {"repository": {"tag": "1.0.0"}}}), "Staged").await;
    assert_eq!(shop.calls("createConnectorStaged"), 3);
}

#[tokio::test]
async fn a_change_that_no_update_can_make_is_refused_with_a_reason() {
    let shop = open(&[]).await;
    apply_until(&shop, &json!({"supportedRegions": ["europe-west1.gcp"]}), "Staged").await;
    let reported = change_until(&shop, &json!({"spec": {"supportedRegions": []}}), "CannotBeChanged").await;
    assert!(has(&reported, "Stalled"));
    assert!(
        message(&reported).contains("name at least one (the remote has europe-west1.gcp)"),
        "{}",
        message(&reported)
    );
    assert_eq!(updates(&shop), 0);
    let renamed = with_spec(kit(), &json!({"key": "other", "supportedRegions": ["europe-west1.gcp"]}));
    let error = shop.sandbox.apply(&renamed).await.unwrap_err();
    assert!(error.contains("key cannot be changed"), "{error}");
    change_until(&shop, &json!({"spec": {"supportedRegions": ["us-central1.gcp"]}}), "Staged").await;
    assert_eq!(record(&shop).supported_regions, ["us-central1.gcp"]);
}
