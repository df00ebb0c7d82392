//! CRDs of another version than the operator's: older ones, with which nothing may be sent, and newer ones.

use crate::prelude::*;

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
    let mut operator = operators::process(&shop.sandbox, namespace)
        .args(["--log-format", "text"])
        .env("RUST_LOG", "info")
        .stderr(Stdio::piped())
        .spawn()
        .expect("the operator starts");
    let mut log = BufReader::new(operator.stderr.take().expect("it is piped")).lines();
    // The API server may publish the schemas of the new CRDs a moment later; until then whole CRDs are missing.
    let missing = "connectordeployments.connect-operator.io: .status.state";
    let seen = operators::until_line(&mut log, missing).await;
    assert!(seen.last().is_some_and(|line| line.contains("waiting for the CRDs")), "{seen:?}");
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
    assert_eq!(object.data["status"]["ofTomorrow"], json!("kept"));
    assert_eq!(object.data["spec"]["ofTomorrow"], json!("kept"));
}

/// After a rollback, one object has a value that only a newer version knows: the others are reconciled, and so is this
/// one once it is valid again.
async fn does_not_reconcile_unreadable_objects(shop: &Shop) {
    let policy = |policy: &str| json!({"spec": {"connector": {"updatePolicy": policy}}});
    shop.sandbox.change(&shop.deployment(), &policy("Weekly")).await.unwrap();
    shop.until_event("NotUnderstood").await;
    let note = shop.events("NotUnderstood").await.remove(0);
    assert!(note.contains("Weekly") && note.contains("Update the operator"), "{note}");

    // Both use this Secret; the redeploy of the other one shows that its change has arrived.
    shop.sandbox.apply(&named(shop.deployment(), "vat")).await.unwrap();
    shop.sandbox.until_reason("vat", "Deployed").await;
    let redeploys = || shop.calls("updateDeploymentById");
    let before = redeploys();
    shop.put_token("third-token-of-the-shop").await;
    shop.until_object("vat", "redeployed", is_redeployed).await;
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

async fn untyped(shop: &Shop) -> DynamicObject {
    shop.sandbox.api(&shop.deployment()).get("tax").await.unwrap()
}
