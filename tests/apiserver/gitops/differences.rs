//! `kubectl diff` shows nothing after `kubectl apply`, before and after the operator has worked on the object, however
//! it was applied.

use super::{dev_server_of, ownership, seen_by};
use crate::prelude::*;

const EXAMPLES: [&str; 3] = ["quickstart.yaml", "check.yaml", "staged.yaml"];
/// Deploys what another example publishes.
const PUBLISHED: &str = "pinned.yaml";

fn until_ready() -> String {
    format!("kubectl wait ctp,cst,cdep,acheck --all --for=condition=Ready {}", timeout_option())
}

#[tokio::test]
async fn kubectl_diff_shows_nothing_after_a_client_side_apply() {
    nothing_differs("").await;
}

#[tokio::test]
async fn kubectl_diff_shows_nothing_after_a_server_side_apply() {
    nothing_differs("--server-side").await;
}

async fn nothing_differs(how: &str) {
    let mut shop = dev_server_of().await;
    shop.stop_operator().await;
    let shell = Shell::of(&shop).await;
    for file in EXAMPLES {
        let apply = format!("kubectl apply {how} --validate=strict -f examples/{file}");
        shell.run(file, &apply, 0).await;
        differs_in_nothing(&shell, how, file).await;
    }
    shop.start_operator();
    shell.run("all are Ready", &until_ready(), 0).await;
    let apply = format!("kubectl apply {how} --validate=strict -f examples/{PUBLISHED}");
    shell.run("what is published by now", &apply, 0).await;
    shell.run("all are Ready", &until_ready(), 0).await;
    // kubectl reads an object, and then asks for what an apply would make of it: no status may be written in between.
    shop.stop_operator().await;
    for file in EXAMPLES.into_iter().chain([PUBLISHED]) {
        differs_in_nothing(&shell, how, file).await;
        // Applying it again changes nothing: the generation stays.
        let apply = format!("kubectl apply {how} -f examples/{file}");
        shell.run(file, &apply, 0).await;
        differs_in_nothing(&shell, how, file).await;
    }
    let written = shell.run("all", "kubectl get ctp,cst,cdep,acheck -o json --show-managed-fields", 0).await;
    let written: Value = serde_json::from_str(&written).unwrap();
    let objects = written["items"].as_array().unwrap();
    assert_eq!(objects.len(), 7);
    for object in objects {
        assert_eq!(object["metadata"]["generation"], 1, "{}", object["metadata"]["name"]);
        ownership::only_its_own(object);
    }
    for kind in ["ctp", "cst", "cdep", "acheck"] {
        for seen in seen_by(&shop.sandbox, kind).await {
            assert_eq!(seen, ("Current".into(), "Healthy".into()), "{kind}");
        }
    }
}

async fn differs_in_nothing(shell: &Shell, how: &str, file: &str) {
    let printed = shell.run(file, &format!("kubectl diff {how} -f examples/{file}"), 0).await;
    assert_eq!(printed, "", "{file}");
}
