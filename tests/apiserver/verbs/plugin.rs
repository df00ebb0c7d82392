//! Each command as a plugin of kubectl: `kubectl connect`.

use std::os::unix::fs::symlink;
use std::path::Path;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::process::Command;

use super::ended;
use crate::checks::{CHECK, check};
use crate::patience::in_time;
use crate::shop::Shop;

#[tokio::test]
async fn every_verb_works_through_kubectl() {
    let shop = Shop::live().await;
    shop.sandbox.apply(&check(&shop)).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    symlink(env!("CARGO_BIN_EXE_connect-operator"), folder.path().join("kubectl-connect")).unwrap();
    let manifest = folder.path().join("tax.json");
    std::fs::write(&manifest, shop.deployment().to_string()).unwrap();
    let (operator, pages) = (ready_operator().await, folder.path().join("pages"));
    let pages = pages.to_str().unwrap();
    let (manifest, key) = (manifest.to_str().unwrap(), format!("{}_tax", shop.sandbox.namespace));
    for (arguments, expected) in [
        (&["status", "tax"][..], "kubectl connect resume deployment/tax"),
        (&["tree"], "ConnectorDeployment/tax"),
        (&["events", "tax"], "LAST SEEN"),
        (&["reconcile", "tax"], "/tax reconcile requested"),
        (&["redeploy", "tax"], "/tax redeploy requested"),
        (&["suspend", "tax"], "/tax suspended"),
        (&["resume", "tax"], "/tax resumed"),
        (&["rerun", CHECK], "/add-to-cart rerun requested"),
        (&["wait", "deployment/tax"], "deployment/tax: "),
        (&["wait", "check/add-to-cart"], "check/add-to-cart: "),
        (&["logs", "tax"], " service "),
        (&["scaffold", "demo-connector", "--project", "shop"], "kind: ConnectorDeployment"),
        (&["doctor", "--operator-namespace", "default"], "problems, "),
        (&["version"], "Client:"),
        (&["plan", "--filename", manifest, "--operator-namespace", "default"], "ConnectorDeployment"),
        (&["connectors", "search", "--project", "shop"], "demo-connector"),
        (&["connector", "describe", "demo-connector", "--project", "shop"], "API_TOKEN"),
        (&["staged", "list", "--project", "shop"], "demo-staged"),
        (&["staged", "get", "demo-staged", "--project", "shop"], "demo-staged"),
        (&["staged", "export", "--project", "shop"], "kind: ConnectorStaged"),
        (&["deployments", "list", "--project", "shop"], "demo-connector"),
        (&["deployments", "get", &key, "--project", "shop"], "demo-connector"),
        (&["deployments", "logs", &key, "--project", "shop"], " service "),
        (&["deployments", "export", &key, "--project", "shop"], "managementPolicy: ObserveOnly"),
        (&["action", "get", "cart/getCart", "--url", &shop.dev.url()], "cartId"),
        (&["adopt", &key, "--project", "shop"], "managementPolicy: ObserveOnly"),
        (&["crds"], "kind: CustomResourceDefinition"),
        (&["completion", "bash"], "complete"),
        (&["ready", &operator], " is ready\n"),
        (&["man", pages], ""),
        (&["migrate"], "connectordeployments.connect-operator.io: nothing to do"),
    ] {
        if arguments[0] == "status" {
            shop.change(&serde_json::json!({"spec": {"suspend": true}})).await;
            shop.until("it is suspended", |object| {
                let conditions = object.status.iter().flat_map(|status| &status.conditions);
                conditions.into_iter().any(|it| it.type_ == "Suspended" && it.status == "True")
            })
            .await;
        }
        let (code, stdout, stderr) = connect(&shop, folder.path(), arguments).await;
        assert_eq!(code, Some(0), "{arguments:?}: {stdout}{stderr}");
        assert!(stdout.contains(expected), "{arguments:?}: {stdout}{stderr}");
    }
    assert!(std::fs::exists(folder.path().join("pages/connect-operator-wait.1")).unwrap());
    let unknown = ["connectors", "get", "xyz", "--project", "shop"];
    let (_, _, stderr) = connect(&shop, folder.path(), &unknown).await;
    let tried =
        format!("try `kubectl connect connectors search --project shop --namespace {}`", shop.sandbox.namespace);
    assert!(stderr.contains(&tried), "the user's own words and options: {stderr}");
}

#[tokio::test]
async fn kubectl_completes_the_words_of_the_plugin() {
    let shop = Shop::without_operator(dev_server::Options::default(), clock::Clock::system()).await;
    shop.sandbox.apply(&shop.deployment()).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    for name in ["kubectl-connect", "kubectl_complete-connect"] {
        symlink(env!("CARGO_BIN_EXE_connect-operator"), folder.path().join(name)).unwrap();
    }
    for (words, expected) in [
        (&["stat"][..], "status\tShow running state, desired state, problems and remedies on one page"),
        (&["wait", "-n", &shop.sandbox.namespace, "deployment/"], "deployment/tax"),
    ] {
        let command = Command::new(shop.sandbox.kubectl_program())
            .args(["__complete", "connect"])
            .args(words)
            .env_clear()
            .env("PATH", folder.path())
            .env("KUBECONFIG", shop.sandbox.kubeconfig())
            .kill_on_drop(true)
            .output();
        let (code, stdout, stderr) = ended(in_time(command).await.expect("it ends").unwrap());
        assert_eq!(code, Some(0), "{words:?}: {stdout}{stderr}");
        assert_eq!(stdout, format!("{expected}\n:4\n"), "{words:?}: {stderr}");
    }
}

/// Returns the address of an operator that is always ready.
async fn ready_operator() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 1024];
            let _ = stream.read(&mut request).await;
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nok").await;
        }
    });
    address
}

/// Runs `kubectl connect` in the namespace of a shop. `folder`: where kubectl finds the plugin.
async fn connect(shop: &Shop, folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let place = ["--namespace", shop.sandbox.namespace.as_str()];
    let command = Command::new(shop.sandbox.kubectl_program())
        .arg("connect")
        .args(arguments)
        .args(if ["action", "completion", "crds", "man", "migrate", "ready"].contains(&arguments[0]) {
            &[][..]
        } else {
            &place[..]
        })
        .env_clear()
        .env("PATH", folder)
        .env("KUBECONFIG", shop.sandbox.kubeconfig())
        .kill_on_drop(true)
        .output();
    ended(in_time(command).await.expect("it ends").unwrap())
}
