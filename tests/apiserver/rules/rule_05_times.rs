//! Rule 5: the times of the reads prove absence, and not the time at which something is concluded from them.

use crate::prelude::*;
use crate::trouble::cluster::{left, shop, until_live};

/// Its reads can be held back.
const SECRET: &str = "held-token";

#[tokio::test]
async fn rule_05_a_slow_read_of_a_secret_between_two_404s_is_no_time_between_them() {
    let (shop, unreliable) = shop().await;
    shop.put_secret(SECRET, &[("token", "first-token-of-the-shop")]).await;
    let from = json!({"secretKeyRef": {"name": SECRET, "key": "token"}});
    let spec = json!({"driftPolicy": "Correct", "configurations": [{
        "applicationName": "service", "securedConfiguration": [{"key": "API_TOKEN", "valueFrom": from}]}]});
    shop.sandbox.apply(&with_spec(shop.deployment(), &spec)).await.unwrap();
    until_live(&shop).await;
    pass(&shop.clock, COARSE, Duration::from_mins(5)).await;

    // Reads by id and by key are wrong for a few seconds.
    for operation in ["getDeploymentById", "getDeploymentByKey"] {
        shop.dev.fault(Fault::of(operation, FaultAnswer::error(404, "ResourceNotFound"))).unwrap();
    }
    shop.annotate(names::RECONCILE_REQUESTED_AT, "first").await;
    let handled = shop.until("the first 404", |object| {
        let status = object.status.as_ref();
        status.is_some_and(|status| status.handled_reconcile_request.as_deref() == Some("first"))
    });
    // Slowly: the two reads are to be less than 30 s apart.
    meanwhile(&shop.clock, SLOW, handled).await;
    unreliable.hold(Hold::Secrets(SECRET));
    shop.put_secret(SECRET, &[("token", "second-token-of-the-shop")]).await;
    meanwhile(&shop.clock, SLOW, unreliable.until_held(1)).await;
    shop.dev.clear_faults();
    pass(&shop.clock, FINE, Duration::from_secs(35)).await;
    unreliable.release();

    // All that follows is the redeploy for the other token.
    let redeployed = shop.until("redeployed", |object| {
        let version = object.status.as_ref().and_then(ConnectorDeploymentStatus::remote_version);
        version == Some(2) && state(object).operation.is_none()
    });
    meanwhile(&shop.clock, FINE, redeployed).await;
    until_live(&shop).await;
    assert_eq!(shop.events("RemoteDisappeared").await, [""; 0]);
    left(&shop, "one read after the other", 1);
}
