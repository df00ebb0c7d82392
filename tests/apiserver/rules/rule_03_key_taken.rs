//! Rule 3: a resource whose deployment is gone, and whose key another deployment has, goes on once that one is gone,
//! too.

use crate::prelude::*;

/// Longer than the poll interval, and the two reads that prove absence.
const INTERVAL: Duration = Duration::from_mins(7);

/// Deletes the deployment outside the operator; returns the id of another one that has its key since.
fn replace_elsewhere(shop: &Leaping, id: &str) -> String {
    shop.dev.world().remove(id, shop.dev.now()).unwrap();
    shop.make_elsewhere("error")
}

/// A shop with a live deployment, and its id.
async fn live(change: &Value) -> (Leaping, String) {
    let shop = Leaping::with(Options::default()).await;
    shop.apply_deployment(change).await;
    let id = status(&shop.finish("Deployed").await).id.expect("an id");
    shop.clock.step(QUIET_PERIOD);
    (shop, id)
}

#[tokio::test]
async fn rule_03_a_key_that_is_taken_is_looked_up_again_at_the_interval() {
    for (policy, reason, creates) in [("Detect", "RemoteDisappeared", 1), ("Correct", "Creating", 2)] {
        let (shop, id) = live(&json!({"driftPolicy": policy})).await;
        let theirs = replace_elsewhere(&shop, &id);
        shop.reconcile_again().await;
        shop.pass(QUIET).await;
        shop.until_reason("KeyTaken").await;
        shop.dev.world().remove(&theirs, shop.dev.now()).unwrap();
        let start = shop.clock.now();
        let free = meanwhile(&shop.clock, FINE, shop.until_reason(reason)).await;
        assert_eq!(is(&free, names::STALLED), policy == "Detect", "{policy}: rule 19");
        let took = clock::between(start, shop.clock.now());
        assert!(took <= INTERVAL, "{policy}: {took:?}");
        shop.until_calls("createDeployment", creates).await;
        assert_eq!(shop.sent()[1..], [0, 0], "{policy}");
    }
}

#[tokio::test]
async fn rule_08_a_deployment_is_created_again_once_its_key_is_free_again() {
    let mut more = level("info");
    more["removedValuesPolicy"] = json!("Recreate");
    more["configurations"][0]["standardConfiguration"] = json!([{"key": "FEATURES", "value": "one"}]);
    let (shop, id) = live(&more).await;
    shop.change(&json!({"spec": level("info")})).await;
    shop.gathered().await;
    shop.until_calls("deleteDeploymentById", 1).await;
    let theirs = replace_elsewhere(&shop, &id);
    shop.until("accepted", is_accepted).await;
    shop.pass(DEPLOYING).await;
    shop.until_reason("KeyTaken").await;
    shop.put_token("second-token-of-the-shop").await;
    shop.reconcile_again().await;
    assert_eq!(shop.sent()[0], 1);
    shop.dev.world().remove(&theirs, shop.dev.now()).unwrap();
    let start = shop.clock.now();
    meanwhile(&shop.clock, FINE, shop.until_calls("createDeployment", 2)).await;
    let took = clock::between(start, shop.clock.now());
    assert!(took <= INTERVAL, "{took:?}");
    meanwhile(&shop.clock, COARSE, shop.until_reason("Deployed")).await;
    assert_eq!(shop.sent(), [2, 0, 1]);
}
