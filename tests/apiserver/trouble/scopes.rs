//! Scopes that the token lacks: nothing is sent, the message names them, and another token resolves it.

use std::time::Duration;

use clock::Clock;
use connect_operator::crd::{ConnectorDeployment, ConnectorStaged};
use connect_operator::operator::reporting::conditions::ready_message;
use dev_server::{Catalogue, Fault, FaultAnswer, Options};
use serde_json::{Value, json};

use super::pace::{FINE, meanwhile, stepped};
use crate::manifests::with_spec;
use crate::patience::in_time;
use crate::shop::{PROJECT, Shop, fast};

/// A shop whose API clients have the scopes that their names indicate.
async fn open(clock: Clock) -> Shop {
    let client = |id: &str, scopes: &[&str]| json!({"id": id, "secret": "dev-secret", "scopes": scopes});
    let clients = json!({"clients": [
        client("deployer", &["manage_connectors_deployments:demo", "view_connectors:demo"]),
        client("viewer", &["view_connectors_deployments:demo", "view_connectors:demo"]),
    ]});
    let catalogue = Catalogue::built_in().and(Catalogue::parse(&clients.to_string()).unwrap());
    let deploy_duration = Duration::from_millis(200);
    Shop::with(Options { deploy_duration, catalogue, ..Options::default() }, clock).await
}

async fn use_client(shop: &Shop, id: &str) {
    shop.put_credentials(id).await;
}

fn message(object: &ConnectorDeployment) -> String {
    object.status.as_ref().and_then(|status| ready_message(&status.conditions)).unwrap_or_default().to_owned()
}

fn with_api_client(shop: &Shop) -> Value {
    with_spec(
        shop.deployment(),
        &json!({"connector": {"key": "demo-api-client"}, "configurations": [{"applicationName": "service"}]}),
    )
}

/// Number of creates, redeploys and deletes.
fn sent(shop: &Shop) -> [u64; 3] {
    ["createDeployment", "updateDeploymentById", "deleteDeploymentById"].map(|operation| shop.calls(operation))
}

#[tokio::test]
async fn a_connector_that_generates_its_api_client_is_not_created_without_the_scope_for_it() {
    let shop = open(fast()).await;
    shop.sandbox.apply(&with_api_client(&shop)).await.unwrap();
    let reported = message(&shop.until_reason("PermissionMissing").await);
    let expected = "Nothing is sent: the API client lacks manage_api_clients:demo, which is needed to deploy a connector \
                    whose API client is generated.";
    assert!(reported.starts_with(expected), "{reported}");
    assert_eq!(sent(&shop), [0, 0, 0]);
    use_client(&shop, "api-clients-client").await;
    shop.until_reason("Deployed").await;
    assert_eq!(sent(&shop), [1, 0, 0]);
}

#[tokio::test]
async fn a_refused_create_of_such_a_connector_names_that_scope_first() {
    let shop = open(fast()).await;
    use_client(&shop, "api-clients-client").await;
    until_scope(&shop, "manage_api_clients:").await;
    shop.dev.fault(Fault::of("createDeployment", FaultAnswer::error(403, "AuthorizationError"))).unwrap();
    shop.sandbox.apply(&with_api_client(&shop)).await.unwrap();
    let reported = message(&shop.until_reason("PermissionMissing").await);
    assert!(reported.starts_with("The API client lacks manage_api_clients:demo, which is needed"), "{reported}");
    assert!(reported.contains("manage_connectors_deployments:demo"), "{reported}");
}

/// Returns once a token with such a scope is in use.
async fn until_scope(shop: &Shop, scope: &str) {
    shop.until_project(&format!("a token with {scope} is in use"), |project| {
        project.status.as_ref().is_some_and(|status| status.scopes.iter().any(|it| it.starts_with(scope)))
    })
    .await;
}

/// Returns once a read-only token is in use.
async fn view_only(shop: &Shop) {
    use_client(shop, "viewer").await;
    until_scope(shop, "view_connectors_dep").await;
}

#[tokio::test]
async fn neither_a_redeploy_nor_an_undeploy_is_sent_without_the_scope_for_it() {
    let shop = open(fast()).await;
    shop.put_secret("tax", &[("token", "first-token-of-the-shop")]).await;
    use_client(&shop, "deployer").await;
    shop.sandbox.apply(&shop.deployment()).await.unwrap();
    shop.until_reason("Deployed").await;

    view_only(&shop).await;
    shop.put_secret("tax", &[("token", "second-token-of-the-shop")]).await;
    let lacks = shop.until_reason("PermissionMissing").await;
    let reported = message(&lacks);
    assert!(
        reported.contains("manage_connectors_deployments:demo, which is needed to create, redeploy and delete"),
        "{reported}"
    );
    assert_eq!(
        lacks.status.unwrap().deployment_status.as_deref(),
        Some("Deployed"),
        "the live state is still reported"
    );
    assert_eq!(sent(&shop), [1, 0, 0]);
    use_client(&shop, "deployer").await;
    shop.until_reason("Deployed").await;
    assert_eq!(sent(&shop), [1, 1, 0]);

    view_only(&shop).await;
    shop.delete().await;
    shop.until("the reason why it is not deleted", |object| message(object).starts_with("Nothing is sent")).await;
    assert_eq!(sent(&shop), [1, 1, 0]);
    use_client(&shop, "deployer").await;
    shop.until_gone().await;
    assert_eq!(sent(&shop), [1, 1, 1]);
}

/// Another API client is another remote, which polls nothing yet when the response of the create is reported.
#[tokio::test]
async fn a_create_that_is_in_flight_while_the_api_client_changes_becomes_ready() {
    let shop = open(stepped()).await;
    use_client(&shop, "deployer").await;
    meanwhile(&shop.clock, FINE, until_scope(&shop, "manage_connectors_dep")).await;
    let delayed = FaultAnswer { delay_ms: 3_600_000, ..FaultAnswer::default() };
    shop.dev.fault(Fault::of("createDeployment", delayed).after_the_effect()).unwrap();
    shop.put_secret("tax", &[("token", "first-token-of-the-shop")]).await;
    shop.sandbox.apply(&shop.deployment()).await.unwrap();
    let created = async {
        while shop.dev.world().all(shop.clock.now()).is_empty() {
            shop.clock.sleep(FINE).await;
        }
    };
    in_time(meanwhile(&shop.clock, FINE, created)).await.expect("it is created, and the response delayed");
    // The status of the project comes later than what it enqueues.
    meanwhile(&shop.clock, FINE, view_only(&shop)).await;
    shop.dev.clear_faults();
    // Slower than the time after which a create that does not end is reconciled anyway.
    meanwhile(&shop.clock, FINE / 10, shop.until_reason("Deployed")).await;
    assert_eq!(sent(&shop), [1, 0, 0]);
}

#[tokio::test]
async fn a_staged_connector_is_not_created_without_the_scope_for_it() {
    let shop = open(fast()).await;
    view_only(&shop).await;
    let kit = json!({
        "apiVersion": "connect-operator.io/v1alpha1",
        "kind": "ConnectorStaged",
        "metadata": {"name": "kit"},
        "spec": {
            "projectRef": {"name": PROJECT}, "key": "kit", "name": "Kit", "creator": {"email": "dev@example.com"},
            "repository": {"url": "https://github.com/example/demo-kit.git", "tag": "1.0.0"},
            "integrationTypes": ["tax"], "privateProjects": ["europe-west1.gcp:demo"],
        },
    });
    shop.sandbox.apply(&kit).await.unwrap();
    let is = |object: &ConnectorStaged, reason: &str| {
        let conditions = object.status.as_ref().map(|status| status.conditions.clone()).unwrap_or_default();
        let ready = conditions.into_iter().find(|it| it.type_ == "Ready" && it.reason == reason);
        ready.map(|it| it.message)
    };
    let lacks = |object: &ConnectorStaged| is(object, "PermissionMissing").is_some();
    let reported = shop.until_object("kit", "PermissionMissing", lacks).await;
    let reported = is(&reported, "PermissionMissing").unwrap();
    assert!(
        reported.starts_with("Nothing is sent: the API client lacks manage_project:demo or manage_connectors:demo"),
        "{reported}"
    );
    assert_eq!(shop.calls("createConnectorStaged"), 0);
    use_client(&shop, "dev-client").await;
    shop.until_object("kit", "Staged", |object: &ConnectorStaged| is(object, "Staged").is_some()).await;
    assert_eq!(shop.calls("createConnectorStaged"), 1);
}
