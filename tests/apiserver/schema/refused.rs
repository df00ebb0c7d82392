//! Manifests that must be refused, each with a message that tells its author what to do.

use serde_json::{Value, json};

use crate::cluster::Sandbox;
use crate::manifests::{deployment, project, with_spec};

/// The name of the case, the change to the spec of a small manifest, and a part of the refusal.
pub(super) type Row<'a> = (&'a str, Value, &'a str);

pub(super) async fn refuse(small: impl Fn(&str) -> Value, rows: Vec<Row<'_>>) {
    let sandbox = Sandbox::new().await;
    sandbox.apply(&small("fine")).await.expect("the small manifest is accepted");
    for (case, spec, words) in rows {
        let manifest = with_spec(small("refused"), &spec);
        let refusal = sandbox.apply(&manifest).await.err();
        let refusal = refusal.unwrap_or_else(|| panic!("{case}: accepted"));
        assert!(refusal.contains(words), "{case}: {refusal}");
    }
}

/// The spec of a deployment with one application that has the given lists.
fn application(lists: &Value) -> Value {
    let named = with_spec(json!({"spec": {"applicationName": "service"}}), lists);
    json!({"configurations": [named["spec"]]})
}

fn a_secret() -> Value {
    json!({"secretKeyRef": {"name": "tax", "key": "token"}})
}

#[tokio::test]
async fn a_connector_is_named_in_exactly_one_way() {
    let words = "give exactly one of connector.key, connector.id and connector.stagedRef";
    refuse(
        deployment,
        vec![
            ("no way", json!({"connector": {"key": null}}), words),
            ("key and id", json!({"connector": {"id": "4711"}}), words),
            ("key and reference", json!({"connector": {"stagedRef": {"name": "mine"}}}), words),
            (
                "id and reference",
                json!({"connector": {"key": null, "id": "4711", "stagedRef": {"name": "mine"}}}),
                words,
            ),
            ("all three", json!({"connector": {"id": "4711", "stagedRef": {"name": "mine"}}}), words),
            ("no connector", json!({"connector": null}), "spec.connector: Required value"),
            ("version 0", json!({"connector": {"version": 0}}), "should be greater than or equal to 1"),
            (
                "a reference to something published",
                json!({"connector": {"key": null, "stagedRef": {"name": "mine"}, "staged": false}}),
                "leave connector.staged out, or set it to true",
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn verified_needs_an_object_to_verify() {
    let nothing = "verify names nothing: give at least one entry of extensions or subscriptions";
    let unnamed = "readyWhen Verified needs to know what to look for";
    let key = |key: &str| json!({"verify": {"extensions": [{"key": key}]}});
    let many: Vec<_> = (0..21).map(|number| json!({"key": format!("key-{number}")})).collect();
    refuse(
        deployment,
        vec![
            ("Verified without verify", json!({"readyWhen": "Verified"}), unnamed),
            ("nothing in it", json!({"verify": {}}), nothing),
            ("empty lists", json!({"verify": {"extensions": [], "subscriptions": []}}), nothing),
            ("credentials only", json!({"verify": {"credentialsRef": {"name": "verifier"}}}), nothing),
            ("no such word", json!({"readyWhen": "Live"}), "Unsupported value"),
            ("no key", json!({"verify": {"subscriptions": [{"application": "events"}]}}), "omits all key fields"),
            ("a key that is none", key("a/b"), "should match"),
            ("too many", json!({"verify": {"extensions": many}}), "must have at most 20 items"),
            ("twice", json!({"verify": {"extensions": [{"key": "tax"}, {"key": "tax"}]}}), "duplicate entries for key"),
        ],
    )
    .await;
}

#[tokio::test]
async fn type_preview_is_for_staged_connectors_only() {
    let words = "type preview is for staged connectors, and only that: set connector.staged to true";
    refuse(
        deployment,
        vec![
            ("preview of a published one", json!({"type": "preview"}), words),
            ("preview of one declared as published", json!({"type": "preview", "connector": {"staged": false}}), words),
            ("sandbox of a staged one", json!({"type": "sandbox", "connector": {"staged": true}}), words),
            (
                "production of a reference",
                json!({"type": "production", "connector": {"key": null, "stagedRef": {"name": "mine"}}}),
                words,
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn a_plain_value_comes_from_exactly_one_place() {
    let words = "give exactly one of value and valueFrom";
    let from = json!({"configMapKeyRef": {"name": "tax", "key": "level"}});
    let both = json!({"standardConfiguration": [{"key": "LOG_LEVEL", "value": "", "valueFrom": from}]});
    let value = |from: Value| json!({"standardConfiguration": [{"key": "PEER_URL", "valueFrom": from}]});
    let map = json!({"name": "tax", "key": "level"});
    let url = json!({"application": "service", "placeholder": "x"});
    let one = "give exactly one of configMapKeyRef and applicationUrl";
    let neither = json!({"standardConfiguration": [{"key": "LOG_LEVEL"}]});
    let number = json!({"standardConfiguration": [{"key": "RETRIES", "value": 3}]});
    let secret = json!({"standardConfiguration": [{"key": "TOKEN", "valueFrom": a_secret()}]});
    refuse(
        deployment,
        vec![
            ("both", application(&both), words),
            ("neither", application(&neither), words),
            ("both, global", json!({"globalConfiguration": both}), words),
            ("neither, global", json!({"globalConfiguration": neither}), words),
            ("two references", application(&value(json!({"configMapKeyRef": map, "applicationUrl": url}))), one),
            ("no reference", application(&value(json!({}))), one),
            (
                "a URL without a placeholder",
                application(&value(json!({"applicationUrl": {"application": "service"}}))),
                "placeholder: Required value",
            ),
            (
                "an empty placeholder",
                application(&value(json!({"applicationUrl": {"application": "service", "placeholder": ""}}))),
                "should be at least 1 chars long",
            ),
            (
                "a path without a slash",
                application(&value(
                    json!({"applicationUrl": {"application": "service", "placeholder": "x", "path": "hook"}}),
                )),
                "should match '^/'",
            ),
            ("a number", application(&number), "expected string"),
            ("a secret in a plain value", application(&secret), "field not declared in schema"),
        ],
    )
    .await;
}

#[tokio::test]
async fn a_secured_value_cannot_be_written_as_text() {
    let text = json!({"securedConfiguration": [{"key": "API_TOKEN", "value": "canary"}]});
    let both = json!({"securedConfiguration": [{"key": "API_TOKEN", "value": "canary", "valueFrom": a_secret()}]});
    let from = json!({"configMapKeyRef": {"name": "tax", "key": "token"}});
    let config_map = json!({"securedConfiguration": [{"key": "API_TOKEN", "valueFrom": from}]});
    let words = "field not declared in schema";
    refuse(
        deployment,
        vec![
            ("text", application(&text), words),
            ("text beside a reference", application(&both), words),
            ("a ConfigMap", application(&config_map), words),
            ("text, global", json!({"globalConfiguration": text}), words),
        ],
    )
    .await;
    // A client without strict validation is refused too.
    let sandbox = Sandbox::new().await;
    let manifest = with_spec(deployment("lax"), &application(&text));
    let created = sandbox.kubectl(&["create", "--validate=ignore", "--filename", "-"], &manifest.to_string()).await;
    let refusal = String::from_utf8_lossy(&created.stderr);
    assert!(refusal.contains("securedConfiguration[0].valueFrom: Required value"), "{refusal}");
}

#[tokio::test]
async fn a_retry_policy_has_what_its_strategy_takes() {
    let policy = |policy: &Value| json!({"configurations": [{"applicationName": "events", "retryPolicy": policy}]});
    let backoff = |shortest: i64, longest: i64, attempts: i64| {
        json!({
            "strategy": "exponential-backoff",
            "minBackoffSeconds": shortest, "maxBackoffSeconds": longest, "maxAttempts": attempts,
        })
    };
    refuse(
        deployment,
        vec![
            (
                "a policy without a strategy",
                policy(&json!({})),
                "spec.configurations[0].retryPolicy.strategy: Required",
            ),
            (
                "an unknown strategy",
                policy(&json!({"strategy": "Immediate"})),
                r#"supported values: "immediate", "exponential-backoff""#,
            ),
            ("backoff without pauses", policy(&json!({"strategy": "exponential-backoff"})), "needs minBackoffSeconds"),
            (
                "backoff without a longest pause",
                policy(&json!({"strategy": "exponential-backoff", "minBackoffSeconds": 1})),
                "needs minBackoffSeconds and maxBackoffSeconds",
            ),
            (
                "immediate with a pause",
                policy(&json!({"strategy": "immediate", "maxBackoffSeconds": 1})),
                "are for strategy exponential-backoff only",
            ),
            (
                "immediate with attempts",
                policy(&json!({"strategy": "immediate", "maxAttempts": 5})),
                "are for strategy exponential-backoff only",
            ),
            ("the shortest above the longest", policy(&backoff(3, 2, 5)), "must not be above maxBackoffSeconds"),
            ("no shortest pause", policy(&backoff(0, 1, 5)), "should be greater than or equal to 1"),
            ("a pause of 601", policy(&backoff(1, 601, 5)), "should be less than or equal to 600"),
            ("four attempts", policy(&backoff(1, 1, 4)), "should be greater than or equal to 5"),
            ("101 attempts", policy(&backoff(1, 1, 101)), "should be less than or equal to 100"),
        ],
    )
    .await;
}

#[tokio::test]
async fn duplicate_keys_are_refused() {
    let plain = json!([{"key": "A", "value": "1"}, {"key": "A", "value": "2"}]);
    let secured = json!([{"key": "A", "valueFrom": a_secret()}, {"key": "A", "valueFrom": a_secret()}]);
    let rows = [
        ("application", json!({"configurations": [{"applicationName": "service"}, {"applicationName": "service"}]})),
        ("plain value", application(&json!({"standardConfiguration": plain}))),
        ("secured value", application(&json!({"securedConfiguration": secured}))),
        ("global plain value", json!({"globalConfiguration": {"standardConfiguration": plain}})),
        ("global secured value", json!({"globalConfiguration": {"securedConfiguration": secured}})),
    ];
    let sandbox = Sandbox::new().await;
    for (case, spec) in rows {
        let manifest = with_spec(deployment("twice"), &spec).to_string();
        let created = sandbox.kubectl(&["create", "--filename", "-"], &manifest).await;
        let refusal = String::from_utf8_lossy(&created.stderr);
        assert!(refusal.contains("Duplicate value"), "{case}: {refusal}");
    }
}

#[tokio::test]
async fn what_is_out_of_bounds_is_refused() {
    let many = |count: usize, item: &dyn Fn(usize) -> Value| (0..count).map(item).collect::<Vec<_>>();
    let plain = many(101, &|index| json!({"key": format!("K{index}"), "value": ""}));
    let secret =
        |index: usize| json!({"key": format!("K{index}"), "valueFrom": {"secretKeyRef": {"name": "a", "key": "b"}}});
    let config_maps = many(11, &|_| json!({"configMapRef": {"name": "a"}}));
    let secrets = many(11, &|_| json!({"secretRef": {"name": "a"}}));
    let interval = "interval must be at least 30s, as in 30s, 5m or 1h30m";
    let region = "region must name location and provider, as in europe-west1.gcp or us-east-2.aws";
    let longest = json!({"standardConfiguration": [{"key": "A", "value": "x".repeat(32769)}]});
    refuse(
        deployment,
        vec![
            (
                "65 applications",
                json!({"configurations": many(65, &|index| json!({"applicationName": format!("a{index}")}))}),
                "must have at most 64 items",
            ),
            ("101 plain values", application(&json!({"standardConfiguration": plain})), "must have at most 100 items"),
            (
                "101 secured values",
                application(&json!({"securedConfiguration": many(101, &secret)})),
                "must have at most 100 items",
            ),
            (
                "11 ConfigMaps",
                application(&json!({"standardConfigurationFrom": config_maps})),
                "must have at most 10 items",
            ),
            ("11 Secrets", application(&json!({"securedConfigurationFrom": secrets})), "must have at most 10 items"),
            (
                "101 ignored",
                json!({"drift": {"ignore": many(101, &|_| json!({"key": "A"}))}}),
                "must have at most 100 items",
            ),
            ("a value of 32769 characters", application(&longest), "may not be more than 32768"),
            (
                "a key of a value of 257",
                application(&json!({"standardConfiguration": [{"key": "k".repeat(257), "value": ""}]})),
                "may not be more than 256",
            ),
            ("a schedule of 101", application(&json!({"schedule": "*".repeat(101)})), "may not be more than 100"),
            ("a key of 1", json!({"key": "k"}), "should be at least 2 chars long"),
            ("a key of 257", json!({"key": "k".repeat(257)}), "may not be more than 256"),
            ("a key with a dot", json!({"key": "tax.eu"}), "should match '^[A-Za-z0-9_-]+$'"),
            (
                "a connector's key with a blank",
                json!({"connector": {"key": "my connector"}}),
                "should match '^[A-Za-z0-9_-]+$'",
            ),
            (
                "an application with a slash",
                json!({"configurations": [{"applicationName": "a/b"}]}),
                "should match '^[A-Za-z0-9_-]+$'",
            ),
            ("a bare location", json!({"region": "europe-west1"}), region),
            ("a region with a path", json!({"region": "europe-west1.gcp/x"}), "should match"),
            ("29 seconds", json!({"interval": "29s"}), interval),
            ("no unit", json!({"interval": "300"}), interval),
            ("nothing", json!({"interval": ""}), interval),
            ("negative", json!({"interval": "-5m"}), interval),
            ("half an hour", json!({"interval": "0.5h"}), "should match"),
            ("days", json!({"interval": "1d"}), interval),
            (
                "an unknown output",
                json!({"outputs": {"configMap": {"name": "a", "keys": [
                    {"key": "A", "applicationName": "service", "output": "schedule"},
                ]}}}),
                r#"supported values: "url", "topic""#,
            ),
            (
                "a key of an output with a blank",
                json!({"outputs": {"configMap": {"name": "a", "keys": [
                    {"key": "A B", "applicationName": "service", "output": "url"},
                ]}}}),
                "should match",
            ),
            (
                "a key of an output twice",
                json!({"outputs": {"configMap": {"name": "a", "keys": [
                    {"key": "A", "applicationName": "service", "output": "url"},
                    {"key": "A", "applicationName": "service", "output": "topic"},
                ]}}}),
                "uplicate",
            ),
            (
                "a name of a ConfigMap in capitals",
                json!({"outputs": {"configMap": {"name": "Outputs"}}}),
                "should match",
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn unknown_values_are_refused_with_the_known_ones() {
    refuse(
        deployment,
        vec![
            ("type", json!({"type": "Sandbox"}), r#"supported values: "preview", "sandbox", "production""#),
            (
                "updatePolicy",
                json!({"connector": {"updatePolicy": "latest"}}),
                r#"supported values: "Pinned", "Latest""#,
            ),
            ("managementPolicy", json!({"managementPolicy": "Observe"}), r#"supported values: "Full", "ObserveOnly""#),
            ("adoptionPolicy", json!({"adoptionPolicy": "Always"}), r#"supported values: "Never", "Adopt""#),
            (
                "drift.policy",
                json!({"drift": {"policy": "Repair"}}),
                r#"supported values: "Ignore", "Detect", "Correct""#,
            ),
            ("deletionPolicy", json!({"deletionPolicy": "Retain"}), r#"supported values: "Delete", "Orphan""#),
            ("projectRef.kind", json!({"projectRef": {"kind": "Secret"}}), r#"supported values: "ConnectProject""#),
            ("a typing error", json!({"configuration": []}), ".spec.configuration: field not declared in schema"),
            ("no project", json!({"projectRef": null}), "spec.projectRef: Required value"),
        ],
    )
    .await;
}

#[tokio::test]
async fn a_project_that_cannot_be_reached_is_refused() {
    let region = "region must name location and provider, as in europe-west1.gcp or us-east-2.aws";
    refuse(
        project,
        vec![
            ("no key", json!({"projectKey": null}), "spec.projectKey: Required value"),
            ("a key of 1", json!({"projectKey": "k"}), "should be at least 2 chars long"),
            ("a key of 37", json!({"projectKey": "k".repeat(37)}), "may not be more than 36"),
            ("a key with a slash", json!({"projectKey": "a/b"}), "should match"),
            ("no region", json!({"region": null}), "spec.region: Required value"),
            ("a bare location", json!({"region": "europe-west1"}), region),
            ("no credentials", json!({"credentialsSecretRef": null}), "spec.credentialsSecretRef: Required value"),
            ("a slash at the end", json!({"apiUrl": "http://127.0.0.1:8787/"}), "spec.apiUrl in body should match"),
            ("a password in the address", json!({"apiUrl": "https://user:password@example.com"}), "should match"),
            ("another scheme", json!({"authUrl": "file:///etc/passwd"}), "spec.authUrl in body should match"),
            ("no requests", json!({"requestsPerSecond": 0}), "should be greater than or equal to 1"),
            ("less than one request", json!({"requestsPerSecond": 0.5}), "should be greater than or equal to 1"),
            (
                "no requests, written as a fraction",
                json!({"requestsPerSecond": 0.0}),
                "should be greater than or equal to 1",
            ),
            (
                "an empty key",
                json!({"credentialsSecretRef": {"name": "shop", "clientIdKey": ""}}),
                "at least 1 chars long",
            ),
            ("1001 requests", json!({"requestsPerSecond": 1001}), "should be less than or equal to 1000"),
            ("other paths", json!({"deploymentPaths": "Both"}), r#"supported values: "Project", "Unscoped""#),
        ],
    )
    .await;
}
