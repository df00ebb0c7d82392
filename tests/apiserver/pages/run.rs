//! Pages whose commands are run in order, and all commands on any page that only read.

use super::blocks::{self, Block};
use crate::prelude::*;
use crate::shell;
use crate::written::section;

#[tokio::test]
async fn the_steps_of_getting_started_with_a_project_work_as_written() {
    let mut shop = nothing_yet().await;
    shop.start_operator();
    let shell = Shell::of(&shop).await;
    let page = text_of("docs/getting-started.md");
    let blocks = blocks::of("docs/getting-started.md", section(&page, "Use your own project"));
    let blocks = blocks.into_iter().filter(|block| ["sh", "yaml"].contains(&block.language.as_str()));
    let (project, steps): (Vec<_>, Vec<_>) = blocks.partition(|block| block.text.contains("kind: ConnectProject"));
    let here = project[0].text.replace("projectKey: my-shop", "projectKey: demo");
    let url = shop.dev.url();
    shell.write("project.yaml", &format!("{here}  apiUrl: {url}\n  authUrl: {url}\n"));
    shell.write("credentials.env", "clientId=dev-client\nclientSecret=dev-secret\n");
    let fill_in = r#"sed -i 's/API_TOKEN: ""/API_TOKEN: first-token-of-the-shop/' tax.yaml"#;
    let mut printed = String::new();
    for step in steps.iter().filter(|step| !step.text.contains("connect-operator run")) {
        for command in step.text.replace("KEY", "demo-connector").lines() {
            printed += &shell.run(&step.place(), command, 0).await;
            if command.starts_with("connect-operator scaffold") {
                shell.run("filled in by the user", fill_in, 0).await;
            }
        }
    }
    assert!(printed.contains("demo-connector") && printed.contains("+ ConnectorDeployment"), "{printed}");
    assert_eq!([shop.calls("createDeployment"), shop.calls("updateDeploymentById")], [1, 1]);
}

#[tokio::test]
async fn an_existing_deployment_is_adopted_by_the_steps_of_the_page() {
    let shop = Leaping::open().await;
    shop.make_elsewhere_under("tax", "info");
    let shell = Shell::of(&shop).await;
    let steps = of_page("docs/moving.md", &["sh"]);
    let [look, observe, secret, take] = &steps[..] else { panic!("four steps") };
    let manifests = shell.run(&look.place(), &look.text, 0).await;
    assert!(manifests.contains("kind: ConnectorDeployment"), "{manifests}");
    shell.run(&observe.place(), &observe.text, 0).await;
    shop.until_reason("Observed").await;
    shell.run(&take.place(), &take.text, 1).await;
    shell.run(&secret.place(), &secret.text, 0).await;
    let place = take.place();
    let taken = shell.run(&place, &take.text, 0);
    let time_passes = async {
        shop.until_reason("Adopting").await;
        shop.pass(QUIET).await;
    };
    futures::join!(taken, time_passes);
    let live = shop.until_reason("Deployed").await;
    assert!(has(&live, "SecretsUnverified"), "{:?}", live.status);
    assert_eq!(shop.sent(), [0, 0, 0], "nothing was redeployed");
}

#[tokio::test]
async fn uninstalling_undeploys_what_the_page_says_and_no_more() {
    for (heading, undeployed) in [("Resources too, deployments stay", 0), ("Everything", 2)] {
        let shop = Shop::live().await;
        let mut second = shop.deployment();
        second["metadata"]["name"] = json!("oms");
        second["spec"]["deletionPolicy"] = json!("Orphan");
        shop.sandbox.apply(&second).await.unwrap();
        shop.sandbox.until_reason("oms", "Deployed").await;
        let shell = Shell::of(&shop).await;
        let page = text_of("docs/operations/uninstall.md");
        let steps = blocks::of("docs/operations/uninstall.md", section(&page, heading));
        shell.run(heading, &steps[0].text, 0).await;
        assert_eq!(shop.calls("deleteDeploymentById"), undeployed, "{heading}");
        let left = shop.api::<ConnectorDeployment>().list(&ListParams::default()).await.unwrap().items.len();
        let projects = shop.api::<ConnectProject>().list(&ListParams::default()).await.unwrap().items.len();
        assert_eq!((left, projects), (0, 0), "{heading}");
    }
}

#[tokio::test]
async fn the_last_command_of_the_page_deletes_an_object_without_an_operator() {
    let mut shop = Shop::live().await;
    shop.stop_operator().await;
    shop.delete().await;
    assert!(shop.get().await.metadata.deletion_timestamp.is_some(), "it waits for the operator");
    let last = of_page("docs/operations/uninstall.md", &["sh"]).pop().expect("commands");
    Shell::of(&shop).await.run(&last.place(), &last.text, 0).await;
    shop.until_gone().await;
    assert_eq!((shop.calls("deleteDeploymentById"), NAME), (0, "tax"));
}

/// Words of commands that cannot run here: other namespaces, other programs, commands that do not end, and example
/// names.
const ELSEWHERE: [&str; 10] =
    ["-n", "-w", "--follow", "pods", "externalsecret", "shop.avalara-tax", "NAME", "KEY", "my-live", "..."];

#[tokio::test]
async fn every_command_on_every_page_that_only_reads_works() {
    let mut shop = nothing_yet().await;
    shop.start_operator();
    let shell = Shell::of(&shop).await;
    shell
        .run("examples", "kubectl apply -f examples/quickstart.yaml -f examples/staged.yaml -f examples/check.yaml", 0)
        .await;
    for name in ["tax", "my-preview"] {
        shop.sandbox.until_reason(name, "Deployed").await;
    }
    let mut read = 0;
    let blocks = blocks::in_languages(&["sh", "console"]).into_iter().filter(|block| block.not_checked.is_none());
    // That page needs another remote; it has its own test.
    for block in blocks.filter(|block| block.page != "docs/moving.md") {
        let script = if block.language == "console" { shell::typed(&block.text) } else { block.text.clone() };
        for command in shell::commands(&script) {
            let words: Vec<_> = command.iter().map(String::as_str).collect();
            let reads = matches!(
                words[..],
                ["kubectl", "get" | "describe" | "kustomize" | "explain", ..]
                    | ["connect-operator", "connectors" | "deployments" | "staged", ..]
            );
            let elsewhere = words.iter().any(|word| ELSEWHERE.contains(word) || *word == "ANSWER");
            // Credentials come from the ConnectProject here.
            if !reads || elsewhere || (words[0] == "connect-operator" && !words.contains(&"--project")) {
                continue;
            }
            let quoted = words.iter().filter(|word| !matches!(**word, "-A" | "--all-namespaces"));
            let quoted: Vec<_> = quoted.map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect();
            shell.run(&block.place(), &quoted.join(" "), 0).await;
            read += 1;
        }
    }
    assert!(read > 20, "{read} commands were run");
    let nothing_sent = ["updateDeploymentById", "deleteDeploymentById"].map(|operation| shop.calls(operation));
    assert_eq!(nothing_sent, [0, 0], "{CREDENTIALS}");
}

/// A dev server, and no objects.
async fn nothing_yet() -> Shop {
    Shop::without_operator(quick(), fast()).await
}

fn of_page(page: &str, languages: &[&str]) -> Vec<Block> {
    let blocks = blocks::of(page, &text_of(page));
    blocks.into_iter().filter(|block| languages.contains(&block.language.as_str())).collect()
}
