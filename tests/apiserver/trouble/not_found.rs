//! A project that answers 404 to everything, because it or its API client was removed, or a gateway has lost it:
//! nothing is
//! concluded about its deployments.

use std::time::Duration;

use connect_operator::crd::ConnectorDeployment;
use connect_operator::names;
use dev_server::{Fault, FaultAnswer};
use serde_json::json;

use super::cluster::options;
use super::pace::{COARSE, FINE, meanwhile, pass, stepped};
use super::until_reported_with;
use crate::manifests::with_spec;
use crate::shop::{NAME, Shop};

/// A shop with a live deployment that is created again when it is gone.
async fn live() -> Shop {
    let shop = Shop::with(options(), stepped()).await;
    shop.put_token("first-token-of-the-shop").await;
    let correct = json!({"drift": {"policy": "Correct"}});
    shop.sandbox.apply(&with_spec(shop.deployment(), &correct)).await.unwrap();
    until_reported_with::<ConnectorDeployment>(&shop, NAME, "Deployed", &[]).await;
    // After this time a 404 would count.
    pass(&shop.clock, COARSE, Duration::from_mins(5)).await;
    shop
}

fn nothing_is_there(shop: &Shop) {
    let answer = FaultAnswer::error(404, "ResourceNotFound");
    shop.dev.fault(Fault { path: Some("/demo/".to_owned()), answer, ..Fault::default() }).unwrap();
}

#[tokio::test]
async fn rules_5_and_22_a_project_that_answers_404_to_everything_proves_nothing_about_its_deployment() {
    let shop = live().await;
    nothing_is_there(&shop);
    // Before anything has found out about the project.
    shop.delete().await;
    let words = ["deletionPolicy: Orphan"];
    until_reported_with::<ConnectorDeployment>(&shop, NAME, "ProjectNotFound", &words).await;
    pass(&shop.clock, COARSE, Duration::from_mins(15)).await;
    let kept = shop.api::<ConnectorDeployment>().get_opt(NAME).await.unwrap();
    assert!(kept.is_some(), "its deployment still exists");
    assert_eq!(shop.events("Undeployed").await, [""; 0]);

    shop.dev.clear_faults();
    meanwhile(&shop.clock, FINE, shop.until_gone()).await;
    let now = shop.dev.now();
    assert!(shop.dev.world().all(now).is_empty(), "it was undeployed once the project was there again");
    assert_eq!(shop.calls("createDeployment"), 1);
}

#[tokio::test]
async fn rule_05_a_deployment_of_a_project_that_answers_404_to_everything_is_not_created_again() {
    let shop = live().await;
    nothing_is_there(&shop);
    for request in 0..5 {
        shop.annotate(names::RECONCILE_REQUESTED_AT, &format!("look-{request}")).await;
        pass(&shop.clock, COARSE, Duration::from_mins(3)).await;
        let object = shop.get().await;
        let conditions = object.status.map(|status| status.conditions).unwrap_or_default();
        assert!(conditions.iter().all(|it| it.reason != "RemoteDisappeared"), "{conditions:?}");
    }
    assert_eq!(shop.events("RemoteDisappeared").await, [""; 0]);
    shop.dev.clear_faults();
    pass(&shop.clock, COARSE, Duration::from_mins(15)).await;
    until_reported_with::<ConnectorDeployment>(&shop, NAME, "Deployed", &[]).await;
    assert_eq!(shop.calls("createDeployment"), 1);
}
