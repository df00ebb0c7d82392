//! What the operator or the API server would reject.

use super::*;

#[tokio::test]
async fn what_the_operator_would_reject_is_reported_with_exit_code_1() {
    let shop = live().await;
    let service = |standard: &Value, secured: &Value| {
        with_spec(
            shop.deployment(),
            &json!({"configurations": [{
                "applicationName": "service", "standardConfiguration": standard, "securedConfiguration": secured,
            }]}),
        )
    };
    let token =
        |name: &str| json!([{"key": "API_TOKEN", "valueFrom": {"secretKeyRef": {"name": name, "key": "token"}}}]);
    let renamed = |change: &Value| with_spec(named(shop.deployment(), "other"), change);
    let of = |connector: &str| renamed(&json!({"connector": {"key": connector}}));
    let misspelt = service(&json!([{"key": "LOG_LEVLE", "value": "a"}]), &token(SECRET));
    let bare = renamed(&json!({"configurations": [{"applicationName": "service"}]}));
    let staged = renamed(&json!({"connector": {"key": null, "stagedRef": {"name": "mine"}}}));
    let newer = with_spec(shop.deployment(), &json!({"connector": {"version": 7}}));
    let (invalid, required) = ("ConfigurationInvalid", "requires a value for the secured API_TOKEN");
    for (case, manifest, reason, words) in [
        ("no such Secret", service(&json!([]), &token("nope")), "SecretMissing", "Secret nope"),
        ("a misspelt key", misspelt, invalid, "has no key LOG_LEVLE (it has "),
        ("a required value missing", bare, invalid, required),
        ("no such project", renamed(&json!({"projectRef": {"name": "nope"}})), "ProjectMissing", "ConnectProject nope"),
        ("no such staged connector", staged, "StagedNotReady", "ConnectorStaged mine: it is missing"),
        ("no such connector", of("nope"), "ConnectorNotFound", "no connector with the key nope"),
        (
            "no scope for its API client",
            renamed(&json!({"connector": {"key": "demo-api-client"}, "configurations": []})),
            "PermissionMissing",
            "lacks manage_api_clients:demo, which is needed to deploy a connector whose API client is generated",
        ),
        ("no configurations, though a value is required", renamed(&json!({"configurations": []})), invalid, required),
        ("not for this region", of("demo-us-only"), invalid, "us-central1.gcp"),
        ("not the latest version", newer, "ConnectorVersionUnavailable", "version 1"),
        (
            "the key of another",
            renamed(&json!({"key": shop.key()})),
            "KeyConflict",
            "set deletionPolicy: Orphan on that one and adoptionPolicy: Adopt on this one",
        ),
    ] {
        let planned = plan_with(&shop, &[manifest], 1).await;
        let problem = &planned["deployments"][0]["problem"];
        assert_eq!(problem["reason"], reason, "{case}: {planned:#}");
        assert!(problem["message"].as_str().unwrap().contains(words), "{case}: {problem}");
    }
    let pull = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "pull"}, "type": "kubernetes.io/dockercfg",
        "stringData": {".dockercfg": "{}", "token": NEXT}});
    let planned = plan(&shop, &[service(&json!([]), &token("pull")), pull]).await;
    let problem = planned.json()["deployments"][0]["problem"]["message"].to_string();
    assert!(problem.contains("dockercfg"), "{}", planned.output);
    // Also of a deployment that only the cluster has.
    for manifest in [shop.deployment(), secret(SECRET, &json!({"token": NEXT}))] {
        let more = ["-o", "json", "--require-secret-label"];
        let unlabelled = plan_as(&shop, &shop.sandbox.kubeconfig(), &[manifest], &more).await;
        assert_eq!(unlabelled.code, Some(1), "{}", unlabelled.output);
        assert!(unlabelled.output.contains("lacks the label connect-operator.io/use=true"), "{}", unlabelled.output);
    }
}

#[tokio::test]
async fn a_manifest_that_the_api_server_rejects_is_one_short_line() {
    let shop = nothing_live().await;
    shop.sandbox.apply(&shop.deployment()).await.unwrap();
    let mut unknown = shop.deployment();
    unknown["spec"]["conector"] = json!({"key": "x"});
    let moved = with_spec(shop.deployment(), &json!({"connector": {"key": "demo-us-only"}}));
    let wrong =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": SECRET}, "stringData": {"token": [NEXT]}});
    let mut misspelt = shop.deployment();
    misspelt["kind"] = json!("ConnectorDeploymnet");
    let mut number = shop.deployment();
    number["spec"]["configurations"][0]["standardConfiguration"][0]["value"] = json!(8080);
    for (case, manifest, words) in [
        ("an unknown field", unknown, ".spec.conector: field not declared in schema"),
        ("an unknown kind", misspelt, "no kind ConnectorDeploymnet"),
        ("a number that is not quoted", number, "expected string, got"),
        ("what cannot change", moved, "connector.key"),
        ("a Secret that is none", wrong, "are not shown"),
    ] {
        let planned = plan(&shop, &[manifest]).await;
        assert_eq!(planned.code, Some(1), "{case}: {} {}", planned.output, planned.error);
        assert_eq!(planned.error, "", "{case}: the plan says it, and nothing else does");
        let planned = planned.json();
        let message = planned["invalid"][0]["message"].as_str().unwrap();
        assert!(message.contains(words) && message.len() < 300, "{case}: {planned:#}");
    }
}
