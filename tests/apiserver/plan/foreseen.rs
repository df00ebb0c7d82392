//! What a plan predicts: a create, a redeploy, an adoption, or nothing.

use super::*;
use crate::prelude::*;

/// Case, manifests, and the expected plan: exit code, action, differences.
type Row<'a> = (&'a str, Vec<Value>, i32, &'a str, Vec<Value>);

#[tokio::test]
async fn a_redeploy_is_planned_with_the_values_that_differ_and_secured_ones_are_not_printed() {
    let shop = live().await;
    let level = difference("plain", "LOG_LEVEL", "changed", &json!("info"), &json!("debug"));
    let token = difference("secured", "API_TOKEN", "changed", &Value::Null, &Value::Null);
    let mut requested = shop.deployment();
    requested["metadata"]["annotations"] = json!({names::REDEPLOY_REQUESTED_AT: "now"});
    let mut labelled = shop.deployment();
    labelled["metadata"]["labels"] = json!({"team": "tax"});
    let token_is = |text: &str| secret(SECRET, &json!({"token": text}));
    let rows: [Row<'_>; 9] = [
        ("unchanged", vec![shop.deployment()], 0, "none", vec![]),
        ("unchanged, with its Secret", vec![token_is(TOKEN), shop.deployment()], 0, "none", vec![]),
        ("a label", vec![labelled], 0, "none", vec![]),
        ("another interval", vec![with_spec(shop.with_level("info"), &json!({"interval": "10m"}))], 0, "none", vec![]),
        ("a plain value", vec![shop.with_level("debug")], 2, "redeploy", vec![level.clone()]),
        ("a secured value", vec![token_is(NEXT), shop.deployment()], 2, "redeploy", vec![token.clone()]),
        ("a Secret alone", vec![token_is(NEXT)], 2, "redeploy", vec![token.clone()]),
        ("both", vec![shop.with_level("debug"), token_is(NEXT)], 2, "redeploy", vec![level, token]),
        ("a request", vec![requested], 2, "redeploy", vec![]),
    ];
    for (case, manifests, code, action, differences) in rows {
        let planned = plan(&shop, &manifests).await;
        assert_eq!((planned.code, planned.error.as_str()), (Some(code), ""), "{case}: {}", planned.output);
        let planned = planned.json();
        let deployment = &planned["deployments"][0];
        assert_eq!(deployment["action"], action, "{case}: {planned:#}");
        assert_eq!(deployment["differences"], json!(differences), "{case}: {planned:#}");
        assert_eq!(deployment["key"], shop.key(), "{case}");
        assert_eq!(planned["changes"], code == 2, "{case}");
    }
    let printed = plan_as(&shop, &shop.sandbox.kubeconfig(), &[shop.with_level("debug")], &[]).await;
    let namespace = &shop.sandbox.namespace;
    let expected = format!(
        "~ ConnectorDeployment {namespace}/tax: is redeployed\n    ~ service LOG_LEVEL: \"info\" -> \"debug\"\n\
         Plan: 1 to redeploy.\n"
    );
    assert_eq!(printed.output, expected, "a pipe has no colours");
}

#[tokio::test]
async fn a_missing_deployment_is_created_and_an_existing_one_adopted_only_by_policy() {
    let shop = nothing_live().await;
    let with_secret = |manifest: Value| vec![secret(SECRET, &json!({"token": TOKEN})), manifest];
    let created = plan_with(&shop, &with_secret(shop.deployment()), 2).await;
    assert_eq!(created["deployments"][0]["action"], "create");
    let expected = [
        difference("plain", "LOG_LEVEL", "added", &Value::Null, &json!("info")),
        difference("secured", "API_TOKEN", "added", &Value::Null, &Value::Null),
    ];
    assert_eq!(created["deployments"][0]["differences"], json!(expected));

    shop.make_elsewhere("info");
    let with = |spec: Value| with_spec(shop.deployment(), &spec);
    let adopt = json!({"adoptionPolicy": "Adopt"});
    let adopt_there = json!({"adoptionPolicy": "Adopt", "region": "us-central1.gcp"});
    let debug = with_spec(shop.with_level("debug"), &adopt);
    let level = difference("plain", "LOG_LEVEL", "changed", &json!("info"), &json!("debug"));
    let token = difference("secured", "API_TOKEN", "unknown", &Value::Null, &Value::Null);
    let (none, key_taken) = (Value::Null, json!("KeyTaken"));
    for (case, manifest, code, action, problem, differences) in [
        ("not adopted", shop.deployment(), 1, "none", &key_taken, vec![]),
        ("adopted unchanged", with(adopt), 2, "adopt", &none, vec![]),
        ("adopted with another value", debug, 2, "adoptAndRedeploy", &none, vec![level, token]),
        ("only observed", with(json!({"managementPolicy": "ObserveOnly"})), 0, "none", &none, vec![]),
        ("of another region", with(adopt_there), 1, "none", &key_taken, vec![]),
    ] {
        let planned = plan_with(&shop, &with_secret(manifest), code).await;
        let deployment = &planned["deployments"][0];
        assert_eq!(deployment["action"], json!(action), "{case}: {planned:#}");
        assert_eq!(&deployment["problem"]["reason"], problem, "{case}: {planned:#}");
        assert_eq!(deployment["differences"], json!(differences), "{case}: {planned:#}");
    }
}

#[tokio::test]
async fn a_connector_version_that_would_be_followed_is_named() {
    let shop = live().await;
    shop.dev.world().raise_connector("demo-connector", false, |_| {}).unwrap();
    plan_with(&shop, &[shop.deployment()], 0).await;
    for change in [json!({"updatePolicy": "Latest"}), json!({"version": 2})] {
        let planned = plan_with(&shop, &[with_spec(shop.deployment(), &json!({"connector": change}))], 2).await;
        assert_eq!(planned["deployments"][0]["connector"], json!({"before": 1, "after": 2}), "{change}");
    }
}

#[tokio::test]
async fn the_operator_sends_the_planned_change() {
    let mut shop = live().await;
    let changed = shop.with_level("debug");
    plan_with(&shop, std::slice::from_ref(&changed), 2).await;
    shop.start_operator();
    let api: Api<ConnectorDeployment> = shop.api();
    api.patch(NAME, &PatchParams::apply("tester").force(), &Patch::Apply(&changed)).await.unwrap();
    shop.until("redeployed", |object| {
        object.status.as_ref().is_some_and(|status| {
            status.remote_version() == Some(2) && state(object).operation.is_none() && status.observed_generation == 2
        })
    })
    .await;
    shop.until_reason("Deployed").await;
    assert_eq!(shop.calls("updateDeploymentById"), 1);
    shop.stop_operator().await;
    assert_eq!(plan(&shop, &[changed]).await.code, Some(0), "no change is left");
}

#[tokio::test]
async fn a_suspended_deployment_shows_what_waits_and_nothing_would_happen() {
    let shop = live().await;
    let planned = plan_with(&shop, &[with_spec(shop.with_level("debug"), &json!({"suspend": true}))], 0).await;
    let deployment = &planned["deployments"][0];
    assert_eq!((&deployment["action"], &deployment["held"]), (&json!("none"), &json!("redeploy")), "{planned:#}");
    let level = difference("plain", "LOG_LEVEL", "changed", &json!("info"), &json!("debug"));
    assert_eq!(deployment["differences"], json!([level]), "{planned:#}");
}
