//! Rules 2, 3, 13 and 20 for adoption: what may be adopted, when, and what follows.

use crate::prelude::*;

pub(super) fn adopting(level_wanted: &str) -> Value {
    let mut change = level(level_wanted);
    change["adoptionPolicy"] = json!("Adopt");
    change
}

#[tokio::test]
async fn rule_02_immutable_fields_must_match_for_adoption() {
    for (what, change) in [
        ("region", json!({"region": "us-central1.gcp"})),
        ("type", json!({"type": "production", "deletionPolicy": "Delete"})),
        (
            "connector",
            json!({"connector": {"key": "demo-warning"}, "configurations": [{"applicationName": "service"}]}),
        ),
    ] {
        let (shop, theirs) = Leaping::beside("info").await;
        shop.apply_deployment(&adopting("info")).await;
        shop.until_reason("Adopting").await;
        shop.delete_wholly().await;
        let mut change = change;
        change["adoptionPolicy"] = json!("Adopt");
        shop.apply_deployment(&change).await;
        let taken = shop.until_reason("KeyTaken").await;
        let message = message(&taken);
        assert!(message.contains("demo-connector, europe-west1.gcp, sandbox"), "{what}: {message}");
        assert_eq!(ready(&shop.pass(QUIET).await).1, "KeyTaken", "{what}");
        shop.delete_wholly().await;
        assert_eq!(shop.dev.world().id_of("demo", &shop.key(), shop.dev.now()), Some(theirs), "{what}");
        assert_eq!(shop.sent(), [0, 0, 0], "{what}");
    }
}

#[tokio::test]
async fn rule_02_a_taken_key_recovers_once_the_other_deployment_is_gone() {
    let (shop, id) = Leaping::beside("info").await;
    shop.apply_deployment(&json!({})).await;
    shop.until_reason("KeyTaken").await;
    shop.dev.world().remove(&id, shop.dev.now()).unwrap();
    // At the next poll, without any event; no faster than a status is written.
    shop.until_so("a poll", || {
        shop.clock.step(Duration::from_millis(250));
        shop.calls("createDeployment") > 0
    })
    .await;
    shop.finish("Deployed").await;
    assert_eq!(shop.sent(), [1, 0, 0]);
}

#[tokio::test]
async fn rule_13_an_adopted_deployment_that_failed_stays_failed_until_something_changes() {
    let (shop, id) = Leaping::beside("info").await;
    shop.dev.world().set_status(&id, DeploymentStatus::Failed, shop.dev.now()).unwrap();
    shop.apply_deployment(&adopting("info")).await;
    shop.adopted().await;
    assert_eq!(status(&shop.until_reason("DeploymentFailed").await).id, Some(id));
    shop.pass(Duration::from_mins(10)).await;
    assert_eq!(shop.sent(), [0, 0, 0]);
    let healed = shop.rotate("second-token-of-the-shop", "Deployed").await;
    assert!(!is(&healed, names::SECRETS_UNVERIFIED));
    assert_eq!(shop.sent(), [0, 1, 0]);
}

#[tokio::test]
async fn rule_13_an_adopted_deployment_that_is_busy_is_waited_for() {
    let (shop, id) = Leaping::beside("info").await;
    shop.dev.world().redeploy_elsewhere(&id, &RedeployAction::default(), shop.dev.now()).unwrap();
    shop.apply_deployment(&adopting("info")).await;
    shop.until_reason("Adopting").await;
    let busy = shop.pass(DEPLOYING / 2).await;
    assert_eq!((ready(&busy).1, status(&busy).id), ("Adopting", None));
    // The minute counts from the end of the operation.
    shop.pass(DEPLOYING).await;
    let quiet = shop.pass(Duration::from_secs(50)).await;
    assert_eq!((ready(&quiet).1, status(&quiet).id), ("Adopting", None));
    shop.pass(DEPLOYING).await;
    assert_eq!(status(&shop.until_reason("Deployed").await).id, Some(id));
    assert_eq!(shop.sent(), [0, 0, 0]);
}

#[tokio::test]
async fn rule_13_a_suspended_resource_adopts_and_the_difference_waits() {
    let (shop, id) = Leaping::beside("debug").await;
    let mut change = adopting("info");
    change["suspend"] = json!(true);
    shop.apply_deployment(&change).await;
    shop.adopted().await;
    let held = shop.until_reason("Suspended").await;
    assert_eq!(status(&held).id, Some(id));
    shop.pass(Duration::from_mins(10)).await;
    assert_eq!(shop.sent(), [0, 0, 0]);
    shop.redeploy(&json!({"spec": {"suspend": false}}), "Deployed").await;
    assert_eq!(shop.sent(), [0, 1, 0]);
}

#[tokio::test]
async fn rule_13_a_restored_backup_whose_values_differ_is_redeployed_once() {
    let mut shop = Leaping::live().await;
    let id = status(&shop.reconcile_again().await).id.expect("an id");
    shop.lose().await;
    let mut restored = with_spec(shop.deployment(), &level("debug"));
    restored["metadata"]["annotations"] = json!({names::REMOTE_ID: id, names::REDEPLOY_REQUESTED_AT: "long ago"});
    shop.sandbox.apply(&restored).await.unwrap();
    shop.start_operator();
    shop.adopted().await;
    let ours = shop.redeployed("Deployed").await;
    assert_eq!(status(&ours).id, Some(id));
    shop.pass(Duration::from_mins(5)).await;
    assert_eq!(shop.sent(), [1, 1, 0]);
}

#[tokio::test]
async fn rule_03_a_restored_backup_that_is_deleted_before_its_first_reconcile_is_undeployed() {
    let mut shop = Leaping::live().await;
    let id = status(&shop.reconcile_again().await).id.expect("an id");
    shop.lose().await;
    let mut restored = shop.deployment();
    restored["metadata"]["annotations"] = json!({names::REMOTE_ID: id});
    restored["metadata"]["finalizers"] = json!([names::FINALIZER]);
    shop.sandbox.apply(&restored).await.unwrap();
    shop.delete().await;
    shop.start_operator();
    shop.undeployed().await;
    assert_eq!(shop.sent(), [1, 0, 1]);
    assert!(shop.there().is_empty(), "nothing remains at the remote");
}

#[tokio::test]
async fn rule_03_a_project_that_is_changed_back_continues_as_before() {
    let shop = Leaping::live().await;
    for (remote, reason) in [("http://127.0.0.1:1", "IdentityChanged"), (shop.dev.url().as_str(), "Deployed")] {
        let mut project = shop.project();
        project["spec"]["apiUrl"] = json!(remote);
        project["spec"]["region"] = json!("us-central1.gcp");
        shop.tear_out_project().await;
        shop.until_reason("ProjectMissing").await;
        let reported = shop.apply_until(&project, reason).await;
        let remote = status(&reported).remote.unwrap();
        assert_eq!((remote.project.api_url, remote.region.as_deref()), (shop.dev.url(), Some("europe-west1.gcp")));
    }
    shop.reconcile_again().await;
    assert_eq!(shop.sent(), [1, 0, 0]);
}

#[tokio::test]
async fn rule_20_from_observing_to_managing_and_back() {
    let (shop, id) = Leaping::beside("debug").await;
    let observing = json!({"managementPolicy": "ObserveOnly"});
    shop.apply_until(&with_spec(shop.deployment(), &observing), "Observed").await;
    // Changing the policy alone does not adopt it.
    shop.put_token("first-token-of-the-shop").await;
    shop.change_until(&json!({"spec": {"managementPolicy": "Full"}}), "KeyTaken").await;
    shop.change(&json!({"spec": {"adoptionPolicy": "Adopt"}})).await;
    shop.adopted().await;
    shop.redeployed("Deployed").await;

    // While it observes again, nothing is sent, whatever changes; once it manages again, it sends the change once.
    shop.change_until(&json!({"spec": observing}), "Observed").await;
    shop.put_token("second-token-of-the-shop").await;
    shop.annotate(names::REDEPLOY_REQUESTED_AT, "now").await;
    assert_eq!(ready(&shop.pass(Duration::from_mins(10)).await), ("True", "Observed"));
    assert_eq!(shop.sent(), [0, 1, 0]);
    let ours = shop.redeploy(&json!({"spec": {"managementPolicy": "Full"}}), "Deployed").await;
    assert_eq!(status(&ours).id.as_ref(), Some(&id));
    assert_eq!(shop.dev.world().secured_is(&id, Some("service"), "API_TOKEN", "second-token-of-the-shop"), Some(true));

    // Deleted while it only observes, it orphans what it managed before.
    let held = shop.change_until(&json!({"spec": observing}), "Observed").await;
    assert_eq!(held.finalizers(), [names::FINALIZER]);
    shop.delete_wholly().await;
    assert_eq!(shop.sent(), [0, 2, 0]);
    assert_eq!(shop.dev.world().id_of("demo", &shop.key(), shop.dev.now()), Some(id));
}

#[tokio::test]
async fn rule_20_an_operation_stays_in_the_status_while_the_resource_only_observes() {
    let shop = Leaping::applied(&json!({})).await;
    shop.until("accepted", is_accepted).await;
    shop.change(&json!({"spec": {"managementPolicy": "ObserveOnly"}})).await;
    shop.pass(DEPLOYING).await;
    let observed = shop.until_reason("Observed").await;
    assert!(is_accepted(&observed), "{:?}", state(&observed).operation);
    let ours = shop.change_until(&json!({"spec": {"managementPolicy": "Full"}}), "Deployed").await;
    assert_eq!(state(&ours).operation, None);
    shop.pass(Duration::from_mins(5)).await;
    assert_eq!(shop.sent(), [1, 0, 0]);
}
