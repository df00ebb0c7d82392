//! CRDs of another version than the operator's: older ones, with which nothing may be sent, and newer ones.

use std::pin::pin;
use std::process::Stdio;

use clock::Clock;
use connect_operator::crd::{self, ConnectorDeployment};
use futures::{StreamExt, TryStreamExt, future};
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::runtime::watcher;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use crate::cluster::Sandbox;
use crate::patience::in_time;
use crate::security::quick;
use crate::shop::{Shop, state};

/// The CRDs of this version, with a change to the schema of one kind.
fn changed(kind: &str, change: impl Fn(&mut Value)) -> Vec<CustomResourceDefinition> {
    let mut definitions = crd::all();
    for definition in &mut definitions {
        if definition.spec.names.kind == kind {
            let mut value = serde_json::to_value(&*definition).unwrap();
            change(&mut value["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]);
            *definition = serde_json::from_value(value).unwrap();
        }
    }
    definitions
}

/// The CRDs of a version without `status.state`.
fn older() -> Vec<CustomResourceDefinition> {
    changed("ConnectorDeployment", |properties| {
        let status = properties["status"]["properties"].as_object_mut().unwrap();
        status.remove("state").expect("the status has a state");
    })
}

/// The CRDs of a version with another policy, and another field in spec and status.
fn newer() -> Vec<CustomResourceDefinition> {
    changed("ConnectorDeployment", |properties| {
        let policies = &mut properties["spec"]["properties"]["connector"]["properties"]["updatePolicy"]["enum"];
        policies.as_array_mut().expect("a list of words").push(json!("Weekly"));
        for part in ["spec", "status"] {
            properties[part]["properties"]["ofTomorrow"] = json!({"type": "string"});
        }
    })
}

#[tokio::test]
async fn with_older_crds_the_operator_waits_and_with_newer_ones_it_keeps_unknown_fields() {
    let shop = Shop::on(Sandbox::with_definitions(older()).await, quick(), Clock::system()).await;
    shop.put_project_and_secrets().await;
    shop.sandbox.apply(&shop.deployment()).await.unwrap();

    let namespace = &shop.sandbox.namespace;
    let mut operator = Command::new(env!("CARGO_BIN_EXE_connect-operator"))
        .args(["run", "--watch-namespaces", namespace, "--operator-namespace", namespace])
        .args(["--allowed-api-hosts", "http://127.0.0.1:*", "--log-format", "text"])
        .env("KUBECONFIG", shop.sandbox.kubeconfig())
        .env("RUST_LOG", "info")
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("the operator starts");
    let mut log = BufReader::new(operator.stderr.take().expect("it is piped")).lines();
    // The API server may publish the schemas of the new CRDs a moment later; until then whole CRDs are missing.
    let missing = "connectordeployments.connect-operator.io: .status.state";
    let waits = async {
        while let Some(line) = log.next_line().await.unwrap() {
            if line.contains("waiting for the CRDs") && line.contains(missing) {
                return;
            }
        }
        panic!("it ended");
    };
    in_time(waits).await.expect("it logs that it waits for the field");
    let read_on = tokio::spawn(async move { while let Ok(Some(_)) = log.next_line().await {} });
    assert_eq!(shop.dev.calls().len(), 0, "nothing is sent");

    shop.sandbox.install(newer()).await;
    shop.until_reason("Deployed").await;
    keeps_unknown_fields(&shop).await;
    does_not_reconcile_unreadable_objects(&shop).await;
    operator.kill().await.unwrap();
    read_on.await.unwrap();
}

async fn keeps_unknown_fields(shop: &Shop) {
    let of_tomorrow = json!({"status": {"ofTomorrow": "kept"}});
    let deployments: Api<ConnectorDeployment> = shop.api();
    let written = PatchParams::default();
    deployments.patch_status("tax", &written, &Patch::Merge(&of_tomorrow)).await.unwrap();
    shop.sandbox.change(&shop.deployment(), &json!({"spec": {"ofTomorrow": "kept"}})).await.unwrap();
    shop.put_token("second-token-of-the-shop").await;
    shop.until("redeployed", is_redeployed).await;
    let object = untyped(shop).await;
    assert_eq!(
        (&object.data["status"]["ofTomorrow"], &object.data["spec"]["ofTomorrow"]),
        (&json!("kept"), &json!("kept"))
    );
}

/// After a rollback, one object has a value that only a newer version knows: the others are reconciled, and so is this
/// one once it is valid again.
async fn does_not_reconcile_unreadable_objects(shop: &Shop) {
    let policy = |policy: &str| json!({"spec": {"connector": {"updatePolicy": policy}}});
    shop.sandbox.change(&shop.deployment(), &policy("Weekly")).await.unwrap();
    let note = first_note(shop, "NotUnderstood").await;
    assert!(note.contains("Weekly") && note.contains("Update the operator"), "{note}");

    // Both use this Secret; the redeploy of the other one shows that its change has arrived.
    let mut other = shop.deployment();
    other["metadata"]["name"] = json!("vat");
    shop.sandbox.apply(&other).await.unwrap();
    shop.sandbox.until_reason("vat", "Deployed").await;
    let before = shop.dev.calls().into_iter().filter(|call| call.operation == "updateDeploymentById").count();
    shop.put_token("third-token-of-the-shop").await;
    shop.until_object("vat", "redeployed", is_redeployed).await;
    let redeploys = || shop.dev.calls().into_iter().filter(|call| call.operation == "updateDeploymentById").count();
    assert_eq!(redeploys(), before + 1, "one of the two is redeployed");

    shop.sandbox.change(&shop.deployment(), &policy("Pinned")).await.unwrap();
    let third = |object: &ConnectorDeployment| {
        let status = object.status.as_ref().expect("it has a status");
        state(object).operation.is_none()
            && status.observed_generation == object.metadata.generation.unwrap_or_default()
    };
    shop.until("valid again, and redeployed", |object| third(object) && redeploys() == before + 2).await;
}

fn is_redeployed(object: &ConnectorDeployment) -> bool {
    let state = state(object);
    state.operation.is_none() && state.applied.is_some_and(|applied| applied.from_version.is_some())
}

/// The note of the first Event with this reason.
async fn first_note(shop: &Shop, reason: &str) -> String {
    let events = watcher::watcher(shop.api::<Event>(), watcher::Config::default());
    let notes = events.try_filter_map(|event| {
        let note = match event {
            watcher::Event::Apply(event) | watcher::Event::InitApply(event)
                if event.reason.as_deref() == Some(reason) =>
            {
                event.note
            }
            _ => None,
        };
        future::ready(Ok(note))
    });
    let first = in_time(pin!(notes).next()).await.expect("an Event");
    first.expect("the watch does not end").expect("the Events can be watched")
}

async fn untyped(shop: &Shop) -> DynamicObject {
    shop.sandbox.api(&shop.deployment()).get("tax").await.unwrap()
}
