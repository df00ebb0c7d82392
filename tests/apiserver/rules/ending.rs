//! Rule 24, the namespace: it is deleted with everything in it; every deployment is undeployed, and nothing remains.

use dev_server::DeleteBusy;

use crate::ending::{Content, SECRETS_FIRST};
use crate::prelude::*;

/// Accepted DELETE calls, by path.
fn undeployed(shop: &Shop) -> Vec<String> {
    let accepted = |call: &Call| call.operation == "deleteDeploymentById" && call.status < 300;
    shop.dev.calls().into_iter().filter(accepted).map(|call| call.path).collect()
}

/// Asserts that every deployment was undeployed once, and that nothing remains in the cluster or at the remote.
async fn all_gone(case: &str, shop: &Shop, undeploys: usize) {
    shop.until_ended().await;
    assert_eq!(shop.statuses(), [], "{case}");
    assert_eq!(undeployed(shop).len(), undeploys, "{case}");
    assert!(shop.copies().await.is_empty(), "{case}: no copy of the credentials remains");
}

#[tokio::test]
async fn rule_24_a_namespace_is_deleted_with_its_deployment_in_any_order() {
    let mut secrets_last = SECRETS_FIRST;
    secrets_last.reverse();
    let mut deployments_first = SECRETS_FIRST;
    deployments_first.rotate_left(3);
    for (case, order) in
        [("Secrets first", SECRETS_FIRST), ("Secrets last", secrets_last), ("deployments first", deployments_first)]
    {
        let shop = Shop::live().await;
        shop.begin_to_end().await;
        shop.delete_all(&order).await;
        all_gone(case, &shop, 1).await;
    }
}

#[tokio::test]
async fn rule_24_the_copy_replaces_credentials_that_are_deleted_long_before_the_rest() {
    let shop = Leaping::live().await;
    shop.begin_to_end().await;
    shop.delete_all(&[Content::Secrets]).await;
    // Neither the project nor the deployment is being deleted yet.
    let looked = shop.pass(Duration::from_mins(10)).await;
    assert_eq!(ready(&looked).1, "SecretMissing", "it was reconciled, and its Secret is missing");
    shop.delete_all(&[Content::Deployments]).await;
    shop.undeployed().await;
    shop.delete_all(&[Content::Projects]).await;
    all_gone("in the end", &shop, 1).await;
}

/// The copy is deleted together with the original Secret; only the running operator still has the credentials.
#[tokio::test]
async fn rule_24_the_operators_own_namespace_is_deleted_while_it_runs() {
    let mut shop = Shop::without_operator(quick(), fast()).await;
    shop.operator_namespace.clone_from(&shop.sandbox.namespace);
    shop.start_operator();
    shop.put_project_and_secrets().await;
    shop.deploy().await;
    assert_eq!(shop.copies().await.len(), 1);
    shop.begin_to_end().await;
    shop.delete_all(&SECRETS_FIRST).await;
    all_gone("its own", &shop, 1).await;
}

#[tokio::test]
async fn rule_24_a_namespace_with_fifty_is_deleted_while_the_operator_is_killed_again_and_again() {
    const MANY: usize = 50;
    // The variant refuses a second DELETE of the same deployment, so accepted calls are counted exactly.
    let variant = Variant { delete_busy: DeleteBusy::Refuse, ..Variant::default() };
    let options = Options { deploy_duration: Duration::from_millis(400), variant, ..Options::default() };
    let mut shop = Shop::with(options, fast()).await;
    shop.put_token("first-token-of-the-shop").await;
    for number in 0..MANY {
        shop.sandbox.apply(&named(shop.deployment(), &format!("tax-{number:02}"))).await.unwrap();
    }
    until("all are live", async || {
        let all = shop.api::<ConnectorDeployment>().list(&ListParams::default()).await.unwrap();
        all.iter().filter(|object| ready(object).0 == "True").count() == MANY
    })
    .await;

    shop.begin_to_end().await;
    for (number, kind) in SECRETS_FIRST.into_iter().enumerate() {
        if number % 2 == 0 {
            shop.kill_operator().await;
            shop.delete_all(&[kind]).await;
            shop.start_operator();
        } else {
            shop.delete_all(&[kind]).await;
        }
    }
    for some in [5, 20, 40] {
        until("some are being undeployed", async || undeployed(&shop).len() >= some).await;
        shop.revive_operator().await;
    }
    all_gone("fifty", &shop, MANY).await;
    assert_eq!(undeployed(&shop).into_iter().collect::<BTreeSet<_>>().len(), MANY, "each once");
    assert_eq!(shop.calls("createDeployment"), MANY as u64);
    assert_eq!(shop.calls("updateDeploymentById"), 0);
}

#[tokio::test]
async fn rule_24_a_namespace_waits_for_a_remote_that_is_down() {
    let mut shop = Leaping::live().await;
    let kept = with_spec(shop.deployment(), &json!({"deletionPolicy": "Orphan"}));
    shop.sandbox.apply(&named(kept, "kept")).await.unwrap();
    shop.until_calls("createDeployment", 2).await;
    shop.clock.step(DEPLOYING);
    shop.until_object("kept", "live", |object: &ConnectorDeployment| ready(object).0 == "True").await;

    shop.dev.fault(Fault { answer: FaultAnswer::text(503, "out of order"), ..Fault::default() }).unwrap();
    shop.begin_to_end().await;
    shop.delete_all(&SECRETS_FIRST).await;
    shop.until_reason("ServiceUnavailable").await;
    shop.revive_operator().await;
    // A deployment with Orphan needs neither credentials nor a remote.
    shop.until_project("one resource is left", |project| {
        project.status.as_ref().is_some_and(|status| status.deployments == Some(1))
    })
    .await;
    shop.clock.step(Duration::from_hours(1));
    assert_eq!(shop.left().await, [PROJECT, NAME], "both keep their finalizers");

    shop.dev.clear_faults();
    shop.clock.step(Duration::from_hours(1));
    shop.until_calls("deleteDeploymentById", 1).await;
    until("accepted", async || undeployed(&shop).len() == 1).await;
    shop.clock.step(DEPLOYING);
    shop.until_ended().await;
    assert_eq!(shop.statuses(), [DeploymentStatus::Deployed], "the one with Orphan");
    assert!(shop.copies().await.is_empty());
}

#[tokio::test]
async fn rule_24_a_namespace_waits_for_an_outstanding_create() {
    for (case, arrives, undeploys) in [("that arrived", true, 1), ("that never arrived", false, 0)] {
        let mut shop = Leaping::open().await;
        let lost = Fault::of("createDeployment", FaultAnswer::dropped()).times(1);
        shop.dev.fault(if arrives { lost.after_the_effect() } else { lost }).unwrap();
        shop.apply_deployment(&json!({})).await;
        shop.until_calls("createDeployment", 1).await;
        shop.kill_operator().await;
        shop.begin_to_end().await;
        shop.delete_all(&SECRETS_FIRST).await;
        shop.start_operator();
        let waiting = shop.until(case, |object| ready(object) == ("Unknown", "Undeploying")).await;
        assert!(waiting.metadata.deletion_timestamp.is_some(), "{case}");
        shop.clock.step(super::QUIET_PERIOD);
        if arrives {
            shop.until_calls("deleteDeploymentById", 1).await;
            shop.clock.step(DEPLOYING);
        }
        all_gone(case, &shop, undeploys).await;
        assert_eq!(shop.calls("createDeployment"), 1, "{case}");
    }
}

#[tokio::test]
async fn rule_24_an_output_that_cannot_be_written_into_a_terminating_namespace_is_no_error() {
    let shop = Leaping::live_as(&json!({"outputs": {"configMap": {"name": "addresses"}}})).await;
    shop.until_object("addresses", "written", |_: &ConfigMap| true).await;
    shop.begin_to_end().await;
    shop.delete_all(&[Content::ConfigMaps]).await;
    // A reconcile that fails does not record the request as handled.
    let looked = shop.reconcile_again().await;
    assert_eq!(ready(&looked), ("True", "Deployed"));
    shop.delete_all(&SECRETS_FIRST).await;
    shop.until_calls("deleteDeploymentById", 1).await;
    shop.clock.step(DEPLOYING);
    all_gone("in the end", &shop, 1).await;
}
