//! Rules 15 and 16: a pinned deployment that does not run its version. That is reported, and changes are sent all the
//! same.

use super::versions::running;
use crate::prelude::*;

/// Longer than the poll interval of the registry.
const INTERVAL: Duration = Duration::from_mins(6);

/// A deployment that is pinned to version 2, and that somebody has rolled back to version 1.
async fn rolled_back(shop: &Leaping) -> ConnectorDeployment {
    let live = status(&shop.get().await);
    shop.dev.world().raise_connector("demo-connector", false, |_| {}).unwrap();
    shop.redeploy(&json!({"spec": {"connector": {"version": 2}}}), "Deployed").await;
    shop.dev.world().rollback_elsewhere(&live.id.expect("an id"), shop.dev.now()).expect("an earlier revision");
    shop.reconcile_again().await;
    shop.pass(DEPLOYING).await;
    shop.until_reason("ConnectorVersionMismatch").await
}

#[tokio::test]
async fn rule_15_a_pinned_deployment_that_was_rolled_back_reports_both_and_sends_changes() {
    for newer in [false, true] {
        let shop = Leaping::live().await;
        let reported = rolled_back(&shop).await;
        assert_eq!(running(&reported), Some(1), "newer: {newer}");
        let drifted = condition(&reported, names::DRIFTED).expect("it is reported");
        assert_eq!((drifted.status.as_str(), drifted.reason.as_str()), ("True", "RolledBack"), "newer: {newer}");
        assert!(is(&reported, names::SECRETS_UNVERIFIED), "the secured values of the revision are in force");
        let mut reason = "ConnectorVersionMismatch";
        if newer {
            shop.dev.world().raise_connector("demo-connector", false, |_| {}).unwrap();
            shop.pass(INTERVAL).await;
            reason = "ConnectorVersionUnavailable";
            shop.until_reason(reason).await;
        }
        assert_eq!(shop.sent(), [1, 1, 0], "newer: {newer}: it is left as it is");

        let changed = shop.rotate("second-token-of-the-shop", reason).await;
        let id = status(&changed).id.expect("an id");
        let secured = shop.dev.world().secured_is(&id, Some("service"), "API_TOKEN", "second-token-of-the-shop");
        assert_eq!((secured, running(&changed)), (Some(true), Some(1)), "newer: {newer}");
        assert!(!is(&changed, names::SECRETS_UNVERIFIED), "newer: {newer}");
        shop.annotate(names::REDEPLOY_REQUESTED_AT, "once more").await;
        let requested = shop.redeployed(reason).await;
        assert_eq!((ready(&requested).0, running(&requested)), ("False", Some(1)), "newer: {newer}");
        assert_eq!(status(&requested).handled_redeploy_request.as_deref(), Some("once more"));
        shop.pass(INTERVAL).await;
        assert_eq!(shop.sent(), [1, 3, 0], "newer: {newer}");
    }
}
