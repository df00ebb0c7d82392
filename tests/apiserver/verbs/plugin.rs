//! Each command as a plugin of kubectl: `kubectl connect`.

use connect_operator::cli;

use super::ended;
use crate::operators::until_line;
use crate::prelude::*;

/// The commands that run until they are ended: the test below starts two, and `demo.rs` the other.
const SERVING: [&str; 3] = ["run", "demo", "dev-server"];

#[tokio::test]
async fn every_verb_works_through_kubectl() {
    let shop = Shop::live().await;
    shop.sandbox.apply(&check(&shop)).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    symlink(env!("CARGO_BIN_EXE_connect-operator"), folder.path().join("kubectl-connect")).unwrap();
    let [manifest, body] = ["tax.json", "body.json"].map(|name| folder.path().join(name));
    std::fs::write(&manifest, shop.deployment().to_string()).unwrap();
    std::fs::write(&body, json!({"variant": {"sku": "A1", "count": 2}}).to_string()).unwrap();
    let [manifest, body] = [&manifest, &body].map(|path| path.to_str().unwrap());
    let (url, key) = (shop.dev.url(), format!("{}_tax", shop.sandbox.namespace));
    let mut untried = verbs();
    for (arguments, expected) in [
        (&["status", "tax"][..], "kubectl connect resume deployment/tax"),
        (&["tree"], "ConnectorDeployment/tax"),
        (&["reconcile", "tax"], "/tax reconcile requested"),
        (&["redeploy", "tax"], "/tax redeploy requested"),
        (&["suspend", "tax"], "/tax suspended"),
        (&["resume", "tax"], "/tax resumed"),
        (&["rerun", CHECK], "/add-to-cart rerun requested"),
        (&["wait", "deployment/tax"], "deployment/tax: "),
        (&["wait", "check/add-to-cart"], "check/add-to-cart: "),
        (&["scaffold", "demo-connector", "--project", "shop"], "kind: ConnectorDeployment"),
        (&["doctor", "--operator-namespace", "default"], "problems, "),
        (&["plan", "--filename", manifest, "--operator-namespace", "default"], "ConnectorDeployment"),
        (&["connectors", "search", "--project", "shop"], "demo-connector"),
        (&["connectors", "get", "demo-connector", "--project", "shop"], "API_TOKEN"),
        (&["staged", "export", "--project", "shop"], "kind: ConnectorStaged"),
        (&["deployments", "list", "--project", "shop"], "demo-connector"),
        (&["deployments", "get", &key, "--project", "shop"], "demo-connector"),
        (&["deployments", "export", &key, "--project", "shop"], "managementPolicy: ObserveOnly"),
        (&["action", "get", "cart/getCart", "--url", &url], "cartId"),
        (&["action", "post", "cart/addToCart", "--url", &url, "--body", body], "\"count\":2"),
        (&["action", "put", "cart/addToCart", "--url", &url, "--body", body], "\"count\":2"),
        (&["adopt", &key, "--project", "shop"], "managementPolicy: ObserveOnly"),
        (&["crds"], "kind: CustomResourceDefinition"),
        (&["completion", "bash"], "complete"),
    ] {
        if arguments[0] == "status" {
            shop.change(&serde_json::json!({"spec": {"suspend": true}})).await;
            shop.until("it is suspended", |object| has(object, "Suspended")).await;
        }
        let (code, stdout, stderr) = connect(&shop, folder.path(), arguments).await;
        assert_eq!(code, Some(0), "{arguments:?}: {stdout}{stderr}");
        assert!(stdout.contains(expected), "{arguments:?}: {stdout}{stderr}");
        let words = arguments.join(" ");
        untried.retain(|verb| words != *verb && !words.starts_with(&format!("{verb} ")));
    }
    assert_eq!(untried, SERVING.map(str::to_owned).into(), "every verb is tried");
}

#[tokio::test]
async fn what_runs_until_it_is_ended_works_through_kubectl() {
    let options = dev_server::Options { deploy_duration: Duration::from_millis(200), ..Default::default() };
    let shop = Shop::without_operator(options, clock::Clock::system()).await;
    shop.put_project_and_secrets().await;
    shop.sandbox.apply(&shop.deployment()).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    symlink(env!("CARGO_BIN_EXE_connect-operator"), folder.path().join("kubectl-connect")).unwrap();
    let namespace = shop.sandbox.namespace.as_str();
    let run =
        ["run", "--watch-namespaces", namespace, "--operator-namespace", namespace, "--health-listen=127.0.0.1:0"];
    let run = [&run[..], &["--allowed-api-hosts", "http://127.0.0.1:*", "--log-format", "text"]].concat();
    for (arguments, expected) in
        [(&run[..], "Deployed"), (&["dev-server", "--listen", "127.0.0.1:0"], "http://127.0.0.1:")]
    {
        let mut process =
            plugin(&shop, folder.path()).args(arguments).stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
        until_line(&mut lines, expected).await;
        // kubectl becomes the plugin, so its process is that of the plugin.
        process.kill().await.unwrap();
    }
    shop.until_reason("Deployed").await;
}

/// Runs `kubectl connect` in the namespace of a shop. `folder`: where kubectl finds the plugin.
async fn connect(shop: &Shop, folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let place = ["--namespace", shop.sandbox.namespace.as_str()];
    let command = plugin(shop, folder)
        .args(arguments)
        .args(if ["action", "completion", "crds"].contains(&arguments[0]) { &[][..] } else { &place[..] })
        .output();
    ended(in_time(command).await.expect("it ends").unwrap())
}

/// Returns `kubectl connect`, without arguments.
fn plugin(shop: &Shop, folder: &Path) -> Command {
    let mut command = Command::new(shop.sandbox.kubectl_program());
    command
        .arg("connect")
        .env_clear()
        .env("PATH", folder)
        .env("KUBECONFIG", shop.sandbox.kubeconfig())
        .kill_on_drop(true);
    command
}

/// Returns every command that a user may type, such as `deployments get`.
fn verbs() -> BTreeSet<String> {
    fn below(command: &clap::Command, words: &str, all: &mut BTreeSet<String>) {
        for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
            let words = format!("{words} {}", inner.get_name()).trim().to_owned();
            if inner.has_subcommands() {
                below(inner, &words, all);
            } else {
                all.insert(words);
            }
        }
    }
    let mut all = BTreeSet::new();
    below(&cli::command(), "", &mut all);
    all
}
