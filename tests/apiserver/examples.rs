//! What users copy: the files in `examples/`, and the steps of `docs/getting-started.md` with the dev server. The API
//! server must accept each manifest unchanged, and each command must have the documented result. Its steps with a
//! project and other pages are in `pages/`, folders of `examples/` in `gitops/`.

use crate::prelude::*;
use crate::written::{blocks, commands, examples, section};

#[tokio::test]
async fn every_example_is_accepted_as_it_is() {
    let sandbox = Sandbox::new().await;
    for (file, yaml) in examples() {
        let manifests = documents(&yaml);
        assert!(!manifests.is_empty(), "{file} has manifests");
        for manifest in manifests {
            assert!(manifest["metadata"]["namespace"].is_null(), "{file}: it suits every namespace");
            let answer = sandbox.dry_run(manifest).await;
            assert!(answer.is_ok(), "{file}: {answer:?}");
        }
    }
}

/// In an order in which each finds what it depends on.
const EXAMPLES: [&str; 5] = ["quickstart.yaml", "verified.yaml", "check.yaml", "staged.yaml", "pinned.yaml"];

#[tokio::test]
async fn the_commands_in_every_example_work() {
    // dev-server.yaml needs pods, and so a node: tests/node/.
    let mut there: Vec<_> =
        examples().into_iter().map(|(name, _)| name).filter(|name| name != "dev-server.yaml").collect();
    let mut known = EXAMPLES.to_vec();
    there.sort();
    known.sort_unstable();
    assert_eq!(there, known);
    let (shop, shell) = with_nothing().await;
    for name in EXAMPLES {
        let text = text_of(format!("examples/{name}"));
        let commands = commands(&text);
        assert!(commands.len() > 1, "{name} contains the commands to try it");
        for command in commands {
            shell.run(name, command, 0).await;
        }
    }
    // tax, verified, the preview and the live one: one create each. One redeploy for the preview of the next tag, and
    // one for the deployment that follows it.
    assert_eq!(shop.calls("createDeployment"), 4);
    shop.sandbox.until_reason("verified", "Deployed").await;
    shop.sandbox.until_reason("my-preview", "Deployed").await;
    shop.sandbox.until_reason("my-live", "Deployed").await;
    assert_eq!(shop.calls("updateDeploymentById"), 2);
}

#[tokio::test]
async fn the_steps_of_getting_started_work_as_written() {
    let page = text_of("docs/getting-started.md");
    let page = section(&page, "Try it with the dev server");
    let (shop, shell) = with_nothing().await;
    let blocks = blocks(page);
    let (environment, steps) = blocks.split_first().expect("the section begins with the environment");
    let mut printed = String::new();
    for step in steps {
        printed += &shell.run("docs/getting-started.md", &format!("{environment}{step}"), 0).await;
    }
    for shown in
        ["demo-pipeline", "API_TOKEN", "+ ConnectorDeployment", "deployment/tax: Deployed", "ObserveOnly", "cartId"]
    {
        assert!(printed.contains(shown), "{shown}:\n{printed}");
    }
    let (_, shown) = page.split_once("```text\n").expect("the output of the plan");
    let shown = shell.here(shown.split_once("```").expect("its end").0);
    assert!(printed.contains(&shown), "{shown}\n{printed}");
    assert!(!printed.contains("my-first-token") && !printed.contains("my-next-token"), "{printed}");
    assert_eq!(shop.sent(), [1, 1, 1]);
}

/// The operator and a dev server, without any object.
async fn with_nothing() -> (Shop, Shell) {
    let mut shop = Shop::without_operator(quick(), fast()).await;
    shop.start_operator();
    let shell = Shell::of(&shop).await;
    (shop, shell)
}
