//! Rule 17, `readyWhen`: what proves that the scripts of a connector worked, and what is reported without that proof.

use connect_api::commerce::ResourceKind;
use dev_server::Creation;

use crate::prelude::*;

const KEY: &str = "demo-cart-check";

fn verified() -> Value {
    json!({"readyWhen": ["Verified"], "verify": {"extensions": [{"key": KEY, "applicationName": "service"}]}})
}

/// Status, reason and message of the condition `Verified`.
fn verification(object: &ConnectorDeployment) -> (&str, &str, &str) {
    condition(object, names::VERIFIED)
        .map_or(("", "", ""), |condition| (&condition.status, &condition.reason, &condition.message))
}

/// Returns a live deployment whose script did this.
async fn with_script(creation: Creation, spec: &Value, reason: &str) -> (Leaping, ConnectorDeployment) {
    let shop = Leaping::applied(spec).await;
    let running = shop.until("an operation is accepted", is_accepted).await;
    assert!(
        spec["readyWhen"] != json!(["Verified"]) || verification(&running).1 == "NotChecked",
        "{:?}",
        verification(&running)
    );
    let id = status(&running).id.expect("an id");
    shop.dev.world().plan_resources(&id, Some(creation), shop.dev.now()).unwrap();
    shop.pass(DEPLOYING).await;
    let object = shop.until_reason(reason).await;
    (shop, object)
}

#[tokio::test]
async fn rule_17_verified_is_ready_once_the_named_extension_points_to_the_deployment() {
    let (shop, live) = with_script(Creation::Created, &verified(), "Deployed").await;
    let (state, reason, found) = verification(&live);
    assert_eq!((state, reason), ("True", "Verified"));
    assert!(found.contains(KEY) && message(&live).contains(KEY), "{found}; {}", message(&live));

    let live = shop.until_annotated().await;
    let lookups = shop.calls("getExtensionByKey");
    // One step could come before the response of a lookup that is in progress, and the next one is due after it.
    meanwhile(&shop.clock, COARSE, shop.until_calls("getExtensionByKey", lookups + 1)).await;
    let before = shop.get().await.metadata.resource_version;
    assert_eq!(before, live.metadata.resource_version, "the same result is not written again");
    // It is removed outside the operator: reported at the interval, and nothing is sent.
    shop.dev.world().remove_resource("demo", ResourceKind::Extension, KEY).unwrap();
    let lost = meanwhile(&shop.clock, COARSE, shop.until_reason("NotVerified")).await;
    assert_eq!(verification(&lost).1, "NotFound");
    assert_eq!(shop.sent(), [1, 0, 0]);
}

#[tokio::test]
async fn rule_17_a_missing_extension_keeps_it_unready_until_it_appears() {
    let (shop, live) = with_script(Creation::Omitted, &verified(), "NotVerified").await;
    assert_eq!(ready(&live), ("False", "NotVerified"));
    assert!(condition(&live, names::STALLED).is_none() && condition(&live, names::RECONCILING).is_none());
    assert_eq!(status(&live).remote_state(), Some("Deployed"), "the deployment did not fail");
    let (state, reason, found) = verification(&live);
    assert_eq!((state, reason), ("False", "NotFound"));
    assert!(found.contains(&format!("Extension {KEY} does not exist")), "{found}");
    assert!(message(&live).contains(found), "{}", message(&live));

    let id = status(&live).id.expect("an id");
    shop.dev.world().create_resources(&id, Creation::Created, shop.dev.now()).unwrap();
    shop.clock.step(Duration::from_mins(1));
    let live = shop.until_reason("Deployed").await;
    assert_eq!(verification(&live).0, "True");
    assert_eq!(shop.sent(), [1, 0, 0], "no redeploy");
}

#[tokio::test]
async fn rule_17_an_extension_with_another_destination_is_no_proof() {
    let (shop, live) = with_script(Creation::Elsewhere, &verified(), "NotVerified").await;
    let (state, reason, found) = verification(&live);
    assert_eq!((state, reason), ("False", "WrongDestination"));
    assert!(found.contains("elsewhere.example") && found.contains("application service"), "{found}");
    assert_eq!(shop.sent(), [1, 0, 0]);
}

#[tokio::test]
async fn rule_17_a_topic_is_compared_too() {
    let shop = Leaping::open().await;
    shop.put_secret("hooks", &[("secret", "a-secret-of-the-hooks")]).await;
    let secret = json!({"key": "WEBHOOK_SECRET", "valueFrom": {"secretKeyRef": {"name": "hooks", "key": "secret"}}});
    shop.apply_deployment(&json!({
        "connector": {"key": "demo-pipeline"},
        "readyWhen": ["Verified"],
        "verify": {"extensions": [{"key": "demo-intake"}], "subscriptions": [{"key": "demo-orders", "applicationName": "order-events"}]},
        "globalConfiguration": {
            "standardConfiguration": [{"key": "SHOP_NAME", "value": "Shop"}], "securedConfiguration": [secret]},
        "configurations": [{"applicationName": "intake"}, {"applicationName": "order-events"},
            {"applicationName": "nightly-export", "standardConfiguration": [{"key": "TARGET", "value": "x"}]}],
    }))
    .await;
    let live = shop.finish("Deployed").await;
    let (state, _, found) = verification(&live);
    assert_eq!(state, "True", "{found}");
    assert!(found.contains("Extension demo-intake") && found.contains("Subscription demo-orders"), "{found}");
}

#[tokio::test]
async fn rule_17_after_a_redeploy_it_is_verified_again() {
    let (shop, live) = with_script(Creation::Created, &verified(), "Deployed").await;
    let id = status(&live).id.expect("an id");
    shop.dev.world().plan_resources(&id, Some(Creation::Omitted), shop.dev.now()).unwrap();
    shop.change(&json!({"spec": level("debug")})).await;
    shop.gathered().await;
    let running = shop.until("an operation is accepted", is_accepted).await;
    assert_eq!(verification(&running).0, "Unknown", "an earlier result does not count");
    assert_eq!(verification(&running).1, "NotChecked", "an earlier result does not count");
    shop.pass(DEPLOYING).await;
    let live = shop.until_reason("NotVerified").await;
    assert_eq!(verification(&live).1, "NotFound");
    assert_eq!(shop.sent(), [1, 1, 0]);
}

#[tokio::test]
async fn rule_17_a_missing_scope_is_named_and_other_credentials_can_provide_it() {
    let catalogue = with_client("deployer", &["manage_connectors_deployments:demo", "view_connectors:demo"]);
    let shop = Leaping::with(Options { catalogue, ..Options::default() }).await;
    let verifier = json!({"httpApi": {"url": shop.dev.url(), "credentialsSecretRef": {"name": "verifier"}}});
    shop.sandbox.apply(&with_spec(shop.project(), &verifier)).await.unwrap();
    shop.apply_deployment(&verified()).await;
    let live = shop.finish("SecretMissing").await;
    let needs = "(needed by spec.httpApi.credentialsSecretRef of the project)";
    assert!(message(&live).contains(needs), "{}", message(&live));
    shop.until_available().await;

    shop.put_secret("verifier", &[("clientId", "deployer"), ("clientSecret", "dev-secret")]).await;
    let live = shop.until_reason("PermissionMissing").await;
    let found = verification(&live).2;
    assert!(found.contains("manage_extensions:demo") && found.contains("to read Extensions"), "{found}");
    shop.put_secret("verifier", &[("clientId", "deployer"), ("clientSecret", "another-secret-of-the-shop")]).await;
    let live = shop.until_reason("CredentialsRejected").await;
    assert!(!format!("{live:?}").contains("another-secret-of-the-shop"));
    assert_eq!(status(&live).remote_state(), Some("Deployed"));

    shop.put_secret("verifier", &[("clientId", "dev-client"), ("clientSecret", "dev-secret")]).await;
    shop.until_reason("Deployed").await;
    assert_eq!(shop.sent(), [1, 0, 0]);
}

#[tokio::test]
async fn rule_17_an_unavailable_http_api_stops_nothing_else() {
    let (shop, _) = with_script(Creation::Created, &verified(), "Deployed").await;
    shop.dev.fault(Fault::of("getExtensionByKey", FaultAnswer::error(503, "General"))).unwrap();
    let before = shop.calls("getExtensionByKey");
    meanwhile(&shop.clock, COARSE, shop.until_calls("getExtensionByKey", before + 1)).await;
    let live = shop.pass(Duration::from_secs(1)).await;
    assert_eq!((ready(&live).1, verification(&live).1), ("Deployed", "Verified"), "the settled result stays");

    shop.change(&json!({"spec": level("debug")})).await;
    shop.gathered().await;
    let live = shop.finish("NotChecked").await;
    let unread = |object: &ConnectorDeployment| verification(object).2.contains("cannot be looked up");
    let live = if unread(&live) { live } else { shop.until("the cause", unread).await };
    assert_eq!((ready(&live).0, verification(&live).0), ("Unknown", "Unknown"));
    assert_eq!(shop.sent(), [1, 1, 0], "the Connect API is called as before");
    assert_eq!(shop.calls("token"), 2, "one for each API: lookups share a client");
    shop.dev.clear_faults();
    shop.clock.step(Duration::from_mins(1));
    shop.until_reason("Deployed").await;
}

#[tokio::test]
async fn rule_17_by_default_ready_does_not_wait_for_it_and_warnings_are_always_reported() {
    let spec = json!({"verify": {"extensions": [{"key": KEY}]}});
    let (shop, live) = with_script(Creation::Omitted, &spec, "Deployed").await;
    assert_eq!(message(&live), "Deployed", "the message does not claim that it works");
    shop.until("the condition", |object| verification(object).1 == "NotFound").await;

    let warning = |more: Value| {
        let mut spec =
            json!({"connector": {"key": "demo-warning"}, "configurations": [{"applicationName": "service"}]});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        spec
    };
    for (when, reason, stalled) in
        [(json!([]), "DeployedWithWarnings", false), (json!(["NoWarnings"]), "WarningsReported", true)]
    {
        let shop = Leaping::applied(&warning(json!({"readyWhen": when}))).await;
        let live = shop.finish(reason).await;
        assert_eq!(condition(&live, names::STALLED).is_some(), stalled, "{when}");
        assert_eq!(ready(&live).0 == "True", !stalled, "{when}");
        assert!(status(&live).report.iter().any(|entry| entry.entry_type == "Warning"), "{when}");
        assert!(message(&live).contains("postDeploy"), "{}", message(&live));
        assert!(condition(&live, names::VERIFIED).is_none());
        assert_eq!(shop.sent(), [1, 0, 0]);
    }
}
