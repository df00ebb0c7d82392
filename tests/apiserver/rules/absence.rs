//! Rule 5: when a deployment counts as absent, and what follows.

use super::state;
use crate::prelude::*;

/// After this time no effect of the last write is expected any more.
const LATE: Duration = Duration::from_mins(5);
/// Longer than the minimum time between two 404s that count.
const APART: Duration = Duration::from_secs(31);

fn not_there() -> FaultAnswer {
    FaultAnswer::error(404, "ResourceNotFound")
}

#[tokio::test]
async fn rule_05_an_absent_deployment_is_created_again_with_drift_policy_correct_and_reported() {
    let shop = Leaping::live_as(&json!({"driftPolicy": "Correct"})).await;
    let first = status(&shop.until_annotated().await).id.expect("an id");
    shop.clock.step(LATE);
    shop.dev.world().remove(&first, shop.dev.now()).unwrap();
    assert_eq!(ready(&shop.reconcile_again().await).1, "ServiceUnavailable", "one 404 proves nothing");
    assert_eq!(shop.sent(), [1, 0, 0]);
    shop.pass(APART).await;
    let second = shop.finish("Deployed").await;
    let id = status(&second).id.expect("an id");
    assert_ne!(id, first);
    shop.until_annotated().await;
    shop.until_event("Replaced").await;
    shop.pass(LATE).await;
    let notes = shop.events("Replaced").await;
    assert!(notes.len() == 1 && notes[0].contains(&format!("{id} now, in place of {first}")), "{notes:?}");
    assert_eq!(shop.sent(), [2, 0, 0]);
}

#[tokio::test]
async fn rule_05_two_404s_with_a_success_between_them_prove_nothing() {
    let shop = Leaping::live().await;
    shop.clock.step(LATE);
    for _ in 0..3 {
        shop.dev.fault(Fault::of("getDeploymentById", not_there())).unwrap();
        assert_eq!(ready(&shop.reconcile_again().await).1, "ServiceUnavailable");
        shop.dev.clear_faults();
        shop.pass(APART).await;
        shop.until_reason("Deployed").await;
    }
    assert!(shop.events("RemoteDisappeared").await.is_empty());
    assert_eq!(shop.sent(), [1, 0, 0]);
}

#[tokio::test]
async fn rule_05_reads_by_id_that_are_wrong_for_long_change_nothing_at_the_remote_and_recover() {
    for policy in ["Detect", "Correct"] {
        let shop = Leaping::applied(&json!({"driftPolicy": policy})).await;
        let id = status(&shop.finish("Deployed").await).id;
        shop.clock.step(LATE);
        // LIST and reads by key return it still.
        shop.dev.fault(Fault::of("getDeploymentById", not_there())).unwrap();
        shop.reconcile_again().await;
        shop.pass(APART).await;
        // Meanwhile the most recent read decides what is reported: a LIST that contains it proves that it exists.
        shop.pass(APART).await;
        shop.dev.clear_faults();
        shop.pass(QUIET_PERIOD).await;
        shop.pass(QUIET).await;
        let found = shop.until_reason("Deployed").await;
        assert_eq!(status(&found).id, id, "{policy}");
        assert_eq!(shop.there().len(), 1, "{policy}");
        assert_eq!(shop.sent()[1..], [0, 0], "{policy}");
    }
}

#[tokio::test]
async fn rule_05_a_deployment_that_no_read_by_id_or_key_finds_is_kept_once_one_does() {
    let shop = Leaping::applied(&json!({"driftPolicy": "Correct"})).await;
    let id = status(&shop.finish("Deployed").await).id;
    shop.clock.step(LATE);
    for operation in ["getDeploymentById", "getDeploymentByKey"] {
        shop.dev.fault(Fault::of(operation, not_there())).unwrap();
    }
    let creates = shop.until("it is taken for gone", |object| state(object).operation.is_some());
    meanwhile(&shop.clock, FINE, creates).await;
    shop.pass(QUIET_PERIOD).await;
    shop.dev.clear_faults();
    let found = meanwhile(&shop.clock, FINE, shop.until_reason("Deployed")).await;
    assert_eq!(status(&found).id, id);
    assert_eq!(shop.there().len(), 1);
    assert_eq!(shop.sent()[1..], [0, 0], "no redeploy and no undeploy");
}

#[tokio::test]
async fn rule_05_a_list_without_the_deployment_proves_nothing() {
    let shop = Leaping::live().await;
    // A second deployment, so that a LIST takes fewer calls than reads by id.
    shop.sandbox.apply(&named(shop.deployment(), "other")).await.unwrap();
    shop.until_calls("createDeployment", 2).await;
    shop.clock.step(LATE);
    shop.until_so("both are settled", || shop.statuses().iter().all(|it| *it == DeploymentStatus::Deployed)).await;
    let empty = json!({"limit": 100, "offset": 0, "count": 0, "total": 0, "results": []});
    let answer = FaultAnswer { status: Some(200), body: Some(empty), ..FaultAnswer::default() };
    shop.dev.fault(Fault::of("queryDeployments", answer)).unwrap();
    let (lists, reads) = (shop.calls("queryDeployments"), shop.calls("getDeploymentById"));
    for _ in 0..3 {
        shop.pass(LATE + APART).await;
        shop.until_reason("Deployed").await;
    }
    assert!(shop.calls("queryDeployments") > lists && shop.calls("getDeploymentById") > reads);
    assert!(shop.events("RemoteDisappeared").await.is_empty());
    assert_eq!(shop.sent(), [2, 0, 0]);
}
