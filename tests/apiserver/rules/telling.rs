//! What the operator reports to users and other workloads beside the conditions: outputs, Events, columns.

use crate::prelude::*;

fn outputs() -> Value {
    json!({"outputs": {"configMap": {"name": "tax-outputs"}}})
}

#[tokio::test]
async fn outputs_are_written_restored_and_deleted_with_the_resource() {
    let shop = Leaping::open().await;
    shop.put_token("first-token-of-the-shop").await;
    let mut change = outputs();
    change["connector"] = json!({"key": "demo-pipeline"});
    change["configurations"] = json!([
        {"applicationName": "nightly-export", "standardConfiguration": [{"key": "TARGET", "value": "ftp"}]},
    ]);
    change["globalConfiguration"] = json!({
        "standardConfiguration": [{"key": "SHOP_NAME", "value": "Shop"}],
        "securedConfiguration": [{"key": "WEBHOOK_SECRET", "valueFrom": {"secretKeyRef": {"name": SECRET, "key": "token"}}}],
    });
    shop.apply_deployment(&change).await;
    let live = shop.finish("Deployed").await;
    let applications = status(&live).applications;
    let url = applications.iter().find_map(|application| application.url.clone()).expect("a service has a URL");
    let topic = applications.iter().find_map(|application| application.topic.clone()).expect("an event has a topic");
    let expected = json!({"intake.url": url, "order-events.topic": topic});
    let right = |config_map: &ConfigMap| serde_json::to_value(&config_map.data).unwrap() == expected;
    let written: ConfigMap = shop.until_object("tax-outputs", "the outputs", right).await;
    let owners: Vec<_> =
        written.owner_references().iter().map(|owner| (owner.kind.as_str(), owner.uid.as_str())).collect();
    assert_eq!(owners, [("ConnectorDeployment", live.uid().expect("a uid").as_str())]);

    // A change by others is restored within seconds.
    let api = shop.api::<ConfigMap>();
    let spoiled = json!({"data": {"intake.url": "elsewhere", "more": "value"}});
    shop.patch::<ConfigMap>("tax-outputs", &spoiled).await;
    shop.clock.step(Duration::from_secs(1));
    let _: ConfigMap = shop.until_object("tax-outputs", "restored", right).await;
    api.delete("tax-outputs", &DeleteParams::default()).await.unwrap();
    shop.clock.step(Duration::from_secs(1));
    let again: ConfigMap = shop.until_object("tax-outputs", "created again", right).await;
    assert_ne!(again.uid(), written.uid());
    assert_eq!(shop.sent(), [1, 0, 0]);
}

#[tokio::test]
async fn rule_19_a_foreign_output_config_map_is_not_overwritten_and_reported() {
    let shop = Leaping::open().await;
    shop.put_config_map("tax-outputs", &[("theirs", "value")]).await;
    shop.apply_deployment(&outputs()).await;
    let conflict = shop.finish("OutputConflict").await;
    assert_eq!(ready(&conflict).0, "False");
    assert!(is(&conflict, names::STALLED));
    let api = shop.api::<ConfigMap>();
    let theirs = api.get("tax-outputs").await.unwrap();
    assert_eq!(serde_json::to_value(&theirs.data).unwrap(), json!({"theirs": "value"}));
    api.delete("tax-outputs", &DeleteParams::default()).await.unwrap();
    shop.clock.step(Duration::from_secs(1));
    shop.until_reason("Deployed").await;
    assert_eq!(shop.sent(), [1, 0, 0]);
}

#[tokio::test]
async fn outputs_that_a_backup_has_restored_without_their_owner_are_taken_over() {
    let shop = Leaping::live_as(&outputs()).await;
    let api = shop.api::<ConfigMap>();
    let written = api.get("tax-outputs").await.unwrap();
    let owners = |config_map: &ConfigMap| config_map.owner_references().to_vec();
    let stranger = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "1", "controller": true}]);
    let old = json!({"service.url": "https://old.example"});
    for (case, metadata, data, taken) in [
        ("of an operator, with an older address", json!({"ownerReferences": null}), old.clone(), true),
        ("of somebody else, with the same content", json!({"ownerReferences": null, "labels": null}), json!({}), true),
        ("of another controller", json!({"ownerReferences": stranger}), json!({}), false),
        ("of nobody, with another content", json!({"ownerReferences": null, "labels": null}), old, false),
    ] {
        shop.patch::<ConfigMap>("tax-outputs", &json!({"metadata": metadata, "data": data})).await;
        let right = |now: &ConfigMap| now.data == written.data && owners(now) == owners(&written);
        if taken {
            shop.until_object("tax-outputs", case, right).await;
            shop.until_reason("Deployed").await;
        } else {
            assert_eq!(ready(&shop.reconcile_again().await).1, "OutputConflict", "{case}");
        }
    }
    assert_eq!(shop.sent(), [1, 0, 0]);
}

#[tokio::test]
async fn each_transition_is_an_event() {
    let shop = Leaping::applied(&level("loud")).await;
    shop.finish("DeploymentFailed").await;
    shop.pass(Duration::from_mins(10)).await;
    shop.redeploy(&json!({"spec": level("debug")}), "Deployed").await;
    shop.pass(Duration::from_mins(10)).await;
    shop.delete().await;
    shop.undeployed().await;
    shop.until_event("Undeployed").await;
    for begun in ["Creating", "Undeploying"] {
        assert!(shop.events(begun).await.is_empty(), "{begun}: the outcome of a call that was accepted has an Event");
    }
    for reason in ["DeploymentFailed", "Redeploying", "Deployed", "Undeployed"] {
        let notes = shop.events(reason).await;
        assert_eq!(notes.len(), 1, "{reason}: {notes:?}");
        assert!(!notes[0].is_empty(), "{reason}");
    }
    let note = shop.events("Redeploying").await.remove(0);
    assert!(note.starts_with("Sent the redeploy of deployment "), "{note}");
    assert!(note.contains(": version ") && note.contains(" → "), "{note}");
}

#[tokio::test]
async fn a_change_that_is_not_sent_is_no_event_of_a_redeploy() {
    let shop = Leaping::live().await;
    let service = |key: &str| json!({"configurations": [{"applicationName": "service", "standardConfiguration": [{"key": key, "value": "a"}]}]});
    shop.change_until(&json!({"spec": service("LOG_LEVLE")}), "ConfigurationInvalid").await;
    let mut held = level("debug");
    held["suspend"] = json!(true);
    shop.change_until(&json!({"spec": held}), "Suspended").await;
    shop.until_event("Suspended").await;
    assert_eq!(shop.events("Redeploying").await, Vec::<String>::new());
    assert_eq!(shop.sent(), [1, 0, 0]);
}

#[tokio::test]
async fn rule_19_conditions_beside_ready_exist_while_true_and_foreign_ones_are_kept() {
    let shop = Leaping::live().await;
    let kubectl = async |arguments: &[&str]| shop.sandbox.succeed(arguments, "").await;
    let types = |object: &_| status(object).conditions.into_iter().map(|condition| condition.type_).collect::<Vec<_>>();
    assert_eq!(types(&shop.get().await), ["Ready", "Available"], "nothing else is true");
    let theirs = json!([{"op": "add", "path": "/status/conditions/-", "value": {
        "type": "example.com/Approved", "status": "True", "reason": "Reviewed", "message": "fine",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }}]);
    kubectl(&["patch", "cdep", "tax", "--subresource=status", "--type=json", "--patch", &theirs.to_string()]).await;
    shop.change(&json!({"spec": {"suspend": true}})).await;
    let held = shop.until("it is suspended", |object| is(object, names::SUSPENDED)).await;
    assert!(is(&held, "example.com/Approved"), "{:?}", status(&held).conditions);
    kubectl(&["wait", "--for=condition=Suspended", "cdep/tax", &timeout_option()]).await;
}
