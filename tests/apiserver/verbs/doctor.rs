//! `doctor`: what it finds in an install that works, and in one that does not.

use crate::prelude::*;

/// Returns the exit code, and the findings of a check as `(level, message, remedy)`.
async fn findings(sandbox: &Sandbox, check: &str, more: &[&str]) -> (Option<i32>, Vec<(String, String, String)>) {
    let arguments = [&["doctor", "--operator-namespace", &sandbox.namespace, "--output", "json"], more].concat();
    let (code, stdout, stderr) = run(sandbox, &arguments).await;
    let found: Value = serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}{stderr}"));
    let of_check = found["findings"].as_array().unwrap().iter().filter(|finding| finding["check"] == check);
    let text = |finding: &Value, name: &str| finding[name].as_str().unwrap_or_default().to_owned();
    (code, of_check.map(|it| (text(it, "level"), text(it, "message"), text(it, "remedy"))).collect())
}

/// Returns the Deployment of an operator that watches this namespace, and may call the hosts of commercetools only.
fn operator(sandbox: &Sandbox) -> Value {
    let watched = format!("--watch-namespaces={}", sandbox.namespace);
    let arguments =
        ["run", "--leader-elect", "--lease-name=operator", "--allowed-api-hosts=connect.*.commercetools.com", &watched];
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "operator", "labels": {
            "app.kubernetes.io/name": "connect-operator", "app.kubernetes.io/version": env!("CARGO_PKG_VERSION")}},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}},
            "spec": {"serviceAccountName": "operator", "containers": [{"name": "operator", "image": "example/operator",
                "args": arguments}]}}},
    })
}

/// Pretends that the kubelet and the operator do their work: the API server of these tests has neither.
async fn make_it_work(sandbox: &Sandbox) {
    let status = json!({"status": {"replicas": 1, "readyReplicas": 1}}).to_string();
    sandbox.succeed(&["patch", "deployment", "operator", "--subresource", "status", "--patch", &status], "").await;
    let lease = json!({
        "metadata": {"name": "operator"},
        // Longer than any test: nobody renews it.
        "spec": {"holderIdentity": "operator-1", "leaseDurationSeconds": 3600,
            "renewTime": clock::Clock::system().now().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()},
    });
    let lease: Lease = serde_json::from_value(lease).unwrap();
    sandbox.objects::<Lease>().create(&PostParams::default(), &lease).await.unwrap();
}

#[tokio::test]
async fn a_live_shop_has_no_problem() {
    let shop = Shop::live().await;
    let (code, stdout, stderr) = run(&shop.sandbox, &["doctor", "--operator-namespace", &shop.sandbox.namespace]).await;
    assert_eq!(code, Some(0), "{stdout}{stderr}");
    for expected in [
        "ok       CRDs: every kind is served",
        "warning  Operator: no Deployment has the label app.kubernetes.io/name=connect-operator",
        "ok       ConnectorDeployment: 1 of 1 are Ready",
        "ok       ConnectProject: 1 of 1 are Ready",
        "\n0 problems, 1 warning\n",
    ] {
        assert!(stdout.contains(expected), "{expected}: {stdout}");
    }

    shop.put_secret(CREDENTIALS, &[("clientId", "dev-client"), ("clientSecret", "wrong")]).await;
    shop.until_project("rejected", |project| reason(project) == "CredentialsRejected").await;
    let (code, found) = findings(&shop.sandbox, "ConnectProject", &[]).await;
    let [(level, message, remedy)] = &found[..] else { panic!("{found:?}") };
    assert_eq!((code, level.as_str()), (Some(1), "problem"), "{message}");
    assert!(message.contains("CredentialsRejected") && !remedy.is_empty(), "{message} {remedy}");
    assert!(!message.contains("wrong"), "{message}");
}

#[tokio::test]
async fn an_operator_that_does_not_run_is_a_problem() {
    let sandbox = Sandbox::new().await;
    sandbox.kubectl_apply(&operator(&sandbox)).await;
    let (code, found) = findings(&sandbox, "Operator", &[]).await;
    assert_eq!((code, found.len(), found[0].0.as_str()), (Some(1), 1, "problem"), "{found:?}");
    assert!(found[0].2.starts_with("kubectl describe deployment operator"), "{found:?}");
    let (_, found) = findings(&sandbox, "Lease", &[]).await;
    assert!(found[0].1.contains("/operator: it does not exist"), "{found:?}");
    make_it_work(&sandbox).await;
    let (_, found) = findings(&sandbox, "Operator", &[]).await;
    assert_eq!(found[0].0, "ok", "{found:?}");
    let (_, found) = findings(&sandbox, "Lease", &[]).await;
    assert!(found[0].0 == "ok" && found[0].1.contains("operator-1 leads"), "{found:?}");
}

#[tokio::test]
async fn what_a_user_may_not_read_is_a_warning() {
    let shop = Shop::without_operator(dev_server::Options::default(), clock::Clock::system()).await;
    shop.sandbox.apply(&shop.project()).await.unwrap();
    let (_, found) = findings(&shop.sandbox, "ConnectProject", &["--as", "jane"]).await;
    assert!(found[0].0 == "warning" && found[0].1.contains("the right to list connectprojects"), "{found:?}");
    let (_, found) = findings(&shop.sandbox, "Operator", &["--as", "jane"]).await;
    assert!(found[0].0 == "warning" && found[0].1.contains("jane"), "{found:?}");
    // Nothing works on it.
    let (code, found) = findings(&shop.sandbox, "ConnectProject", &[]).await;
    assert!(code == Some(1) && found[0].1.contains("no operator has observed it"), "{found:?}");
}
