//! What commands show while they work: in a terminal a line with the elapsed time, which is gone in the end.

use dev_server::{Fault, FaultAnswer};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;

use super::awaited::{CLEAR, in_terminal};
use crate::cluster::Sandbox;
use crate::patience::in_time;
use crate::shop::{SECRET, Shop};

/// Longer than any test.
const FOREVER: u64 = 600_000;

/// Runs the program in a terminal. Once it has shown a text, `then` is done; returns the lines that stay.
async fn lines_after(sandbox: &Sandbox, arguments: &str, text: &str, then: impl FnOnce()) -> Vec<String> {
    let mut terminal = in_terminal(arguments, sandbox).spawn().unwrap();
    let mut output = terminal.stdout.take().unwrap();
    let mut shown = Vec::new();
    let seen = async {
        while !String::from_utf8_lossy(&shown).contains(text) {
            assert_ne!(output.read_buf(&mut shown).await.unwrap(), 0, "{}", String::from_utf8_lossy(&shown));
        }
    };
    in_time(seen).await.unwrap_or_else(|_| panic!("{arguments}: {text} is not shown"));
    then();
    in_time(output.read_to_end(&mut shown)).await.expect("it ends").unwrap();
    let shown = String::from_utf8(shown).unwrap();
    assert!(terminal.wait().await.unwrap().success(), "{arguments}: {shown:?}");
    assert!(shown.contains(CLEAR), "{shown:?}");
    shown.lines().filter_map(|line| line.rsplit(CLEAR).next()).map(ToOwned::to_owned).collect()
}

#[tokio::test]
async fn what_was_read_is_counted_in_a_terminal() {
    let shop = Shop::open().await;
    let record = |key: &str| -> Value {
        json!({
            "id": format!("id-of-{key}"), "key": key, "version": 1, "name": key, "integrationTypes": ["tax"],
            "creator": {"email": "dev@example.com"}, "repository": {"url": "https://example.com/a.git", "tag": "v1"},
            "private": false, "supportedRegions": ["europe-west1.gcp"], "certified": true,
        })
    };
    let page = json!({"limit": 100, "offset": 0, "count": 2, "total": 3, "results": [record("aa"), record("bb")]});
    let first = FaultAnswer { status: Some(200), body: Some(page), ..FaultAnswer::default() };
    let slow = || FaultAnswer { delay_ms: FOREVER, ..FaultAnswer::default() };
    shop.dev.fault(Fault { count: Some(1), ..Fault::of("searchConnectors", first) }).unwrap();
    shop.dev.fault(Fault::of("searchConnectors", slow())).unwrap();
    let namespace = &shop.sandbox.namespace;
    let search = format!("connectors search --project shop --namespace {namespace}");
    let lines = lines_after(&shop.sandbox, &search, "s reading connectors: 2 so far", || shop.dev.clear_faults()).await;
    let has = |start: &str| lines.iter().any(|line| line.starts_with(start));
    assert!(has("KEY ") && has("aa ") && has("bb ") && has("demo-us"), "of both pages: {lines:#?}");
    assert!(lines.iter().all(|line| !line.contains("reading")), "{lines:#?}");

    for (command, call, text) in [
        ("deployments list", "queryDeployments", "s reading deployments: 0 so far"),
        ("deployments export", "queryDeployments", "s reading deployments: 0 so far"),
        ("staged export", "queryConnectorsStaged", "s reading staged connectors: 0 so far"),
    ] {
        shop.dev.fault(Fault::of(call, slow())).unwrap();
        let command = format!("{command} --project shop --namespace {namespace}");
        let lines = lines_after(&shop.sandbox, &command, text, || shop.dev.clear_faults()).await;
        assert!(lines.iter().all(|line| !line.contains("reading")), "{command}: {lines:#?}");
    }
}

#[tokio::test]
async fn a_plan_shows_in_a_terminal_what_it_reads() {
    let shop = Shop::open().await;
    shop.put_secret(SECRET, &[("token", "first-token-of-the-shop")]).await;
    let folder = tempfile::tempdir().unwrap();
    let manifest = folder.path().join("tax.json");
    std::fs::write(&manifest, shop.deployment().to_string()).unwrap();
    let slow = FaultAnswer { delay_ms: FOREVER, ..FaultAnswer::default() };
    shop.dev.fault(Fault::of("getDeploymentByKey", slow)).unwrap();
    let namespace = &shop.sandbox.namespace;
    let plan = format!("plan --filename {} --operator-namespace default --namespace {namespace}", manifest.display());
    let lines = lines_after(&shop.sandbox, &plan, "s planning: deployment/tax", || shop.dev.clear_faults()).await;
    assert!(lines.iter().any(|line| line.contains("is created")), "{lines:#?}");
    assert!(lines.iter().all(|line| !line.contains("planning")), "{lines:#?}");
}
