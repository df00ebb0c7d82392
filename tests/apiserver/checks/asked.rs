//! What users request beside the spec of a call: a rerun, a suspension, and a frontend from the project.

use super::{apply_until, last_call, reading, until_reason};
use crate::prelude::*;

fn posts(shop: &Shop) -> u64 {
    shop.calls("writeFrontasticActionPost")
}

async fn ask_again(shop: &Shop, request: Option<&str>) {
    let patch = json!({"metadata": {"annotations": {names::RERUN_REQUESTED_AT: request}}});
    shop.patch::<ActionCheck>(CHECK, &patch).await;
}

fn remembered(check: &ActionCheck) -> Option<String> {
    check.status.as_ref()?.handled_rerun_request.clone()
}

async fn until_remembered(shop: &Shop, request: &str) -> ActionCheck {
    shop.until_object(CHECK, "the rerun is recorded", |object: &ActionCheck| {
        let answered = last_call(object).is_some_and(|call| call.http_status.is_some());
        answered && remembered(object).as_deref() == Some(request)
    })
    .await
}

#[tokio::test]
async fn a_rerun_sends_exactly_one_more_call_and_is_recorded() {
    let mut shop = Shop::open().await;
    apply_until(&shop, &check(&shop), "CheckPassed").await;
    assert_eq!(posts(&shop), 1);
    ask_again(&shop, Some("one")).await;
    until_remembered(&shop, "one").await;
    assert_eq!(posts(&shop), 2);

    // A handled request is not repeated: not by another operator, not after the annotation was removed, and not when
    // the same value returns.
    shop.revive_operator().await;
    ask_again(&shop, None).await;
    ask_again(&shop, Some("one")).await;
    ask_again(&shop, Some("two")).await;
    let second = until_remembered(&shop, "two").await;
    assert_eq!(posts(&shop), 3);
    assert_eq!(second.metadata.generation, Some(1), "no change of the spec was needed");
}

#[tokio::test]
async fn a_suspended_check_calls_nothing_and_resuming_repeats_nothing() {
    let shop = Shop::open().await;
    let suspended = with_spec(check(&shop), &json!({"suspend": true}));
    let held = apply_until(&shop, &suspended, "Suspended").await;
    assert!(has(&held, "Suspended") && !has(&held, "Stalled") && !has(&held, "Reconciling"), "{held:?}");
    assert_eq!(posts(&shop), 0);
    let passed = apply_until(&shop, &check(&shop), "CheckPassed").await;
    assert!(!has(&passed, "Suspended"));
    assert_eq!(posts(&shop), 1);

    // Suspending does not change the call: the result stays, and nothing is sent afterwards.
    let still = apply_until(&shop, &suspended, "CheckPassed").await;
    assert!(has(&still, "Suspended"), "{still:?}");
    ask_again(&shop, Some("meanwhile")).await;
    let held = until_reason(&shop, "Suspended").await;
    assert_eq!((posts(&shop), remembered(&held)), (1, None));
    shop.sandbox.apply(&check(&shop)).await.unwrap();
    until_remembered(&shop, "meanwhile").await;
    assert_eq!(posts(&shop), 2);
    shop.sandbox.apply(&suspended).await.unwrap();
    shop.sandbox.apply(&check(&shop)).await.unwrap();
    ask_again(&shop, Some("the last")).await;
    until_remembered(&shop, "the last").await;
    assert_eq!(posts(&shop), 3, "suspending and resuming sent nothing");
}

async fn change_project(shop: &Shop, frontend: &Value) {
    shop.patch::<ConnectProject>(PROJECT, &json!({"spec": {"frontend": frontend}})).await;
}

#[tokio::test]
async fn a_check_without_a_frontend_uses_that_of_its_project() {
    let shop = Shop::with(Options::default(), fast()).await;
    let of_project = |frontend: Value| {
        let change = json!({"frontend": frontend, "projectRef": {"name": PROJECT}});
        with_spec(reading(&shop), &change)
    };
    shop.sandbox.apply(&with_spec(of_project(Value::Null), &json!({"projectRef": {"name": "later"}}))).await.unwrap();
    let waiting = until_reason(&shop, "ProjectMissing").await;
    assert!(
        has(&waiting, "Reconciling") && message(&waiting).contains("ConnectProject later"),
        "{}",
        message(&waiting)
    );

    let invalid = apply_until(&shop, &of_project(Value::Null), "ConfigurationInvalid").await;
    assert!(message(&invalid).contains("nor its ConnectProject"), "{}", message(&invalid));
    // The change of the project alone enqueues the check.
    change_project(&shop, &json!({"url": shop.dev.url(), "preset": "Service"})).await;
    until_reason(&shop, "CheckPassed").await;
    assert_eq!((shop.calls("readAction"), shop.calls("readFrontasticAction")), (1, 0));
    apply_until(&shop, &of_project(json!({"url": null, "preset": "Frontastic"})), "CheckPassed").await;
    assert_eq!((shop.calls("readAction"), shop.calls("readFrontasticAction")), (1, 1), "the check's own field wins");
}
