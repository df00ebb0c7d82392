//! A gateway that sends a request to the service twice and passes the second answer on: it may be about the first one.

use crate::prelude::*;

/// The operation happens, and the answer is that of the second request.
fn second_answer(operation: &str, status: u16, code: &str) -> Fault {
    Fault::of(operation, FaultAnswer::error(status, code)).after_the_effect().times(1)
}

#[tokio::test]
async fn rule_02_a_create_that_arrived_twice_is_not_somebody_elses() {
    let shop = Leaping::open().await;
    shop.dev.fault(second_answer("createDeployment", 400, "DuplicateField")).unwrap();
    let mut history = shop.history().await;
    shop.apply_deployment(&json!({})).await;
    meanwhile(&shop.clock, FINE, shop.until_reason("Deployed")).await;
    let versions = history.until(|object| ready(object).1 == "Deployed").await;
    let reported: Vec<_> = versions.iter().map(ready).collect();
    assert!(reported.iter().all(|(status, reason)| *status != "False" && *reason != "KeyTaken"), "{reported:?}");
    shop.pass(QUIET_PERIOD).await;
    assert_eq!(shop.sent(), [1, 0, 0]);
}

#[tokio::test]
async fn rule_08_a_redeploy_that_arrived_twice_is_not_sent_again() {
    for secured in [false, true] {
        let shop = Leaping::live().await;
        shop.dev.fault(second_answer("updateDeploymentById", 409, "ConcurrentModification")).unwrap();
        if secured {
            shop.put_token("second-token-of-the-shop").await;
        } else {
            shop.change(&json!({"spec": level("debug")})).await;
        }
        shop.gathered().await;
        shop.until_calls("updateDeploymentById", 1).await;
        // It is observed while it runs.
        shop.until("observed", |object| state(object).operation.is_some_and(|operation| operation.seen_busy)).await;
        shop.clock.step(DEPLOYING);
        let ended = shop.until("the operation ends", |object| state(object).operation.is_none());
        meanwhile(&shop.clock, FINE, ended).await;
        shop.until_reason("Deployed").await;
        shop.pass(QUIET_PERIOD + Duration::from_mins(6)).await;
        shop.until_reason("Deployed").await;
        assert_eq!(shop.sent(), [1, 1, 0], "secured: {secured}");
    }
}
