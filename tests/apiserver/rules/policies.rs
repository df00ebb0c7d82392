//! Rules 20 and 21: observing only, suspending, an unavailable remote, and no write without a change.

use crate::prelude::*;
use crate::reported::reason as reason_of;

fn observing() -> Value {
    json!({"managementPolicy": "ObserveOnly"})
}

#[tokio::test]
async fn rule_20_observing_reads_no_secret_sends_nothing_and_is_deleted_at_once() {
    let (shop, id) = Leaping::beside("debug").await;
    // Its Secret does not exist, and is not needed.
    let live = shop.apply_until(&with_spec(shop.deployment(), &observing()), "Observed").await;
    assert_eq!(ready(&live).0, "True");
    assert!(live.finalizers().is_empty());
    assert_eq!(live.annotations().get(names::REMOTE_ID), None, "no annotation is written");
    assert_eq!(status(&live).remote_state(), Some("Deployed"));

    let now = shop.dev.now();
    shop.dev.world().set_status(&id, DeploymentStatus::Failed, now).unwrap();
    assert_eq!(ready(&shop.reconcile_again().await), ("False", "DeploymentFailed"));
    shop.dev.world().redeploy_elsewhere(&id, &RedeployAction::default(), now).unwrap();
    assert_eq!(ready(&shop.reconcile_again().await).0, "Unknown");
    shop.pass(DEPLOYING).await;
    shop.until_reason("Observed").await;

    shop.annotate(names::REDEPLOY_REQUESTED_AT, "now").await;
    shop.change(&json!({"spec": level("info")})).await;
    shop.pass(Duration::from_mins(10)).await;
    assert_eq!(ready(&shop.until_reason("Observed").await).0, "True");
    shop.delete_wholly().await;
    assert_eq!(shop.sent(), [0, 0, 0]);
    assert_eq!(shop.dev.world().id_of("demo", &shop.key(), now), Some(id));
}

#[tokio::test]
async fn rule_20_a_suspended_resource_observes_and_sends_nothing() {
    let shop = Leaping::applied(&json!({"suspend": true})).await;
    let held = shop.until_reason("Suspended").await;
    assert_eq!(ready(&held).0, "False");
    assert!(is(&held, names::SUSPENDED));
    assert!(!is(&held, names::STALLED) && !is(&held, names::RECONCILING));
    shop.pass(Duration::from_mins(10)).await;
    assert_eq!(shop.sent(), [0, 0, 0]);
    assert_eq!(state(&shop.get().await).operation, None);
    shop.change(&json!({"spec": {"suspend": false, "driftPolicy": "Correct"}})).await;
    assert!(!is(&shop.until("accepted", is_accepted).await, names::SUSPENDED));

    // The operation is polled to its end. Live and suspended: the remote is still observed, a change waits, and what
    // differs from the spec alone is no drift (rule 16).
    shop.change(&json!({"spec": {"suspend": true}})).await;
    let live = shop.finish("Deployed").await;
    assert!(is(&live, names::SUSPENDED));
    shop.change(&json!({"spec": level("debug")})).await;
    assert!(!is(&shop.until_reason("Suspended").await, names::DRIFTED));
    shop.put_token("second-token-of-the-shop").await;
    shop.annotate(names::REDEPLOY_REQUESTED_AT, "now").await;
    shop.pass(GATHER).await;
    shop.pass(GATHER).await;
    shop.until_reason("Suspended").await;
    let id = status(&live).id.expect("an id");
    shop.dev.world().bump_version(&id, shop.dev.now()).unwrap();
    assert_eq!(status(&shop.reconcile_again().await).remote_version(), Some(2));
    assert_eq!(shop.sent(), [1, 0, 0]);
}

#[tokio::test]
async fn rule_20_a_suspended_resource_is_not_undeployed_when_it_is_deleted() {
    let held = async || {
        let shop = Leaping::live().await;
        shop.change(&json!({"spec": {"suspend": true}})).await;
        shop.delete().await;
        let waits = |object: &ConnectorDeployment| object.metadata.deletion_timestamp.is_some();
        let held = shop.until("it waits", |object| waits(object) && ready(object).1 == "Suspended").await;
        let message = message(&held);
        for way in ["set suspend to false", "deletionPolicy: Orphan"] {
            assert!(message.contains(way), "{message}");
        }
        shop.pass(Duration::from_mins(30)).await;
        assert!(waits(&shop.get().await));
        assert_eq!(shop.sent(), [1, 0, 0], "nothing is sent");
        shop
    };
    let resumed = held().await;
    resumed.change(&json!({"spec": {"suspend": false}})).await;
    resumed.undeployed().await;

    let kept = held().await;
    kept.change(&json!({"spec": {"deletionPolicy": "Orphan"}})).await;
    kept.until_gone().await;
    assert_eq!(kept.sent(), [1, 0, 0], "the deployment stays");
}

#[tokio::test]
async fn rule_20_a_restart_while_the_remote_is_unavailable_keeps_settled_states() {
    for (wanted, reason) in [("info", "Deployed"), ("loud", "DeploymentFailed")] {
        let mut shop = Leaping::applied(&level(wanted)).await;
        shop.finish(reason).await;
        let before = shop.reconcile_again().await;
        shop.stop_operator().await;
        shop.dev.fault(Fault { answer: FaultAnswer::text(503, "out of order"), ..Fault::default() }).unwrap();
        let tokens = shop.calls("token");
        shop.start_operator();
        shop.until_calls("token", tokens + 1).await;
        // The reconcile of the change comes after that of the start.
        shop.annotate(names::RECONCILE_REQUESTED_AT, "while it is away").await;
        shop.until_project("not ready", |project| reason_of(project) == "ServiceUnavailable").await;
        shop.dev.clear_faults();
        let after = shop.pass(Duration::from_mins(2)).await;
        assert_eq!(status(&after).conditions, status(&before).conditions, "{reason}");
        assert_eq!(shop.events(reason).await.len(), 1, "{reason}");
        assert!(shop.events("ServiceUnavailable").await.len() <= 1, "the project reports it for all");
        assert_eq!(shop.sent(), [1, 0, 0], "{reason}");
    }
}

#[tokio::test]
async fn rule_21_neither_the_spec_nor_fields_of_other_owners_are_written() {
    let shop = Leaping::live().await;
    let live = shop.rotate("second-token-of-the-shop", "Deployed").await;
    assert_eq!(live.metadata.generation, Some(1));
    let ours: Vec<_> =
        live.managed_fields().iter().filter(|entry| entry.manager.as_deref() == Some(names::FIELD_MANAGER)).collect();
    assert!(!ours.is_empty());
    for entry in ours {
        let fields = serde_json::to_value(&entry.fields_v1).unwrap();
        let fields = fields.as_object().expect("fields");
        assert!(!fields.contains_key("f:spec"), "{fields:?}");
        let metadata = fields.get("f:metadata").cloned().unwrap_or_default().to_string();
        for foreign in ["f:labels", "f:ownerReferences"] {
            assert!(!metadata.contains(foreign), "{metadata}");
        }
    }
}

#[tokio::test]
async fn rule_21_from_apply_to_ready_each_write_is_a_change_and_three_suffice() {
    let shop = Leaping::open().await;
    let mut history = shop.history().await;
    shop.apply_deployment(&json!({})).await;
    shop.until("accepted", is_accepted).await;
    // Reads while the remote works: only the change from Queued to Deploying is a new state.
    for _ in 0..3 {
        let looks = shop.looks();
        // In small steps: the poll interval counts from the clock at the response.
        meanwhile(&shop.clock, FINE, shop.until_so("a read", || shop.looks() > looks)).await;
    }
    shop.clock.step(DEPLOYING);
    shop.until_reason("Deployed").await;
    let versions = history.until(|object| ready(object).1 == "Deployed").await;
    // The first version is the apply; finalizer with operation, its response and end are writes of the operator.
    let deploying = versions
        .iter()
        .any(|object| state(object).operation.is_some() && status(object).remote_state() == Some("Deploying"));
    assert!(versions.len() - 1 <= 3 + usize::from(deploying), "{} writes", versions.len() - 1);
    let distinct: std::collections::BTreeSet<_> = versions
        .iter()
        .map(|object| {
            serde_json::to_string(&status(object)).unwrap()
                + &format!("{:?}{:?}", object.finalizers(), object.annotations())
        })
        .collect();
    assert_eq!(distinct.len(), versions.len(), "each version differs");
}
