//! Manifests that must be accepted, from the smallest to the largest.

use serde_json::{Value, json};

use crate::cluster::Sandbox;
use crate::manifests::{FULL, MINIMAL, deployment, documents, project, with_spec};

#[tokio::test]
async fn the_smallest_and_the_fullest_manifests_are_accepted_unchanged() {
    let sandbox = Sandbox::new().await;
    for manifest in documents(MINIMAL).into_iter().chain(documents(FULL)) {
        let name = manifest["metadata"]["name"].to_string();
        let stored = sandbox.apply(&manifest).await.unwrap_or_else(|refusal| panic!("{name}: {refusal}"));
        assert_eq!(stored.data["spec"], manifest["spec"], "{name}");
    }
}

#[tokio::test]
async fn valid_specs_are_accepted() {
    let sandbox = Sandbox::new().await;
    let value = |key: &str, text: &str| json!({"key": key, "value": text});
    let values =
        |items: Vec<Value>| json!({"configurations": [{"applicationName": "service", "standardConfiguration": items}]});
    let policy = |policy: Value| json!({"configurations": [{"applicationName": "events", "retryPolicy": policy}]});
    let longest = "k".repeat(256);
    for (index, (case, spec)) in [
        ("the kind of the reference", json!({"projectRef": {"kind": "ConnectProject"}})),
        ("the shortest key", json!({"key": "_-"})),
        ("the longest key", json!({"key": longest})),
        ("an unknown region", json!({"region": "asia-northeast-1.azure"})),
        ("the shortest interval", json!({"interval": "30s"})),
        ("an interval of all units", json!({"interval": "1h1m1s"})),
        ("preview of a staged connector", json!({"type": "preview", "connector": {"staged": true}})),
        ("a staged connector without a type", json!({"connector": {"staged": true}})),
        ("the only connector by reference", json!({"connector": {"key": null, "stagedRef": {"name": "mine"}}})),
        ("empty lists", json!({"configurations": [], "globalConfiguration": {}, "drift": {}})),
        ("an empty value", values(vec![value("EMPTY", "")])),
        ("a key of any characters", values(vec![value("some key.with/all äöü", "x")])),
        (
            "a value of 30 KB with special characters",
            values(vec![value("LARGE", &"a\n\"b\", c\\ é€😀\t".repeat(1300))]),
        ),
        ("the longest value", values(vec![value("LONGEST", &"x".repeat(32768))])),
        ("no pause between attempts", policy(json!({"strategy": "immediate"}))),
        (
            "a fixed pause between five attempts",
            policy(json!({
                "strategy": "exponential-backoff", "minBackoffSeconds": 600, "maxBackoffSeconds": 600, "maxAttempts": 5,
            })),
        ),
        ("an empty list of global values", json!({"globalConfiguration": {"standardConfiguration": []}})),
    ]
    .into_iter()
    .enumerate()
    {
        let manifest = with_spec(deployment(&format!("accepted-{index}")), &spec);
        let stored = sandbox.apply(&manifest).await.unwrap_or_else(|refusal| panic!("{case}: {refusal}"));
        assert_eq!(stored.data["spec"], manifest["spec"], "{case}");
    }
    for (index, (case, spec)) in [
        ("an unknown region", json!({"region": "asia-northeast-1.azure"})),
        ("an address with port and path", json!({"apiUrl": "https://[::1]:8787/connect/api"})),
        ("a slow project", json!({"requestsPerSecond": 1})),
        ("a rate that is no integer", json!({"requestsPerSecond": 2.5})),
        ("keys of its own", json!({"credentialsSecretRef": {"name": "ctp", "clientIdKey": "CTP_CLIENT_ID", "clientSecretKey": "CTP_CLIENT_SECRET"}})),
    ]
    .into_iter()
    .enumerate()
    {
        let manifest = with_spec(project(&format!("accepted-{index}")), &spec);
        sandbox.apply(&manifest).await.unwrap_or_else(|refusal| panic!("{case}: {refusal}"));
    }
}

#[tokio::test]
async fn a_null_counts_as_absent() {
    let sandbox = Sandbox::new().await;
    let mut manifest = deployment("nulls");
    for member in ["key", "type", "region", "interval", "drift", "globalConfiguration", "outputs"] {
        manifest["spec"][member] = Value::Null;
    }
    let created = sandbox.kubectl(&["create", "--filename", "-"], &manifest.to_string()).await;
    assert!(created.status.success(), "{}", String::from_utf8_lossy(&created.stderr));
    let stored = sandbox.api(&manifest).get("nulls").await.unwrap();
    assert_eq!(stored.data["spec"], deployment("nulls")["spec"]);
}

/// etcd accepts requests of 1.5 MiB by default, and the managed fields of a field cost about as much as the field.
/// Measured: 64 applications fit with 100 values each, and with up to 60 secured values beside 100 plain ones; 75 do
/// not fit. `kubectl apply` without `--server-side` keeps a copy in an annotation, which can have 256 KiB.
#[tokio::test]
async fn sixty_four_applications_with_100_values_fit_into_the_cluster() {
    let sandbox = Sandbox::new().await;
    let plain = |index| json!({"key": format!("SETTING_NUMBER_{index}"), "value": format!("value of setting {index}")});
    let secured = |index| {
        let from = json!({"secretKeyRef": {"name": "tax-secrets", "key": format!("token-{index}")}});
        json!({"key": format!("TOKEN_{index}"), "valueFrom": from})
    };
    for (case, plain_values, secured_values) in [("plain", 100, 0), ("secured", 0, 100), ("mixed", 50, 50)] {
        let applications: Vec<Value> = (0..64)
            .map(|application| {
                json!({
                    "applicationName": format!("application-{application}"),
                    "standardConfiguration": (0..plain_values).map(plain).collect::<Vec<_>>(),
                    "securedConfiguration": (0..secured_values).map(secured).collect::<Vec<_>>(),
                })
            })
            .collect();
        let manifest = with_spec(deployment(&format!("large-{case}")), &json!({"configurations": applications}));
        let stored = sandbox.apply(&manifest).await.unwrap_or_else(|refusal| panic!("{case}: {refusal}"));
        assert_eq!(stored.data["spec"], manifest["spec"], "{case}");
        let size = serde_json::to_string(&stored).unwrap().len();
        assert!(size < 1_572_864, "{case}: {size} bytes");
        let written = sandbox.set_status(&manifest, &json!({"observedGeneration": 1})).await;
        written.unwrap_or_else(|refusal| panic!("{case}: {refusal}"));
    }
}
