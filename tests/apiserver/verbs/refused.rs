//! What is refused: unknown names, missing rights, contexts that do not exist.

use serde_json::json;

use super::{printed, run};
use crate::cluster::Sandbox;
use crate::shop::Shop;

#[tokio::test]
async fn an_unknown_name_suggests_what_exists() {
    let shop = Shop::without_operator(dev_server::Options::default(), clock::Clock::system()).await;
    let sandbox = &shop.sandbox;
    sandbox.apply(&shop.project()).await.unwrap();
    sandbox.apply(&shop.deployment()).await.unwrap();
    for (case, arguments, expected) in [
        ("misspelt", &["status", "txa"][..], "deployment/txa does not exist in the namespace"),
        ("misspelt", &["status", "txa"], "; did you mean tax?"),
        ("another type", &["suspend", "shop"], "; there is a project/shop"),
        ("a type for a name", &["suspend", "deployments"], "; it has tax; to select all, add --all"),
        ("in a tree", &["tree", "staged/kit"], "staged/kit does not exist"),
        ("one of two, and nothing is changed", &["suspend", "tax", "txa"], "; did you mean tax?"),
        ("a type that cannot be suspended", &["suspend", "project/shop"], "does not work on a ConnectProject"),
        (
            "a type that is not reconciled on request",
            &["reconcile", "project/shop"],
            "does not work on a ConnectProject",
        ),
        ("nothing", &["redeploy"], "name a resource, such as deployment/NAME"),
        ("a name everywhere", &["status", "tax", "-A"], "cannot be read by its name in all namespaces"),
        ("no such context", &["status", "tax", "--context", "nowhere"], "the cluster cannot be reached"),
        ("no such kubeconfig", &["status", "tax", "--kubeconfig", "/nowhere"], "--kubeconfig /nowhere:"),
        ("no such context, before the verb", &["--context", "nowhere", "tree"], "the cluster cannot be reached"),
        ("its path is quoted once", &["status", "tax", "--kubeconfig", "/nowhere"], "from '/nowhere'"),
        ("no such kubeconfig, before the verb", &["--kubeconfig", "/nowhere", "tree"], "--kubeconfig /nowhere:"),
        ("a user without rights, before the verb", &["--as", "nobody", "status", "tax"], "the right to get"),
        ("a group without a user", &["--as-group", "readers", "status", "tax"], "--as-group needs --as"),
        (
            "one namespace and all",
            &["-n", "shop", "status", "--all", "-A"],
            "--all-namespaces cannot be used with --namespace",
        ),
        ("a name everywhere in a tree", &["-A", "tree", "tax"], "cannot be read by its name in all namespaces"),
        (
            "a name everywhere, before the verb",
            &["-A", "status", "tax"],
            "cannot be read by its name in all namespaces",
        ),
        (
            "a command of a project",
            &["deployments", "list", "-A"],
            "`deployments` does not use --all-namespaces: name one with --namespace",
        ),
        ("a namespace without a project", &["connectors", "search"], "--namespace needs --project"),
        ("a command without a cluster", &["crds"], "`crds` does not use --namespace"),
        ("a command of all namespaces", &["-n", "shop", "run"], "`run` does not use --namespace"),
        (
            "a context without a cluster",
            &["--context", "nowhere", "plan", "--local", "-f", "-"],
            "--local cannot be used with --context",
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
    let group = "rbac.authorization.k8s.io";
    let role =
        json!({"apiVersion": format!("{group}/v1"), "kind": "Role", "metadata": {"name": "reader"}, "rules": [reads]});
    let binding = json!({
        "apiVersion": format!("{group}/v1"), "kind": "RoleBinding", "metadata": {"name": "reader"},
        "roleRef": {"apiGroup": group, "kind": "Role", "name": "reader"},
        "subjects": [{"apiGroup": group, "kind": "Group", "name": "readers"}],
    });
    for manifest in [role, binding] {
        sandbox.succeed(&["apply", "--filename", "-"], &manifest.to_string()).await;
    }
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
        (jane(&["suspend", "tax"]), "the right to patch connectordeployments.connect-operator.io", here.as_str()),
        (
            jane(&["tree", "-A"]),
            "the right to list connectprojects.connect-operator.io",
            "in all namespaces is missing",
        ),
        (
            vec!["status", "tax", "--as", "jane"],
            "the right to get connectordeployments.connect-operator.io",
            here.as_str(),
        ),
    ] {
        let (code, _, stderr) = run(sandbox, &arguments).await;
        assert_eq!(code, Some(1), "{arguments:?}: {stderr}");
        assert!(stderr.contains(right) && stderr.contains(place) && stderr.contains("jane"), "{arguments:?}: {stderr}");
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
