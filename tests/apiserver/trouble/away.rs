//! The remote refuses connections, requests a pause, or returns an unknown status.

use std::time::Duration;

use clock::between;
use connect_api::model::DeploymentStatus;
use connect_operator::names;
use dev_server::{DevServer, FaultAnswer, FaultEffect, Options};

use super::faults::lifecycle_with;
use super::pace::{FINE, meanwhile, pass, stepped};
use crate::addresses;
use crate::shop::Shop;

/// Steps of the clock within which a call may have been in flight when the pause was requested.
const UNDER_WAY: Duration = Duration::from_secs(1);

#[tokio::test]
async fn nothing_is_sent_before_retry_after_is_over() {
    let pause = Duration::from_secs(20);
    let asked = |status| FaultAnswer::text(status, "").with_header("Retry-After", "20");
    let rows = [("429", asked(429)), ("503", asked(503))];
    let lives = rows.map(|(case, answer)| async move {
        let calls = lifecycle_with((case, FaultEffect::Before, answer)).await;
        let answered: Vec<_> = calls.iter().filter(|call| call.status.to_string() == case).collect();
        assert!(answered.len() >= 5, "{case}: at each operation");
        for answered in answered {
            let too_early = |at| between(answered.at, at) > UNDER_WAY && between(answered.at, at) < pause;
            let early: Vec<_> = calls.iter().filter(|call| too_early(call.at)).collect();
            assert!(early.is_empty(), "{case} to {} at {}: {early:?}", answered.operation, answered.at);
        }
    });
    futures::future::join_all(lives).await;
}

/// Stops the remote, runs `done`, and starts the remote again on its port with its former state. Nobody else gets the port
/// meanwhile.
async fn while_away(shop: &mut Shop, options: &Options, done: impl AsyncFnOnce(&Shop)) {
    let address = shop.dev.address();
    let elsewhere = DevServer::start(Options::default(), shop.clock.clone()).await.unwrap();
    std::mem::replace(&mut shop.dev, elsewhere).stop().await.unwrap();
    let held = addresses::closed_at(address).unwrap();
    done(shop).await;
    pass(&shop.clock, FINE, Duration::from_secs(30)).await;
    shop.dev = DevServer::start_on(held.listen(64).unwrap(), options.clone(), shop.clock.clone()).await.unwrap();
}

#[tokio::test]
async fn a_remote_that_refuses_connections_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let state_file = Some(folder.path().join("state.json"));
    let options = Options { deploy_duration: Duration::from_secs(5), state_file, ..Options::default() };
    let mut shop = Shop::with(options.clone(), stepped()).await;
    shop.put_token("first-token-of-the-shop").await;

    while_away(&mut shop, &options, async |shop| {
        shop.sandbox.apply(&shop.deployment()).await.unwrap();
        meanwhile(&shop.clock, FINE, shop.until_reason("ServiceUnavailable")).await;
    })
    .await;
    meanwhile(&shop.clock, FINE, shop.until_reason("Deployed")).await;

    while_away(&mut shop, &options, async |shop| {
        shop.put_token("second-token-of-the-shop").await;
        meanwhile(&shop.clock, FINE, shop.until_reason("ServiceUnavailable")).await;
    })
    .await;
    meanwhile(&shop.clock, FINE, shop.until_reason("Deployed")).await;
    let versions: Vec<_> = shop.dev.world().all(shop.clock.now()).iter().map(|live| live.version).collect();
    assert_eq!(versions, [2], "one create, one redeploy");

    while_away(&mut shop, &options, async |shop| shop.delete().await).await;
    meanwhile(&shop.clock, FINE, shop.until_gone()).await;
    assert!(shop.dev.world().all(shop.clock.now()).is_empty());
}

#[tokio::test]
async fn an_unknown_status_is_shown_and_waited_for() {
    let shop = Shop::live().await;
    let id = shop.get().await.status.and_then(|status| status.id).unwrap();
    let unknown = DeploymentStatus::Other("Hibernating".to_owned());
    shop.dev.world().set_status(&id, unknown, shop.dev.now()).unwrap();
    shop.annotate(names::RECONCILE_REQUESTED_AT, "once").await;
    let shown = shop.until("shown", |object| {
        object.status.as_ref().and_then(|status| status.deployment_status.as_deref()) == Some("Hibernating")
    });
    let conditions = shown.await.status.unwrap().conditions;
    assert!(!conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True"));
    shop.dev.world().set_status(&id, DeploymentStatus::Deployed, shop.dev.now()).unwrap();
    shop.annotate(names::RECONCILE_REQUESTED_AT, "twice").await;
    shop.until_reason("Deployed").await;
    assert_eq!((shop.calls("createDeployment"), shop.calls("updateDeploymentById")), (1, 0));
}
