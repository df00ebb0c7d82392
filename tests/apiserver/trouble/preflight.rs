//! Mistakes that the registry entry shows: reported at once and together, before anything is sent.

use crate::prelude::*;

fn secured(key: &str) -> Value {
    json!({"key": key, "valueFrom": {"secretKeyRef": {"name": SECRET, "key": "token"}}})
}

fn application(name: &str, standard: &[&str], secrets: &[&str]) -> Value {
    let standard: Vec<_> = standard.iter().map(|key| json!({"key": key, "value": "info"})).collect();
    let secured: Vec<_> = secrets.iter().map(|key| secured(key)).collect();
    json!({"applicationName": name, "standardConfiguration": standard, "securedConfiguration": secured})
}

#[tokio::test]
async fn all_mistakes_are_reported_at_once_and_nothing_is_sent() {
    let shop = Leaping::open().await;
    let wrong = [application("service", &["LOG_LEVL"], &["API_TOKN"]), application("servce", &[], &[])];
    shop.apply_deployment(&json!({"configurations": wrong})).await;
    let reported = shop.until_reason("ConfigurationInvalid").await;
    let words = message(&reported);
    for part in [
        "no application servce (it has service)",
        "no key LOG_LEVL (it has ",
        "no key API_TOKN (it has ",
        "requires a value for the secured API_TOKEN",
    ] {
        assert!(words.contains(part), "{part}: {words}");
    }
    shop.pass(Duration::from_mins(10)).await;
    assert_eq!(shop.sent(), [0, 0, 0]);
    shop.change(&json!({"spec": {"configurations": [application("service", &["LOG_LEVEL"], &["API_TOKEN"])]}})).await;
    shop.finish("Deployed").await;
    assert_eq!(shop.sent(), [1, 0, 0]);

    // The live deployment stays as it is while a change of it is invalid.
    shop.change(&json!({"spec": {"configurations": [application("service", &["FEATURE"], &["API_TOKEN"])]}})).await;
    let reported = shop.until_reason("ConfigurationInvalid").await;
    assert!(message(&reported).contains("no key FEATURE (it has "));
    shop.pass(QUIET_PERIOD).await;
    shop.change(&json!({"spec": {"configurations": [application("service", &["LOG_LEVEL"], &["API_TOKEN"])]}})).await;
    shop.until_reason("Deployed").await;
    assert_eq!(shop.sent(), [1, 0, 0], "nothing was sent");
}

#[tokio::test]
async fn a_connector_is_deployed_only_where_it_is_supported_and_previewed_only_if_it_may_be() {
    let plain = json!([{"applicationName": "service"}]);
    let shop = Leaping::open().await;
    for (name, spec, words) in [
        (
            "of-another-region",
            json!({"connector": {"key": "demo-us-only"}, "configurations": null}),
            ["region europe-west1.gcp is not supported", "us-central1.gcp"],
        ),
        (
            "hidden",
            json!({"connector": {"key": "demo-staged-hidden", "staged": true}, "configurations": plain}),
            ["its isPreviewable is none", "request preview permission"],
        ),
    ] {
        shop.sandbox.apply(&named(with_spec(shop.deployment(), &spec), name)).await.unwrap();
        let reported: ConnectorDeployment = shop.until_reason_of(name, "ConfigurationInvalid").await;
        assert!(words.iter().all(|word| message(&reported).contains(word)), "{name}: {}", message(&reported));
    }
    assert_eq!(shop.sent(), [0, 0, 0]);
    let may = json!({"connector": {"key": "demo-staged", "staged": true}, "configurations": plain});
    shop.apply_deployment(&may).await;
    shop.finish("Deployed").await;
    assert_eq!(shop.sent(), [1, 0, 0]);
}

#[tokio::test]
async fn a_cached_registry_entry_does_not_cause_a_refusal() {
    let shop = Leaping::live().await;
    let key = StandardKey { key: "BRAND_NEW".into(), ..StandardKey::default() };
    let add = |connector: &mut dev_server::ConnectorDefinition| {
        connector.configurations[0].standard_configuration.push(key);
    };
    shop.dev.world().raise_connector("demo-connector", false, add).unwrap();
    let before = shop.calls("getConnectorByKey");
    let spec = json!({"configurations": [application("service", &["BRAND_NEW"], &["API_TOKEN"])]});
    shop.sandbox.apply(&named(with_spec(shop.deployment(), &spec), "other")).await.unwrap();
    shop.until_calls("createDeployment", 2).await;
    assert_eq!(shop.calls("getConnectorByKey"), before + 1, "one more read before it is reported");
}
