//! The commands with which users read the registry and deployments, as processes, against the dev server.

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use crate::prelude::*;
use crate::repeated_options::KUBECONFIG;

const PROGRAM: &str = env!("CARGO_BIN_EXE_connect-operator");

/// Returns the program with the environment of project `demo`, and nothing else of this process's.
fn program(dev: &DevServer, arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).env_clear().stdin(Stdio::null()).kill_on_drop(true);
    command.envs([
        ("CTP_PROJECT_KEY", "demo"),
        ("CTP_CLIENT_ID", "dev-client"),
        ("CTP_CLIENT_SECRET", "dev-secret"),
        ("CTP_API_URL", &dev.url()),
        ("CTP_AUTH_URL", &dev.url()),
    ]);
    command
}

fn texts(output: &Output) -> (String, String) {
    (String::from_utf8_lossy(&output.stdout).into_owned(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Returns what it prints to standard output; it prints nothing else and exits with 0.
async fn printed(dev: &DevServer, arguments: &[&str]) -> String {
    let output = program(dev, arguments).output().await.unwrap();
    let (stdout, stderr) = texts(&output);
    assert_eq!((output.status.code(), stderr.as_str()), (Some(0), ""), "{arguments:?}");
    stdout
}

fn deploy(dev: &DevServer, key: &str) -> String {
    dev.deploy(key, &json!([]), "canary-of-the-shop")
}

/// Returns the first word of each line below the header.
fn first_words(table: &str) -> Vec<&str> {
    table.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect()
}

#[tokio::test]
async fn the_registry_is_searched_and_shown() {
    let dev = DevServer::usual().await;
    let all = printed(&dev, &["connectors", "search"]).await;
    assert!(all.starts_with("KEY") && first_words(&all).contains(&"demo-connector"), "{all}");
    let tax = printed(&dev, &["connectors", "search", "--type", "tax"]).await;
    assert_eq!(first_words(&tax), ["demo-us-only"]);
    assert_eq!(first_words(&printed(&dev, &["connectors", "search", "--text", "nothing like it"]).await).len(), 0);

    let one = printed(&dev, &["connectors", "get", "demo-connector"]).await;
    assert!(one.contains("API_TOKEN") && one.contains("secured"), "{one}");
    assert!(!one.contains("SCOPES"), "it generates no API client: {one}");
    let plain = printed(&dev, &["connectors", "get", "demo-api-client"]).await;
    for shown in ["service", "SCOPES OF THE GENERATED API CLIENT", "view_products,manage_orders", "manage_api_clients"]
    {
        assert!(plain.contains(shown), "{shown}: {plain}");
    }
    let pipeline = printed(&dev, &["connectors", "get", "demo-pipeline"]).await;
    for shown in ["order-events", "event", "globalConfiguration"] {
        assert!(pipeline.contains(shown), "{shown}: {pipeline}");
    }
    let record: Value =
        serde_json::from_str(&printed(&dev, &["connectors", "get", "demo-connector", "-o", "json"]).await).unwrap();
    assert_eq!((&record["key"], &record["version"]), (&json!("demo-connector"), &json!(1)));
    let id = record["id"].as_str().unwrap();
    assert_eq!(printed(&dev, &["connectors", "get", "--id", id]).await, one);
    let yaml = printed(&dev, &["connectors", "get", "demo-connector", "-o", "yaml"]).await;
    assert_eq!(serde_saphyr::from_str::<Value>(&yaml).unwrap(), record);
    let found: Vec<Value> =
        serde_json::from_str(&printed(&dev, &["connectors", "search", "-o", "json"]).await).unwrap();
    assert_eq!(found.len(), first_words(&all).len());
}

#[tokio::test]
async fn records_are_printed_with_more_details_and_as_names() {
    let dev = DevServer::usual().await;
    let id = deploy(&dev, "shop_tax");
    for (command, header, detail, name) in [
        (&["deployments", "list"][..], "APPLICATIONS", id.as_str(), "shop_tax\n"),
        (&["connectors", "search", "--type", "tax"], "COMPANY", "", "demo-us-only\n"),
    ] {
        let plain = printed(&dev, command).await;
        let wide = printed(&dev, &[command, &["-o", "wide"]].concat()).await;
        assert!(!plain.contains(header) && wide.contains(header) && wide.contains(detail), "{plain}{wide}");
        assert_eq!(printed(&dev, &[command, &["-o", "name"]].concat()).await, name);
    }
}

#[tokio::test]
async fn deployments_are_listed_and_shown_without_secured_values() {
    let dev = DevServer::usual().await;
    let id = deploy(&dev, "shop_tax");
    deploy(&dev, "shop_oms");
    let mut keys = first_words(&printed(&dev, &["deployments", "list"]).await).join(" ");
    if keys.starts_with("shop_oms") {
        keys = "shop_tax shop_oms".to_owned();
    }
    assert_eq!(keys, "shop_tax shop_oms");
    for arguments in [&["deployments", "get", "shop_tax"][..], &["deployments", "get", "--id", &id]] {
        let shown = printed(&dev, arguments).await;
        assert!(shown.contains("Deployed") && shown.contains("https://"), "{shown}");
    }
    for form in ["json", "yaml", "wide"] {
        let shown = printed(&dev, &["deployments", "get", "shop_tax", "-o", form]).await;
        assert!(!shown.contains("canary") && !shown.contains("**"), "{form}: {shown}");
    }
}

#[tokio::test]
async fn what_exists_is_exported_as_manifests_without_secured_values() {
    let dev = DevServer::usual().await;
    deploy(&dev, "shop_tax");
    deploy(&dev, "shop_oms");
    let kinds = |yaml: &str| -> Vec<(String, String)> {
        let documents: Vec<Value> = serde_saphyr::from_multiple(yaml).unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        documents.iter().map(|document| (text(&document["kind"]), text(&document["metadata"]["name"]))).collect()
    };
    let pair = |kind: &str, name: &str| (kind.to_owned(), name.to_owned());
    let one = program(&dev, &["deployments", "export", "shop_tax"]).output().await.unwrap();
    let (one, _) = texts(&one);
    assert_eq!(kinds(&one), [pair("ConnectorDeployment", "shop-tax")]);
    assert!(one.contains("ObserveOnly") && !one.contains("canary"), "{one}");
    let output =
        program(&dev, &["deployments", "export"]).env("CTP_REGION", "europe-west1.gcp").output().await.unwrap();
    let (all, stderr) = texts(&output);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert!(stderr.contains("Next: create the Secret shop-tax with API_TOKEN\n"), "{stderr}");
    assert_eq!(kinds(&all).len(), 3, "the project, and one for each");
    assert_eq!(kinds(&all)[0], pair("ConnectProject", "demo"));
    let output = program(&dev, &["deployments", "export", "nope"]).output().await.unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(texts(&output).1.contains("no deployment with the key nope"));
}

#[tokio::test]
async fn an_action_is_called_once_and_its_answer_printed() {
    let dev = DevServer::usual().await;
    let folder = tempfile::tempdir().unwrap();
    let body = folder.path().join("body.json");
    std::fs::write(&body, json!({"variant": {"sku": "A1", "count": 2}}).to_string()).unwrap();
    let url = dev.url();
    let call = |method: &'static str, action: &'static str, more: &[&str]| {
        let arguments: Vec<_> =
            ["action", method, action, "--url", &url].into_iter().chain(more.iter().copied()).collect();
        program(&dev, &arguments)
    };
    let output = call("post", "cart/addToCart", &["--body", body.to_str().unwrap()]).output().await.unwrap();
    let (stdout, stderr) = texts(&output);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let cart: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(cart["lineItems"][0]["count"], 2, "{cart}");
    assert!(stderr.starts_with("200 OK after"), "{stderr}");
    assert_eq!(dev.counts().get("writeFrontasticActionPost"), Some(&1));

    for (case, mut command, expected) in [
        ("no such action", call("get", "cart/nothing", &[]), "answered 400"),
        ("no name", call("get", "cart", &[]), "write it as NAMESPACE/ACTION"),
        ("no JSON", call("put", "cart/addToCart", &["--body", "Cargo.toml"]), "not JSON"),
        ("no file", call("put", "cart/addToCart", &["--body", "/nowhere"]), "the file `/nowhere` cannot be read: "),
        ("no HTTP", program(&dev, &["action", "get", "cart/getCart", "--url", "ftp://localhost"]), "--url: scheme"),
    ] {
        let output = command.output().await.unwrap();
        let (_, stderr) = texts(&output);
        assert!(output.status.code() == Some(1) && stderr.contains(expected), "{case}: {stderr}");
    }
}

/// A file that is no kubeconfig; an error must not quote its lines, which may have secrets.
const NO_KUBECONFIG: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/no-kubeconfig");

#[tokio::test]
async fn errors_name_the_remedy_and_exit_with_1() {
    std::fs::write(NO_KUBECONFIG, "canary\n").unwrap();
    let dev = DevServer::usual().await;
    deploy(&dev, "shop_tax");
    // An empty variable counts as unset.
    let nothing = ("CTP_REGION", "");
    let list: &[&str] = &["deployments", "list"];
    for (case, arguments, (variable, value), expected) in [
        ("no connector", &["connectors", "get", "nope"][..], nothing, "no connector with the key nope in this project"),
        ("no deployment", &["deployments", "get", "--id", "../x"], nothing, "no deployment with the id ../x"),
        ("no staged connector", &["staged", "export", "nope"], nothing, "no staged connector with the key nope"),
        (
            "no project",
            list,
            ("CTP_PROJECT_KEY", ""),
            "CTP_PROJECT_KEY is not set: name a ConnectProject with --project",
        ),
        ("wrong secret", list, ("CTP_CLIENT_SECRET", "canary-secret"), "status 401"),
        ("no HTTP", list, ("CTP_AUTH_URL", "ftp://127.0.0.1"), "authUrl: scheme `ftp`"),
        ("no address", &["dev-server", "--listen", "8787"], nothing, "give an IP address and a port"),
        ("no kubeconfig", &["status", "tax"], ("KUBECONFIG", "/nowhere"), "name one with --kubeconfig or KUBECONFIG"),
        ("a file that is none", &["status", "tax"], ("KUBECONFIG", NO_KUBECONFIG), "line 1 column 1"),
    ] {
        let output = program(&dev, arguments).env(variable, value).output().await.unwrap();
        let (stdout, stderr) = texts(&output);
        assert!(stderr.contains(expected), "{case}: {stderr}");
        assert_eq!((output.status.code(), stdout.as_str(), stderr.contains("canary")), (Some(1), "", false), "{case}");
    }
}

#[tokio::test]
async fn logs_in_a_pipe_have_no_colours() {
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("config");
    std::fs::write(&kubeconfig, KUBECONFIG).unwrap();
    let mut operator = Command::new(PROGRAM)
        .args(["run", "--log-format", "text", "--health-listen", "127.0.0.1:0"])
        .env_clear()
        .env("KUBECONFIG", &kubeconfig)
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(operator.stderr.take().unwrap()).lines();
    let line = in_time(lines.next_line()).await.expect("it logs").unwrap().unwrap_or_default();
    assert!(line.contains("listening") && !line.contains('\u{1b}'), "{line:?}");
}
