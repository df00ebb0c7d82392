//! The commands about a `ClusterConnectProject`, and those that call the project through it.

use crate::prelude::*;
use crate::rules::sharing::{SHARED, closed, label, of_team, shared, sharing, until_shared};

#[tokio::test]
async fn commands_know_shared_projects() {
    let (mut shop, own) = closed().await;
    shop.start_operator();
    shop.sandbox.apply(&shared(&shop, &of_team("tax"))).await.unwrap();
    let unused = shared(&shop, &json!({"from": "Names", "names": ["nowhere"]}));
    shop.sandbox.apply(&named(unused, "unused")).await.unwrap();
    label(&shop.sandbox, Some("tax")).await;
    shop.apply_until(&sharing(&shop, &json!({})), "Deployed").await;
    until_shared(&shop, "Available", "").await;
    let sandbox = &shop.sandbox;

    let page = printed(sandbox, &["status", "clusterconnectproject/shared"]).await;
    assert!(page.starts_with("ClusterConnectProject shared\n"), "{page}");
    assert!(page.contains("those with the labels team=tax"), "{page}");
    let page = printed(sandbox, &["status", "tax"]).await;
    assert!(page.contains("through clusterproject/shared"), "{page}");
    let ready = printed(sandbox, &["wait", "cctp/shared"]).await;
    assert!(ready.starts_with("clusterproject/shared: "), "{ready}");
    let all = printed(sandbox, &["status", "clusterprojects", "--all", "--output", "name"]).await;
    let full = |name: &str| format!("clusterconnectproject.connect-operator.io/{name}\n");
    assert_eq!(all, full(SHARED) + &full("unused"));

    let tree = printed(sandbox, &["tree"]).await;
    assert!(tree.contains("\nClusterConnectProject/shared") && tree.contains("\n└─ ConnectorDeployment/tax"), "{tree}");
    assert!(tree.contains("Available") && !tree.contains("unused"), "{tree}");
    let tree = printed(sandbox, &["tree", "--all-namespaces"]).await;
    assert!(tree.contains("ClusterConnectProject/unused"), "{tree}");
    let tree = printed(sandbox, &["tree", "cctp/shared", "--all-namespaces"]).await;
    let users = tree.contains("ClusterConnectProject/shared") && tree.contains("ConnectorDeployment/tax");
    assert!(users && !tree.contains("unused"), "{tree}");
    let page = printed(sandbox, &["status", "cctp/shared", "-A"]).await;
    assert!(page.starts_with("ClusterConnectProject shared\n"), "{page}");

    let (code, stdout, stderr) = run(sandbox, &["suspend", "clusterproject/shared"]).await;
    assert!(code == Some(1) && stderr.contains("does not work on a ClusterConnectProject"), "{stdout}{stderr}");
    let (code, _, stderr) = run(sandbox, &["status", "clusterproject/shard"]).await;
    let expected = "clusterproject/shard does not exist in the cluster";
    assert!(code == Some(1) && stderr.contains(expected), "{stderr}");

    let checked = printed(sandbox, &["doctor", "--operator-namespace", &own.namespace]).await;
    assert!(
        checked.contains("ok       ClusterConnectProject: 1 of 1 are Ready"),
        "the other one is not named: {checked}"
    );
    let checked = printed(sandbox, &["doctor", "-A", "--operator-namespace", &own.namespace]).await;
    assert!(checked.contains(" of 2 "), "{checked}");

    calls(&shop, &own.namespace).await;
}

/// The commands that call the project, with the credentials in the namespace of the operator.
async fn calls(shop: &crate::shop::Shop, operator: &str) {
    let through = ["--project", "clusterproject/shared", "--operator-namespace", operator];
    let key = format!("{}_tax", shop.sandbox.namespace);
    for (command, expected) in [
        (&["deployments", "list"][..], key.as_str()),
        (&["deployments", "get", &key], key.as_str()),
        (&["connectors", "search"], "demo-connector"),
        (&["scaffold", "demo-connector"], "projectRef: {kind: ClusterConnectProject, name: shared}"),
        (&["deployments", "export", &key], "kind: ClusterConnectProject"),
    ] {
        let shown = printed(&shop.sandbox, &[command, &through].concat()).await;
        assert!(shown.contains(expected), "{command:?}: {shown}");
    }
    for (project, expected) in [
        ("clusterproject/nope", "ClusterConnectProject nope: it does not exist\n"),
        ("shared", "ConnectProject shared: it does not exist in the namespace"),
        ("staged/kit", "does not work on a ConnectorStaged: choose one of project, clusterproject"),
    ] {
        let (code, _, stderr) = run(&shop.sandbox, &["deployments", "list", "--project", project]).await;
        assert!(code == Some(1) && stderr.contains(expected), "{project}: {stderr}");
    }
    let (code, _, stderr) =
        run(&shop.sandbox, &["deployments", "list", "--project", "cctp/shared", "--operator-namespace", "nowhere"])
            .await;
    assert!(code == Some(1) && stderr.contains("is missing in the namespace nowhere"), "{stderr}");
}
