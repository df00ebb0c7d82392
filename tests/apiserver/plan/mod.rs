//! `plan` as a process: what it predicts for a change against a live deployment, and that it writes nothing and prints
//! no secured value.

mod foreseen;
mod known;
mod sharing;
mod staged;
mod wrong;

use test_support::commands::with_input;

use crate::prelude::*;

/// Secured values, which must never be printed.
const TOKEN: &str = "first-token-of-the-shop";
const NEXT: &str = "next-token-of-the-shop";

/// The exit code and the output of a plan.
struct Planned {
    code: Option<i32>,
    output: String,
    error: String,
}

impl Planned {
    fn json(&self) -> Value {
        serde_json::from_str(&self.output).unwrap_or_else(|error| panic!("{error}: {} {}", self.output, self.error))
    }
}

/// Runs `plan` with these manifests as its standard input, and asserts that it writes nothing and prints no secured
/// value.
async fn plan_as(shop: &Shop, kubeconfig: &Path, manifests: &[Value], more: &[&str]) -> Planned {
    let before = written(shop).await;
    let own = ["--operator-namespace", shop.sandbox.namespace.as_str()];
    let text: Vec<String> = manifests.iter().map(ToString::to_string).collect();
    let mut command = Command::new(env!("CARGO_BIN_EXE_connect-operator"));
    command
        .args([
            "plan",
            "--exit-code",
            "-f",
            "-",
            "--namespace",
            &shop.sandbox.namespace,
            "--allowed-api-hosts",
            "http://127.0.0.1:*",
        ])
        .args(if more.contains(&"--operator-namespace") { &[][..] } else { &own[..] })
        .args(more)
        .env_clear()
        .env("KUBECONFIG", kubeconfig);
    let ended = with_input(&mut command, &text.join("\n---\n")).await;
    let [output, error] = [ended.stdout, ended.stderr].map(|text| String::from_utf8(text).unwrap());
    for secret in [TOKEN, NEXT, "dev-secret"] {
        assert!(!output.contains(secret) && !error.contains(secret), "{secret}: {output} {error}");
    }
    assert_eq!(written(shop).await, before, "it writes nothing: {output}");
    Planned { code: ended.status.code(), output, error }
}

async fn plan(shop: &Shop, manifests: &[Value]) -> Planned {
    plan_as(shop, &shop.sandbox.kubeconfig(), manifests, &["-o", "json"]).await
}

/// Returns the plan of these manifests, whose exit code is this one.
async fn plan_with(shop: &Shop, manifests: &[Value], code: i32) -> Value {
    let planned = plan(shop, manifests).await;
    assert_eq!(planned.code, Some(code), "{} {}: {manifests:?}", planned.output, planned.error);
    planned.json()
}

/// Returns what a write would change: the resource versions of all objects, and the number of calls that change the
/// remote.
async fn written(shop: &Shop) -> (Vec<Option<String>>, Vec<u64>) {
    let all = ListParams::default();
    let mut versions = Vec::new();
    for object in shop.api::<ConnectorDeployment>().list_metadata(&all).await.unwrap().items {
        versions.push(object.metadata.resource_version);
    }
    for object in shop.api::<ConnectProject>().list_metadata(&all).await.unwrap().items {
        versions.push(object.metadata.resource_version);
    }
    for object in shop.api::<Secret>().list_metadata(&all).await.unwrap().items {
        versions.push(object.metadata.resource_version);
    }
    let operations = ["createDeployment", "updateDeploymentById", "updateDeploymentByKey", "deleteDeploymentById"];
    (versions, operations.map(|operation| shop.calls(operation)).to_vec())
}

/// A shop whose operator has ended, so that nothing else writes meanwhile.
async fn live() -> Shop {
    let mut shop = Shop::live().await;
    shop.stop_operator().await;
    shop
}

async fn nothing_live() -> Shop {
    let mut shop = Shop::open().await;
    shop.until_available().await;
    shop.stop_operator().await;
    shop
}

fn difference(kind: &str, key: &str, change: &str, before: &Value, after: &Value) -> Value {
    json!({"application": "service", "kind": kind, "key": key, "change": change, "before": before, "after": after})
}
