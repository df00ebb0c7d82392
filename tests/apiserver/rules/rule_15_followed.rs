//! Rule 15: `updatePolicy: Latest`, and a record that does not show the version to which it was moved.

use crate::prelude::*;
use crate::rewriting::{self, Rewrite};

/// Longer than the poll interval of the registry.
const INTERVAL: Duration = Duration::from_mins(6);

/// Shows version 1 of the connector in each record of a deployment.
fn stays_old(object: &mut Value) {
    if object.get("deployedRegion").is_some() {
        object["connector"]["version"] = json!(1);
    }
}

async fn shop() -> Shop {
    let options = Options { deploy_duration: Duration::from_secs(5), ..Options::default() };
    let rewrite = Rewrite { path: ToOwned::to_owned, object: stays_old };
    let follows = json!({"connector": {"key": "demo-connector", "updatePolicy": "Latest"}});
    rewriting::live(options, stepped(), rewrite, &follows).await
}

/// Lets time pass until the next version is read, and the deployment was redeployed this many times; more slowly from the read on,
/// because a call has to leave within 30 s.
async fn until_followed(shop: &Shop, redeploys: u64) {
    let reads = shop.calls("getConnectorByKey");
    meanwhile(&shop.clock, COARSE, until_called(shop, "getConnectorByKey", reads + 1)).await;
    until_called(shop, "updateDeploymentById", redeploys).await;
}

#[tokio::test]
async fn rule_15_a_move_that_the_record_does_not_show_is_sent_once_and_reported() {
    let mut shop = shop().await;
    // The new version declares a key that the running one does not have.
    let add = |connector: &mut ConnectorDefinition| {
        let key = StandardKey { key: "NEW".into(), description: "New".into(), required: false, default: None };
        connector.configurations[0].standard_configuration.push(key);
    };
    shop.dev.world().raise_connector("demo-connector", false, add).unwrap();
    until_followed(&shop, 1).await;
    let words = ["version 1 ", "version 2"];
    until_reported_with::<ConnectorDeployment>(&shop, NAME, "ConnectorVersionMismatch", &words).await;
    for restart in 0..3 {
        let clock = shop.clock.clone();
        meanwhile(&clock, FINE, shop.stop_operator()).await;
        shop.start_operator();
        pass(&shop.clock, COARSE, 2 * INTERVAL).await;
        assert_eq!(shop.calls("updateDeploymentById"), 1, "restart {restart}");
    }
    // A change is sent to the version that runs.
    shop.put_token("second-token-of-the-shop").await;
    until_called(&shop, "updateDeploymentById", 2).await;
    // The condition is that from before.
    let ended = shop.until("its operation has ended", |object| state(object).operation.is_none());
    meanwhile(&shop.clock, FINE, ended).await;
    until_reported_with::<ConnectorDeployment>(&shop, NAME, "ConnectorVersionMismatch", &words).await;
    pass(&shop.clock, COARSE, 2 * INTERVAL).await;
    assert_eq!((shop.calls("createDeployment"), shop.calls("updateDeploymentById")), (1, 2));

    // The next version is followed again.
    shop.dev.world().raise_connector("demo-connector", false, |_| {}).unwrap();
    until_followed(&shop, 3).await;
}
