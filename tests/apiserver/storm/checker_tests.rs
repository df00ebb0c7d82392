//! Tests of the checker: the test commits each violation on purpose, without an operator, and the checker finds it.

use crate::prelude::*;
use crate::storm::requested::{plain, token};

#[tokio::test]
async fn the_checker_finds_each_violation() {
    let env = Environment::open("trial", Options::default()).await;
    for name in ["twice", "again", "stranger", "orphan", "stuck", "lying"] {
        env.create(name).await;
    }
    let deploy = |name: &str| env.deploy(&env.key(name), &plain(1), &token(name, 1));
    let now = || env.dev.now();
    let mut expected = Vec::new();
    let mut expect = |what: &'static str, count: usize| expected.push((what, count));

    let first = deploy("twice");
    env.dev.world().remove(&first, now()).unwrap();
    deploy("twice");
    expect("duplicate creates", 1);

    let again = deploy("again");
    env.dev.world().redeploy_elsewhere(&again, &RedeployAction::default(), now()).unwrap();
    env.dev.world().finish(&again, now()).unwrap();
    expect("needless redeploys", 1);

    env.dev.world().redeploy_elsewhere(&env.strangers[0], &RedeployAction::default(), now()).unwrap();
    expect("foreign deployments touched", 1);

    deploy("orphan");
    env.delete("orphan").await;
    expect("orphans", 1);

    change(&env, "stuck", json!({"metadata": {"finalizers": ["example.com/for-ever"]}})).await;
    env.delete("stuck").await;
    expect("stuck finalizers", 1);

    let condition = json!({"type": "Ready", "status": "True", "reason": "Deployed", "message": "It is not.",
        "lastTransitionTime": Timestamp::now().to_string()});
    let status = Patch::Merge(json!({"status": {"observedGeneration": 1, "conditions": [condition]}}));
    env.api::<ConnectorDeployment>().patch_status("lying", &PatchParams::default(), &status).await.unwrap();
    expect("false Ready", 1);
    // Neither of these two was ever deployed with the requested values.
    expect("wrong values at the end", 2);
    // All four resources that should exist, as there is no operator.
    expect("not settled", 4);

    let seen = env.watched.until(|latest| {
        let lying = latest.get("lying").is_some_and(|object| crate::rules::is(object, "Ready"));
        let stuck = latest.get("stuck").is_some_and(|object| object.metadata.deletion_timestamp.is_some());
        lying && stuck && latest.len() == 5
    });
    assert!(seen.await, "the watch delivers all of it");
    let mut report = Report::of(&env);
    report.unsettled(&env);
    assert_eq!(report.found().to_vec(), expected);
    change(&env, "stuck", json!({"metadata": {"finalizers": null}})).await;
}

async fn change(env: &Environment, name: &str, change: Value) {
    let api = env.api::<ConnectorDeployment>();
    api.patch(name, &PatchParams::default(), &Patch::Merge(change)).await.unwrap();
}
