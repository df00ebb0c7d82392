//! Rule 22: the service refuses to undeploy. What ends that is noticed at once, or with the next poll.

use crate::prelude::*;

/// Longer than the poll interval, and the two reads that prove absence.
const INTERVAL: Duration = Duration::from_mins(7);

/// A shop whose deployment is being deleted, and cannot be undeployed; returns its id.
async fn refused() -> (Leaping, String) {
    let shop = Leaping::live().await;
    let id = status(&shop.get().await).id.expect("an id");
    shop.clock.step(QUIET_PERIOD);
    let refusal = FaultAnswer::error(400, "InvalidField");
    shop.dev.fault(Fault::of("deleteDeploymentById", refusal)).unwrap();
    shop.delete().await;
    let waits = shop.until("refused", |object| ready(object).1 == "RequestRejected").await;
    assert!(message(&waits).contains("InvalidField") || !message(&waits).is_empty());
    assert_eq!(shop.sent(), [1, 0, 1]);
    (shop, id)
}

#[tokio::test]
async fn rule_22_a_deployment_that_is_gone_after_a_refusal_ends_the_deletion() {
    let (shop, id) = refused().await;
    shop.dev.world().remove(&id, shop.dev.now()).unwrap();
    let start = shop.clock.now();
    meanwhile(&shop.clock, FINE, shop.until_gone()).await;
    let took = clock::between(start, shop.clock.now());
    assert!(took <= INTERVAL, "{took:?}");
}

#[tokio::test]
async fn rule_22_an_edit_or_a_request_after_a_refusal_undeploys_at_once() {
    let edits = [
        ("an edit", json!({"spec": {"interval": "7m"}})),
        ("a request", json!({"metadata": {"annotations": {names::RECONCILE_REQUESTED_AT: "now"}}})),
    ];
    for (case, edit) in edits {
        let (shop, _) = refused().await;
        shop.dev.clear_faults();
        // Nothing is sent without a reason.
        shop.clock.step(QUIET_PERIOD);
        shop.until_so("a read", || shop.calls("getDeploymentById") > 0).await;
        assert_eq!(shop.sent(), [1, 0, 1], "{case}");
        let start = shop.clock.now();
        shop.change(&edit).await;
        meanwhile(&shop.clock, SLOW, shop.until_calls("deleteDeploymentById", 2)).await;
        let took = clock::between(start, shop.clock.now());
        assert!(took < Duration::from_mins(1), "{case}: {took:?}");
        shop.clock.step(DEPLOYING);
        meanwhile(&shop.clock, FINE, shop.until_gone()).await;
    }
}

#[tokio::test]
async fn rule_23_orphan_after_a_refusal_leaves_the_deployment_at_once() {
    let (shop, id) = refused().await;
    shop.change(&json!({"spec": {"deletionPolicy": "Orphan"}})).await;
    shop.until_gone().await;
    assert_eq!(shop.sent(), [1, 0, 1]);
    assert_eq!(shop.there().remove(0).id, id);
}
