//! Rule 4: several resources that claim one key of one remote project.

use crate::prelude::*;

const KEY: &str = "tax-eu";

/// A deployment with another name and the shared key.
fn named(shop: &Leaping, name: &str, change: &Value) -> Value {
    manifests::named(with_spec(with_spec(shop.deployment(), &json!({"key": KEY})), change), name)
}

/// Creates everything that a deployment needs in another namespace, which the operator watches from its next start.
async fn another_namespace(shop: &mut Leaping) -> Sandbox {
    let other = Sandbox::new().await;
    other.put_credentials("dev-client").await;
    other.put_secret(SECRET, &[("token", "first-token-of-the-shop")]).await;
    let mut project = shop.project();
    // The same remote, spelt in another way.
    let url = project["spec"]["apiUrl"].as_str().expect("the dev server's").replace("127.0.0.1", "127.1");
    project["spec"]["apiUrl"] = json!(url);
    other.apply(&project).await.unwrap();
    shop.also_watched.push(other.namespace.clone());
    other
}

/// Lets time pass, then requests a reconcile of this resource; returns once it was handled.
async fn pass(shop: &Leaping, sandbox: &Sandbox, name: &str, time: Duration) {
    shop.clock.step(time);
    let request = shop.clock.now().to_string();
    let asked = json!({"metadata": {"annotations": {names::RECONCILE_REQUESTED_AT: request}}});
    sandbox.change(&named(shop, name, &json!({})), &asked).await.unwrap();
    let handled = |object: &ConnectorDeployment| status(object).handled_reconcile_request.as_ref() == Some(&request);
    sandbox.until_object(name, "reconciled again", handled).await;
}

/// Lets the accepted operation end.
async fn finish(shop: &Leaping, sandbox: &Sandbox, name: &str) -> ConnectorDeployment {
    sandbox.until_object(name, "accepted", is_accepted).await;
    pass(shop, sandbox, name, DEPLOYING).await;
    sandbox.until_reason(name, "Deployed").await
}

fn assert_aside(object: &ConnectorDeployment, winner: &str) {
    assert_eq!(ready(object), ("False", "KeyConflict"));
    assert!(is(object, names::STALLED) && !is(object, names::RECONCILING));
    let message = message(object);
    assert!(message.contains(winner) && message.contains(KEY) && message.contains("spec.key"), "{message}");
}

#[tokio::test]
async fn rule_04_a_renamed_resource_keeps_the_deployment_as_the_page_and_the_message_say() {
    let shop = Leaping::applied(&json!({"key": KEY})).await;
    let live = shop.finish("Deployed").await;
    shop.sandbox.change(&shop.deployment(), &json!({"spec": {"deletionPolicy": "Orphan"}})).await.unwrap();
    shop.sandbox.apply(&named(&shop, "second", &json!({"adoptionPolicy": "Adopt"}))).await.unwrap();
    let aside = shop.sandbox.until_reason("second", "KeyConflict").await;
    assert!(message(&aside).contains("set deletionPolicy: Orphan on that one and adoptionPolicy: Adopt on this one"));
    shop.delete_wholly().await;
    shop.sandbox.until_reason("second", "Adopting").await;
    shop.clock.step(QUIET_PERIOD);
    let look = json!({"metadata": {"annotations": {names::RECONCILE_REQUESTED_AT: "look"}}});
    shop.sandbox.change(&named(&shop, "second", &json!({"adoptionPolicy": "Adopt"})), &look).await.unwrap();
    let second = shop.sandbox.until_reason("second", "Deployed").await;
    assert_eq!((status(&second).id, status(&second).applications), (status(&live).id, status(&live).applications));
    assert_eq!(shop.sent(), [1, 0, 0], "nothing but the first create");
}

#[tokio::test]
async fn rule_04_one_owns_the_key_and_the_other_changes_nothing_until_it_is_gone() {
    let shop = Leaping::applied(&json!({"key": KEY})).await;
    let live = shop.finish("Deployed").await;
    shop.sandbox.apply(&named(&shop, "second", &json!({"adoptionPolicy": "Adopt"}))).await.unwrap();
    let aside = shop.sandbox.until_reason("second", "KeyConflict").await;
    assert_aside(&aside, &format!("{}/{NAME}", shop.sandbox.namespace));
    assert!(aside.finalizers().is_empty(), "it has no finalizer");
    assert_eq!((status(&aside).id, status(&aside).key, status(&aside).remote), (None, None, None));

    // A redeploy request and a changed spec have no effect.
    let annotated = json!({"metadata": {"annotations": {names::REDEPLOY_REQUESTED_AT: "now"}}, "spec": level("debug")});
    shop.sandbox.change(&named(&shop, "second", &json!({})), &annotated).await.unwrap();
    shop.sandbox.until_reason("second", "KeyConflict").await;
    shop.pass(QUIET_PERIOD).await;
    assert_eq!(shop.sent(), [1, 0, 0]);

    // It is deleted at once, and the deployment of the other one stays.
    shop.sandbox.delete::<ConnectorDeployment>("second").await;
    assert_eq!(ready(&shop.reconcile_again().await), ("True", "Deployed"));
    assert_eq!(shop.sent(), [1, 0, 0]);

    // It continues without a change once it is the only claimant.
    shop.sandbox.apply(&named(&shop, "second", &json!({}))).await.unwrap();
    shop.sandbox.until_reason("second", "KeyConflict").await;
    shop.delete().await;
    shop.undeployed().await;
    let second = finish(&shop, &shop.sandbox, "second").await;
    assert_ne!(status(&second).id, status(&live).id);
    assert_eq!(status(&second).key.as_deref(), Some(KEY));
    assert_eq!(shop.sent(), [2, 0, 1]);
}

#[tokio::test]
async fn rule_04_of_two_created_at_once_in_different_namespaces_one_creates_and_a_restart_changes_nothing() {
    let mut shop = Leaping::open().await;
    shop.stop_operator().await;
    let other = another_namespace(&mut shop).await;
    shop.apply_deployment(&json!({"key": KEY, "adoptionPolicy": "Adopt"})).await;
    other.apply(&named(&shop, NAME, &json!({"adoptionPolicy": "Adopt"}))).await.unwrap();
    let one = shop.sandbox.clone();
    shop.start_operator();
    // The older one owns the key, unless the remote answers for the project of the other one first: a claim counts only
    // from then on.
    let (first, second, aside) = tokio::select! {
        aside = other.until_reason(NAME, "KeyConflict") => (&one, &other, aside),
        aside = one.until_reason(NAME, "KeyConflict") => (&other, &one, aside),
    };
    finish(&shop, first, NAME).await;
    assert_aside(&aside, &format!("{}/{NAME}", first.namespace));
    assert_eq!(shop.calls("createDeployment"), 1, "no second create, not even one that is refused");

    shop.stop_operator().await;
    let (before, looks) = (shop.get().await, shop.looks());
    shop.start_operator();
    shop.until_so("a read after the restart", || shop.looks() > looks).await;
    shop.clock.step(QUIET_PERIOD);
    for sandbox in [first, second] {
        // Reconciles of one resource run one after the other, so the first one after the start has ended once the next
        // has written.
        let policy = json!({"spec": {"deletionPolicy": "Orphan"}});
        sandbox.change(&named(&shop, NAME, &json!({})), &policy).await.unwrap();
    }
    first.until_reason(NAME, "Deployed").await;
    let still = second.until_reason(NAME, "KeyConflict").await;
    assert_aside(&still, &format!("{}/{NAME}", first.namespace));
    assert_eq!(
        condition(&still, names::READY).unwrap().last_transition_time,
        condition(&aside, names::READY).unwrap().last_transition_time
    );
    assert_eq!(before.uid(), shop.get().await.uid());
    assert_eq!(shop.sent(), [1, 0, 0]);
}

#[tokio::test]
async fn rule_04_a_stronger_claim_that_appears_during_a_lookup_prevents_the_create() {
    let shop = Leaping::open().await;
    shop.know_the_registry().await;
    // The stronger claimant is older, and only observes at first.
    let stronger = named(&shop, "aaa", &json!({"managementPolicy": "ObserveOnly"}));
    shop.sandbox.apply(&stronger).await.unwrap();
    shop.sandbox.until_reason("aaa", "RemoteDisappeared").await;
    let slow = FaultAnswer { delay_ms: 3_600_000, ..FaultAnswer::default() };
    // The response shows the state before the delay, which ends when the faults are cleared.
    shop.dev.fault(Fault::of("getDeploymentByKey", slow).after_the_effect().times(1)).unwrap();
    let looks = shop.calls("getDeploymentByKey");
    shop.apply_deployment(&json!({"key": KEY})).await;
    shop.until_so("about to read", || shop.dev.faults().iter().all(|fault| fault.count == Some(0))).await;
    shop.sandbox.change(&stronger, &json!({"spec": {"managementPolicy": "Full"}})).await.unwrap();
    shop.sandbox.until_reason("aaa", "Creating").await;
    shop.dev.clear_faults();
    finish(&shop, &shop.sandbox, "aaa").await;
    assert_aside(&shop.until_reason("KeyConflict").await, "aaa");
    assert_eq!(shop.calls("createDeployment"), 1);
    assert_eq!(shop.calls("getDeploymentByKey"), looks + 3, "the one that yields does not read again");
    assert!(shop.events("KeyTaken").await.is_empty());
}

#[tokio::test]
async fn rule_04_a_backup_restored_into_another_namespace_waits_for_the_owner() {
    let mut shop = Leaping::open().await;
    shop.stop_operator().await;
    let other = another_namespace(&mut shop).await;
    shop.start_operator();
    shop.apply_deployment(&json!({"key": KEY})).await;
    shop.finish("Deployed").await;
    let live = shop.until_annotated().await;
    let mut restored = named(&shop, NAME, &json!({}));
    restored["metadata"]["annotations"] = json!({names::REMOTE_ID: status(&live).id});
    restored["metadata"]["finalizers"] = json!([names::FINALIZER]);
    other.apply(&restored).await.unwrap();
    let aside = other.until_reason(NAME, "KeyConflict").await;
    assert_aside(&aside, &format!("{}/{NAME}", shop.sandbox.namespace));
    // Deleting the copy must not undeploy what the original owns.
    other.delete::<ConnectorDeployment>(NAME).await;
    assert_eq!(ready(&shop.reconcile_again().await), ("True", "Deployed"));
    assert_eq!(shop.sent(), [1, 0, 0]);
}

#[tokio::test]
async fn rule_04_observing_claims_no_key_and_reads_what_another_one_owns() {
    let shop = Leaping::open().await;
    let observing = named(&shop, "observer", &json!({"managementPolicy": "ObserveOnly"}));
    // It is the older one.
    shop.sandbox.apply(&observing).await.unwrap();
    shop.sandbox.until_reason("observer", "RemoteDisappeared").await;
    shop.apply_deployment(&json!({"key": KEY, "adoptionPolicy": "Adopt"})).await;
    let live = shop.finish("Deployed").await;
    pass(&shop, &shop.sandbox, "observer", QUIET).await;
    shop.sandbox.until_reason("observer", "Observed").await;

    // To manage it, it has to wait for the owner.
    let full = json!({"spec": {"managementPolicy": "Full", "adoptionPolicy": "Adopt"}});
    shop.sandbox.change(&observing, &full).await.unwrap();
    assert_aside(&shop.sandbox.until_reason("observer", "KeyConflict").await, NAME);
    shop.change_until(&json!({"spec": {"managementPolicy": "ObserveOnly"}}), "Observed").await;
    shop.sandbox.until_reason("observer", "Adopting").await;
    pass(&shop, &shop.sandbox, "observer", QUIET).await;
    let taken = shop.sandbox.until_reason("observer", "Deployed").await;
    assert_eq!(status(&taken).id, status(&live).id);

    // The former owner still has the id in its status: the older one keeps the key.
    shop.change(&json!({"spec": {"managementPolicy": "Full"}})).await;
    assert_aside(&shop.until_reason("KeyConflict").await, "observer");
    shop.delete_wholly().await;
    assert_eq!(shop.sent(), [1, 0, 0], "one with the id is orphaned too");
}

#[tokio::test]
async fn rule_04_a_winner_that_moves_to_another_project_releases_the_key() {
    let shop = Leaping::open().await;
    let mut elsewhere = manifests::named(shop.project(), "elsewhere");
    elsewhere["spec"]["projectKey"] = json!("other");
    shop.sandbox.apply(&elsewhere).await.unwrap();
    // A suspended resource claims its key.
    shop.apply_deployment(&json!({"key": KEY, "suspend": true})).await;
    shop.until_reason("Suspended").await;
    shop.sandbox.apply(&named(&shop, "zzz", &json!({}))).await.unwrap();
    shop.sandbox.until_reason("zzz", "KeyConflict").await;
    shop.change(&json!({"spec": {"projectRef": {"name": "elsewhere"}}})).await;
    finish(&shop, &shop.sandbox, "zzz").await;

    // When it returns, it is the one that waits.
    shop.change(&json!({"spec": {"projectRef": {"name": PROJECT}, "suspend": false}})).await;
    assert_aside(&shop.until_reason("KeyConflict").await, "zzz");
    // The same holds if its project is created again and names the same remote.
    shop.sandbox.delete::<ConnectProject>("elsewhere").await;
    shop.change_until(&json!({"spec": {"projectRef": {"name": "elsewhere"}}}), "ProjectMissing").await;
    elsewhere["spec"]["projectKey"] = json!("demo");
    shop.sandbox.apply(&elsewhere).await.unwrap();
    assert_aside(&shop.until_reason("KeyConflict").await, "zzz");
    assert_eq!(shop.sent(), [1, 0, 0]);
}

/// Creates a resource that is older than all others, and annotated with an id that does not exist.
async fn older_with_invented_id(shop: &Leaping, sandbox: &Sandbox) {
    let mut theirs = named(shop, "aaa", &json!({"suspend": true}));
    theirs["metadata"]["annotations"] = json!({names::REMOTE_ID: "8a7d1c2e-0000-4000-8000-000000000000"});
    sandbox.apply(&theirs).await.unwrap();
}

#[tokio::test]
async fn rule_04_a_project_without_valid_credentials_blocks_no_key() {
    let mut shop = Leaping::open().await;
    shop.stop_operator().await;
    let other = another_namespace(&mut shop).await;
    other.put_secret(CREDENTIALS, &[("clientId", "dev-client"), ("clientSecret", "invented")]).await;
    older_with_invented_id(&shop, &other).await;
    shop.start_operator();
    let refused = |project: &ConnectProject| reason(project) == "CredentialsRejected";
    other.until_object(PROJECT, "refused", refused).await;
    shop.apply_deployment(&json!({"key": KEY})).await;
    shop.finish("Deployed").await;

    // With valid credentials it is a claimant like the others.
    other.put_credentials("dev-client").await;
    assert_aside(&other.until_reason("aaa", "KeyConflict").await, &format!("{}/{NAME}", shop.sandbox.namespace));
    assert_eq!(shop.sent(), [1, 0, 0]);
}

#[tokio::test]
async fn rule_04_an_invented_annotation_does_not_outrank_the_older_claim() {
    let shop = Leaping::open().await;
    // Neither can start until the Secret exists.
    let waits = json!({"key": KEY, "configurations": [{"applicationName": "service", "securedConfiguration": [
        {"key": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "later", "key": "token"}}}]}]});
    shop.apply_deployment(&waits).await;
    shop.until_reason("SecretMissing").await;
    let mut theirs = named(&shop, "zzz", &json!({"adoptionPolicy": "Adopt"}));
    theirs["metadata"]["annotations"] = json!({names::REMOTE_ID: "8a7d1c2e-0000-4000-8000-000000000000"});
    shop.sandbox.apply(&theirs).await.unwrap();
    let aside = shop.sandbox.until_reason("zzz", "KeyConflict").await;
    assert_aside(&aside, &format!("{}/{NAME}", shop.sandbox.namespace));
    assert_eq!(shop.sent(), [0, 0, 0]);
    shop.sandbox.delete::<ConnectorDeployment>("zzz").await;
}
