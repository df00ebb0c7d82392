//! A project that the service does not have, or that answers 404 to everything, because it or its API client was removed,
//! or a gateway has lost it: a user has to act, the operator polls rarely, and nothing is concluded about its deployments.

use super::deleting::live;
use crate::prelude::*;

pub(super) fn nothing_is_there(shop: &Shop) {
    let answer = FaultAnswer::error(404, "ResourceNotFound");
    shop.dev.fault(Fault { path: Some("/demo/".to_owned()), answer, ..Fault::default() }).unwrap();
}

#[tokio::test]
async fn a_project_that_the_service_does_not_have_stalls_with_all_its_resources() {
    for answer in ["400", "404"] {
        let mut variant = Variant::default();
        variant.set(&format!("unknown-project={answer}")).unwrap();
        let catalogue = with_client("lost", &["manage_project:nowhere"]);
        let mut shop = Shop::without_operator(Options { catalogue, variant, ..Options::default() }, fast()).await;
        shop.start_operator();
        shop.put_credentials("lost").await;
        shop.put_token("first-token-of-the-shop").await;
        shop.sandbox.apply(&with_spec(shop.project(), &json!({"projectKey": "nowhere"}))).await.unwrap();
        let words = ["a project nowhere", "Connect is not enabled"];
        let project: ConnectProject = until_reported_with(&shop, PROJECT, "ProjectNotFound", &words).await;
        assert!(has(&project, "Stalled"), "{answer}");
        shop.sandbox.apply(&shop.deployment()).await.unwrap();
        let words = [&*message(&project)];
        let object: ConnectorDeployment = until_reported_with(&shop, NAME, "ProjectNotFound", &words).await;
        assert!(has(&object, "Stalled"), "{answer}");
        assert_eq!(shop.sent(), [0, 0, 0], "{answer}");
    }
}

#[tokio::test]
async fn a_project_that_gets_connect_continues_within_minutes() {
    let mut shop = Shop::without_operator(Options::default(), stepped()).await;
    shop.dev.fault(Fault::of("queryDeployments", FaultAnswer::error(404, "ResourceNotFound"))).unwrap();
    shop.start_operator();
    shop.put_project_and_secrets().await;
    until_reported_with::<ConnectProject>(&shop, PROJECT, "ProjectNotFound", &[]).await;
    let asked = shop.calls("queryDeployments");
    pass(&shop.clock, COARSE, Duration::from_hours(1)).await;
    let asked = shop.calls("queryDeployments") - asked;
    assert!((1..=13).contains(&asked), "{asked} lists in an hour: about one each 5 minutes");

    shop.dev.clear_faults();
    let project: ConnectProject = until_reported_with(&shop, PROJECT, "Available", &[]).await;
    assert!(!has(&project, "Stalled"));
}

#[tokio::test]
async fn rules_5_and_22_a_project_that_answers_404_to_everything_proves_nothing_about_what_was_created_in_it() {
    let shop = live().await;
    // After this time a 404 would count.
    pass(&shop.clock, COARSE, Duration::from_mins(5)).await;
    nothing_is_there(&shop);
    // Before anything has found out about the project.
    shop.sandbox.succeed(&["delete", "--wait=false", "cdep/tax", "cst/kit"], "").await;
    let words = ["deletionPolicy: Orphan"];
    until_reported_with::<ConnectorDeployment>(&shop, NAME, "ProjectNotFound", &words).await;
    until_reported_with::<ConnectorStaged>(&shop, KIT, "ProjectNotFound", &words).await;
    pass(&shop.clock, COARSE, Duration::from_mins(15)).await;
    let kept = shop.sandbox.succeed(&["get", "cdep/tax", "cst/kit", "--output=name"], "").await;
    assert_eq!(kept.lines().count(), 2, "both still exist: {kept}");
    assert_eq!(shop.events("Undeployed").await, [""; 0]);

    shop.dev.clear_faults();
    let timeout = timeout_option();
    let gone = ["wait", "--for=delete", "cdep/tax", "cst/kit", &timeout];
    meanwhile(&shop.clock, FINE, shop.sandbox.succeed(&gone, "")).await;
    assert!(shop.there().is_empty(), "it was undeployed once the project was there again");
    let staged = shop.dev.world().all_staged(shop.dev.now());
    assert!(staged.iter().all(|record| record.key.as_deref() != Some(KIT)), "and so was the staged connector");
    assert_eq!(shop.calls("createDeployment"), 1);
}

#[tokio::test]
async fn rule_05_a_deployment_of_a_project_that_answers_404_to_everything_is_not_created_again() {
    let shop = live().await;
    shop.change(&json!({"spec": {"driftPolicy": "Correct"}})).await;
    pass(&shop.clock, COARSE, Duration::from_mins(5)).await;
    nothing_is_there(&shop);
    for request in 0..5 {
        shop.annotate(names::RECONCILE_REQUESTED_AT, &format!("look-{request}")).await;
        pass(&shop.clock, COARSE, Duration::from_mins(3)).await;
        let conditions = status(&shop.get().await).conditions;
        assert!(conditions.iter().all(|it| it.reason != "RemoteDisappeared"), "{conditions:?}");
    }
    assert_eq!(shop.events("RemoteDisappeared").await, [""; 0]);
    shop.dev.clear_faults();
    pass(&shop.clock, COARSE, Duration::from_mins(15)).await;
    until_reported_with::<ConnectorDeployment>(&shop, NAME, "Deployed", &[]).await;
    assert_eq!(shop.calls("createDeployment"), 1);
}
