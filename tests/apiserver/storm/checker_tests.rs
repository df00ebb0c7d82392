//! Tests of the checker: the test commits each violation on purpose, without an operator, and the checker finds it.

use connect_api::model::RedeployAction;
use connect_operator::crd::ConnectorDeployment;
use dev_server::Options;
use jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::storm::checker::Report;
use crate::storm::ledger::{plain, token};
use crate::storm::place::Place;

#[tokio::test]
async fn the_checker_finds_each_violation() {
    let place = Place::open("trial", Options::default()).await;
    for name in ["twice", "again", "stranger", "orphan", "stuck", "lying"] {
        place.create(name).await;
    }
    let deploy = |name: &str| place.deploy(&place.key(name), &plain(1), &token(name, 1));
    let now = || place.dev.now();
    let mut expected = Vec::new();
    let mut expect = |what: &'static str, count: usize| expected.push((what, count));

    let first = deploy("twice");
    place.dev.world().remove(&first, now()).unwrap();
    deploy("twice");
    expect("duplicate creates", 1);

    let again = deploy("again");
    place.dev.world().redeploy_elsewhere(&again, &RedeployAction::default(), now()).unwrap();
    place.dev.world().finish(&again, now()).unwrap();
    expect("needless redeploys", 1);

    place.dev.world().redeploy_elsewhere(&place.strangers[0], &RedeployAction::default(), now()).unwrap();
    expect("foreign deployments touched", 1);

    deploy("orphan");
    place.delete("orphan").await;
    expect("orphans", 1);

    change(&place, "stuck", json!({"metadata": {"finalizers": ["example.com/for-ever"]}})).await;
    place.delete("stuck").await;
    expect("stuck finalizers", 1);

    let condition = json!({"type": "Ready", "status": "True", "reason": "Deployed", "message": "It is not.",
        "lastTransitionTime": Timestamp::now().to_string()});
    let status = Patch::Merge(json!({"status": {"observedGeneration": 1, "conditions": [condition]}}));
    place.api::<ConnectorDeployment>().patch_status("lying", &PatchParams::default(), &status).await.unwrap();
    expect("false Ready", 1);
    // Neither of these two was ever deployed with the requested values.
    expect("wrong values at the end", 2);
    // All four resources that should exist, as there is no operator.
    expect("not settled", 4);

    let seen = place.watched.until(|latest| {
        let lying = latest.get("lying").is_some_and(|object| crate::storm::watched::is_ready(object));
        let stuck = latest.get("stuck").is_some_and(|object| object.metadata.deletion_timestamp.is_some());
        lying && stuck && latest.len() == 5
    });
    assert!(seen.await, "the watch delivers all of it");
    let mut report = Report::of(&place, &[]);
    report.unsettled(&place);
    assert_eq!(report.found().to_vec(), expected);
    change(&place, "stuck", json!({"metadata": {"finalizers": null}})).await;
}

async fn change(place: &Place, name: &str, change: Value) {
    let api = place.api::<ConnectorDeployment>();
    api.patch(name, &PatchParams::default(), &Patch::Merge(change)).await.unwrap();
}
