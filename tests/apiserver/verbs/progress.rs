//! What commands show while they work: in a terminal a line with the elapsed time, which is gone in the end.

use dev_server::{Fault, FaultAnswer};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::process::Command;

use super::awaited::{CLEAR, in_terminal};
use super::ended;
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
        ("staged list", "queryConnectorsStaged", "s reading staged connectors: 0 so far"),
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

/// Starts an operator that answers with each of these, and then always with the last one; returns its address.
async fn operator(answers: &'static [&'static str]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        for at in 0.. {
            let Ok((mut stream, _)) = listener.accept().await else { return };
            let mut request = [0; 1024];
            let _ = stream.read(&mut request).await;
            let answer = answers.get(at).or(answers.last()).copied().unwrap_or_default();
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    address
}

const NO_CRDS: &str = "HTTP/1.1 503 Service Unavailable\r\n\r\nno CRDs\n";
const NO_CACHE: &str = "HTTP/1.1 503 Service Unavailable\r\n\r\nno cache\n";
const READY: &str = "HTTP/1.1 200 OK\r\n\r\nok";

#[tokio::test]
async fn ready_shows_why_it_waits() {
    let sandbox = Sandbox::new().await;
    let address = operator(&[NO_CRDS, NO_CRDS, READY]).await;
    let wait = format!("ready {address} --wait 5m");
    let reason = format!("s waiting: {address} is not ready: HTTP/1.1 503");
    let lines = lines_after(&sandbox, &wait, &reason, || ()).await;
    assert_eq!(lines, [format!("{address} is ready")], "the reason is gone");

    let address = operator(&[NO_CRDS, NO_CRDS, NO_CACHE, READY]).await;
    let command = Command::new(env!("CARGO_BIN_EXE_connect-operator"))
        .args(["ready", &address, "--wait", "5m"])
        .env_clear()
        .kill_on_drop(true)
        .output();
    let (code, stdout, stderr) = ended(in_time(command).await.expect("it ends").unwrap());
    assert_eq!((code, stdout), (Some(0), format!("{address} is ready\n")));
    let line = |body: &str| format!("{address} is not ready: HTTP/1.1 503 Service Unavailable {body}\n");
    assert_eq!(stderr, line("no CRDs") + &line("no cache"), "a line for each reason");
}
