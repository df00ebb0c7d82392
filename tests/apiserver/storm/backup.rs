//! A backup without status is restored into a fresh cluster: live deployments stay as they are, and are recognized.

use std::time::Duration;

use connect_operator::crd::{self, ConnectorDeployment};
use connect_operator::names;
use dev_server::Options;
use kube::api::{Patch, PatchParams};
use kube::{Resource, ResourceExt};
use serde_json::{Value, json};

use crate::cluster;
use crate::storm::checker::Report;
use crate::storm::environment::Environment;
use crate::storm::size::pick;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restored_backup_sends_nothing_and_is_recognized() {
    let resources = pick(8, 50);
    let options = Options { deploy_duration: Duration::from_millis(500), ..Options::default() };
    let env = Environment::open("backup", options).await;
    let operator = env.operator().now();
    let names: Vec<_> = (0..resources).map(|number| format!("tax-{number}")).collect();
    for name in &names {
        env.create(name).await;
    }
    Report::must_settle(&env).await;
    for name in names.iter().step_by(2) {
        env.rotate(name).await;
    }
    Report::must_settle(&env).await;
    // The annotation with the id follows at the next poll.
    let annotated = |object: &ConnectorDeployment| object.annotations().contains_key(names::REMOTE_ID);
    assert!(
        env.watched.until(|latest| latest.values().all(|object| annotated(object))).await,
        "not all are annotated in time"
    );
    operator.kill().await;
    env.watched.end();

    let restored = env.move_to(cluster::fresh(crd::all()).await).await;
    for object in env.watched.latest().values() {
        restore(&restored, object).await;
    }
    let sent = sent(&env);
    let operator = restored.operator().now();
    Report::must_settle(&restored).await;
    assert_eq!(self::sent(&env), sent, "the restore sent nothing");
    Report::at_the_end(&restored, &[&env], vec![operator], &[("restored", resources)]).await;
}

/// Restores an object as backup programs do: from the manifest without the status and without what the API server sets.
/// The finalizers are left out too, because the fresh cluster does not know their controllers.
async fn restore(env: &Environment, object: &ConnectorDeployment) {
    let name = object.name_any();
    let asked = env.requested.all().remove(&name).expect("it was requested");
    let secret = env.put_secret(&name, json!({"token": crate::storm::requested::token(&name, asked.now.token)})).await;
    env.remember_secret(&name, &secret, asked.now.token);
    let kept = object.annotations();
    assert!(kept.contains_key(names::REMOTE_ID), "the backup contains the remote id");
    let mut manifest: Value = serde_json::to_value(object).unwrap();
    manifest.as_object_mut().unwrap().remove("status");
    manifest["metadata"] = json!({"name": name, "annotations": kept, "labels": object.labels()});
    manifest["apiVersion"] = json!(ConnectorDeployment::api_version(&()));
    manifest["kind"] = json!(ConnectorDeployment::kind(&()));
    let parameters = PatchParams::apply("storm").force();
    let restored = env.api::<ConnectorDeployment>().patch(&name, &parameters, &Patch::Apply(manifest)).await.unwrap();
    env.remember(&name, &restored, asked.now.plain);
}

/// Returns the number of creates, redeploys and undeploys that arrived so far.
fn sent(env: &Environment) -> usize {
    env.dev.calls().iter().filter(|call| call.method != "GET" && call.operation != "token").count()
}
