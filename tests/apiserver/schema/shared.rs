//! `spec.allowedNamespaces` of a `ClusterConnectProject`.

use serde_json::{Value, json};

use crate::cluster::Sandbox;
use crate::manifests::{project, with_spec};

#[tokio::test]
async fn a_selector_of_namespaces_says_what_it_selects() {
    let sandbox = Sandbox::new().await;
    let shared = |name: &str, allowed: &Value| {
        let mut manifest = with_spec(project(name), &json!({"allowedNamespaces": allowed}));
        manifest["kind"] = json!("ClusterConnectProject");
        manifest
    };
    let expression = |requirement: Value| json!({"selector": {"matchExpressions": [requirement]}});
    for (index, (case, allowed, words)) in [
        ("an empty selector", json!({"selector": {}}), "selector names no label"),
        ("empty lists", json!({"selector": {"matchLabels": {}, "matchExpressions": []}}), "selector names no label"),
        ("In without values", expression(json!({"key": "team", "operator": "In"})), "In and NotIn need values"),
        (
            "NotIn without values",
            expression(json!({"key": "team", "operator": "NotIn", "values": []})),
            "In and NotIn need values",
        ),
        (
            "Exists with values",
            expression(json!({"key": "team", "operator": "Exists", "values": ["tax"]})),
            "Exists and DoesNotExist have none",
        ),
        ("an unknown operator", expression(json!({"key": "team", "operator": "Like"})), "Unsupported value"),
        ("no label", expression(json!({"key": "a b", "operator": "Exists"})), "should match"),
        ("no value of a label", json!({"selector": {"matchLabels": {"team": "a b"}}}), "should match"),
        ("no name", json!({"names": ["shop/other"]}), "should match"),
        ("a name twice", json!({"names": ["shop", "shop"]}), "duplicate entries"),
    ]
    .into_iter()
    .enumerate()
    {
        let refusal = sandbox.apply(&shared(&format!("refused-{index}"), &allowed)).await.expect_err(case);
        assert!(refusal.contains(words), "{case}: {refusal}");
    }
    for (index, (case, allowed)) in [
        ("nothing", json!({})),
        ("every namespace", expression(json!({"key": "kubernetes.io/metadata.name", "operator": "Exists"}))),
        ("an empty value", json!({"selector": {"matchLabels": {"example.com/tier": ""}}})),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("{}-{index}", sandbox.namespace);
        sandbox.apply(&shared(&name, &allowed)).await.unwrap_or_else(|refusal| panic!("{case}: {refusal}"));
    }
}
