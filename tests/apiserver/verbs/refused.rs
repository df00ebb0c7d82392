//! What is refused: unknown names, missing rights, contexts that do not exist.

use crate::prelude::*;

#[tokio::test]
async fn what_does_not_exist_and_what_does_not_fit_is_named() {
    let shop = Shop::without_operator(dev_server::Options::default(), clock::Clock::system()).await;
    let sandbox = &shop.sandbox;
    sandbox.apply(&shop.project()).await.unwrap();
    sandbox.apply(&shop.deployment()).await.unwrap();
    for (case, arguments, expected) in [
        ("misspelt", &["status", "txa"][..], "deployment/txa does not exist in the namespace"),
        ("in a tree", &["tree", "staged/kit"], "staged/kit does not exist"),
        ("one of two, and nothing is changed", &["suspend", "tax", "txa"], "deployment/txa does not exist"),
        ("a type that cannot be suspended", &["suspend", "project/shop"], "does not work on a ConnectProject"),
        ("a type that is not redeployed", &["redeploy", "project/shop"], "does not work on a ConnectProject"),
        ("nothing", &["redeploy"], "name a resource, such as deployment/NAME"),
        ("a name everywhere", &["status", "tax", "-A"], "cannot be read by its name in all namespaces"),
        ("no such context", &["status", "tax", "--context", "nowhere"], "the cluster cannot be reached"),
        ("no such kubeconfig", &["status", "tax", "--kubeconfig", "/nowhere"], "--kubeconfig /nowhere:"),
        ("its path is quoted once", &["status", "tax", "--kubeconfig", "/nowhere"], "from '/nowhere'"),
        ("a user without rights", &["status", "tax", "--as", "nobody"], "the right to get"),
        ("a group without a user", &["status", "tax", "--as-group", "readers"], "--as <USER>"),
        (
            "one namespace and all",
            &["status", "--all", "-n", "shop", "-A"],
            "NAMESPACE>' cannot be used with '--all-namespaces'",
        ),
        ("a name everywhere in a tree", &["tree", "tax", "-A"], "cannot be read by its name in all namespaces"),
        ("a command of a project", &["deployments", "list", "-A"], "unexpected argument '-A'"),
        (
            "a context without a cluster",
            &["plan", "--local", "-f", "-", "--context", "nowhere"],
            "the argument '--local' cannot be used with '--context <NAME>'",
        ),
    ] {
        let (code, stdout, stderr) = run(sandbox, arguments).await;
        assert_eq!((code, stdout.as_str()), (Some(1), ""), "{case}: {stderr}");
        assert!(stderr.contains(expected), "{case}: {stderr}");
    }
    assert!(!shop.get().await.spec.suspend, "no resource is changed unless all exist");
    // What nothing works on yet has a page too.
    let page = printed(sandbox, &["status", "tax"]).await;
    assert!(page.contains("the operator has not observed the resource yet"), "{page}");
}

#[tokio::test]
async fn a_missing_right_is_named() {
    let shop = Shop::without_operator(dev_server::Options::default(), clock::Clock::system()).await;
    let sandbox = &shop.sandbox;
    sandbox.apply(&shop.deployment()).await.unwrap();
    let reads = json!({"apiGroups": ["connect-operator.io"], "resources": ["*"], "verbs": ["get", "list"]});
    let readers = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "readers"});
    sandbox.grant(&readers, &[reads]).await;
    let jane = |verb: &[&'static str]| [verb, &["--as", "jane", "--as-group", "readers"]].concat();
    // The API server evaluates a new binding within moments.
    let shown = crate::patience::in_time(async {
        loop {
            let (code, stdout, _) = run(sandbox, &jane(&["status", "tax"])).await;
            if code == Some(0) {
                return stdout;
            }
        }
    })
    .await
    .expect("the binding takes effect");
    assert!(shown.contains("demo-connector"), "{shown}");
    let here = format!("in the namespace {} is missing", sandbox.namespace);
    for (arguments, right, place) in [
        (jane(&["suspend", "tax"]), "patch connectordeployments", here.as_str()),
        (jane(&["tree", "-A"]), "list connectprojects", "in all namespaces is missing"),
        (vec!["status", "tax", "--as", "jane"], "get connectordeployments", here.as_str()),
    ] {
        let (code, _, stderr) = run(sandbox, &arguments).await;
        assert_eq!(code, Some(1), "{arguments:?}: {stderr}");
        let named = [&format!("the right to {right}.connect-operator.io"), place, "jane"];
        assert!(named.iter().all(|part| stderr.contains(part)), "{arguments:?}: {stderr}");
    }
}

#[tokio::test]
async fn a_cluster_is_chosen_by_its_kubeconfig() {
    let sandbox = Sandbox::new().await;
    let kubeconfig = sandbox.kubeconfig();
    let context = sandbox.succeed(&["config", "current-context"], "").await;
    let output = tokio::process::Command::new(env!("CARGO_BIN_EXE_connect-operator"))
        .args(["tree", "--namespace", &sandbox.namespace, "--context", context.trim(), "--kubeconfig"])
        .arg(kubeconfig)
        .env_clear()
        .output()
        .await
        .unwrap();
    let (code, _, stderr) = super::ended(output);
    assert_eq!((code, stderr), (Some(0), format!("No resources found in the namespace {}.\n", sandbox.namespace)));
}
