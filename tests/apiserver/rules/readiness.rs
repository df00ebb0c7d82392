//! Rules 17 to 19: Ready means applied, and who has to act when it is not true.

use connect_api::mask::LEFT_OUT;
use connect_api::model::EntryType;
use dev_server::PlannedEntry;

use crate::prelude::*;

#[tokio::test]
async fn rule_17_ready_is_true_only_for_what_is_applied_and_observed() {
    let shop = Leaping::open().await;
    let mut history = shop.history().await;
    shop.apply_deployment(&json!({})).await;
    shop.finish("Deployed").await;
    shop.redeploy(&json!({"spec": level("debug")}), "Deployed").await;
    let end = shop.change_until(&json!({"spec": {"interval": "10m"}}), "Deployed").await;
    let versions = history.until(|object| object.metadata.resource_version == end.metadata.resource_version).await;
    assert_eq!(
        versions[0].status.as_ref().map(|status| status.observed_generation),
        Some(-1),
        "the default of the schema"
    );
    let mut ran = false;
    for object in &versions {
        let status = status(object);
        let Some(condition) = condition(object, names::READY) else { continue };
        assert_eq!(condition.observed_generation, Some(status.observed_generation));
        if condition.status == "True" {
            assert_eq!(status.remote_state(), Some("Deployed"));
            assert_eq!(state(object).operation, None);
            let applied = state(object).applied.expect("something applied");
            assert!(applied.digest.is_some() && applied.generation <= status.observed_generation);
        }
        let runs = state(object).operation.is_some();
        assert!(!runs || condition.status == "Unknown", "rule 6: {condition:?}");
        ran |= runs;
    }
    assert!(ran, "some versions have an operation");
    assert_eq!(shop.sent(), [1, 1, 0], "an interval is not sent");
    assert_eq!(status(&end).observed_generation, 3);
}

#[tokio::test]
async fn rule_17_a_refused_change_is_not_ready_although_the_previous_state_is_live() {
    let shop = Leaping::live().await;
    let invalid = FaultAnswer::error(400, "DeploymentUnknownApplicationConfigurationKey");
    shop.dev.fault(Fault::of("updateDeploymentById", invalid)).unwrap();
    shop.change_until(&json!({"spec": level("debug")}), "Redeploying").await;
    shop.pass(GATHER).await;
    let refused = shop.until_reason("ConfigurationInvalid").await;
    assert_shape(&refused, "ConfigurationInvalid", true);
    assert_eq!((status(&refused).remote_state(), state(&refused).operation), (Some("Deployed"), None));
    let refused = shop.pass(Duration::from_mins(5)).await;
    assert_shape(&refused, "ConfigurationInvalid", true);
    assert_eq!(shop.sent(), [1, 1, 0], "no quick retries");

    let live = shop.change_until(&json!({"spec": level("info")}), "Deployed").await;
    assert!(!is(&live, names::STALLED));
    assert_eq!(shop.sent(), [1, 1, 0], "the spec is what was applied, so nothing is sent");
}

#[tokio::test]
async fn rule_17_a_read_of_the_state_before_a_redeploy_is_not_used() {
    let variant = Variant { read_lag: Duration::from_secs(20), ..Variant::default() };
    let shop = Leaping::with(Options { variant, ..Options::default() }).await;
    shop.apply_deployment(&json!({})).await;
    shop.until("accepted", is_accepted).await;
    let unseen = shop.pass(DEPLOYING).await;
    assert_eq!(ready(&unseen).0, "False", "{:?}", ready(&unseen));
    assert!(!is(&unseen, names::STALLED), "the read shows the old state, which proves nothing");
    shop.pass(Duration::from_secs(11)).await;
    shop.until_reason("Deployed").await;

    shop.change_until(&json!({"spec": level("debug")}), "Redeploying").await;
    shop.pass(GATHER).await;
    shop.until("accepted", is_accepted).await;
    let old = shop.pass(DEPLOYING + GATHER).await;
    assert_eq!(status(&old).remote_state(), Some("Deployed"), "the read is stale");
    assert_eq!(ready(&old), ("Unknown", "Redeploying"));
    shop.pass(DEPLOYING).await;
    let live = shop.until_reason("Deployed").await;
    assert_eq!(status(&live).remote_version(), Some(2));
    assert_eq!(shop.sent(), [1, 1, 0]);
}

#[tokio::test]
async fn rule_18_a_failure_is_reported_within_one_poll_with_its_report() {
    let shop = Leaping::applied(&json!({})).await;
    let running = shop.until("accepted", is_accepted).await;
    // The failure is reported long before another poll is due, also on a slow machine.
    shop.slow_down();
    let id = status(&running).id.expect("an id");
    let mut outcome = PlannedOutcome::failure("service", "It did not start", "The port is taken");
    outcome.entries.push(PlannedEntry {
        kind: EntryType::Warning,
        title: "It is slow".into(),
        message: Some("It used the token first-token-of-the-shop".into()),
        application: None,
    });
    shop.dev.world().plan_outcome(&id, outcome, shop.dev.now()).unwrap();
    let looks = shop.looks();
    shop.clock.step(DEPLOYING);
    let failed = shop.until_reason("DeploymentFailed").await;
    assert!(shop.looks() <= looks + 2, "{} looks", shop.looks() - looks);
    assert_eq!(ready(&failed).0, "False");
    assert_eq!(condition(&failed, names::STALLED).map(|stalled| stalled.reason.as_str()), Some("DeploymentFailed"));
    let status = status(&failed);
    assert_eq!(status.remote_state(), Some("Failed"));
    let message = message(&failed);
    assert!(message.contains("It did not start") && message.contains("The port is taken"), "{message}");
    let error = status.report.iter().find(|entry| entry.entry_type == "Error").expect("an error");
    assert_eq!((error.title.as_str(), error.message.as_deref()), ("It did not start", Some("The port is taken")));
    assert_eq!(error.application_name.as_deref(), Some("service"));
    assert!(status.report.iter().any(|entry| entry.title == "It is slow"));
    assert!(!format!("{failed:?}").contains("first-token-of-the-shop"), "sent values are masked");
    assert_eq!(shop.sent(), [1, 0, 0]);
}

#[tokio::test]
async fn rule_18_without_the_values_in_force_a_report_has_no_texts() {
    let shop = Leaping::applied(&json!({})).await;
    let id = status(&shop.until("accepted", is_accepted).await).id.expect("an id");
    let outcome = PlannedOutcome::failure("service", "Refused first-token-of-the-shop", "It is wrong");
    shop.dev.world().plan_outcome(&id, outcome, shop.dev.now()).unwrap();
    shop.clock.step(DEPLOYING);
    let failed = shop.until_reason("DeploymentFailed").await;
    assert!(status(&failed).report.iter().any(|entry| entry.title == "Refused ***"), "the value is masked");
    shop.api::<Secret>().delete(SECRET, &DeleteParams::default()).await.unwrap();
    let missing = shop.until_reason("SecretMissing").await;
    let report = status(&missing).report;
    let entry = report.iter().find(|entry| entry.entry_type == "Error").expect("an error");
    assert_eq!((entry.title.as_str(), &entry.message), (LEFT_OUT, &None));
    assert_eq!(entry.application_name.as_deref(), Some("service"));
    assert!(!format!("{missing:?}").contains("first-token-of-the-shop"), "the value is not shown");
}

#[tokio::test]
async fn rule_18_a_report_has_no_texts_after_the_response_to_the_create_was_lost() {
    let shop = Leaping::open().await;
    shop.dev.fault(Fault::of("createDeployment", FaultAnswer::dropped()).after_the_effect().times(1)).unwrap();
    shop.apply_deployment(&json!({})).await;
    shop.until_calls("createDeployment", 1).await;
    let id = shop.dev.world().id_of("demo", &shop.key(), shop.dev.now()).expect("it arrived");
    let outcome = PlannedOutcome::failure("service", "Refused a-token-of-somebody-else", "It is wrong");
    shop.dev.world().plan_outcome(&id, outcome, shop.dev.now()).unwrap();
    shop.clock.step(DEPLOYING);
    let failed = shop.until_reason("DeploymentFailed").await;
    assert!(is(&failed, names::SECRETS_UNVERIFIED));
    let report = status(&failed).report;
    let entry = report.iter().find(|entry| entry.entry_type == "Error").expect("an error");
    assert_eq!((entry.title.as_str(), &entry.message), (LEFT_OUT, &None));
}

#[tokio::test]
async fn rule_18_after_thirty_minutes_takes_too_long_is_reported_and_polling_continues() {
    let shop = Leaping::open().await;
    shop.dev.world().deploy_duration = Duration::from_hours(2);
    shop.apply_deployment(&json!({})).await;
    shop.until("accepted", is_accepted).await;
    assert_eq!(ready(&shop.pass(Duration::from_mins(29)).await), ("Unknown", "Creating"));
    let long = shop.pass(Duration::from_mins(2)).await;
    assert_eq!(ready(&long), ("False", "TakesTooLong"));
    assert!(is(&long, names::RECONCILING) && !is(&long, names::STALLED));
    shop.clock.step(Duration::from_hours(2));
    shop.until_reason("Deployed").await;
    assert_eq!(shop.sent(), [1, 0, 0]);
}

/// Asserts Ready, Reconciling and Stalled, as kstatus reads them.
fn assert_shape(object: &ConnectorDeployment, reason: &str, stalled: bool) {
    assert_eq!(ready(object), ("False", reason));
    let there = |name| condition(object, name).map(|condition| (condition.status.as_str(), condition.reason.as_str()));
    assert_eq!(there(names::STALLED), stalled.then_some(("True", reason)), "{reason}");
    assert_eq!(there(names::RECONCILING), (!stalled).then_some(("True", reason)), "{reason}");
    assert!(!message(object).is_empty(), "{reason}");
}

#[tokio::test]
async fn rule_19_what_is_ready_reports_a_missing_secret_only_after_30_s() {
    let shop = Leaping::live().await;
    shop.until_annotated().await;
    let before = shop.reconcile_again().await;
    let delete = async |witness: &str| {
        shop.api::<Secret>().delete(SECRET, &DeleteParams::default()).await.unwrap();
        // What has never been deployed reports it at once, and was enqueued later.
        shop.sandbox.apply(&named(shop.deployment(), witness)).await.unwrap();
        shop.sandbox.until_reason(witness, "SecretMissing").await;
    };
    delete("first").await;
    shop.clock.step(Duration::from_secs(20));
    shop.put_token("first-token-of-the-shop").await;
    let after = shop.reconcile_again().await;
    let since = |object: &ConnectorDeployment| condition(object, names::READY).cloned();
    assert_eq!(since(&after), since(&before), "it was Ready all the time");

    delete("second").await;
    shop.clock.step(Duration::from_secs(31));
    let missing = shop.until_reason("SecretMissing").await;
    assert_eq!(ready(&missing).0, "False");
    shop.put_token("first-token-of-the-shop").await;
    shop.until_reason("Deployed").await;
    assert_eq!(shop.sent()[1..], [0, 0], "nothing has changed");
}

#[tokio::test]
async fn rule_19_an_optional_object_that_is_missing_for_an_instant_removes_nothing() {
    let shop = Leaping::open().await;
    let put = async || shop.put_config_map("tax", &[("FEATURES", "none")]).await;
    put().await;
    let from = |optional: bool| json!({"configurationFrom": [{"configMapRef": {"name": "tax"}, "optional": optional}]});
    let mut spec = from(true);
    spec["removedValuesPolicy"] = json!("Recreate");
    shop.apply_deployment(&spec).await;
    shop.finish("Deployed").await;
    shop.until_annotated().await;
    shop.api::<ConfigMap>().delete("tax", &DeleteParams::default()).await.unwrap();
    let witness = with_spec(with_spec(shop.deployment(), &from(false)), &json!({"suspend": true}));
    shop.sandbox.apply(&named(witness, "witness")).await.unwrap();
    shop.sandbox.until_reason("witness", "ConfigMapMissing").await;
    pass(&shop.clock, FINE, Duration::from_secs(20)).await;
    assert_eq!(shop.sent(), [1, 0, 0], "it is missing for 20 s");
    put().await;
    shop.reconcile_again().await;
    shop.pass(GATHER).await;
    assert_eq!(shop.sent(), [1, 0, 0], "it was missing for 20 s");

    shop.api::<ConfigMap>().delete("tax", &DeleteParams::default()).await.unwrap();
    let removed = shop.until_so("its value is removed", || shop.sent()[1..] != [0, 0]);
    meanwhile(&shop.clock, COARSE, removed).await;
}

#[tokio::test]
async fn rule_19_available_is_true_while_some_version_serves() {
    let shop = Leaping::open().await;
    let available = |object: &ConnectorDeployment| {
        let it = condition(object, names::AVAILABLE).expect("it always exists");
        (it.status.clone(), it.reason.clone())
    };
    let (no, yes) = (("False".to_owned(), "NotServing".to_owned()), ("True".to_owned(), "Serving".to_owned()));
    shop.sandbox.apply(&shop.deployment()).await.unwrap();
    assert_eq!(available(&shop.until_reason("SecretMissing").await), no, "nothing was sent");
    shop.apply_deployment(&json!({})).await;
    assert_eq!(available(&shop.until("accepted", is_accepted).await), no, "it is being created");
    let live = shop.finish("Deployed").await;
    assert_eq!(available(&live), yes);

    // The service refuses this level.
    shop.change(&json!({"spec": level("loud")})).await;
    shop.gathered().await;
    let running = shop.until("accepted", is_accepted).await;
    assert_eq!((ready(&running).0, available(&running)), ("Unknown", yes.clone()), "the earlier version serves");
    let failed = shop.finish("RedeployFailed").await;
    assert_eq!((ready(&failed).0, available(&failed)), ("False", yes));
    let since = |object| condition(object, names::AVAILABLE).map(|it| it.last_transition_time.clone());
    assert_eq!(since(&failed), since(&live), "all the time");

    shop.delete().await;
    shop.until_calls("deleteDeploymentById", 1).await;
    shop.until("it is undeployed", |object| available(object) == no).await;
}

#[tokio::test]
async fn rule_19_an_unavailable_remote_is_reconciling_with_the_cause() {
    for (answer, reason) in [
        (FaultAnswer::text(503, "out of order"), "ServiceUnavailable"),
        (FaultAnswer::error(429, "").with_header("Retry-After", "30"), "Throttled"),
    ] {
        let shop = Leaping::open().await;
        shop.dev.fault(Fault { answer, ..Fault::default() }).unwrap();
        shop.apply_deployment(&json!({})).await;
        assert_shape(&shop.until_reason(reason).await, reason, false);
        shop.dev.clear_faults();
        shop.pass(Duration::from_mins(1)).await;
        shop.finish("Deployed").await;
        assert_eq!(shop.sent(), [1, 0, 0], "{reason}");
    }
}
