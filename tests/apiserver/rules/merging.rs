//! Rule 8: a create names every application, and a redeploy removes no values.

use connect_api::model::{ApplicationType, DeclaredApplication, SecuredKey};
use dev_server::{AddedApplications, Normalise};

use super::adopting::adopting;
use super::versions::running;
use crate::prelude::*;

/// The configuration of the application: plain values, and the Secret's key `token` for each of these secured keys.
fn service(plain: &[(&str, &str)], secured: &[&str]) -> Value {
    let plain: Vec<_> = plain.iter().map(|(key, value)| json!({"key": key, "value": value})).collect();
    let from = json!({"secretKeyRef": {"name": SECRET, "key": "token"}});
    let secured: Vec<_> = secured.iter().map(|key| json!({"key": key, "valueFrom": from})).collect();
    json!({"configurations": [{
        "applicationName": "service", "standardConfiguration": plain, "securedConfiguration": secured,
    }]})
}

fn spec(plain: &[(&str, &str)], secured: &[&str]) -> Value {
    json!({"spec": service(plain, secured)})
}

/// The message of the `ValuesRetained` condition; `None`: it is not true.
fn retained(object: &ConnectorDeployment) -> Option<String> {
    let condition = condition(object, names::VALUES_RETAINED).filter(|condition| condition.status == "True");
    condition.map(|condition| condition.message.clone())
}

pub(super) fn with_enabler(connector: &mut ConnectorDefinition) {
    connector.configurations.push(DeclaredApplication {
        application_name: "enabler".into(),
        application_type: ApplicationType::Assets,
        standard_configuration: Vec::new(),
        secured_configuration: Vec::new(),
    });
}

/// An optional secured value without a default.
fn with_sign_key(connector: &mut ConnectorDefinition) {
    let sign = SecuredKey { key: "SIGN_KEY".into(), ..SecuredKey::default() };
    connector.configurations[0].secured_configuration.push(sign);
}

pub(super) fn applications(shop: &Leaping) -> Vec<String> {
    shop.there().remove(0).applications.into_iter().map(|application| application.application_name).collect()
}

#[tokio::test]
async fn rule_08_a_create_and_a_move_name_every_application_of_the_connector() {
    let shop = Leaping::open().await;
    shop.dev.world().raise_connector("demo-connector", false, with_enabler).unwrap();
    shop.apply_deployment(&json!({"connector": {"key": "demo-connector", "updatePolicy": "Latest"}})).await;
    shop.finish("Deployed").await;
    assert_eq!(applications(&shop), ["service", "enabler"], "the spec names one of them");
    // A version that adds an application.
    let add = |connector: &mut ConnectorDefinition| {
        with_enabler(connector);
        connector.configurations[2].application_name = "admin".into();
    };
    shop.dev.world().raise_connector("demo-connector", false, add).unwrap();
    shop.clock.step(Duration::from_mins(6));
    shop.redeployed("Deployed").await;
    assert_eq!(applications(&shop), ["service", "enabler", "admin"]);
    assert_eq!(shop.sent(), [1, 1, 0]);
}

#[tokio::test]
async fn rule_08_a_move_omits_an_added_application_if_the_service_refuses_it() {
    let variant = Variant { added_applications: AddedApplications::Refuse, ..Variant::default() };
    let shop = Leaping::with(Options { variant, ..Options::default() }).await;
    shop.apply_deployment(&json!({"connector": {"key": "demo-connector", "updatePolicy": "Latest"}})).await;
    shop.finish("Deployed").await;
    shop.dev.world().raise_connector("demo-connector", false, with_enabler).unwrap();
    shop.clock.step(Duration::from_mins(6));
    let moved = shop.redeployed("ApplicationMissing").await;
    assert_eq!(running(&moved), Some(2));
    assert_eq!(applications(&shop), ["service"]);
    shop.pass(Duration::from_mins(10)).await;
    assert_eq!(shop.sent(), [1, 2, 0], "refused once, accepted once, and not again");
}

#[tokio::test]
async fn rule_08_nothing_is_created_before_the_registry_returns_what_the_connector_declares() {
    let shop = Leaping::open().await;
    shop.dev.fault(Fault::of("getConnectorByKey", FaultAnswer::text(500, "out of order"))).unwrap();
    shop.apply_deployment(&json!({})).await;
    let waiting = shop.until_reason("DeclarationsUnknown").await;
    assert_eq!(ready(&waiting).0, "False");
    shop.pass(Duration::from_mins(2)).await;
    assert_eq!(shop.sent(), [0, 0, 0]);
    shop.dev.clear_faults();
    // The operator reads the registry again without an event.
    shop.clock.step(Duration::from_mins(2));
    shop.finish("Deployed").await;
    assert_eq!(shop.sent(), [1, 0, 0]);
}

#[tokio::test]
async fn rule_08_a_removed_value_without_a_default_is_retained_and_reported() {
    let shop = Leaping::open().await;
    shop.dev.world().raise_connector("demo-connector", false, with_sign_key).unwrap();
    let all = [("LOG_LEVEL", "debug"), ("FEATURES", "cart")];
    shop.apply_deployment(&service(&all, &["API_TOKEN", "SIGN_KEY"])).await;
    let live = shop.finish("Deployed").await;
    assert_eq!(retained(&live), None);

    let reported = shop.redeploy(&spec(&all[..1], &["API_TOKEN"]), "Deployed").await;
    let message = retained(&reported).expect("it is retained");
    assert!(message.contains("service/SIGN_KEY (secured), service/FEATURES"), "{message}");
    assert!(message.contains("revoke"), "{message}");
    assert_eq!(ready(&reported), ("True", "Deployed"));
    let later = shop.pass(Duration::from_mins(10)).await;
    assert_eq!(retained(&later), Some(message));
    assert!(condition(&later, names::DRIFTED).is_none());
    assert_eq!(shop.sent(), [1, 1, 0], "one redeploy for the change");

    // The value is added again.
    shop.change(&spec(&all, &["API_TOKEN", "SIGN_KEY"])).await;
    assert_eq!(retained(&shop.redeployed("Deployed").await), None);
    assert_eq!(shop.sent(), [1, 2, 0]);

    // A redeploy for another reason removes nothing either.
    let reported = shop.redeploy(&spec(&[("LOG_LEVEL", "warn")], &["API_TOKEN"]), "Deployed").await;
    assert!(retained(&reported).is_some_and(|message| message.contains("FEATURES") && message.contains("SIGN_KEY")));
    shop.pass(Duration::from_mins(10)).await;
    assert_eq!(shop.sent(), [1, 3, 0]);
    assert!(shop.plain().contains(&("FEATURES".to_owned(), "cart".to_owned())));
}

#[tokio::test]
async fn rule_08_texts_of_a_deployment_that_retains_a_secret_are_not_shown() {
    let shop = Leaping::open().await;
    shop.dev.world().raise_connector("demo-connector", false, with_sign_key).unwrap();
    shop.put_secret("sign", &[("key", "sign-key-of-the-shop")]).await;
    let mut both = service(&[], &["API_TOKEN"]);
    let sign = json!({"key": "SIGN_KEY", "valueFrom": {"secretKeyRef": {"name": "sign", "key": "key"}}});
    both["configurations"][0]["securedConfiguration"].as_array_mut().unwrap().push(sign);
    shop.apply_deployment(&both).await;
    let live = shop.finish("Deployed").await;
    shop.change(&spec(&[], &["API_TOKEN"])).await;
    shop.until("retained", |object| retained(object).is_some()).await;
    let id = status(&live).id.expect("an id");
    let outcome = PlannedOutcome::failure("service", "It did not start", "env: sign-key-of-the-shop");
    shop.dev.world().plan_outcome(&id, outcome, shop.dev.now()).unwrap();
    shop.annotate(names::REDEPLOY_REQUESTED_AT, "now").await;
    let failed = shop.redeployed("RedeployFailed").await;
    let text = serde_json::to_string(&failed.status).unwrap();
    assert!(text.contains("text left out") && !text.contains("sign-key-of-the-shop"), "{text}");
    for note in shop.events("RedeployFailed").await {
        assert!(!note.contains("sign-key-of-the-shop"), "{note}");
    }
}

#[tokio::test]
async fn rule_08_a_removed_value_with_a_default_is_set_to_it_once() {
    let shop = Leaping::live_as(&service(&[("LOG_LEVEL", "debug"), ("FEATURES", "cart")], &["API_TOKEN"])).await;
    let live = shop.redeploy(&spec(&[("FEATURES", "cart")], &["API_TOKEN"]), "Deployed").await;
    assert_eq!(retained(&live), None);
    assert!(shop.plain().contains(&("LOG_LEVEL".to_owned(), "info".to_owned())), "{:?}", shop.plain());
    shop.pass(Duration::from_mins(10)).await;
    shop.pass(Duration::from_mins(10)).await;
    assert_eq!(shop.sent(), [1, 1, 0]);
    // A value that equals the default need not be sent.
    shop.change(&spec(&[("FEATURES", "cart"), ("LOG_LEVEL", "info")], &["API_TOKEN"])).await;
    shop.pass(Duration::from_mins(10)).await;
    assert_eq!(shop.sent(), [1, 1, 0]);
}

#[tokio::test]
async fn rule_08_a_removed_value_recreates_the_deployment_by_policy() {
    let shop = Leaping::open().await;
    let mut wanted = service(&[("FEATURES", "cart")], &["API_TOKEN"]);
    wanted["removedValuesPolicy"] = json!("Recreate");
    shop.apply_deployment(&wanted).await;
    let first = shop.finish("Deployed").await;
    shop.change(&spec(&[], &["API_TOKEN"])).await;
    // Changes are gathered first; then the deployment is deleted, and created again.
    shop.gathered().await;
    let down = shop.until_reason("Undeploying").await;
    assert!(message(&down).contains("create"), "{}", message(&down));
    shop.until_calls("deleteDeploymentById", 1).await;
    shop.pass(DEPLOYING).await;
    let again = shop.finish("Deployed").await;
    assert_ne!(status(&first).id, status(&again).id);
    assert_eq!(retained(&again), None);
    assert!(shop.plain().iter().all(|(key, _)| key != "FEATURES"), "{:?}", shop.plain());
    shop.pass(Duration::from_mins(10)).await;
    shop.reconcile_again().await;
    assert_eq!(shop.sent(), [2, 0, 1], "one recreation and no redeploy");
}

#[tokio::test]
async fn rule_08_a_deployment_that_lacks_applications_is_reported_and_redeployed_without_them() {
    let shop = Leaping::open().await;
    shop.dev.world().raise_connector("demo-connector", false, with_enabler).unwrap();
    // It was created with one application of two.
    shop.make_elsewhere("info");
    shop.apply_deployment(&adopting("info")).await;
    shop.adopted().await;
    let reported = shop.until_reason("ApplicationMissing").await;
    assert_eq!(ready(&reported).0, "False");
    let why = message(&reported);
    assert!(why.contains("enabler") && why.contains("delete this resource"), "{why}");
    assert!(condition(&reported, names::STALLED).is_some());
    assert_eq!(shop.sent(), [0, 0, 0]);

    shop.redeploy(&json!({"spec": level("debug")}), "ApplicationMissing").await;
    shop.pass(Duration::from_mins(10)).await;
    assert_eq!(shop.sent(), [0, 1, 0], "one redeploy, which is not refused");
    assert!(shop.plain().contains(&("LOG_LEVEL".to_owned(), "debug".to_owned())));
    assert!(status(&reported).id.is_some());
}

#[tokio::test]
async fn rule_08_values_that_reads_return_differently_are_reported_and_not_sent_again() {
    let variant = Variant { normalise: Normalise::Trim, ..Variant::default() };
    let shop = Leaping::with(Options { variant, ..Options::default() }).await;
    shop.apply_deployment(&service(&[("LOG_LEVEL", "info"), ("FEATURES", " a-feature ")], &["API_TOKEN"])).await;
    let reported = shop.finish("ValuesNotApplied").await;
    assert_eq!(ready(&reported).0, "False");
    let why = message(&reported);
    assert!(why.contains("service/FEATURES") && !why.contains("LOG_LEVEL"), "{why}");
    assert!(!why.contains("a-feature"), "{why}");
    shop.pass(Duration::from_mins(10)).await;
    assert_eq!(shop.sent(), [1, 0, 0]);
    shop.redeploy(&spec(&[("LOG_LEVEL", "info"), ("FEATURES", "a-feature")], &["API_TOKEN"]), "Deployed").await;
    assert_eq!(shop.sent(), [1, 1, 0]);
}
