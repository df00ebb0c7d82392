//! Each command as a plugin of kubectl: `kubectl connect`.

use std::os::unix::fs::symlink;

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
    ] {
        if arguments[0] == "status" {
            shop.change(&serde_json::json!({"spec": {"suspend": true}})).await;
            shop.until("it is suspended", |object| {
                let conditions = object.status.iter().flat_map(|status| &status.conditions);
                conditions.into_iter().any(|it| it.type_ == "Suspended" && it.status == "True")
            })
            .await;
        }
        let command = Command::new(shop.sandbox.kubectl_program())
            .arg("connect")
            .args(arguments)
            .args(["--namespace", &shop.sandbox.namespace])
            .env_clear()
            .env("PATH", folder.path())
            .env("KUBECONFIG", shop.sandbox.kubeconfig())
            .kill_on_drop(true)
            .output();
        let (code, stdout, stderr) = ended(in_time(command).await.expect("it ends").unwrap());
        assert_eq!(code, Some(0), "{arguments:?}: {stdout}{stderr}");
        assert!(stdout.contains(expected), "{arguments:?}: {stdout}{stderr}");
    }
}
