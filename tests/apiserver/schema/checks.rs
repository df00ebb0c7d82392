//! The schema of `ActionCheck`: what it accepts, what it refuses with which message, and what kubectl shows.

use connect_operator::crd::ActionCheckStatus;
use serde_json::{Value, json};

use super::refused::refuse;
use crate::cluster::Sandbox;
use crate::manifests::with_spec;

fn check(name: &str) -> Value {
    json!({
        "apiVersion": "connect-operator.io/v1alpha1",
        "kind": "ActionCheck",
        "metadata": {"name": name},
        "spec": {
            "frontend": {"projectName": "shop", "companyName": "example"},
            "action": {"namespace": "cart", "name": "getCart"},
            "method": "GET",
            "locale": "en-GB",
            "extensionVersion": "1.4.0",
        },
    })
}

#[tokio::test]
async fn a_frontend_has_exactly_one_address() {
    let words = "give either url, or projectName and companyName, which make the address";
    let none = "name a frontend with frontend.url, or with frontend.projectName and frontend.companyName, or name with";
    let url = "http://127.0.0.1:8787";
    refuse(
        check,
        vec![
            ("none", json!({"frontend": null}), none),
            ("half", json!({"frontend": {"companyName": null}}), none),
            ("both", json!({"frontend": {"url": url}}), words),
            (
                "an address and an end",
                json!({"frontend": {"url": url, "projectName": null, "companyName": null, "tld": ".io"}}),
                words,
            ),
            ("a dot in a name", json!({"frontend": {"projectName": "evil.example"}}), "should match"),
            ("a path in a name", json!({"frontend": {"companyName": "example/"}}), "should match"),
            ("an end without its dot", json!({"frontend": {"tld": "live"}}), "should match"),
            ("an end with a port", json!({"frontend": {"tld": ".live:80"}}), "should match"),
            (
                "an unknown preset",
                json!({"frontend": {"preset": "Other"}}),
                r#"supported values: "Frontastic", "Service""#,
            ),
            (
                "a page of the preset Service",
                json!({"frontend": {"preset": "Service", "path": "/cart"}}),
                "path is for the preset Frontastic",
            ),
            ("a page that is none", json!({"frontend": {"path": "cart"}}), "spec.frontend.path in body should match"),
        ],
    )
    .await;
}

#[tokio::test]
async fn what_is_out_of_bounds_is_refused() {
    let header = |index: usize| json!({"name": format!("X-{index}"), "secretKeyRef": {"name": "a", "key": "b"}});
    let many: serde_json::Map<String, Value> = (0..33).map(|index| (format!("q{index}"), json!("x"))).collect();
    refuse(
        check,
        vec![
            ("no method", json!({"method": null}), "spec.method: Required value"),
            ("a method that deletes", json!({"method": "DELETE"}), r#"supported values: "GET", "POST", "PUT""#),
            ("no action", json!({"action": {"name": ""}}), "should be at least 1 chars long"),
            (
                "no namespace of the action",
                json!({"action": {"namespace": null}}),
                "spec.action.namespace: Required value",
            ),
            ("the former fields", json!({"namespace": "cart"}), "field not declared in schema"),
            ("a body to read with", json!({"body": "{}"}), "body is for POST and PUT"),
            ("a body that is no string", json!({"method": "POST", "body": {"a": 1}}), "expected string"),
            ("a large body", json!({"method": "POST", "body": "x".repeat(16_385)}), "may not be more than 16384"),
            ("no locale", json!({"locale": ""}), "should be at least 1 chars long"),
            ("a locale of two lines", json!({"locale": "en\nGB"}), "should match"),
            ("a list in the query", json!({"query": {"list": ["a"]}}), "expected string"),
            ("a long name of a parameter", json!({"query": {"q".repeat(257): "x"}}), "1 to 256 characters"),
            ("33 parameters", json!({"query": many}), "must have at most 32"),
            (
                "17 headers",
                json!({"headersFrom": (0..17).map(header).collect::<Vec<_>>()}),
                "must have at most 16 items",
            ),
            (
                "a header with clear text",
                json!({"headersFrom": [{"name": "Cookie", "value": "a=b"}]}),
                "field not declared in schema",
            ),
            (
                "no name of a header",
                json!({"headersFrom": [{"name": "a b", "secretKeyRef": {"name": "a", "key": "b"}}]}),
                "should match",
            ),
            (
                "the former assertions",
                json!({"expect": {"body": [{"jsonPath": "$", "exists": true}]}}),
                "expected string",
            ),
            ("no expected body", json!({"expect": {"body": ""}}), "should be at least 1 chars long"),
            ("a large expected body", json!({"expect": {"body": "x".repeat(4_097)}}), "may not be more than 4096"),
            ("a status that is none", json!({"expect": {"status": 99}}), "should be greater than or equal to 100"),
            ("an interval of a write", json!({"method": "POST", "interval": "5m"}), "interval is for GET only"),
            ("29 seconds", json!({"interval": "29s"}), "interval must be at least 30s"),
            ("no time at all", json!({"timeout": "0s"}), "timeout must be 1s to 30s"),
            ("much time", json!({"timeout": "31s"}), "timeout must be 1s to 30s"),
            ("no deployment", json!({"after": {}}), "spec.after.deploymentRef: Required value"),
        ],
    )
    .await;
    let sandbox = Sandbox::new().await;
    sandbox
        .apply(&with_spec(check("of-a-project"), &json!({"frontend": null, "projectRef": {"name": "shop"}})))
        .await
        .unwrap();
    let twice = with_spec(check("twice"), &json!({"headersFrom": [header(1), header(1)]})).to_string();
    let created = sandbox.kubectl(&["create", "--filename", "-"], &twice).await;
    let refusal = String::from_utf8_lossy(&created.stderr);
    assert!(refusal.contains("Duplicate value"), "{refusal}");
}

#[tokio::test]
async fn a_body_is_stored_unchanged() {
    let sandbox = Sandbox::new().await;
    let large = format!("[{}1]", "1,".repeat(8_000));
    for (index, body) in [r#"{"a":  [1, 1.0, {"b": null}]}"#, "7", &large].into_iter().enumerate() {
        let manifest = with_spec(
            check(&format!("body-{index}")),
            &json!({"method": "POST", "body": body, "expect": {"body": "{\"a\":  1.0}"}}),
        );
        let stored = sandbox.apply(&manifest).await.unwrap_or_else(|refusal| panic!("{refusal}"));
        assert_eq!(stored.data["spec"], manifest["spec"]);
    }
}

#[tokio::test]
async fn the_status_is_stored_and_the_columns_show_it() {
    let sandbox = Sandbox::new().await;
    let created = sandbox.apply(&check("shown")).await.unwrap();
    assert_eq!(created.data["status"], json!({"observedGeneration": -1}));
    let status = json!({
        "observedGeneration": 1,
        "conditions": [{"type": "Ready", "status": "True", "reason": "CheckPassed", "message": "as expected",
            "observedGeneration": 1, "lastTransitionTime": "2026-01-02T03:04:05Z"}],
        "httpStatus": 200,
        "durationMs": 12,
        "checkedAt": "2026-01-02T03:04:05Z",
        "checkedFor": {"generation": 1, "specDigest": "ab12", "rerunRequest": "now", "deploymentDigest": "k1:abc", "deploymentAppliedAt": "2026-01-02T03:04:00Z"},
        "outcome": "Passed",
    });
    let stored = sandbox.set_status(&check("shown"), &status).await.unwrap();
    assert_eq!(stored.data["status"], status);
    let typed: ActionCheckStatus = serde_json::from_value(status.clone()).unwrap();
    assert_eq!(serde_json::to_value(typed).unwrap(), status, "the type has every field");
    let table = sandbox.succeed(&["get", "acheck"], "").await;
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let lines: Vec<_> = table.lines().map(words).collect();
    assert_eq!(lines[0], ["NAME", "ACTION", "METHOD", "HTTP", "READY", "REASON", "LAST", "AGE"]);
    assert_eq!(lines[1][..6], ["shown", "getCart", "GET", "200", "True", "CheckPassed"]);
    let wide = sandbox.succeed(&["get", "acheck", "--output", "wide"], "").await;
    let lines: Vec<_> = wide.lines().map(words).collect();
    assert_eq!(lines[0].last().map(String::as_str), Some("MESSAGE"));
    assert!(wide.contains("as expected"), "{wide}");
    assert!(sandbox.succeed(&["get", "connect"], "").await.contains("actioncheck"), "the category contains it");
}
