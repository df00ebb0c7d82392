//! What is told of values that somebody else changed.

use connect_operator::connect::model::RedeployAction;
use connect_operator::controllers::conditions::is_true;
use connect_operator::crd::ConnectorDeployment;
use connect_operator::names;
use serde_json::json;

use crate::shop::Shop;

fn is_drifted(object: &ConnectorDeployment) -> bool {
    object.status.as_ref().is_some_and(|status| is_true(&status.conditions, names::DRIFTED))
}

#[tokio::test]
async fn drift_is_said_and_not_corrected_unless_it_is_to_be_ignored() {
    let shop = Shop::live().await;
    let id = shop.get().await.status.and_then(|status| status.id).expect("an id");
    let theirs: RedeployAction = serde_json::from_value(json!({"configurationValues": [{
        "applicationName": "service",
        "standardConfiguration": [{"key": "LOG_LEVEL", "value": "debug"}],
    }]}))
    .unwrap();
    let now = shop.dev.now();
    shop.dev.world().redeploy_elsewhere(&id, &theirs, now).expect("somebody else redeploys");
    shop.annotate(names::RECONCILE_REQUESTED_AT, "now").await;
    shop.until("drifted", is_drifted).await;

    shop.change(&json!({"spec": {"drift": {"policy": "Ignore"}}})).await;
    let ignored = shop
        .until("the policy was seen", |object| {
            object.status.as_ref().is_some_and(|status| Some(status.observed_generation) == object.metadata.generation)
        })
        .await;
    assert!(!is_drifted(&ignored), "{:?}", ignored.status);
    assert_eq!(shop.calls("updateDeploymentById"), 0, "nothing was corrected");
}
