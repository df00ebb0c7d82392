//! Rules 22 and 23: undeploying, orphaning, and a changed deletion policy in between.

use connect_operator::operator::deployment::decide::QUIET_PERIOD;
use dev_server::DeleteBusy;

use crate::prelude::*;

#[tokio::test]
async fn rule_22_a_deletion_undeploys_first() {
    let shop = Leaping::live().await;
    // The annotation is a write of its own.
    shop.until_annotated().await;
    assert_eq!(shop.get().await.finalizers(), [names::FINALIZER]);
    let mut history = shop.history().await;
    shop.delete().await;
    shop.until_calls("deleteDeploymentById", 1).await;
    let going = shop.until_reason("Undeploying").await;
    assert_eq!(ready(&going), ("Unknown", "Undeploying"));
    assert_eq!(shop.statuses(), [DeploymentStatus::Undeploying]);
    // A poll meanwhile finds nothing new.
    let looks = shop.looks();
    meanwhile(&shop.clock, FINE, shop.until_so("a read", || shop.looks() > looks)).await;
    shop.clock.step(DEPLOYING);
    shop.until_gone().await;
    assert_eq!(shop.sent(), [1, 0, 1], "one DELETE");
    // The DELETE of the user, the operation, its response, and the finalizer.
    let versions = history.until(|object| object.finalizers().is_empty()).await;
    assert!(versions.len() <= 4, "{} writes", versions.len());
    assert!(shop.there().is_empty());
    shop.until_event("Undeployed").await;
}

#[tokio::test]
async fn rule_22_a_remote_deployment_that_does_not_exist_is_no_error() {
    let shop = Leaping::live().await;
    let id = status(&shop.get().await).id.expect("an id");
    shop.dev.world().remove(&id, shop.dev.now()).unwrap();
    shop.delete_wholly().await;
    assert_eq!(shop.sent(), [1, 0, 1]);
}

#[tokio::test]
async fn rule_22_a_busy_deployment_is_deleted_again_once_it_is_idle() {
    let variant = Variant { delete_busy: DeleteBusy::Refuse, ..Variant::default() };
    let shop = Leaping::with(Options { variant, ..Options::default() }).await;
    shop.apply_deployment(&json!({})).await;
    shop.until("accepted", is_accepted).await;
    let start = shop.clock.now();
    // A deletion needs no values.
    shop.api::<Secret>().delete(SECRET, &DeleteParams::default()).await.unwrap();
    shop.delete().await;
    shop.until_calls("deleteDeploymentById", 1).await;
    let waiting = shop.pass(Duration::from_millis(10)).await;
    assert_eq!(ready(&waiting), ("Unknown", "Undeploying"));
    assert!(waiting.metadata.deletion_timestamp.is_some());
    shop.pass(DEPLOYING).await;
    shop.until_calls("deleteDeploymentById", 2).await;
    shop.clock.step(DEPLOYING);
    shop.until_gone().await;
    assert!(shop.there().is_empty());
    // The first pause after a refusal is the shortest.
    let pauses = clock::between(start, shop.clock.now()).as_secs() / 4;
    assert!(shop.sent()[2] <= 2 + pauses, "{:?}", shop.sent());
}

#[tokio::test]
async fn rule_22_a_failed_undeploy_is_reported_and_retried_with_backoff() {
    let shop = Leaping::live().await;
    shop.slow_down();
    let id = status(&shop.get().await).id.expect("an id");
    shop.dev.world().fail_undeploy(&id, shop.dev.now()).unwrap();
    shop.delete().await;
    shop.until_calls("deleteDeploymentById", 1).await;
    // An undeploy takes half of the time.
    shop.pass(DEPLOYING / 2).await;
    let failed = shop.until("reported", |object| ready(object).1 == "UndeployFailed").await;
    assert_eq!(ready(&failed).0, "False");
    assert_eq!(status(&failed).remote_state(), Some("UndeployFailed"));
    shop.pass(Duration::from_secs(2)).await;
    assert_eq!(shop.sent()[2], 1, "no immediate retry");

    shop.dev.world().fail_undeploy(&id, shop.dev.now()).unwrap();
    shop.pass(Duration::from_secs(5)).await;
    shop.until_calls("deleteDeploymentById", 2).await;
    shop.pass(DEPLOYING / 2).await;
    shop.pass(Duration::from_secs(8)).await;
    assert_eq!(shop.sent()[2], 2, "the second pause is longer");
    shop.pass(Duration::from_secs(10)).await;
    shop.until_calls("deleteDeploymentById", 3).await;
    meanwhile(&shop.clock, COARSE, shop.until_gone()).await;
}

#[tokio::test]
async fn rule_22_orphan_leaves_the_remote_and_the_resource_is_deleted_at_once() {
    let shop = Leaping::applied(&json!({"deletionPolicy": "Orphan"})).await;
    let live = shop.finish("Deployed").await;
    let id = live.status.and_then(|status| status.id).expect("it is deployed");
    // It needs neither credentials nor a remote that responds.
    shop.dev.fault(Fault { answer: FaultAnswer::dropped(), ..Fault::default() }).unwrap();
    shop.api::<Secret>().delete(CREDENTIALS, &DeleteParams::default()).await.unwrap();
    shop.delete_wholly().await;
    assert_eq!(shop.sent(), [1, 0, 0]);
    assert_eq!(shop.statuses(), [DeploymentStatus::Deployed]);
    shop.until_event("Orphaned").await;
    let note = shop.events("Orphaned").await.remove(0);
    assert!(note.contains(&format!("key {} and id {id} stays in project demo", shop.key())), "{note}");
}

#[tokio::test]
async fn rule_22_what_was_never_created_goes_at_once() {
    let shop = Leaping::open().await;
    let project = json!({"projectRef": {"name": "no-such-project"}});
    for (case, change, reason) in [
        ("no project", project, "ProjectMissing"),
        ("no connector", json!({"connector": {"key": "no-such-connector"}}), "ConnectorNotFound"),
    ] {
        shop.apply_deployment(&change).await;
        shop.until_reason(reason).await;
        shop.delete_wholly().await;
        assert_eq!(shop.sent()[2], 0, "{case}");
    }
}

#[tokio::test]
async fn rule_22_a_deletion_waits_for_the_quiet_period_of_an_outstanding_create_that_never_arrived() {
    let shop = Leaping::open().await;
    shop.dev.fault(Fault::of("createDeployment", FaultAnswer::dropped()).times(1)).unwrap();
    let start = shop.clock.now();
    shop.apply_deployment(&json!({})).await;
    shop.until_calls("createDeployment", 1).await;
    shop.delete().await;
    let waiting = shop.pass(QUIET_PERIOD / 2).await;
    assert_eq!(ready(&waiting), ("Unknown", "Undeploying"));
    meanwhile(&shop.clock, COARSE, shop.until_gone()).await;
    assert!(clock::between(start, shop.clock.now()) >= QUIET_PERIOD);
    assert_eq!(shop.sent(), [1, 0, 0]);
}

#[tokio::test]
async fn rule_23_production_is_orphaned_by_default() {
    let shop = Leaping::open().await;
    shop.put_credentials("production-client").await;
    let project = with_spec(shop.project(), &json!({"projectKey": "demo-production"}));
    shop.sandbox.apply(&named(project, "production")).await.unwrap();
    let production = json!({"type": "production", "projectRef": {"name": "production"}});
    shop.apply_deployment(&production).await;
    let live = shop.finish("Deployed").await;
    assert_eq!(serde_json::to_value(status(&live).deletion_policy).unwrap(), json!("Orphan"));
    shop.delete_wholly().await;
    assert_eq!(shop.sent(), [1, 0, 0]);
    assert_eq!(shop.statuses(), [DeploymentStatus::Deployed]);
}
