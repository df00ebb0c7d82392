//! Rule 6: an operation from its start to its end, also if the operator is killed in the middle.

use dev_server::BuildIds;

use super::operation;
use crate::prelude::*;

/// In milliseconds, longer than any test: the operator is killed before the response.
pub(super) const FOR_EVER: u64 = 60_000;

fn assert_unknown_while_it_runs(versions: &[ConnectorDeployment]) {
    let running = versions.iter().filter(|object| state(object).operation.is_some());
    let reported: Vec<_> = running.map(|object| ready(object).0).collect();
    assert!(!reported.is_empty() && reported.iter().all(|status| *status == "Unknown"), "{reported:?}");
}

#[tokio::test]
async fn rule_06_a_failure_that_is_read_while_a_redeploy_runs_is_the_old_one() {
    let variant = Variant { redeploy_shows_old: Duration::from_secs(5), ..Variant::default() };
    let shop = Leaping::with(Options { variant, ..Options::default() }).await;
    shop.apply_deployment(&level("loud")).await;
    shop.finish("DeploymentFailed").await;
    let mut history = shop.history().await;
    shop.slow_down();
    shop.change_until(&json!({"spec": level("debug")}), "Redeploying").await;
    shop.pass(GATHER).await;
    shop.until("accepted", is_accepted).await;
    let running = shop.pass(Duration::from_secs(1)).await;
    assert_eq!(status(&running).remote_state(), Some("Failed"), "the read is stale");
    assert_eq!(ready(&running), ("Unknown", "Redeploying"));
    // No read showed it busy, so its end counts only once reads have shown it for a minute.
    assert_eq!(ready(&shop.pass(DEPLOYING).await), ("Unknown", "Redeploying"));
    shop.pass(QUIET).await;
    shop.until_reason("Deployed").await;
    let versions = history.until(|object| ready(object).1 == "Deployed").await;
    assert_unknown_while_it_runs(&versions);
    assert_eq!(shop.sent(), [1, 1, 0]);
}

/// Lets this call arrive and its response be lost with the operator, which is killed and started again.
async fn die_during(shop: &mut Leaping, operation: &str, arrived: impl Fn(&[DeploymentStatus]) -> bool) {
    shop.until_so(operation, || arrived(&shop.statuses())).await;
    shop.kill_operator().await;
    shop.dev.clear_faults();
    shop.start_operator();
}

#[tokio::test]
async fn rule_06_an_operator_killed_during_a_create_neither_loses_it_nor_creates_twice() {
    let mut shop = Leaping::open().await;
    shop.dev.fault(answered_late("createDeployment")).unwrap();
    shop.apply_deployment(&json!({})).await;
    die_during(&mut shop, "createDeployment", |there| !there.is_empty()).await;
    shop.finish("Deployed").await;
    assert_eq!(shop.there().len(), 1);
    assert_eq!(shop.sent(), [1, 0, 0], "no call except the unanswered one");
}

#[tokio::test]
async fn rule_06_an_operator_killed_before_the_create_arrives_sends_it_again() {
    let mut shop = Leaping::open().await;
    let stuck = FaultAnswer { delay_ms: FOR_EVER, ..FaultAnswer::error(503, "") };
    shop.dev.fault(Fault::of("createDeployment", stuck)).unwrap();
    shop.apply_deployment(&json!({})).await;
    shop.until("planned", |object| operation(object).is_some()).await;
    shop.kill_operator().await;
    shop.dev.clear_faults();
    shop.start_operator();
    let waiting = shop.pass(Duration::from_secs(50)).await;
    assert_eq!(ready(&waiting), ("Unknown", "Creating"));
    shop.pass(Duration::from_secs(15)).await;
    shop.finish("Deployed").await;
    assert_eq!(shop.there().len(), 1);
    assert!((1..=2).contains(&shop.sent()[0]), "the first call may not have left the process");
}

#[tokio::test]
async fn rule_06_an_operator_killed_during_a_redeploy_neither_loses_it_nor_redeploys_twice() {
    // With plain values, which reads return, and with secured ones only, which they do not.
    for secured in [false, true] {
        let mut shop = Leaping::live().await;
        shop.dev.fault(answered_late("updateDeploymentById")).unwrap();
        if secured {
            shop.put_token("second-token-of-the-shop").await;
        } else {
            shop.change(&json!({"spec": level("debug")})).await;
        }
        // Nothing is awaited of a reconcile that may already be in the call: it would end only once the deployment is live.
        shop.gathered().await;
        die_during(&mut shop, "updateDeploymentById", |there| there[0].is_busy()).await;
        shop.pass(Duration::from_secs(1)).await;
        shop.pass(DEPLOYING).await;
        shop.pass(QUIET).await;
        shop.pass(QUIET_PERIOD).await;
        let live = shop.until_reason("Deployed").await;
        assert_eq!(status(&live).remote_version(), Some(2), "secured: {secured}");
        assert_eq!(shop.sent(), [1, 1, 0], "secured: {secured}: no call except the unanswered one");
    }
}

#[tokio::test]
async fn rule_06_an_operator_killed_during_an_undeploy_continues_it() {
    let mut shop = Leaping::live().await;
    shop.dev.fault(answered_late("deleteDeploymentById")).unwrap();
    shop.delete().await;
    die_during(&mut shop, "deleteDeploymentById", |there| there == [DeploymentStatus::Undeploying]).await;
    shop.clock.step(DEPLOYING);
    in_time(shop.until_gone()).await.unwrap();
    assert_eq!(shop.sent()[0], 1);
    assert!(shop.there().is_empty());
}

/// The regular response, delayed until the test clears the faults, or for ever.
pub(super) fn answered_late(operation: &str) -> Fault {
    Fault::of(operation, FaultAnswer { delay_ms: FOR_EVER, ..FaultAnswer::default() }).after_the_effect()
}

/// Edits the resource while this call is in flight: a label, and the spec.
async fn edit_during(shop: &Leaping, calls: impl Fn(&[DeploymentStatus]) -> bool, spec: &serde_json::Value) {
    shop.until_so("the call has arrived", || calls(&shop.statuses())).await;
    shop.change(&json!({"metadata": {"labels": {"team": "tax"}}, "spec": spec})).await;
    let planned = operation(&shop.get().await).is_some_and(|operation| operation.state == OperationState::Planned);
    assert!(planned, "the response came before the edit");
    shop.dev.clear_faults();
}

#[tokio::test]
async fn rule_06_an_edit_during_a_call_does_not_lose_its_response() {
    let shop = Leaping::open().await;
    shop.dev.fault(answered_late("createDeployment")).unwrap();
    shop.apply_deployment(&json!({})).await;
    edit_during(&shop, |there| !there.is_empty(), &level("debug")).await;
    let accepted = shop.until("accepted", is_accepted).await;
    assert_eq!(status(&accepted).observed_generation, 1, "the edit was not sent");
    // Without a step of the clock, also if the event of the edit enqueued the reconcile that wrote the response.
    shop.until("the edit is seen", |object| status(object).observed_generation == 2).await;
    shop.clock.step(DEPLOYING);
    shop.redeployed("Deployed").await;
    assert_eq!(shop.sent(), [1, 1, 0], "the edit causes one redeploy");

    shop.put_token("second-token-of-the-shop").await;
    shop.dev.fault(answered_late("updateDeploymentById")).unwrap();
    shop.gathered().await;
    edit_during(&shop, |there| there[0].is_busy(), &json!({"interval": "7m"})).await;
    shop.until("accepted", is_accepted).await;
    shop.clock.step(DEPLOYING);
    let live = shop.until_reason("Deployed").await;
    assert!(!is(&live, "SecretsUnverified"), "the accepted call is known");
    assert_eq!(shop.sent(), [1, 2, 0]);
}

/// The API server does the same by itself if its DELETE has read the object before the finalizer was added.
#[tokio::test]
async fn rule_22_an_object_that_is_deleted_without_its_finalizer_during_its_create_leaves_a_record_that_is_reported() {
    for others in [json!(null), json!(["example.com/other"])] {
        let shop = Leaping::open().await;
        shop.dev.fault(answered_late("createDeployment")).unwrap();
        shop.apply_deployment(&json!({})).await;
        shop.until_so("the call has arrived", || !shop.there().is_empty()).await;
        shop.change(&json!({"metadata": {"finalizers": others}})).await;
        shop.delete().await;
        if others.is_null() {
            shop.until_gone().await;
        }
        shop.dev.clear_faults();
        shop.until_event("Orphaned").await;
        let left = shop.there().remove(0).id;
        let note = shop.events("Orphaned").await.remove(0);
        assert!(note.contains(&left), "{note}");
        assert_eq!(shop.sent(), [1, 0, 0], "{others}");
    }
}

#[tokio::test]
async fn rule_06_after_a_lost_response_the_remote_is_polled_at_once() {
    // Without build ids only a read while the remote is busy shows that a call with new secrets has arrived.
    let variant = Variant { build_ids: BuildIds::Never, ..Variant::default() };
    let shop = Leaping::live_with(Options { variant, ..Options::default() }).await;
    let lost = Fault::of("updateDeploymentById", FaultAnswer::error(500, "General"));
    shop.dev.fault(lost.after_the_effect().times(1)).unwrap();
    shop.put_token("second-token-of-the-shop").await;
    shop.gathered().await;
    shop.until_reason("ServiceUnavailable").await;
    // From here on the clock hardly advances: a later poll would exceed the time limit of the test.
    shop.slow_down();
    // The backoff of the project after a failure has ended by then.
    shop.clock.step(Duration::from_secs(5));
    shop.until("observed as busy", |object| state(object).operation.is_some_and(|operation| operation.seen_busy)).await;
    shop.clock.step(DEPLOYING);
    shop.pass(QUIET).await;
    shop.until_reason("Deployed").await;
    assert_eq!(shop.sent(), [1, 1, 0]);
}

#[tokio::test]
async fn rule_06_an_operator_stopped_while_the_remote_works_continues_after_its_start() {
    let mut shop = Leaping::applied(&json!({})).await;
    shop.until("accepted", is_accepted).await;
    shop.stop_operator().await;
    shop.clock.step(Duration::from_mins(20));
    shop.start_operator();
    shop.until_reason("Deployed").await;

    shop.change_until(&json!({"spec": level("debug")}), "Redeploying").await;
    // A change that was gathered and not yet sent is detected again.
    shop.stop_operator().await;
    shop.clock.step(GATHER);
    shop.start_operator();
    shop.pass(GATHER).await;
    shop.until("accepted", is_accepted).await;
    shop.stop_operator().await;
    shop.clock.step(Duration::from_mins(20));
    shop.start_operator();
    shop.pass(QUIET).await;
    shop.pass(QUIET).await;
    shop.until_reason("Deployed").await;
    assert_eq!(shop.sent(), [1, 1, 0]);
}
