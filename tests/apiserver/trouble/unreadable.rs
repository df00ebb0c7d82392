//! One record that cannot be decoded, in a project that works otherwise: what waits for it is reported, and goes on as soon
//! as the record can be read.

use super::pace::{call_lines, most_in_10_seconds};
use crate::prelude::*;

const REASON: &str = "ServiceUnavailable";
const WORDS: [&str; 2] = ["The answer of the service cannot be read", "getDeploymentById"];

/// From now on, the one record has half a surrogate pair in a member that decisions need, by id and in lists.
fn spoil(shop: &Shop) {
    let id = shop.there().remove(0).id;
    let record = format!(r#"{{"id": "{id}", "version": 1, "status": "cut \ud83d"}}"#);
    let page = format!(r#"{{"limit": 1, "offset": 0, "count": 1, "total": 1, "results": [{record}]}}"#);
    for (operation, body) in [("getDeploymentById", record), ("queryDeployments", page)] {
        let answer = FaultAnswer::text(200, &body).with_header("Content-Type", "application/json");
        shop.dev.fault(Fault::of(operation, answer)).unwrap();
    }
}

/// Shorter than the first pause after a failed read: the call that finds out whether the service works comes before it.
const STEP: Duration = Duration::from_millis(500);

/// Lets six minutes pass, more than the interval of its polls; asserts that nothing is written meanwhile and that there are few calls.
async fn nothing_changes_in_six_minutes(shop: &Shop) {
    let (started, before) = (shop.clock.now(), shop.get().await);
    pass(&shop.clock, STEP, Duration::from_mins(6)).await;
    assert_eq!(shop.get().await.resource_version(), before.resource_version());
    let calls = shop.dev.calls();
    let lately = calls.iter().filter(|call| call.at >= started).count();
    assert!(lately <= 40, "{lately} calls in 6 min\n{}", call_lines(&calls, started));
    let most = most_in_10_seconds(&calls, started);
    // Reads after 1, 2 and 4 s, and after each one the call that finds out whether the service works.
    assert!(most <= 8, "{most} calls in 10 s\n{}", call_lines(&calls, started));
    let project = Api::<ConnectProject>::get(&shop.api(), PROJECT).await.unwrap();
    assert!(has(&project, names::READY), "the project works");
}

#[tokio::test]
async fn rule_20_a_record_that_cannot_be_read_holds_back_a_change_and_a_deletion_and_their_status_says_so() {
    let options = Options { deploy_duration: Duration::from_secs(5), seed: Some(1), ..Options::default() };
    let shop = Shop::with(options, stepped()).await;
    shop.put_token("first-token-of-the-shop").await;
    shop.sandbox.apply(&shop.deployment()).await.unwrap();
    meanwhile(&shop.clock, FINE, shop.until_reason("Deployed")).await;
    let is = |object: &ConnectorDeployment| object.annotations().contains_key(names::REMOTE_ID);
    meanwhile(&shop.clock, COARSE, shop.until("its id is annotated", is)).await;
    pass(&shop.clock, COARSE, Duration::from_mins(20)).await;

    spoil(&shop);
    nothing_changes_in_six_minutes(&shop).await;
    shop.sandbox.apply(&shop.with_level("debug")).await.unwrap();
    let reported: ConnectorDeployment = until_reported_with(&shop, NAME, REASON, &WORDS).await;
    assert_eq!(reported.status.map(|status| status.observed_generation), reported.metadata.generation);
    nothing_changes_in_six_minutes(&shop).await;
    shop.until_event(REASON).await;
    let events = shop.events(REASON).await;
    assert_eq!((events.len(), shop.calls("updateDeploymentById")), (1, 0), "{events:#?}");

    shop.dev.clear_faults();
    meanwhile(&shop.clock, FINE, shop.until_reason("Deployed")).await;
    assert_eq!(shop.calls("updateDeploymentById"), 1);

    spoil(&shop);
    shop.delete().await;
    until_reported_with::<ConnectorDeployment>(&shop, NAME, REASON, &WORDS).await;
    nothing_changes_in_six_minutes(&shop).await;
    assert_eq!(shop.calls("deleteDeploymentById"), 0);
    shop.dev.clear_faults();
    meanwhile(&shop.clock, FINE, shop.until_gone()).await;
    assert!(shop.there().is_empty());
    assert_eq!((shop.calls("deleteDeploymentById"), shop.calls("updateDeploymentById")), (1, 1));
}
