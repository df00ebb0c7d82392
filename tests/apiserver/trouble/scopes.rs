//! Scopes that the token lacks: nothing is sent, the message names them, and another token resolves it.

use super::pace::until;
use crate::prelude::*;

/// A shop whose API clients have the scopes that their names indicate.
async fn open(clock: Clock) -> Shop {
    let deployer = with_client("deployer", &["manage_connectors_deployments:demo", "view_connectors:demo"]);
    let viewer = with_client("viewer", &["view_connectors_deployments:demo", "view_connectors:demo"]);
    Shop::with(Options { catalogue: deployer.and(viewer), ..quick() }, clock).await
}

fn with_api_client(shop: &Shop) -> Value {
    with_spec(
        shop.deployment(),
        &json!({"connector": {"key": "demo-api-client"}, "configurations": [{"applicationName": "service"}]}),
    )
}

#[tokio::test]
async fn a_connector_that_generates_its_api_client_is_not_created_without_the_scope_for_it() {
    let shop = open(fast()).await;
    let lacks = shop.apply_until(&with_api_client(&shop), "PermissionMissing").await;
    let expected = "Nothing is sent: the API client lacks manage_api_clients:demo, which is needed to deploy a connector \
                    whose API client is generated.";
    assert!(message(&lacks).starts_with(expected), "{}", message(&lacks));
    assert_eq!(shop.sent(), [0, 0, 0]);
    // A create that the service refuses all the same names that scope first.
    shop.dev.fault(Fault::of("createDeployment", FaultAnswer::error(403, "AuthorizationError"))).unwrap();
    shop.put_credentials("api-clients-client").await;
    let refused = |object: &ConnectorDeployment| {
        let first = message(object).starts_with("The API client lacks manage_api_clients:demo, which is needed");
        first && message(object).contains("manage_connectors_deployments:demo")
    };
    shop.until("the refusal", refused).await;
    shop.dev.clear_faults();
    shop.change_until(&json!({"spec": {"interval": "6m"}}), "Deployed").await;
    assert_eq!(shop.there().len(), 1);
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
    shop.put_credentials("viewer").await;
    until_scope(shop, "view_connectors_dep").await;
}

#[tokio::test]
async fn neither_a_redeploy_nor_an_undeploy_is_sent_without_the_scope_for_it() {
    let shop = open(fast()).await;
    shop.put_token("first-token-of-the-shop").await;
    shop.put_credentials("deployer").await;
    shop.deploy().await;

    view_only(&shop).await;
    shop.put_token("second-token-of-the-shop").await;
    let lacks = shop.until_reason("PermissionMissing").await;
    let named = "manage_connectors_deployments:demo, which is needed to create, redeploy and delete";
    assert!(message(&lacks).contains(named), "{}", message(&lacks));
    let live = lacks.status.and_then(|status| status.remote?.state);
    assert_eq!(live.as_deref(), Some("Deployed"), "the live state is still reported");
    assert_eq!(shop.sent(), [1, 0, 0]);
    shop.put_credentials("deployer").await;
    shop.until_reason("Deployed").await;
    assert_eq!(shop.sent(), [1, 1, 0]);

    view_only(&shop).await;
    shop.delete().await;
    shop.until("the reason why it is not deleted", |object| message(object).starts_with("Nothing is sent")).await;
    assert_eq!(shop.sent(), [1, 1, 0]);
    shop.put_credentials("deployer").await;
    shop.until_gone().await;
    assert_eq!(shop.sent(), [1, 1, 1]);
}

/// Another API client is another remote, which polls nothing yet when the response of the create is reported.
#[tokio::test]
async fn a_create_that_is_in_flight_while_the_api_client_changes_becomes_ready() {
    let shop = open(stepped()).await;
    shop.put_credentials("deployer").await;
    meanwhile(&shop.clock, FINE, until_scope(&shop, "manage_connectors_dep")).await;
    let delayed = FaultAnswer { delay_ms: 3_600_000, ..FaultAnswer::default() };
    shop.dev.fault(Fault::of("createDeployment", delayed).after_the_effect()).unwrap();
    shop.put_token("first-token-of-the-shop").await;
    shop.sandbox.apply(&shop.deployment()).await.unwrap();
    until(&shop, FINE, "it is created, and the response delayed", async || !shop.there().is_empty()).await;
    // The status of the project comes later than what it enqueues.
    meanwhile(&shop.clock, FINE, view_only(&shop)).await;
    shop.dev.clear_faults();
    // Slower than the time after which a create that does not end is reconciled anyway.
    meanwhile(&shop.clock, FINE / 10, shop.until_reason("Deployed")).await;
    assert_eq!(shop.sent(), [1, 0, 0]);
}

#[tokio::test]
async fn a_staged_connector_is_not_created_without_the_scope_for_it_which_the_project_does_not_request() {
    let shop = open(fast()).await;
    let scopes = json!({"scopes": ["view_connectors_deployments:demo", "view_connectors:demo"]});
    shop.sandbox.apply(&with_spec(shop.project(), &scopes)).await.unwrap();
    until_scope(&shop, "view_connectors_dep").await;
    shop.sandbox.apply(&kit()).await.unwrap();
    let lacks = "Nothing is sent: the API client lacks manage_project:demo or manage_connectors:demo";
    until_reported_with::<ConnectorStaged>(&shop, KIT, "PermissionMissing", &[lacks]).await;
    assert_eq!(shop.calls("createConnectorStaged"), 0);
    shop.sandbox.apply(&shop.project()).await.unwrap();
    until_reported_with::<ConnectorStaged>(&shop, KIT, "Staged", &[]).await;
    assert_eq!(shop.calls("createConnectorStaged"), 1);
}
