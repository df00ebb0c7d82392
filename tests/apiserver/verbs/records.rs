//! `connectors`, `deployments` and `staged` with a resource instead of a key: it names the record and its project.

use serde_json::json;

use super::{printed, run};
use crate::manifests::with_spec;
use crate::shop::Shop;

#[tokio::test]
async fn a_resource_names_its_record_and_its_project() {
    let shop = Shop::live().await;
    let (sandbox, namespace) = (&shop.sandbox, shop.sandbox.namespace.as_str());
    let key = format!("{namespace}_tax");
    let staged = printed(sandbox, &["staged", "export", "demo-staged", "--project", "shop"]).await;
    sandbox.succeed(&["apply", "--filename", "-"], &staged).await;
    for (of_resource, of_key) in [
        (&["deployments", "get", "deployment/tax"][..], &["deployments", "get", &key][..]),
        (&["deployments", "get", "cdep/tax", "-o", "json"], &["deployments", "get", &key, "-o", "json"]),
        (&["deployments", "export", "deployment/tax"], &["deployments", "export", &key]),
        (&["connectors", "get", "deployment/tax"], &["connectors", "get", "demo-connector"]),
        (&["staged", "export", "cst/demo-staged"], &["staged", "export", "demo-staged"]),
    ] {
        let expected = printed(sandbox, &[of_key, &["--project", "shop"]].concat()).await;
        assert_eq!(printed(sandbox, of_resource).await, expected, "{of_resource:?}");
    }

    let mut other = with_spec(shop.deployment(), &json!({"projectRef": {"name": "other"}}));
    other["metadata"]["name"] = json!("other");
    sandbox.apply(&other).await.unwrap();
    for (case, arguments, expected) in [
        ("misspelt", &["deployments", "get", "deployment/txa"][..], "does not exist in the namespace"),
        ("misspelt", &["deployments", "export", "deployment/txa"], "; did you mean tax?"),
        ("another type", &["deployments", "get", "staged/demo-staged"], "does not work on a ConnectorStaged"),
        ("another type", &["staged", "export", "deployment/tax"], "does not work on a ConnectorDeployment"),
        (
            "a project, too",
            &["deployments", "get", "deployment/tax", "--project", "shop"],
            "deployment/tax names its project: leave out --project",
        ),
        (
            "a second resource for it",
            &["adopt", &key, "--project", "shop", "--apply"],
            "deployment/tax is for this deployment already, so nothing is applied; to have it managed: ",
        ),
        ("a resource instead of a key", &["adopt", "deployment/tax", "--project", "shop"], "is no key of a deployment"),
        ("a key, too", &["deployments", "export", "deployment/tax", &key], "but not both"),
        (
            "two projects",
            &["deployments", "export", "deployment/tax", "deployment/other"],
            "they name several projects",
        ),
        ("a project that does not exist", &["deployments", "get", "deployment/other"], "ConnectProject other: it does"),
        ("a key without a project", &["deployments", "get", &key], "--namespace needs --project"),
    ] {
        let (code, stdout, stderr) = run(sandbox, arguments).await;
        assert_eq!((code, stdout.as_str()), (Some(1), ""), "{case}: {stderr}");
        assert!(stderr.contains(expected), "{case}: {stderr}");
    }
}
