//! The response to an accepted call, at the end of the process before a status has it.

use futures::future;

use super::many::{AT_ONCE, redeploys, until_all_are_ready_and_the_remote_is_slow, until_all_are_redeployed};
use super::pace::until_called_at;
use crate::prelude::*;

/// Four times as many as are redeployed at once.
const MANY: usize = 4 * AT_ONCE;

/// A process that is stopped, as at each upgrade, ends the reconciles that have begun, with the write of their response. Where the
/// API server does not take it, the response is lost, and no redeploy is sent again.
#[tokio::test]
async fn rule_6_an_orderly_stop_sends_no_redeploy_again() {
    let rows = [None, Some(Wrong::Refused(500, "InternalError")), Some(Wrong::Silent)].map(|wrong| async move {
        let (mut shop, unreliable) = with_many().await;
        shop.put_token("second-token-of-the-shop").await;
        // Slowly, so that the rate of the project lets no more out while the machine is late to notice these.
        until_called_at(&shop, SLOW, "updateDeploymentById", AT_ONCE as u64).await;
        if let Some(wrong) = wrong {
            unreliable.begin(Which::StatusWrites, wrong);
        }
        // A reconcile that has written its operation still sends the call, at the rate of the project.
        let clock = shop.clock.clone();
        let fails = async {
            if wrong.is_some() {
                unreliable.until_met(1).await;
                unreliable.end();
            }
        };
        future::join(fails, meanwhile(&clock, SLOW, shop.stop_operator())).await;
        assert!(shop.calls("updateDeploymentById") < MANY as u64, "{wrong:?}: others wait");
        if wrong.is_none() {
            assert_eq!(planned(&shop).await, [""; 0], "operations whose response is not stored");
        }
        shop.start_operator();
        until_all_are_redeployed(&shop, MANY).await;
        assert_eq!(redeploys(&shop), MANY, "{wrong:?}");
    });
    future::join_all(rows).await;
}

/// A reconcile that is abandoned at the end of the process, because the write of its response is not answered.
#[tokio::test]
async fn rule_6_a_response_whose_write_hangs_at_the_stop_is_read_from_the_record() {
    let mut shop = Shop::without_operator(Options::default(), stepped()).await;
    let (unreliable, client) = Unreliable::client(&shop.sandbox.client, &shop.clock);
    shop.start_operator_as(client);
    shop.put_project_and_secrets().await;
    shop.sandbox.apply(&shop.deployment()).await.unwrap();
    meanwhile(&shop.clock, FINE, shop.until_reason("Deployed")).await;
    unreliable.begin(Which::Responses, Wrong::Silent);
    shop.change(&json!({"spec": level("debug")})).await;
    meanwhile(&shop.clock, FINE, unreliable.until_met(1)).await;
    assert_eq!((shop.calls("updateDeploymentById"), planned(&shop).await.len()), (1, 1), "the call is accepted");
    unreliable.end();
    let clock = shop.clock.clone();
    meanwhile(&clock, SLOW, shop.stop_operator()).await;
    shop.start_operator();
    let ended = |object: &ConnectorDeployment| state(object).is_none();
    meanwhile(&clock, FINE, shop.until("its operation has ended", ended)).await;
    assert_eq!(shop.calls("updateDeploymentById"), 1);
}

/// Returns many live deployments.
async fn with_many() -> (Shop, Unreliable) {
    let options = Options { deploy_duration: Duration::from_secs(20), ..Options::default() };
    let mut shop = Shop::without_operator(options, stepped()).await;
    let (unreliable, client) = Unreliable::client(&shop.sandbox.client, &shop.clock);
    shop.start_operator_as(client);
    until_all_are_ready_and_the_remote_is_slow(&shop, MANY).await;
    (shop, unreliable)
}

/// Names of the resources whose operation is stored without a response.
async fn planned(shop: &Shop) -> Vec<String> {
    let stored = shop.api::<ConnectorDeployment>().list(&ListParams::default()).await.unwrap();
    stored.iter().filter(|object| state(object) == Some(OperationState::Planned)).map(ResourceExt::name_any).collect()
}

fn state(object: &ConnectorDeployment) -> Option<OperationState> {
    crate::shop::state(object).operation.map(|operation| operation.state)
}
