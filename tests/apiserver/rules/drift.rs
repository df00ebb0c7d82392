//! Rule 16, for values: what counts as drift, what is reported, and what `driftPolicy: Correct` sends. Rollbacks are
//! in `versions.rs`.

use super::redeploying::{live_with, retrying};
use crate::prelude::*;

/// Longer than the poll interval.
const INTERVAL: Duration = Duration::from_mins(6);

fn is_drifted(object: &ConnectorDeployment) -> bool {
    is(object, names::DRIFTED)
}

fn drift(policy: &str) -> Value {
    json!({"driftPolicy": policy})
}

impl Leaping {
    /// A shop with a live deployment under this drift policy.
    async fn under(policy: &str, options: Options) -> Self {
        let shop = Self::with(options).await;
        shop.apply_deployment(&drift(policy)).await;
        shop.finish("Deployed").await;
        shop
    }

    /// Redeploys with this configuration of an application outside the operator, and lets it end.
    fn deploy_elsewhere(&self, configuration: &Value) {
        let action: RedeployAction =
            serde_json::from_value(json!({"configurationValues": [configuration]})).expect("an action");
        let (id, now) = (self.there().remove(0).id, self.dev.now());
        self.dev.world().redeploy_elsewhere(&id, &action, now).expect("a redeploy outside the operator");
        self.dev.world().finish(&id, now).expect("it ends");
    }

    fn set_elsewhere(&self, key: &str, value: &str) {
        let values = json!([{"key": key, "value": value}]);
        self.deploy_elsewhere(&json!({"applicationName": "service", "standardConfiguration": values}));
    }

    /// Returns a value of the deployment, as the remote returns it.
    fn shown(&self, key: &str) -> Option<String> {
        self.plain().into_iter().find(|(found, _)| found == key).map(|(_, value)| value)
    }
}

/// Another client sets a value that the spec does not name.
async fn nothing_that_was_not_sent_drifts(shop: &Leaping) {
    shop.set_elsewhere("FEATURES", "of-somebody-else");
    for seen in [shop.reconcile_again().await, shop.pass(INTERVAL).await] {
        assert!(!is_drifted(&seen), "{:?}", seen.status);
        assert_eq!((ready(&seen), shop.sent()), (("True", "Deployed"), [1, 0, 0]));
    }
}

#[tokio::test]
async fn rule_16_drift_is_reported_and_not_corrected_by_default() {
    let shop = Leaping::under("Detect", Options::default()).await;
    nothing_that_was_not_sent_drifts(&shop).await;
    shop.set_elsewhere("LOG_LEVEL", "debug");
    shop.reconcile_again().await;
    let reported = shop.until("drifted", is_drifted).await;
    let message = &condition(&reported, names::DRIFTED).expect("it is reported").message;
    assert!(message.contains(": service/LOG_LEVEL;") && !message.contains("debug"), "{message}");
    shop.pass(INTERVAL).await;

    let ignored = shop.change_until(&json!({"spec": drift("Ignore")}), "Deployed").await;
    assert!(!is_drifted(&ignored), "{:?}", ignored.status);
    assert_eq!(shop.sent(), [1, 0, 0], "nothing was corrected");
}

#[tokio::test]
async fn rule_16_correct_redeploys_once_for_each_distinct_difference() {
    let shop = Leaping::under("Correct", Options::default()).await;
    nothing_that_was_not_sent_drifts(&shop).await;
    for (redeploys, level) in [(1, "debug"), (2, "warn")] {
        shop.set_elsewhere("LOG_LEVEL", level);
        shop.annotate(names::RECONCILE_REQUESTED_AT, level).await;
        let corrected = shop.redeployed("Deployed").await;
        assert!(!is_drifted(&corrected), "{level}: {:?}", corrected.status);
        assert_eq!(shop.shown("LOG_LEVEL").as_deref(), Some("info"), "{level}");
        shop.pass(INTERVAL).await;
        assert_eq!(shop.sent(), [1, redeploys, 0], "{level}");
    }
}

#[tokio::test]
async fn rule_16_of_a_retry_policy_only_sent_members_that_reads_return_are_compared() {
    let sent = json!({"strategy": "exponential-backoff", "minBackoffSeconds": 20, "maxBackoffSeconds": 60});
    for (case, retry_policies, theirs, drifts) in [
        ("a member that was sent", Shown::Shown, json!({"strategy": "immediate"}), true),
        ("the remote does not return the policy", Shown::Hidden, json!({"strategy": "immediate"}), false),
    ] {
        let variant = Variant { retry_policies, ..Variant::default() };
        let shop = live_with(Options { variant, ..Options::default() }, &retrying(&sent)).await;
        shop.deploy_elsewhere(&json!({"applicationName": "order-events", "retryPolicy": theirs}));
        shop.reconcile_again().await;
        let seen = shop.pass(INTERVAL).await;
        assert_eq!(is_drifted(&seen), drifts, "{case}: {:?}", seen.status);
        assert_eq!(shop.sent(), [1, 0, 0], "{case}");
    }
}

/// The remote returns other values than those sent, and the operator's last operation failed: nothing of it is live.
#[tokio::test]
async fn rule_16_a_foreign_redeploy_after_a_failed_one_does_not_make_it_ready() {
    let shop = Leaping::live().await;
    let id = status(&shop.get().await).id.expect("an id");
    let outcome = PlannedOutcome::failure("service", "It failed", "As the test wants it");
    shop.change(&json!({"spec": level("warn")})).await;
    shop.gathered().await;
    shop.until("a redeploy is accepted", is_accepted).await;
    shop.dev.world().plan_outcome(&id, outcome, shop.dev.now()).expect("the deployment exists");
    shop.pass(DEPLOYING).await;
    shop.until_reason("RedeployFailed").await;

    shop.set_elsewhere("LOG_LEVEL", "debug");
    let reported = shop.reconcile_again().await;
    assert_eq!(shop.statuses(), [DeploymentStatus::Deployed]);
    assert_eq!(ready(&reported).0, "False", "{:?}", reported.status);
    assert!(is_drifted(&reported), "{:?}", reported.status);
    shop.pass(INTERVAL).await;
    assert_eq!(ready(&shop.get().await).0, "False");
    assert_eq!(shop.sent(), [1, 1, 0]);
}

/// The connector version stays the same: only the revision in the record shows the rollback.
#[tokio::test]
async fn rule_16_a_revision_that_the_record_names_is_a_rollback() {
    let shop = Leaping::under("Detect", Options::default()).await;
    let id = status(&shop.get().await).id.expect("an id");
    shop.redeploy(&json!({"spec": level("debug")}), "Deployed").await;
    let now = shop.dev.now();
    shop.dev.world().rollback_elsewhere(&id, now).expect("an earlier revision exists");
    shop.dev.world().finish(&id, now).expect("it ends");
    let reported = shop.reconcile_again().await;
    assert_eq!(condition(&reported, names::DRIFTED).map(|drifted| drifted.reason.as_str()), Some("RolledBack"));
    assert!(is(&reported, names::SECRETS_UNVERIFIED), "{:?}", reported.status);
    shop.pass(INTERVAL).await;
    assert_eq!(shop.shown("LOG_LEVEL").as_deref(), Some("info"), "it is not corrected");
    assert_eq!(shop.sent(), [1, 1, 0]);

    // Another redeploy is due: it sends the spec, and a revision that was reported already is not reported again.
    let moved = shop.redeploy(&json!({"spec": level("warn")}), "Deployed").await;
    assert!(!is_drifted(&moved) && !is(&moved, names::SECRETS_UNVERIFIED), "{:?}", moved.status);
    shop.pass(INTERVAL).await;
    assert_eq!(shop.sent(), [1, 2, 0]);
}
