//! `wait` for several resources and for every kind, and its progress on a terminal.

use std::collections::BTreeSet;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::Command;

use super::{printed, run};
use crate::checks::{CHECK, check};
use crate::cluster::Sandbox;
use crate::manifests::with_spec;
use crate::patience::in_time;
use crate::rules::level;
use crate::shop::{SECRET, Shop};

#[tokio::test]
async fn several_resources_are_awaited_together() {
    let shop = Shop::live().await;
    let sandbox = &shop.sandbox;
    sandbox.apply(&check(&shop)).await.unwrap();
    let printed = printed(sandbox, &["wait", "project/shop", "tax", &format!("check/{CHECK}")]).await;
    let mut lines: Vec<&str> = printed.lines().filter_map(|line| line.split(": ").next()).collect();
    lines.sort_unstable();
    assert_eq!(lines, ["check/add-to-cart", "deployment/tax", "project/shop"], "{printed}");

    let names = super::printed(sandbox, &["wait", "project/shop", "tax", "--output", "name"]).await;
    assert_eq!(names, "connectproject.connect-operator.io/shop\nconnectordeployment.connect-operator.io/tax\n");
    let object = super::printed(sandbox, &["wait", "tax", "--output", "json"]).await;
    let object: serde_json::Value = serde_json::from_str(&object).expect("nothing but the object is printed");
    assert_eq!(object["metadata"]["name"], "tax");
    let again = ["reconcile", "tax", "--wait", "--output", "json"];
    let object: serde_json::Value = serde_json::from_str(&super::printed(sandbox, &again).await).expect("an object");
    assert_eq!(object["metadata"]["name"], "tax");

    // One that needs a user to act does not hide that another is ready, and the other way round.
    let mut wrong = with_spec(shop.deployment(), &level("loud"));
    wrong["metadata"]["name"] = "wrong".into();
    sandbox.apply(&wrong).await.unwrap();
    let (code, stdout, stderr) = run(sandbox, &["wait", "deployments", "--all"]).await;
    assert_eq!(code, Some(1), "{stdout}{stderr}");
    assert!(stdout.starts_with("deployment/tax: Deployed"), "{stdout}");
    assert!(stderr.contains("Error: deployment/wrong: DeploymentFailed") && stderr.contains("\n  Error in service"));
    assert!(!stderr.contains('\u{1b}'), "a pipe gets plain lines: {stderr}");
}

#[tokio::test]
async fn nothing_to_wait_for_is_a_failure() {
    let sandbox = Sandbox::new().await;
    let (code, stdout, stderr) = run(&sandbox, &["wait", "deployments", "--selector", "team=tax"]).await;
    assert_eq!((code, stdout.as_str()), (Some(1), ""), "{stderr}");
    assert!(stderr.contains("there is nothing to wait for"), "{stderr}");
}

#[tokio::test]
async fn what_a_user_has_to_end_is_explained_while_it_lasts() {
    let shop = Shop::open().await;
    shop.sandbox.apply(&shop.deployment()).await.unwrap();
    let mut wait = Command::new(env!("CARGO_BIN_EXE_connect-operator"))
        .args(["wait", "tax", "--namespace", &shop.sandbox.namespace])
        .env("KUBECONFIG", shop.sandbox.kubeconfig())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(wait.stderr.take().unwrap()).lines();
    let explained = async {
        while let Some(line) = lines.next_line().await.unwrap() {
            if line.starts_with("deployment/tax: A Secret, or a key in it, does not exist: create it") {
                return;
            }
        }
        panic!("it ended");
    };
    in_time(explained).await.expect("it is explained");
    shop.put_secret(SECRET, &[("token", "first-token-of-the-shop")]).await;
    assert!(in_time(wait.wait()).await.expect("it ends").unwrap().success());
}

/// Moves the cursor to the start of its line, and clears the line.
pub(super) const CLEAR: &str = "\r\u{1b}[K";

#[tokio::test]
async fn a_terminal_shows_the_elapsed_time_in_one_line_that_is_gone_in_the_end() {
    let shop = Shop::open().await;
    shop.sandbox.apply(&shop.deployment()).await.unwrap();
    shop.until_reason("SecretMissing").await;
    let wait = format!("wait tax --namespace {}", shop.sandbox.namespace);
    let mut terminal = in_terminal(&wait, &shop.sandbox).spawn().unwrap();
    let mut output = terminal.stdout.take().unwrap();
    let mut shown = Vec::new();
    let ticking = async {
        while times(&String::from_utf8_lossy(&shown)).len() < 2 {
            assert_ne!(output.read_buf(&mut shown).await.unwrap(), 0, "{}", String::from_utf8_lossy(&shown));
        }
    };
    in_time(ticking).await.expect("the time passes");
    shop.put_secret(SECRET, &[("token", "first-token-of-the-shop")]).await;
    in_time(output.read_to_end(&mut shown)).await.expect("it ends").unwrap();
    assert!(terminal.wait().await.unwrap().success());
    let shown = String::from_utf8(shown).unwrap();
    let lines: Vec<_> = shown.lines().filter_map(|line| line.rsplit(CLEAR).next()).collect();
    assert!(lines.iter().all(|line| line.is_empty() || line.starts_with("deployment/tax: ")), "{lines:#?}\n{shown:?}");
    assert!(lines.iter().any(|line| line.starts_with("deployment/tax: Deployed: ")), "{lines:#?}");
    let longest = shown.split(CLEAR).filter(|line| !line.contains('\n')).map(|line| line.chars().count()).max();
    assert!(longest.is_some_and(|longest| longest < 60), "{longest:?}: {shown:?}");
}

/// Returns a command that runs the program in a terminal of 60 columns.
pub(super) fn in_terminal(arguments: &str, sandbox: &Sandbox) -> Command {
    // `script` runs a command in a terminal, which has no size of its own.
    let line = format!("stty cols 60 rows 24; exec \"$PROGRAM\" {arguments}");
    let mut command = Command::new("script");
    command
        .args(["--quiet", "--return", "--command", &line, "/dev/null"])
        .env_clear()
        .envs([("PATH", "/usr/bin:/bin"), ("PROGRAM", env!("CARGO_BIN_EXE_connect-operator"))])
        .env("KUBECONFIG", sandbox.kubeconfig())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true);
    command
}

/// Returns the elapsed times in the lines about the missing Secret.
fn times(shown: &str) -> BTreeSet<&str> {
    let lines = shown.split(CLEAR);
    lines.filter_map(|line| Some(line.split_once(" deployment/tax: SecretMissing")?.0)).collect()
}
