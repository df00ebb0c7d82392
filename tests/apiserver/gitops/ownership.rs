//! Who owns which field: users and their tools own the spec; the operator owns the status, its finalizer and one
//! annotation.

use crate::prelude::*;

/// The fields that the platform team adds to every deployment.
fn of_the_platform(interval: &str) -> Value {
    json!({
        "apiVersion": "connect-operator.io/v1alpha1",
        "kind": "ConnectorDeployment",
        "metadata": {"name": NAME, "labels": {"cost-center": "42"}},
        "spec": {"interval": interval, "driftPolicy": "Correct", "readyWhen": ["NoWarnings"]},
    })
}

#[tokio::test]
async fn two_managers_apply_their_own_fields_without_conflicts_with_the_operator() {
    let shop = Shop::open().await;
    shop.put_token("first-token-of-the-shop").await;
    shop.sandbox.apply_as("team", &shop.deployment()).await.unwrap();
    shop.sandbox.apply_as("platform", &of_the_platform("10m")).await.unwrap();
    shop.until_reason("Deployed").await;

    // Both apply again after the operator has written; and each changes a field of its own.
    shop.sandbox.apply_as("team", &shop.deployment()).await.unwrap();
    shop.sandbox.apply_as("platform", &of_the_platform("20m")).await.unwrap();
    let mut louder = shop.deployment();
    louder["spec"]["configurations"][0]["standardConfiguration"][0]["value"] = json!("debug");
    shop.sandbox.apply_as("team", &louder).await.unwrap();
    shop.until("the change is live", |object| json!(object.status)["remote"]["version"] == 2).await;
    let live = json!(shop.get().await);
    let (team, platform) = (&louder["spec"], &of_the_platform("20m")["spec"]);
    for wanted in [team, platform] {
        for (field, value) in wanted.as_object().unwrap() {
            assert_eq!(&live["spec"][field], value, "{field}");
        }
    }
    assert_eq!(shop.calls("updateDeploymentById"), 1, "a changed interval causes no redeploy");

    // A field of another manager is refused, and changed only with force.
    let mut stranger = of_the_platform("20m");
    stranger["spec"]["connector"] = json!({"updatePolicy": "Latest"});
    stranger["spec"]["configurations"] = louder["spec"]["configurations"].clone();
    stranger["spec"]["configurations"][0]["standardConfiguration"][0]["value"] = json!("error");
    let refused = shop.sandbox.apply_as("platform", &stranger).await.unwrap_err();
    assert!(refused.contains("conflict with \"team\"") && refused.contains(".spec.configurations"), "{refused}");
    let forced = PatchParams::apply("platform").force().validation_strict();
    shop.sandbox.api(&stranger).patch(NAME, &forced, &Patch::Apply(&stranger)).await.unwrap();
    shop.until("the forced change is live", |object| json!(object.status)["remote"]["version"] == 3).await;
    let refused = shop.sandbox.apply_as("team", &louder).await.unwrap_err();
    assert!(refused.contains("conflict with \"platform\""), "{refused}");

    // A field that its only manager leaves out is removed.
    let mut less = stranger.clone();
    less["spec"].as_object_mut().unwrap().remove("driftPolicy");
    shop.sandbox.apply_as("platform", &less).await.unwrap();
    assert_eq!(json!(shop.get().await)["spec"]["driftPolicy"], Value::Null);
    only_its_own(&json!(shop.get().await));
}

/// Asserts that the operator owns only the status, its finalizer and its annotations of an object that users write.
pub(super) fn only_its_own(object: &Value) {
    let name = format!("{} {}", object["kind"], object["metadata"]["name"]);
    let managers = object["metadata"]["managedFields"].as_array().expect("managed fields");
    let ours: Vec<_> = managers.iter().filter(|entry| entry["manager"] == names::FIELD_MANAGER).collect();
    assert!(!ours.is_empty(), "{name}: the operator has written");
    for entry in ours {
        for (field, owned) in entry["fieldsV1"].as_object().expect("fields") {
            match field.as_str() {
                "f:status" => {}
                "f:metadata" => metadata(&name, owned),
                _ => panic!("{name}: the operator owns {field}: {owned}"),
            }
        }
    }
    // A write under another manager's name would hide what the operator does.
    for entry in managers.iter().filter(|entry| entry["manager"] != names::FIELD_MANAGER) {
        assert!(entry["fieldsV1"]["f:status"].is_null(), "{name}: {} owns a status", entry["manager"]);
    }
}

fn metadata(name: &str, owned: &Value) {
    for (field, inner) in owned.as_object().expect("fields") {
        let inner: Vec<_> = inner.as_object().into_iter().flat_map(|inner| inner.keys()).collect();
        match field.as_str() {
            "f:finalizers" => {}
            "f:annotations" => {
                let ours = format!("f:{}", names::REMOTE_ID);
                assert!(inner.iter().all(|it| **it == ours || **it == "."), "{name}: {inner:?}");
            }
            _ => panic!("{name}: the operator owns metadata {field}"),
        }
    }
}
