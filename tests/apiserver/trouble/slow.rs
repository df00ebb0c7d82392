//! An API server that responds late, or not at all while the operator starts.

use super::cluster::{left, shop, until_live};
use crate::prelude::*;

#[tokio::test]
async fn an_api_server_that_takes_seconds_for_every_request_only_delays() {
    let (shop, unreliable) = shop().await;
    unreliable.begin(Which::All, Wrong::Late(Duration::from_secs(3)));
    shop.sandbox.apply(&shop.deployment()).await.unwrap();
    until_live(&shop).await;
    shop.put_token("second-token-of-the-shop").await;
    until_called(&shop, "updateDeploymentById", 1).await;
    until_live(&shop).await;
    left(&shop, "slow", 1);
    shop.delete().await;
    meanwhile(&shop.clock, FINE, shop.until_gone()).await;
    assert!(shop.there().is_empty(), "nothing remains at the remote");
}

#[tokio::test]
async fn an_operator_that_never_reached_the_cluster_ends_on_request() {
    let mut shop = Shop::without_operator(Options::default(), stepped()).await;
    for wrong in [Wrong::Away, Wrong::Refused(403, "Forbidden"), Wrong::Late(Duration::from_hours(1))] {
        let (unreliable, client) = Unreliable::client(&shop.sandbox.client, &shop.clock);
        unreliable.begin(Which::All, wrong);
        shop.start_operator_as(client);
        unreliable.until_met(1).await;
        shop.stop_operator().await;
    }
}

#[tokio::test]
async fn an_operator_that_ends_does_not_wait_hours_for_a_response() {
    // A reconcile in progress has 40 s, as a call may take 30 s; its Events have 10 s more.
    let takes = [(Wrong::Silent, 40..60), (Wrong::Late(Duration::from_hours(1)), 40..60)];
    for (wrong, seconds) in takes {
        let (mut shop, unreliable) = shop().await;
        unreliable.begin(Which::StatusWrites, wrong);
        shop.sandbox.apply(&shop.deployment()).await.unwrap();
        unreliable.until_met(1).await;
        let (clock, asked) = (shop.clock.clone(), shop.clock.now());
        meanwhile(&clock, FINE, shop.stop_operator()).await;
        let took = clock.now().duration_since(asked).as_secs();
        assert!(seconds.contains(&took), "{wrong:?}: {took} s of {seconds:?}: less than the grace period of a pod");
    }
}
