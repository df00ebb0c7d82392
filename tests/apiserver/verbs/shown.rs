//! `status` and `tree`.

use crate::prelude::*;

#[tokio::test]
async fn a_live_deployment_is_shown_with_its_project() {
    let shop = Shop::live().await;
    let (sandbox, namespace) = (&shop.sandbox, shop.sandbox.namespace.clone());
    let after = json!({"deploymentRef": {"name": NAME}});
    sandbox.apply(&with_spec(check(&shop), &after)).await.unwrap();
    let page = printed(sandbox, &["status", "tax"]).await;
    let key = format!("{namespace}_tax");
    let context = sandbox.succeed(&["config", "current-context"], "").await.trim().to_owned();
    for expected in ["Ready:", "True (Deployed)", "demo-connector version 1", &key, "in project demo", "Nothing to do."]
    {
        assert!(page.contains(expected), "{expected}: {page}");
    }
    assert!(!page.contains("first-token"), "{page}");
    for arguments in [
        &["status", "-n", &namespace, "tax"][..],
        &["status", "tax", "--context", "local", "-n", &namespace, "--as", "admin", "--as-group", "system:masters"],
        &["deployments", "list", "-n", &namespace, "--project", "shop", "-o", "wide"],
    ] {
        let arguments: Vec<_> = arguments.iter().map(|it| if *it == "local" { &*context } else { *it }).collect();
        let shown = printed(sandbox, &arguments).await;
        assert!(shown.contains(&key) && shown.contains("demo-connector"), "{arguments:?}: {shown}");
    }
    let two = printed(sandbox, &["status", "cdep/tax", "project/shop", "--output", "wide"]).await;
    assert!(two.contains(&format!("ConnectProject {namespace}/shop")) && two.contains("Deployed"), "{two}");
    let object: Value = serde_json::from_str(&printed(sandbox, &["status", "tax", "-o", "json"]).await).unwrap();
    assert_eq!((&object["kind"], &object["metadata"]["managedFields"]), (&json!("ConnectorDeployment"), &Value::Null));

    let tree = printed(sandbox, &["tree"]).await;
    let width = tree.find("READY").unwrap();
    let lines: Vec<String> = tree.lines().map(|line| line.chars().take(width).collect()).collect();
    let lines: Vec<&str> = lines.iter().map(|line| line.trim_end()).collect();
    let below = ["NAME", "ConnectProject/shop", "└─ ConnectorDeployment/tax", "   └─ ActionCheck/add-to-cart"];
    assert_eq!(lines, below, "{tree}");
    let everywhere = printed(sandbox, &["tree", "--all-namespaces", "-o", "wide"]).await;
    assert!(everywhere.lines().any(|line| line.starts_with(&namespace) && line.contains("ConnectProject/shop")));
    for (verb, expected) in [
        (&["status", "--all", "-A", "-o", "name"][..], "connectordeployment.connect-operator.io/tax"),
        (&["tree", "-A"], &namespace),
        (&["doctor", "-A", "--operator-namespace", &namespace], "ok       CRDs"),
    ] {
        // Of other tests, too, whose deployments need not be healthy.
        let (_, shown, stderr) = run(sandbox, verb).await;
        assert!(shown.contains(expected), "{verb:?}: {shown}{stderr}");
    }
    let names = printed(sandbox, &["tree", "check/add-to-cart", "-o", "name"]).await;
    assert_eq!(names.lines().count(), 3, "{names}");
    let list: Value = serde_json::from_str(&printed(sandbox, &["tree", "-o", "json"]).await).unwrap();
    let kinds: Vec<_> = list["items"].as_array().unwrap().iter().map(|item| item["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["ConnectProject", "ConnectorDeployment", "ActionCheck"], "each object has its kind");
}

#[tokio::test]
async fn a_selection_of_nothing_is_no_failure() {
    let sandbox = Sandbox::new().await;
    for arguments in [&["status", "--all"][..], &["suspend", "cst", "--selector", "team=tax"], &["tree"]] {
        let (code, stdout, stderr) = run(&sandbox, arguments).await;
        assert_eq!((code, stdout.as_str()), (Some(0), ""), "{arguments:?}");
        assert_eq!(stderr, format!("No resources found in the namespace {}.\n", sandbox.namespace), "{arguments:?}");
    }
}
