//! Shell completion of names from the cluster.

use connect_operator::names;
use tokio::process::Command;

use crate::cluster::Sandbox;
use crate::shop::{PROJECT, Shop};

/// Returns the candidates for the last word, one per line.
pub(crate) async fn completed(sandbox: &Sandbox, words: &[&str]) -> String {
    let asked = Command::new(env!("CARGO_BIN_EXE_connect-operator"))
        .args(["--", "connect-operator"])
        .args(words)
        .env_clear()
        .env("KUBECONFIG", sandbox.kubeconfig())
        .env(names::COMPLETE, "bash")
        .env("_CLAP_COMPLETE_INDEX", words.len().to_string())
        .env("_CLAP_IFS", "\n")
        .output()
        .await
        .unwrap();
    String::from_utf8(asked.stdout).unwrap()
}

#[tokio::test]
async fn names_of_the_cluster_are_completed() {
    let shop = Shop::live().await;
    let namespace = shop.sandbox.namespace.clone();
    for (case, words, expected) in [
        ("a deployment", vec!["wait", "-n", &namespace, "deployment/"], "deployment/tax".to_owned()),
        ("a bare name", vec!["status", "-n", &namespace, "t"], "tax".to_owned()),
        ("a resource", vec!["tree", "-n", &namespace, "project/"], format!("project/{PROJECT}")),
        ("a resource that can be suspended", vec!["suspend", "-n", &namespace, "dep"], "deployment/tax".to_owned()),
        ("a resource to wait for", vec!["wait", "-n", &namespace, "project/"], format!("project/{PROJECT}")),
        (
            "a connector to scaffold",
            vec!["scaffold", "--project", PROJECT, "--namespace", &namespace, "demo"],
            "demo-connector".to_owned(),
        ),
        (
            "a connector that the namespace does not deploy",
            vec!["scaffold", "--project", PROJECT, "--namespace", &namespace, "demo-p"],
            "demo-pipeline".to_owned(),
        ),
        (
            "the namespace of an operator",
            vec!["doctor", "--operator-namespace", &namespace[..namespace.len() - 1]],
            namespace.clone(),
        ),
        ("a project", vec!["deployments", "list", "-n", &namespace, "--project", ""], PROJECT.to_owned()),
        ("a namespace", vec!["wait", "-n", &namespace[..namespace.len() - 1]], namespace.clone()),
        (
            "a remote key",
            vec!["deployments", "get", "--project", PROJECT, "--namespace", &namespace, "test"],
            format!("{namespace}_tax"),
        ),
        (
            "a connector",
            vec!["connectors", "get", "--project", PROJECT, "--namespace", &namespace, "demo"],
            "demo-connector".to_owned(),
        ),
    ] {
        let shown = completed(&shop.sandbox, &words).await;
        assert!(shown.lines().any(|line| line == expected), "{case}: {shown}");
    }
}

#[tokio::test]
async fn keys_of_connectors_come_from_the_registry_of_the_project_while_its_namespace_names_none() {
    let shop = Shop::open().await;
    let namespace = shop.sandbox.namespace.as_str();
    for (project, expected) in [(PROJECT, "demo-connector"), ("other", "")] {
        let words = ["scaffold", "--project", project, "--namespace", namespace, "demo-conn"];
        let shown = completed(&shop.sandbox, &words).await;
        assert_eq!(shown.trim_end(), expected, "{project}");
    }
}
