//! `scaffold`: the remote through the credentials of a project.

use test_support::commands::with_input;

use super::ended;
use crate::prelude::*;

/// Runs `plan` with this text as its standard input.
async fn plan(shop: &Shop, manifests: &str) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_connect-operator"));
    command
        .args(["plan", "--filename", "-", "--namespace", &shop.sandbox.namespace])
        .env_clear()
        .env("KUBECONFIG", shop.sandbox.kubeconfig());
    ended(in_time(with_input(&mut command, manifests)).await.expect("it ends"))
}

#[tokio::test]
async fn what_is_scaffolded_is_accepted_by_plan_and_deployed() {
    let shop = Shop::open().await;
    for (connector, name) in
        [("demo-connector", "demo-connector"), ("demo-pipeline", "pipe"), ("demo-failing", "demo-failing")]
    {
        let arguments = ["scaffold", connector, "--name", name, "--project", "shop"];
        let text = printed(&shop.sandbox, &arguments).await;
        assert!(text.contains(&format!("connector: {{key: {connector}}}")), "{text}");
        let (code, stdout, stderr) = plan(&shop, &text).await;
        assert_eq!(code, Some(0), "{connector}: {stdout}{stderr}\n{text}");
        assert!(
            stdout.contains(&format!("{}_{name}", shop.sandbox.namespace)) && stdout.contains("is created"),
            "{stdout}"
        );
        assert!(!stdout.contains("problem"), "{stdout}");
        let empty = stdout.contains("they are empty: service/API_TOKEN (secured)");
        assert_eq!(empty, connector == "demo-connector", "a required value that is not filled in: {stdout}");
    }
    let text = printed(&shop.sandbox, &["scaffold", "demo-connector", "--name", "tax", "--project", "shop"]).await;
    let filled = text.replace("API_TOKEN: \"\" # required", "API_TOKEN: first-token-of-the-shop");
    assert_ne!(filled, text, "the required value is marked");
    shop.sandbox.succeed(&["apply", "--server-side", "--filename", "-"], &filled).await;
    shop.until_reason("Deployed").await;

    let (code, _, stderr) = run(&shop.sandbox, &["scaffold", "nope", "--project", "shop"]).await;
    assert!(code == Some(1) && stderr.contains("there is no connector with the key nope"), "{stderr}");
}
