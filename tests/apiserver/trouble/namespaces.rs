//! A watched namespace that the operator may not list: the others are reconciled, and the refused one is reported.

use crate::prelude::*;

/// Grants the operator's account in `own` all rights in the namespace of `sandbox`.
async fn allow(own: &Sandbox, sandbox: &Sandbox) {
    let account = format!("--serviceaccount={}:connect-operator", own.namespace);
    sandbox.succeed(&["create", "rolebinding", "operator", "--clusterrole=cluster-admin", &account], "").await;
}

/// Returns once exactly these lists are reported as refused.
async fn until_refused(lists: &InitialLists, expected: &[String]) {
    let refused = || {
        let mut refused = lists.refused_lists();
        refused.sort();
        refused
    };
    until(&format!("refused: {expected:?}"), async || refused() == expected).await;
}

/// Grants the operator's account everything except to list and watch the Secrets and ConfigMaps that it reads.
async fn allow_without_lists(sandbox: &Sandbox) {
    let rules = json!([
        {"apiGroups": ["connect-operator.io", "coordination.k8s.io", "events.k8s.io"], "resources": ["*"], "verbs": ["*"]},
        {"apiGroups": [""], "resources": ["secrets", "configmaps"], "verbs": ["get", "create", "update", "patch", "delete"]},
    ]);
    let metadata = json!({"name": "without-lists"});
    let role =
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": metadata, "rules": rules});
    sandbox.succeed(&["create", "--filename", "-"], &role.to_string()).await;
    let account = format!("--serviceaccount={}:connect-operator", sandbox.namespace);
    sandbox.succeed(&["create", "rolebinding", "without-lists", "--role=without-lists", &account], "").await;
}

#[tokio::test]
async fn a_role_without_lists_of_secrets_is_reported_and_blocks_nothing() {
    let mut shop = Shop::without_operator(quick(), fast()).await;
    shop.operator_namespace = shop.sandbox.namespace.clone();
    shop.sandbox.succeed(&["create", "serviceaccount", "connect-operator"], "").await;
    allow_without_lists(&shop.sandbox).await;
    shop.start_operator_as(client_of(&shop.sandbox).await);

    shop.put_project_and_secrets().await;
    shop.deploy().await;
    let (lists, metrics) = (shop.lists.clone().unwrap(), shop.metrics.clone().unwrap());
    let namespace = &shop.sandbox.namespace;
    until_refused(&lists, &["ConfigMap", "Secret"].map(|kind| format!("{kind} in namespace {namespace}"))).await;
    assert_eq!(lists.are_complete(), Ok(()), "no reconcile needs them");
    let metric = format!("connect_operator_lists_refused{{kind=\"Secret\",namespace=\"{namespace}\"}} 1");
    assert!(metrics.encode().contains(&metric));

    allow(&shop.sandbox, &shop.sandbox).await;
    until_refused(&lists, &[]).await;
    shop.put_token("second-token-of-the-shop").await;
    until("the rotation is noticed", async || shop.calls("updateDeploymentById") == 1).await;
}

#[tokio::test]
async fn a_namespace_that_cannot_be_listed_blocks_no_other_and_is_reported() {
    let mut shop = Shop::without_operator(quick(), fast()).await;
    let yard = shop.sandbox.another().await;
    shop.also_watched = vec![yard.namespace.clone()];
    shop.operator_namespace = shop.sandbox.namespace.clone();
    shop.sandbox.succeed(&["create", "serviceaccount", "connect-operator"], "").await;
    allow(&shop.sandbox, &shop.sandbox).await;
    shop.start_operator_as(client_of(&shop.sandbox).await);

    shop.put_project_and_secrets().await;
    shop.deploy().await;
    let (lists, metrics) = (shop.lists.clone().unwrap(), shop.metrics.clone().unwrap());
    until("every list is complete or refused", async || lists.are_complete().is_ok()).await;
    let kinds = ["ActionCheck", "ConfigMap", "ConnectProject", "ConnectorDeployment", "ConnectorStaged", "Secret"];
    until_refused(&lists, &kinds.map(|kind| format!("{kind} in namespace {}", yard.namespace))).await;
    let metric =
        format!("connect_operator_lists_refused{{kind=\"ConnectorDeployment\",namespace=\"{}\"}} 1", yard.namespace);
    assert!(metrics.encode().contains(&metric));

    // What exists may belong to a resource there, so nothing is taken over (rule 4), not even to delete it.
    let id = shop.get().await.status.unwrap().id.unwrap();
    shop.change(&json!({"spec": {"deletionPolicy": "Orphan"}})).await;
    shop.delete_wholly().await;
    let mut restored = manifests::with_spec(shop.deployment(), &json!({"deletionPolicy": "Delete"}));
    restored["metadata"]["annotations"] = json!({names::REMOTE_ID: id});
    shop.apply_until(&restored, "Adopting").await;
    shop.delete().await;
    let waiting = shop.until_reason("InternalError").await;
    assert_eq!(waiting.status.unwrap().id, None);

    // From now on it may be listed, and is reconciled.
    let other = manifests::with_spec(shop.deployment(), &json!({"projectRef": {"name": "nowhere"}}));
    yard.apply(&other).await.unwrap();
    allow(&shop.sandbox, &yard).await;
    yard.until_reason(NAME, "ProjectMissing").await;
    shop.until_gone().await;
    assert_eq!(shop.calls("deleteDeploymentById"), 1);
    until("no list is refused any more", async || lists.refused_lists().is_empty()).await;
    assert!(!metrics.encode().contains("connect_operator_lists_refused{"));
}

#[tokio::test]
async fn many_watched_namespaces_need_few_open_files() {
    let sandbox = Sandbox::new().await;
    // More watches than files may be open; those of namespaces that do not exist are watches, too.
    let others = (0..60).map(|number| format!("{}-{number}", sandbox.namespace));
    let watched: Vec<_> = others.chain([sandbox.namespace.clone()]).collect();
    let mut operator = Command::new("sh")
        .args(["-c", "ulimit -S -n 64 && exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_connect-operator"), "run"])
        .args(["--watch-namespaces", &watched.join(","), "--operator-namespace", &sandbox.namespace])
        .env("KUBECONFIG", sandbox.kubeconfig())
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    sandbox.apply(&manifests::deployment(NAME)).await.unwrap();
    sandbox.until_reason(NAME, "ProjectMissing").await;
    let process = format!("/proc/{}", operator.id().unwrap());
    let open = std::fs::read_dir(format!("{process}/fd")).unwrap().count();
    assert!(open < 64, "{open} open files");
    // A gateway that speaks HTTP/1.1 only takes a connection for each watch.
    let limits = std::fs::read_to_string(format!("{process}/limits")).unwrap();
    let files = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    let [soft, hard] = [3, 4].map(|column| files.split_whitespace().nth(column).unwrap());
    assert_eq!(soft, hard, "{files}");
    operator.kill().await.unwrap();
}
