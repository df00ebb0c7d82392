//! Rules 7 to 12: exactly one redeploy for each change, and none without.

use dev_server::Partial;

use super::History;
use crate::prelude::*;

/// A deployment with every kind of value.
fn pipeline(prefix: &str, schedule: &str, shop_name: &str) -> Value {
    let secret =
        |key: &str, from: &str| json!({"key": key, "valueFrom": {"secretKeyRef": {"name": SECRET, "key": from}}});
    json!({
        "connector": {"key": "demo-pipeline"},
        "configurations": [
            {"applicationName": "intake", "standardConfiguration": [{"key": "PATH_PREFIX", "value": prefix}]},
            {"applicationName": "order-events", "securedConfiguration": [secret("QUEUE_TOKEN", "queue")]},
            {"applicationName": "nightly-export", "schedule": schedule, "standardConfiguration": [{"key": "TARGET", "value": "ftp"}]},
        ],
        "globalConfiguration": {
            "standardConfiguration": [{"key": "SHOP_NAME", "value": shop_name}],
            "securedConfiguration": [secret("WEBHOOK_SECRET", "webhook")],
        },
    })
}

async fn live_pipeline(options: Options) -> Leaping {
    live_with(options, &pipeline("/in", "0 3 * * *", "Shop")).await
}

/// A shop with this pipeline, live.
pub(super) async fn live_with(options: Options, spec: &Value) -> Leaping {
    let shop = Leaping::with(options).await;
    shop.put_secret(SECRET, &[("queue", "first-queue-token"), ("webhook", "first-webhook-secret")]).await;
    shop.sandbox.apply(&with_spec(shop.deployment(), spec)).await.unwrap();
    shop.finish("Deployed").await;
    shop
}

#[tokio::test]
async fn rule_07_a_change_of_any_kind_of_value_is_one_redeploy() {
    let shop = live_pipeline(Options::default()).await;
    let spec = |prefix, schedule, name| json!({"spec": pipeline(prefix, schedule, name)});
    let mut redeploys = 0;
    for (what, change) in [
        ("plain", spec("/new", "0 3 * * *", "Shop")),
        ("schedule", spec("/new", "0 4 * * *", "Shop")),
        ("global", spec("/new", "0 4 * * *", "Other shop")),
    ] {
        shop.redeploy(&change, "Deployed").await;
        redeploys += 1;
        assert_eq!(shop.sent(), [1, redeploys, 0], "{what}");
    }
    let id = status(&shop.get().await).id.expect("an id");
    for (what, queue, webhook) in [("secured", "second", "first-webhook-secret"), ("global secured", "second", "third")]
    {
        shop.put_secret(SECRET, &[("queue", queue), ("webhook", webhook)]).await;
        shop.redeployed("Deployed").await;
        redeploys += 1;
        assert_eq!(shop.sent(), [1, redeploys, 0], "{what}");
        let world = shop.dev.world();
        assert_eq!(world.secured_is(&id, Some("order-events"), "QUEUE_TOKEN", queue), Some(true), "{what}");
        assert_eq!(world.secured_is(&id, None, "WEBHOOK_SECRET", webhook), Some(true), "{what}");
    }
}

/// The deployment with a retry policy for its event application.
pub(super) fn retrying(policy: &Value) -> Value {
    let mut spec = pipeline("/in", "0 3 * * *", "Shop");
    spec["configurations"][1]["retryPolicy"] = policy.clone();
    spec
}

#[tokio::test]
async fn rule_07_each_change_of_a_retry_policy_is_one_redeploy_whether_reads_return_it_or_not() {
    for retry_policies in [Shown::Shown, Shown::Hidden] {
        let variant = Variant { retry_policies, ..Variant::default() };
        let backoff = json!({"strategy": "exponential-backoff", "minBackoffSeconds": 20, "maxBackoffSeconds": 60});
        let shop = live_with(Options { variant, ..Options::default() }, &retrying(&backoff)).await;
        let shows = || {
            let there = shop.there().remove(0);
            let events = there.applications.into_iter().find(|it| it.application_name == "order-events");
            events.and_then(|events| events.retry_policy).map(|policy| json!(policy))
        };
        let hides = retry_policies == Shown::Hidden;
        assert_eq!(shows(), Some(backoff).filter(|_| !hides), "{retry_policies:?}");
        let settled = shop.pass(Duration::from_mins(10)).await;
        assert_eq!(ready(&settled), ("True", "Deployed"), "{retry_policies:?}");
        assert_eq!(shop.sent(), [1, 0, 0], "{retry_policies:?}");

        let immediate = json!({"strategy": "immediate"});
        shop.redeploy(&json!({"spec": retrying(&immediate)}), "Deployed").await;
        assert_eq!(shows(), Some(immediate).filter(|_| !hides), "{retry_policies:?}");
        shop.pass(Duration::from_mins(10)).await;
        assert_eq!(shop.sent(), [1, 1, 0], "{retry_policies:?}");

        // Removed: the redeploy does not remove it at the remote.
        let mut without = retrying(&json!(null));
        without["configurations"][1]["securedConfiguration"] =
            pipeline("", "", "")["configurations"][1]["securedConfiguration"].clone();
        let reported = shop.redeploy(&json!({"spec": without}), "Deployed").await;
        let message = &condition(&reported, names::VALUES_RETAINED).expect("the condition exists").message;
        assert!(message.contains("order-events (retryPolicy)"), "{message}");
        shop.pass(Duration::from_mins(10)).await;
        assert_eq!(shop.sent(), [1, 2, 0], "{retry_policies:?}");
    }
}

#[tokio::test]
async fn rule_07_a_digest_under_another_key_is_recomputed_and_redeploys_only_if_the_sources_changed() {
    let mut shop = Leaping::live().await;
    let digest =
        |object: &ConnectorDeployment| state(object).applied.and_then(|applied| applied.digest).expect("a digest");
    let first = digest(&shop.get().await);
    shop.stop_operator().await;
    shop.start_operator_with_digest_key([8; 32]);
    let second = digest(&shop.reconcile_again().await);
    assert_ne!(first, second);
    assert_eq!(shop.sent(), [1, 0, 0]);

    shop.stop_operator().await;
    shop.put_token("a-token-that-came-while-nobody-looked").await;
    shop.start_operator();
    let third = digest(&shop.redeployed("Deployed").await);
    assert_ne!(second, third);
    shop.reconcile_again().await;
    assert_eq!(shop.sent(), [1, 1, 0]);
}

#[tokio::test]
async fn rule_08_a_redeploy_sends_every_value_and_the_version_that_was_read() {
    // This variant of the server removes whatever a redeploy does not send.
    let variant = Variant { partial: Partial::Replace, ..Variant::default() };
    let shop = live_pipeline(Options { variant, ..Options::default() }).await;
    let id = status(&shop.get().await).id.expect("an id");
    shop.dev.world().bump_version(&id, shop.dev.now()).unwrap();
    shop.redeploy(&json!({"spec": pipeline("/new", "0 3 * * *", "Shop")}), "Deployed").await;
    assert_eq!(shop.sent(), [1, 1, 0]);
    let secured_is = |application, key, value| shop.dev.world().secured_is(&id, application, key, value);
    assert_eq!(secured_is(Some("order-events"), "QUEUE_TOKEN", "first-queue-token"), Some(true));
    assert_eq!(secured_is(None, "WEBHOOK_SECRET", "first-webhook-secret"), Some(true));
    let (values, there) = (shop.plain(), shop.there().remove(0));
    assert!(["/new", "ftp"].iter().all(|sent| values.iter().any(|(_, value)| value == sent)), "{values:?}");
    assert_eq!(there.global_configuration.expect("global values").standard_configuration[0].value, "Shop");
    assert_eq!(there.version, 3);
}

#[tokio::test]
async fn rule_09_changes_within_two_seconds_become_one_redeploy() {
    let shop = Leaping::live().await;
    shop.slow_down();
    shop.change_until(&json!({"spec": level("debug")}), "Redeploying").await;
    shop.pass(Duration::from_millis(1_500)).await;
    shop.put_token("second-token-of-the-shop").await;
    // The change of the Secret enqueues a reconcile of its own; the one after it includes that change.
    shop.reconcile_again().await;
    shop.pass(Duration::from_millis(1_500)).await;
    assert_eq!(shop.sent(), [1, 0, 0], "3 s after the first change, 1.5 s after the last");
    shop.pass(Duration::from_millis(700)).await;
    shop.until_calls("updateDeploymentById", 1).await;
    let live = shop.finish("Deployed").await;
    shop.pass(Duration::from_secs(10)).await;
    assert_eq!(shop.sent(), [1, 1, 0]);
    let id = status(&live).id.expect("an id");
    assert_eq!(shop.dev.world().secured_is(&id, Some("service"), "API_TOKEN", "second-token-of-the-shop"), Some(true));
}

#[tokio::test]
async fn rule_09_changes_are_gathered_for_ten_seconds_at_most_and_a_create_does_not_wait() {
    let shop = Leaping::open().await;
    let start = shop.clock.now();
    shop.apply_deployment(&json!({})).await;
    let live = shop.until("accepted", super::is_accepted).await;
    let began = state(&live).operation.expect("an operation").started_at;
    assert!(clock::between(start, began) < GATHER);
    shop.finish("Deployed").await;

    shop.slow_down();
    // The last round begins a second before the ten are over.
    for (round, level_now) in ["debug", "warn", "error", "debug", "warn", "error"].into_iter().enumerate() {
        assert_eq!(shop.sent(), [1, 0, 0], "round {round}");
        shop.change_until(&json!({"spec": level(level_now)}), "Redeploying").await;
        shop.pass(Duration::from_millis(1_800)).await;
    }
    shop.until_calls("updateDeploymentById", 1).await;
}

#[tokio::test]
async fn rule_09_changes_and_a_request_while_the_remote_is_busy_become_one_redeploy_after_it() {
    let shop = Leaping::applied(&json!({})).await;
    shop.until("accepted", super::is_accepted).await;
    shop.slow_down();
    for change in ["debug", "warn", "error"] {
        shop.change(&json!({"spec": level(change)})).await;
        let busy = shop.pass(Duration::from_secs(1)).await;
        assert_eq!(ready(&busy), ("Unknown", "Creating"), "{change}");
    }
    shop.annotate(names::REDEPLOY_REQUESTED_AT, "while it is created").await;
    assert_eq!(shop.sent(), [1, 0, 0]);
    shop.pass(DEPLOYING).await;
    let live = shop.redeployed("Deployed").await;
    assert_eq!(status(&live).handled_redeploy_request.as_deref(), Some("while it is created"), "rule 11");
    shop.pass(GATHER).await;
    assert_eq!(shop.sent(), [1, 1, 0]);
    assert_eq!(state(&live).applied.map(|applied| applied.generation), live.metadata.generation);
}

/// Asserts that nothing was written except a reconcile request and its handling, and that nothing was sent.
async fn nothing_but_a_reconcile(shop: &Leaping, history: &mut History, what: &str) {
    let before = shop.sent();
    let end = shop.reconcile_again().await;
    let handled = status(&end).handled_reconcile_request;
    let versions = history.until(|object| status(object).handled_reconcile_request == handled).await;
    let asked = versions
        .iter()
        .filter(|object| {
            object.metadata.annotations.as_ref().and_then(|all| all.get(names::RECONCILE_REQUESTED_AT))
                == handled.as_ref()
        })
        .count();
    assert_eq!(asked, versions.len(), "{what}: a write before the request");
    assert_eq!(versions.len(), 2, "{what}: the request, and its handling");
    assert_eq!(ready(&end), ("True", "Deployed"), "{what}");
    assert_eq!(shop.sent(), before, "{what}");
}

#[tokio::test]
async fn rule_10_a_change_of_no_value_sends_nothing_and_writes_nothing() {
    let mut shop = Leaping::live().await;
    shop.until_annotated().await;
    shop.reconcile_again().await;
    let mut history = shop.history().await;

    // A change of the Secret enqueues a reconcile, which reads the remote.
    for (what, patch) in [
        ("an unrelated key", json!({"stringData": {"unrelated": "value"}})),
        ("labels of the Secret", json!({"metadata": {"labels": {"team": "tax"}}})),
        ("annotations of the Secret", json!({"metadata": {"annotations": {"note": "rotated never"}}})),
    ] {
        let looks = shop.looks();
        shop.clock.step(Duration::from_secs(1));
        shop.patch::<Secret>(SECRET, &patch).await;
        shop.until_so(what, || shop.looks() > looks).await;
        nothing_but_a_reconcile(&shop, &mut history, what).await;
    }

    shop.stop_operator().await;
    let looks = shop.looks();
    shop.start_operator();
    shop.until_so("a read after the restart", || shop.looks() > looks).await;
    nothing_but_a_reconcile(&shop, &mut history, "a restart").await;

    // The poll at the interval, which begins at the end of the previous reconcile.
    let looks = shop.looks();
    shop.until_so("a poll at the interval", || {
        shop.clock.step(Duration::from_secs(1));
        shop.looks() > looks
    })
    .await;
    nothing_but_a_reconcile(&shop, &mut history, "the interval").await;

    shop.change(&json!({"metadata": {"labels": {"team": "tax"}}})).await;
    history.until(|object| object.metadata.labels.is_some()).await;
    nothing_but_a_reconcile(&shop, &mut history, "labels").await;
    assert_eq!(shop.sent(), [1, 0, 0]);
}

#[tokio::test]
async fn rule_10_a_restart_writes_nothing_whatever_the_condition_is() {
    let failing = json!({"connector": {"key": "demo-failing"}, "configurations": [{"applicationName": "service"}]});
    let warning = json!({"connector": {"key": "demo-warning"}, "configurations": [{"applicationName": "service"}]});
    for (reason, change) in [
        ("DeploymentFailed", failing),
        ("DeployedWithWarnings", warning),
        ("OutputConflict", json!({"outputs": {"configMap": {"name": "theirs"}}})),
    ] {
        let mut shop = Leaping::open().await;
        shop.put_config_map("theirs", &[("key", "value")]).await;
        shop.apply_deployment(&change).await;
        shop.finish(reason).await;
        // What the first operator still had to write would be a write of the second one.
        shop.until_annotated().await;
        shop.until_event(reason).await;
        let before = shop.reconcile_again().await;
        shop.stop_operator().await;
        let looks = shop.looks();
        shop.start_operator();
        shop.until_so("a read after the restart", || shop.looks() > looks).await;
        let mut history = shop.history().await;
        let after = shop.reconcile_again().await;
        let handled = status(&after).handled_reconcile_request;
        let versions = history.until(|object| status(object).handled_reconcile_request == handled).await;
        assert_eq!(versions.len(), 2, "{reason}: the request, and its handling");
        let reported = |object: &ConnectorDeployment| status(object).conditions;
        assert_eq!(reported(&after), reported(&before), "{reason}");
        assert_eq!(shop.events(reason).await.len(), 1, "{reason} is reported once");
        assert_eq!(shop.sent(), [1, 0, 0], "{reason}");
    }
}

#[tokio::test]
async fn rule_11_a_redeploy_request_redeploys_once() {
    let mut shop = Leaping::open().await;
    // One that exists at the creation counts as handled.
    shop.put_token("first-token-of-the-shop").await;
    let mut manifest = shop.deployment();
    manifest["metadata"]["annotations"] = json!({names::REDEPLOY_REQUESTED_AT: "before"});
    shop.sandbox.apply(&manifest).await.unwrap();
    assert_eq!(status(&shop.finish("Deployed").await).handled_redeploy_request.as_deref(), Some("before"));
    shop.pass(Duration::from_mins(1)).await;
    assert_eq!(shop.sent(), [1, 0, 0]);

    shop.annotate(names::REDEPLOY_REQUESTED_AT, "2026-01-01").await;
    shop.until_reason("Redeploying").await;
    shop.pass(GATHER).await;
    let running = shop.until("accepted", super::is_accepted).await;
    assert_eq!(
        state(&running).operation.and_then(|operation| operation.redeploy_request).as_deref(),
        Some("2026-01-01")
    );
    assert_eq!(status(&running).handled_redeploy_request.as_deref(), Some("before"), "not before it ends");
    let live = shop.finish("Deployed").await;
    assert_eq!(status(&live).handled_redeploy_request.as_deref(), Some("2026-01-01"));

    shop.restart_operator().await;
    shop.pass(Duration::from_mins(1)).await;
    assert_eq!(shop.sent(), [1, 1, 0], "the same value, also after a restart");
    shop.annotate(names::REDEPLOY_REQUESTED_AT, "again").await;
    shop.redeployed("Deployed").await;
    assert_eq!(shop.sent(), [1, 2, 0]);
}

#[tokio::test]
async fn rule_11_a_reconcile_request_reads_the_remote_at_once() {
    let shop = Leaping::live().await;
    shop.slow_down();
    let (asked, looks) = (shop.clock.now(), shop.looks());
    let seen = shop.reconcile_again().await;
    // Not exactly one read: the watch may show an earlier change only now, and each event of it causes a read.
    assert!(shop.looks() > looks, "{:?}", shop.dev.counts());
    assert_eq!(ready(&seen), ("True", "Deployed"));
    // A foreign change is observed at once, long before the end of the interval.
    let id = status(&seen).id.expect("an id");
    shop.dev.world().bump_version(&id, shop.dev.now()).unwrap();
    assert_eq!(
        status(&shop.reconcile_again().await).remote_version(),
        status(&seen).remote_version().map(|version| version + 1)
    );
    assert!(clock::between(asked, shop.clock.now()) < QUIET, "{} to {}", asked, shop.clock.now());
    assert_eq!(shop.sent(), [1, 0, 0]);
}

#[tokio::test]
async fn rule_12_a_failed_operation_is_not_repeated_until_something_changes() {
    let mut shop = Leaping::applied(&level("loud")).await;
    shop.finish("DeploymentFailed").await;
    shop.pass(Duration::from_hours(2)).await;
    shop.restart_operator().await;
    let failed = shop.pass(Duration::from_mins(5)).await;
    assert_eq!(ready(&failed), ("False", "DeploymentFailed"));
    assert!(is(&failed, names::STALLED));
    assert_eq!(shop.sent(), [1, 0, 0]);

    shop.annotate(names::REDEPLOY_REQUESTED_AT, "once more").await;
    shop.redeployed("DeploymentFailed").await;
    assert_eq!(shop.sent(), [1, 1, 0]);
    shop.rotate("second-token-of-the-shop", "DeploymentFailed").await;
    assert_eq!(shop.sent(), [1, 2, 0]);
    shop.redeploy(&json!({"spec": level("debug")}), "Deployed").await;
    assert_eq!(shop.sent(), [1, 3, 0]);
}

#[tokio::test]
async fn rule_08_a_version_that_changed_between_read_and_call_is_read_again() {
    let shop = Leaping::live().await;
    shop.dev
        .fault(Fault::of("updateDeploymentById", FaultAnswer::error(409, "ConcurrentModification")).times(1))
        .unwrap();
    let id = status(&shop.get().await).id.expect("an id");
    shop.change(&json!({"spec": level("debug")})).await;
    shop.gathered().await;
    shop.until_calls("updateDeploymentById", 1).await;
    shop.dev.world().bump_version(&id, shop.dev.now()).unwrap();
    // Only the end of the quiet period tells that the version is not that of the call. After it, time passes slowly enough
    // for the next call to leave, and to be seen before it ends.
    shop.clock.step(QUIET_PERIOD);
    meanwhile(&shop.clock, FINE, shop.until_calls("updateDeploymentById", 2)).await;
    shop.finish("Deployed").await;
    assert_eq!(shop.sent(), [1, 2, 0]);
}
