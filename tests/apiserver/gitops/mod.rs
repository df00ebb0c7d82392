//! How `GitOps` tools see the operator and what it writes: Flux, Argo CD, kubectl diff, several field managers of one
//! object.

use crate::prelude::*;

mod argocd;
mod differences;
mod flux;
mod foreign;
mod kstatus;
mod kustomize;
mod ownership;
mod processes;
mod promotion;
mod secrets;
mod slow_shop;
mod states;

pub(crate) use foreign::install as install_foreign_kinds;

/// The status that a tool computes for an object.
#[derive(Deserialize)]
struct ToolStatus {
    status: String,
    message: String,
}

/// The operator and a dev server, without any object.
async fn dev_server_of() -> Shop {
    dev_server_in(Sandbox::new().await).await
}

/// The same, in an existing namespace.
async fn dev_server_in(sandbox: Sandbox) -> Shop {
    let mut shop = Shop::on(sandbox, quick(), fast()).await;
    shop.start_operator();
    shop
}

/// The statuses that Flux and Argo CD compute for each existing object of a kind.
async fn seen_by(sandbox: &Sandbox, kind: &str) -> Vec<(String, String)> {
    let listed = sandbox.succeed(&["get", kind, "--output", "json"], "").await;
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let objects = listed["items"].as_array().expect("a list");
    assert!(!objects.is_empty(), "{kind}");
    flux(objects).into_iter().zip(argo_cd(objects)).map(|(flux, argo)| (flux.status, argo.status)).collect()
}

/// The statuses that Flux computes for objects.
fn flux(objects: &[Value]) -> Vec<ToolStatus> {
    go_tools::ask(&go_tools::built("kstatus", "."), &json!(objects))
}

/// The statuses that Argo CD computes for objects, with the health checks of `examples/argocd/`.
fn argo_cd(objects: &[Value]) -> Vec<ToolStatus> {
    argocd::health::verdicts("lua", objects)
}
