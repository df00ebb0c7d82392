//! Rule 24, the project: it stays while anything uses it, and the operator keeps a copy of its credentials for as long.

use crate::cluster::make_namespace;
use crate::prelude::*;

const GOOD: [(&str, &str); 2] = [("clientId", "dev-client"), ("clientSecret", "dev-secret")];

async fn delete_project(shop: &Shop) {
    shop.api::<ConnectProject>().delete(PROJECT, &DeleteParams::default()).await.unwrap();
}

async fn delete_credentials(shop: &Shop) {
    shop.api::<Secret>().delete(CREDENTIALS, &DeleteParams::default()).await.unwrap();
}

/// Returns once the copies satisfy `are`.
async fn until_copies(shop: &Shop, what: &str, are: impl Fn(&[Secret]) -> bool) -> Vec<Secret> {
    let wanted = async {
        loop {
            let copies = shop.copies().await;
            if are(&copies) {
                return copies;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    in_time(wanted).await.unwrap_or_else(|_| panic!("not in time: {what}"))
}

fn data(copy: &Secret) -> Vec<(&str, &str)> {
    let data = copy.data.iter().flatten();
    data.map(|(key, value)| (key.as_str(), std::str::from_utf8(&value.0).unwrap())).collect()
}

#[tokio::test]
async fn rule_24_a_project_stays_usable_while_anything_uses_it() {
    let shop = Leaping::live().await;
    let project = shop.until_project("the finalizer", |project| !project.finalizers().is_empty()).await;
    assert_eq!(project.finalizers(), [names::PROJECT_FINALIZER]);
    delete_project(&shop).await;
    let waiting = shop.until_project("waits", |project| reason(project) == "InUse").await;
    assert!(message(&waiting).ends_with("waits for 1 ConnectorDeployment that names it"), "{waiting:?}");
    // Resources that use it continue.
    shop.rotate("second-token-of-the-shop", "Deployed").await;
    // Also after its credentials were deleted, because it is being deleted itself.
    delete_credentials(&shop).await;
    shop.rotate("third-token-of-the-shop", "Deployed").await;

    shop.delete().await;
    shop.undeployed().await;
    until_deleted(shop.api::<ConnectProject>(), PROJECT).await;
    assert_eq!(shop.sent(), [1, 2, 1]);
    assert!(shop.copies().await.is_empty(), "the copy is deleted first");
}

#[tokio::test]
async fn rule_24_a_project_is_deleted_once_no_resource_names_it() {
    let shop = Leaping::live().await;
    // Observed only: it has no finalizer, and counts all the same.
    shop.change(&json!({"spec": {"managementPolicy": "ObserveOnly"}})).await;
    delete_project(&shop).await;
    shop.until_project("waits", |project| reason(project) == "InUse").await;
    shop.sandbox.apply(&named(shop.project(), "other")).await.unwrap();
    shop.change(&json!({"spec": {"projectRef": {"name": "other"}}})).await;
    until_deleted(shop.api::<ConnectProject>(), PROJECT).await;
    shop.reconcile_again().await;
    assert_eq!(shop.sent(), [1, 0, 0]);
    assert_eq!(shop.copies().await.len(), 1, "the copy of the other project");
}

#[tokio::test]
async fn rule_24_an_unused_project_is_deleted_at_once() {
    for (case, secret) in [("ready", true), ("never ready", false)] {
        let mut shop = Shop::open().await;
        if !secret {
            delete_credentials(&shop).await;
            shop.until_project(case, |project| reason(project) == "SecretMissing").await;
        }
        shop.until_project(case, |project| !reason(project).is_empty()).await;
        // The same with an operator that was started after the deletion.
        shop.stop_operator().await;
        delete_project(&shop).await;
        shop.start_operator();
        until_deleted(shop.api::<ConnectProject>(), PROJECT).await;
        assert!(shop.copies().await.is_empty(), "{case}");
    }
}

#[tokio::test]
async fn rule_24_the_copy_does_not_replace_credentials_that_are_deleted_alone() {
    let mut shop = Leaping::live().await;
    delete_credentials(&shop).await;
    shop.until_project("reported", |project| reason(project) == "SecretMissing").await;
    shop.delete().await;
    shop.until_reason("ProjectNotReady").await;
    // Nor after a restart.
    shop.kill_operator().await;
    let looks = shop.looks();
    shop.start_operator();
    shop.change_until(&json!({"spec": {"interval": "10m"}}), "ProjectNotReady").await;
    assert_eq!((shop.sent(), shop.looks()), ([1, 0, 0], looks));
    assert_eq!(shop.copies().await.len(), 1, "the copy stays until the project is deleted");
    shop.put_secret(CREDENTIALS, &GOOD).await;
    shop.undeployed().await;
}

#[tokio::test]
async fn rule_24_the_copy_follows_the_credentials_and_is_written_only_on_changes() {
    let mut shop = Leaping::open().await;
    let project = shop.until_project("it exists", |_| true).await;
    let first = shop.copies().await.remove(0);
    assert_eq!(data(&first), GOOD);
    assert_eq!(first.name_any(), format!("connect-project-{}", project.uid().unwrap()));
    assert_eq!(first.type_.as_deref(), Some("connect-operator.io/project-credentials"));
    assert_eq!(first.annotations()["connect-operator.io/project-name"], PROJECT);
    // An owner reference cannot cross namespaces.
    assert_eq!(first.owner_references().len(), 0);

    let other = [("clientId", "api-clients-client"), GOOD[1], ("note", "not of ours")];
    shop.put_secret(CREDENTIALS, &other).await;
    let second = until_copies(&shop, "a change is copied", |copies| data(&copies[0]) == other[..2]).await.remove(0);

    shop.revive_operator().await;
    shop.apply_deployment(&json!({})).await;
    shop.finish("Deployed").await;
    shop.put_secret(CREDENTIALS, &[other[0], GOOD[1], ("note", "another one")]).await;
    shop.reconcile_again().await;
    assert_eq!(shop.copies().await[0].resource_version(), second.resource_version(), "a restart writes nothing");

    // A change while the operator does not run is copied after its start.
    shop.stop_operator().await;
    delete_credentials(&shop).await;
    shop.put_secret(CREDENTIALS, &GOOD).await;
    shop.start_operator();
    until_copies(&shop, "it is copied after the start", |copies| data(&copies[0]) == GOOD).await;
}

#[tokio::test]
async fn rule_24_a_copy_that_cannot_be_written_is_reported_and_blocks_nothing_else() {
    let clock = Clock::stepped("2026-01-01T12:00:00Z".parse().unwrap());
    let options = Options { deploy_duration: Duration::ZERO, ..Options::default() };
    let mut shop = Shop::without_operator(options, clock).await;
    shop.operator_namespace = format!("{}-operator", shop.sandbox.namespace);
    shop.start_operator();
    shop.put_secret(CREDENTIALS, &GOOD).await;
    shop.sandbox.apply(&shop.project()).await.unwrap();
    let reported = shop.until_project("reported", |project| reason(project) == "CredentialsNotKept").await;
    assert!(message(&reported).contains(&shop.operator_namespace), "{reported:?}");
    assert!(message(&reported).contains("get, create, patch and delete Secrets"), "{reported:?}");
    shop.put_token("first-token-of-the-shop").await;
    shop.sandbox.apply(&shop.deployment()).await.unwrap();
    shop.until("created", |object| object.status.as_ref().is_some_and(|status| status.id.is_some())).await;

    let metadata = ObjectMeta { name: Some(shop.operator_namespace.clone()), ..ObjectMeta::default() };
    make_namespace(&shop.sandbox.client, metadata).await;
    // Not in one step: a reconcile that missed the namespace may begin its minute only after that step.
    let continues = shop.until_project("the project continues", |project| reason(project) == "Available");
    meanwhile(&shop.clock, FINE, continues).await;
    assert_eq!(shop.copies().await.len(), 1);
}

#[tokio::test]
async fn rule_24_two_projects_for_one_remote_are_deleted_independently() {
    let shop = Leaping::live().await;
    let other = with_spec(shop.project(), &json!({"credentialsSecretRef": {"name": "other-credentials"}}));
    shop.put_secret("other-credentials", &GOOD).await;
    shop.sandbox.apply(&named(other, "other")).await.unwrap();
    let second = named(with_spec(shop.deployment(), &json!({"projectRef": {"name": "other"}})), "second");
    shop.sandbox.apply(&second).await.unwrap();
    shop.until_calls("createDeployment", 2).await;
    shop.clock.step(DEPLOYING);
    shop.until_object("second", "live", |object: &ConnectorDeployment| ready(object).0 == "True").await;
    assert_eq!(shop.copies().await.len(), 2);

    delete_project(&shop).await;
    delete_credentials(&shop).await;
    shop.delete().await;
    shop.undeployed().await;
    until_deleted(shop.api::<ConnectProject>(), PROJECT).await;
    assert_eq!(shop.copies().await.len(), 1);
    let change = json!({"spec": super::level("debug")});
    shop.sandbox.change(&second, &change).await.unwrap();
    shop.until_calls("updateDeploymentById", 1).await;
    assert_eq!(shop.sent(), [2, 1, 1]);
}
