//! Rules 13 and 14: adoption of existing deployments, and values from whole objects.

use super::adopting::adopting;
use crate::prelude::*;

#[tokio::test]
async fn rule_13_a_matching_deployment_is_adopted_unchanged_after_a_minute_without_changes() {
    let (shop, id) = Leaping::beside("info").await;
    shop.apply_deployment(&adopting("info")).await;
    shop.until_reason("Adopting").await;
    let waiting = shop.pass(Duration::from_secs(40)).await;
    assert_eq!(ready(&waiting), ("Unknown", "Adopting"));
    assert_eq!(status(&waiting).id, None);
    // A version that changes restarts the minute.
    shop.dev.world().bump_version(&id, shop.dev.now()).unwrap();
    let waiting = shop.pass(Duration::from_secs(40)).await;
    assert_eq!(ready(&waiting), ("Unknown", "Adopting"));
    shop.pass(QUIET).await;
    let ours = shop.until_reason("Deployed").await;
    assert_eq!(status(&ours).id.as_ref(), Some(&id));
    assert!(is(&ours, names::SECRETS_UNVERIFIED));
    shop.pass(Duration::from_mins(5)).await;
    assert_eq!(shop.sent(), [0, 0, 0]);

    let redeployed = shop.rotate("second-token-of-the-shop", "Deployed").await;
    assert!(!is(&redeployed, names::SECRETS_UNVERIFIED), "the operator sent these secrets");
    assert_eq!(shop.sent(), [0, 1, 0]);
}

fn pair(key: &str, value: &str) -> (String, String) {
    (key.to_owned(), value.to_owned())
}

#[tokio::test]
async fn rule_14_later_whole_objects_win_and_explicit_values_win_over_all() {
    let shop = Leaping::open().await;
    shop.put_secret(SECRET, &[("TOKEN", "token-of-the-whole-secret"), ("NOISE", "is-not-declared")]).await;
    shop.put_config_map("first", &[("LOG_LEVEL", "debug"), ("FEATURES", "from-the-first")]).await;
    shop.put_config_map("second", &[("LEVEL", "warn"), ("UNHEARD_OF", "value")]).await;
    let from = |explicit: Value| {
        json!({
            "configurationFrom": [
                {"configMapRef": {"name": "first"}},
                {"configMapRef": {"name": "second"}, "prefix": "LOG_"},
                {"secretRef": {"name": SECRET}, "prefix": "API_"},
            ],
            "configurations": [{"applicationName": "service", "standardConfiguration": explicit}],
        })
    };
    shop.sandbox.apply(&with_spec(shop.deployment(), &from(json!([])))).await.unwrap();
    let live = shop.finish("Deployed").await;
    assert_eq!(shop.plain(), [pair("FEATURES", "from-the-first"), pair("LOG_LEVEL", "warn")]);
    let id = status(&live).id.expect("an id");
    let token = shop.dev.world().secured_is(&id, Some("service"), "API_TOKEN", "token-of-the-whole-secret");
    assert_eq!(token, Some(true));

    shop.until_event("KeysNotSent").await;
    let named: Vec<_> = shop.events("KeysNotSent").await;
    assert_eq!(named.len(), 1, "{named:?}");
    assert!(named[0].contains("LOG_UNHEARD_OF") && named[0].contains("API_NOISE"), "{named:?}");
    assert!(!named[0].contains("is-not-declared"), "the message has names and no values");

    // A change of an undeclared key causes no redeploy; a change of a declared one does.
    let looks = shop.looks();
    shop.patch::<ConfigMap>("second", &json!({"data": {"UNHEARD_OF": "other"}})).await;
    shop.until_so("a read after the change", || shop.looks() > looks).await;
    shop.pass(GATHER).await;
    assert_eq!(shop.sent(), [1, 0, 0]);
    shop.patch::<ConfigMap>("second", &json!({"data": {"LEVEL": "error"}})).await;
    shop.redeployed("Deployed").await;
    assert_eq!(shop.plain()[1], pair("LOG_LEVEL", "error"));

    shop.redeploy(&json!({"spec": from(json!([{"key": "LOG_LEVEL", "value": "info"}]))}), "Deployed").await;
    assert_eq!(shop.plain()[1], pair("LOG_LEVEL", "info"));
    assert_eq!(shop.sent(), [1, 2, 0]);
    assert_eq!(shop.events("KeysNotSent").await.len(), 1, "reported once");
}
