//! Rules 1 to 3: how a deployment is created, who owns it, and how it is found again.

use connect_operator::operator::deployment::persisted::OperationType;

use super::operation;
use super::operations::answered_late;
use crate::prelude::*;

#[tokio::test]
async fn rule_01_a_create_is_stored_first_looked_up_twice_and_sent_once() {
    let shop = Leaping::open().await;
    let mut history = shop.history().await;
    shop.apply_deployment(&json!({})).await;
    shop.finish("Deployed").await;

    let versions = history.until(|object| ready(object).1 == "Deployed").await;
    // The finalizer comes before the operation, and both before the call.
    assert_eq!(versions[1].finalizers(), [names::FINALIZER]);
    let operation = versions.iter().find_map(operation).expect("an operation");
    assert_eq!((operation.kind, operation.state), (OperationType::Create, OperationState::Planned));
    assert_eq!((operation.attempt, operation.generation), (1, 1));
    let payload = operation.payload.as_ref().expect("it sends values");
    assert!(payload.names.has_secured() && !payload.sources.is_empty(), "with those of the Secret");
    assert!(versions.iter().any(is_accepted), "the response is written before the outcome");
    assert_eq!(state(versions.last().expect("versions")).operation, None);

    let about_it: Vec<_> = shop
        .dev
        .calls()
        .iter()
        .map(|call| call.operation)
        .filter(|call| call.contains("ploymentByKey") || *call == "createDeployment")
        .collect();
    assert_eq!(about_it, ["getDeploymentByKey", "getDeploymentByKey", "createDeployment"]);
}

#[tokio::test]
async fn rule_01_a_reconcile_of_an_old_resource_version_sends_nothing() {
    let shop = Leaping::open().await;
    shop.know_the_registry().await;
    let before = shop.calls("getDeploymentByKey");
    let slow = FaultAnswer { delay_ms: 3_600_000, ..FaultAnswer::default() };
    shop.dev.fault(Fault::of("getDeploymentByKey", slow).times(1)).unwrap();
    shop.apply_deployment(&json!({})).await;
    // The first lookup lasts until the resource was changed meanwhile.
    shop.until_so("the lookup", || shop.dev.faults().iter().all(|fault| fault.count == Some(0))).await;
    shop.change(&json!({"metadata": {"labels": {"team": "tax"}}})).await;
    assert_eq!(shop.calls("getDeploymentByKey"), before);
    shop.dev.clear_faults();
    shop.finish("Deployed").await;
    assert_eq!(shop.sent(), [1, 0, 0]);
    assert_eq!(shop.calls("getDeploymentByKey"), before + 3, "one discarded lookup, then the usual two");
}

#[tokio::test]
async fn rule_01_a_definite_refusal_removes_the_operation_in_the_same_reconcile() {
    let shop = Leaping::open().await;
    let mut history = shop.history().await;
    let answer = FaultAnswer::error(400, "DeploymentProductionDeactivated");
    shop.dev.fault(Fault::of("createDeployment", answer)).unwrap();
    shop.apply_deployment(&json!({})).await;
    let refused = shop.until_reason("RequestRejected").await;
    assert_eq!(state(&refused).operation, None);
    let versions = history.until(|object| ready(object).1 == "RequestRejected").await;
    let before = |object: &ConnectorDeployment| operation(object).map(|operation| operation.state);
    let last: Vec<_> = versions.iter().rev().take(2).map(before).collect();
    assert_eq!(last, [None, Some(OperationState::Planned)], "the write that reports the refusal removes it");
    shop.pass(Duration::from_mins(9)).await;
    assert_eq!(shop.sent(), [1, 0, 0], "no quick retries");
}

#[tokio::test]
async fn rule_02_a_create_that_never_arrived_is_sent_again_after_a_minute_and_not_before() {
    let shop = Leaping::open().await;
    shop.dev.fault(Fault::of("createDeployment", FaultAnswer::dropped()).times(1)).unwrap();
    shop.apply_deployment(&json!({})).await;
    shop.until_calls("createDeployment", 1).await;
    shop.until("planned", |object| state(object).operation.is_some()).await;
    let waiting = shop.pass(Duration::from_secs(40)).await;
    assert_eq!(ready(&waiting), ("Unknown", "Creating"));
    assert_eq!(shop.sent(), [1, 0, 0]);
    shop.pass(Duration::from_secs(25)).await;
    let again = shop.until("accepted", is_accepted).await;
    assert_eq!(state(&again).operation.map(|operation| operation.attempt), Some(2));
    shop.finish("Deployed").await;
    assert_eq!(shop.sent(), [2, 0, 0]);
}

#[tokio::test]
async fn rule_03_the_key_with_another_id_is_taken() {
    let shop = Leaping::live().await;
    let id = status(&shop.get().await).id.expect("an id");
    shop.dev.world().remove(&id, shop.dev.now()).unwrap();
    let theirs = shop.make_elsewhere("info");
    shop.pass(QUIET_PERIOD).await;
    shop.pass(QUIET).await;
    shop.until_reason("KeyTaken").await;
    shop.delete_wholly().await;
    assert_eq!(shop.dev.world().id_of("demo", &shop.key(), shop.dev.now()), Some(theirs));
    assert_eq!(shop.sent()[..2], [1, 0]);
}

#[tokio::test]
async fn rule_02_a_deployment_of_another_owner_under_the_key_is_not_changed() {
    let (shop, theirs) = Leaping::beside("info").await;
    shop.apply_deployment(&json!({})).await;
    let taken = shop.until_reason("KeyTaken").await;
    let shown = status(&taken);
    assert_eq!((shown.connector, shown.applications, shown.report), (None, Vec::new(), Vec::new()), "it is not ours");
    assert_eq!(ready(&taken).0, "False");
    assert!(is(&taken, names::STALLED));
    assert!(message(&taken).contains("adoptionPolicy: Adopt"));
    assert_eq!((status(&taken).id, state(&taken).operation), (None, None));

    shop.annotate(names::REDEPLOY_REQUESTED_AT, "now").await;
    shop.change(&json!({"spec": level("debug")})).await;
    shop.pass(Duration::from_mins(10)).await;
    shop.until_reason("KeyTaken").await;
    shop.delete_wholly().await;
    assert_eq!(shop.sent(), [0, 0, 0]);
    assert_eq!(shop.dev.world().id_of("demo", &shop.key(), shop.dev.now()), Some(theirs));
}

#[tokio::test]
async fn rule_02_a_deployment_that_another_one_creates_meanwhile_is_not_owned_after_the_quiet_period() {
    // Neither says whose create it was: a gateway may have sent the request twice.
    for (case, answer) in [("lost", FaultAnswer::dropped()), ("taken", FaultAnswer::error(400, "DuplicateField"))] {
        let shop = Leaping::open().await;
        shop.dev.fault(Fault::of("createDeployment", answer).times(1)).unwrap();
        shop.apply_deployment(&json!({})).await;
        shop.until_calls("createDeployment", 1).await;
        let theirs = shop.make_elsewhere("debug");
        assert_eq!(ready(&shop.pass(QUIET).await), ("Unknown", "Creating"), "{case}: the create may still arrive");
        let taken = shop.pass(QUIET).await;
        assert_eq!(ready(&taken), ("False", "KeyTaken"), "{case}");
        assert_eq!((status(&taken).id, state(&taken).operation), (None, None), "{case}");
        assert_eq!(ready(&shop.pass(QUIET_PERIOD).await), ("False", "KeyTaken"), "{case}");
        assert_eq!(shop.sent(), [1, 0, 0], "{case}");
        assert_eq!(shop.dev.world().id_of("demo", &shop.key(), shop.dev.now()), Some(theirs), "{case}");
    }
}

#[tokio::test]
async fn rule_03_once_the_id_is_known_every_call_uses_it() {
    let shop = Leaping::live().await;
    let live = shop.reconcile_again().await;
    let id = status(&live).id.expect("an id");
    let annotated = shop.until_annotated().await;
    assert_eq!(annotated.annotations().get(names::REMOTE_ID), Some(&id));
    let by_key = shop.calls("getDeploymentByKey");

    shop.redeploy(&json!({"spec": level("debug")}), "Deployed").await;
    shop.delete().await;
    shop.undeployed().await;
    assert_eq!(shop.sent(), [1, 1, 1]);
    assert_eq!(shop.calls("getDeploymentByKey"), by_key, "nothing by key");
    let paths: Vec<_> =
        shop.dev.calls().into_iter().filter(|call| call.operation.ends_with("ById")).map(|call| call.path).collect();
    assert!(paths.iter().all(|path| path.ends_with(&id)), "{paths:?}");
}

#[tokio::test]
async fn rule_03_a_project_that_names_another_remote_touches_nothing() {
    let shop = Leaping::live().await;
    let other = DevServer::start(Options::default(), shop.clock.clone()).await.unwrap();
    let mut project = shop.project();
    project["spec"]["apiUrl"] = json!(other.url());
    project["spec"]["authUrl"] = json!(other.url());
    shop.tear_out_project().await;
    shop.until_reason("ProjectMissing").await;
    let changed = shop.apply_until(&project, "IdentityChanged").await;
    assert_eq!(ready(&changed).0, "False");
    assert_eq!(status(&changed).remote.map(|remote| remote.project.api_url), Some(shop.dev.url()));

    // Neither a change nor a deletion reaches either of them.
    shop.change_until(&json!({"spec": level("debug")}), "IdentityChanged").await;
    shop.delete().await;
    shop.change_until(&json!({"spec": {"suspend": true}}), "IdentityChanged").await;
    assert_eq!(shop.sent(), [1, 0, 0]);
    assert!(
        other.counts().keys().all(|operation| ["token", "queryDeployments"].contains(operation)),
        "{:?}",
        other.counts()
    );
    shop.change(&json!({"spec": {"deletionPolicy": "Orphan"}})).await;
    shop.until_gone().await;
    assert_eq!(shop.sent(), [1, 0, 0]);
}

#[tokio::test]
async fn rule_03_a_restored_backup_finds_its_deployment_by_the_annotation() {
    let mut shop = Leaping::live().await;
    let id = status(&shop.reconcile_again().await).id.expect("an id");
    shop.lose().await;
    let mut restored = shop.deployment();
    restored["metadata"]["annotations"] = json!({names::REMOTE_ID: id});
    shop.sandbox.apply(&restored).await.unwrap();
    shop.start_operator();
    shop.adopted().await;
    let ours: ConnectorDeployment = shop.until_reason("Deployed").await;
    assert_eq!(status(&ours).id, Some(id));
    assert!(is(&ours, names::SECRETS_UNVERIFIED));
    assert_eq!(shop.sent(), [1, 0, 0]);
}

/// `kubectl replace` removes the annotation, which nothing else has while the call is on its way.
#[tokio::test]
async fn rule_01_a_put_of_the_manifest_during_the_first_call_loses_neither_operation_nor_finalizer() {
    let shop = Leaping::open().await;
    shop.dev.fault(answered_late("createDeployment")).unwrap();
    shop.apply_deployment(&json!({})).await;
    shop.until_so("the call has arrived", || !shop.there().is_empty()).await;
    let mut manifest = shop.deployment();
    manifest["metadata"]["resourceVersion"] = json!(shop.get().await.resource_version());
    let manifest: ConnectorDeployment = serde_json::from_value(manifest).unwrap();
    let replaced = shop.api().replace(NAME, &PostParams::default(), &manifest).await.unwrap();
    assert!(replaced.finalizers().is_empty() && replaced.annotations().is_empty());
    shop.dev.clear_faults();
    let accepted = shop.until("accepted", is_accepted).await;
    assert_eq!(accepted.finalizers(), [names::FINALIZER]);
    let live = shop.finish("Deployed").await;
    assert!(!is(&live, names::SECRETS_UNVERIFIED), "the accepted call is known");
    assert_eq!(shop.sent(), [1, 0, 0]);
}
