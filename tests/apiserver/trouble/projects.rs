//! A project that the service does not have, or without Connect: a user has to act, and the operator polls rarely.

use std::time::Duration;

use connect_operator::crd::{ConnectProject, ConnectorDeployment};
use connect_operator::operator::reporting::conditions::{is_true, ready_message, ready_reason};
use dev_server::{Catalogue, Fault, FaultAnswer, Options, Variant};
use serde_json::json;

use super::pace::{COARSE, FINE, meanwhile, pass, stepped};
use crate::manifests::with_spec;
use crate::shop::{Shop, fast};

/// Message of a project or of a resource of it that is stalled with `ProjectNotFound`.
fn stalled(conditions: Option<&[k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition]>) -> Option<String> {
    let conditions = conditions?;
    let so = ready_reason(conditions) == Some("ProjectNotFound") && is_true(conditions, "Stalled");
    so.then(|| ready_message(conditions).unwrap_or_default().to_owned())
}

fn of_project(project: &ConnectProject) -> Option<String> {
    stalled(project.status.as_ref().map(|status| status.conditions.as_slice()))
}

fn of_deployment(object: &ConnectorDeployment) -> Option<String> {
    stalled(object.status.as_ref().map(|status| status.conditions.as_slice()))
}

#[tokio::test]
async fn a_project_that_the_service_does_not_have_stalls_with_all_its_resources() {
    let clients = json!({"clients": [{"id": "lost", "secret": "dev-secret", "scopes": ["manage_project:nowhere"]}]});
    for answer in ["400", "404"] {
        let mut variant = Variant::default();
        variant.set(&format!("unknown-project={answer}")).unwrap();
        let catalogue = Catalogue::built_in().and(Catalogue::parse(&clients.to_string()).unwrap());
        let mut shop = Shop::without_operator(Options { catalogue, variant, ..Options::default() }, fast()).await;
        shop.start_operator();
        shop.put_secret("shop-credentials", &[("clientId", "lost"), ("clientSecret", "dev-secret")]).await;
        shop.put_secret("tax", &[("token", "first-token-of-the-shop")]).await;
        shop.sandbox.apply(&with_spec(shop.project(), &json!({"projectKey": "nowhere"}))).await.unwrap();
        let project = shop.until_project(answer, |project| of_project(project).is_some()).await;
        let reported = of_project(&project).unwrap();
        assert!(
            reported.contains("a project nowhere") && reported.contains("Connect is not enabled"),
            "{answer}: {reported}"
        );
        shop.sandbox.apply(&shop.deployment()).await.unwrap();
        let object = shop.until(answer, |object| of_deployment(object).is_some()).await;
        assert_eq!(of_deployment(&object).as_deref(), Some(reported.as_str()), "{answer}");
        assert_eq!(shop.calls("createDeployment"), 0, "{answer}");
    }
}

#[tokio::test]
async fn a_project_that_gets_connect_continues_within_minutes() {
    let mut shop = Shop::without_operator(Options::default(), stepped()).await;
    shop.dev.fault(Fault::of("queryDeployments", FaultAnswer::error(404, "ResourceNotFound"))).unwrap();
    shop.start_operator();
    shop.put_secret("shop-credentials", &[("clientId", "dev-client"), ("clientSecret", "dev-secret")]).await;
    shop.sandbox.apply(&shop.project()).await.unwrap();
    let stalls = shop.until_project("ProjectNotFound", |project| of_project(project).is_some());
    meanwhile(&shop.clock, FINE, stalls).await;
    let asked = shop.calls("queryDeployments");
    pass(&shop.clock, COARSE, Duration::from_hours(1)).await;
    let asked = shop.calls("queryDeployments") - asked;
    assert!((1..=13).contains(&asked), "{asked} lists in an hour: about one each 5 minutes");

    shop.dev.clear_faults();
    let goes_on = shop.until_project("Available", |project| {
        let conditions = project.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
        ready_reason(conditions) == Some("Available") && !is_true(conditions, "Stalled")
    });
    meanwhile(&shop.clock, FINE, goes_on).await;
}
