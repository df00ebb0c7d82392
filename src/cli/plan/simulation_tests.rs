use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::crd::shared::RemoteIdentity;
use crate::operator::deployment::application_urls::urls;
use crate::operator::deployment::desired::{Contents, from_spec};
use crate::operator::deployment::state;
use crate::operator::remote::{RegistryConnector, RegistryEntry};
use crate::operator::values::digest::{Comparison, KEY_LENGTH};
use crate::operator::values::names::Names;

/// Case, changes of the resource, record at the remote, and the expected projection: action, problem, note.
type Row<'a> = (&'a str, Value, Value, Action, Option<Reason>, Option<&'a str>);

fn now() -> Timestamp {
    Timestamp::from_second(1_000_000).expect("a time in range")
}

fn key() -> DigestKey {
    DigestKey::new([1; KEY_LENGTH])
}

/// A resource with this log level, and changes to it (RFC 7386 without removing).
fn resource(level: &str, change: &Value) -> ConnectorDeployment {
    let mut object = json!({
        "apiVersion": "connect-operator.io/v1alpha1", "kind": "ConnectorDeployment",
        "metadata": {"name": "tax", "namespace": "shop", "generation": 2, "uid": "1"},
        "spec": {
            "projectRef": {"name": "shop"}, "connector": {"key": "tax"},
            "configurations": [{
                "applicationName": "service", "standardConfiguration": [{"key": "LEVEL", "value": level}],
            }],
        },
    });
    for part in ["metadata", "spec", "status"] {
        for (name, value) in change[part].as_object().into_iter().flatten() {
            object[part][name] = value.clone();
        }
    }
    if !object["status"].is_null() {
        object["status"]["observedGeneration"] = json!(1);
        let state = json!({"v": 1, "applied": object["status"]["applied"], "operation": object["status"]["operation"]});
        object["status"]["state"] = json!(state.to_string());
    }
    serde_json::from_value(object).expect("a resource")
}

fn desired(object: &ConnectorDeployment) -> Desired {
    from_spec(&object.spec, &Contents::new(), None).expect("plain values only")
}

/// The `applied` member of the state after this level was applied.
fn applied(level: &str) -> Value {
    let values = desired(&resource(level, &json!({}))).values;
    json!({
        "generation": 1, "digest": key().digest(&values), "outcome": "Deployed", "serves": false,
        "names": Names::of(&values), "at": "1970-01-01T00:00:00Z",
    })
}

fn operation(kind: &str, level: &str) -> Value {
    let values = desired(&resource(level, &json!({}))).values;
    let names = Names::of(&values);
    let visible = key().of_visible(&names, &values.visible);
    json!({
        "type": kind, "state": "Accepted", "attempt": 1, "generation": 1,
        "payload": {"digest": key().digest(&values), "visible": visible, "names": names},
        "startedAt": "1970-01-12T13:46:00Z",
    })
}

fn record(status: &str, level: &str) -> Value {
    json!({
        "id": "remote", "key": "shop_tax", "version": 1, "status": status, "type": "sandbox",
        "deployedRegion": "europe-west1.gcp", "connector": {"id": "9", "key": "tax", "version": 1},
        "applications": [{
            "applicationName": "service", "standardConfiguration": [{"key": "LEVEL", "value": level}],
        }],
    })
}

fn foreseen(object: &ConnectorDeployment, record: &Value) -> Projection {
    foreseen_in(object, record, &[], &Registered::default())
}

/// The same with this registry.
fn foreseen_in(object: &ConnectorDeployment, record: &Value, granted: &[&str], registered: &Registered) -> Projection {
    let granted: Vec<_> = granted.iter().map(|scope| (*scope).to_owned()).collect();
    let remote = RemoteIdentity { api_url: "https://api".into(), project_key: "demo".into() };
    let wanted = intent::identity_in(object, remote, "europe-west1.gcp");
    let record = (!record.is_null()).then(|| Arc::new(serde_json::from_value(record.clone()).expect("a record")));
    let read = RecordRead { at: now(), record, key_held_by: None };
    let persisted = object.status.as_ref().map(state::shown).unwrap_or_default();
    let mut desired = desired(object);
    // The values of the cluster are known if they are those that were applied last.
    let digest = persisted.applied.as_ref().and_then(|applied| applied.digest.as_ref());
    let is_known = digest.is_some_and(|digest| digest.compare(&key().digest(&desired.values)) == Comparison::Same);
    let applied = is_known.then(|| desired.values.clone());
    desired.resolve(&urls(read.record.as_deref(), &persisted));
    let (desired, target) = (Ok(desired), intent::target(object, None).expect("a connector"));
    let (after, key, registered, now) = (object, &DigestKey::new([2; KEY_LENGTH]), registered.clone(), now());
    Inputs { after, wanted, target, registered, read, desired, persisted, applied, key, granted, now }.simulate()
}

#[test]
fn a_create_is_predicted_only_if_the_operator_would_send_it() {
    let declares = |applications: Option<Value>, scopes: &[&str]| {
        let applications = applications.map(|it| serde_json::from_value(it).expect("declarations"));
        let api_client = scopes.iter().map(|scope| (*scope).to_owned()).collect();
        RegistryAnswer::There(Arc::new(RegistryConnector { applications, api_client, ..RegistryConnector::default() }))
    };
    let service = || {
        Some(json!([{"applicationName": "service", "applicationType": "service",
            "standardConfiguration": [{"key": "LEVEL", "description": ""}]}]))
    };
    let (deploys, generates) = ("manage_connectors_deployments:demo", "manage_api_clients:demo");
    let project = "manage_project:demo";
    let client = || declares(service(), &["manage_orders"]);
    let other = declares(Some(json!([{"applicationName": "job"}])), &[]);
    for (case, found, granted, problem, words) in [
        ("declared", declares(service(), &[]), &[deploys][..], None, ""),
        ("declares nothing", declares(None, &[]), &[], Some(Reason::DeclarationsUnknown), "each application"),
        ("not read", RegistryAnswer::Unreadable, &[], Some(Reason::DeclarationsUnknown), "view_connectors:demo"),
        ("no such connector", RegistryAnswer::Absent, &[], Some(Reason::ConnectorNotFound), "spec.connector"),
        ("without its scope", client(), &[project], Some(Reason::PermissionMissing), "lacks manage_api_clients:demo"),
        ("an API client", client(), &[project, generates], None, ""),
        ("another application", other, &[], Some(Reason::ConfigurationInvalid), "no application service"),
    ] {
        let registry_entry = Some(RegistryEntry { at: now(), found, current: true });
        let registered = Registered { registry_entry, deployable: None };
        let outcome = foreseen_in(&resource("info", &json!({})), &Value::Null, granted, &registered);
        assert_eq!(outcome.problem.as_ref().map(|it| it.reason), problem.map(Reason::as_str), "{case}: {outcome:?}");
        assert_eq!(outcome.action == Action::Create, problem.is_none(), "{case}: {outcome:?}");
        let message = outcome.problem.map(|condition| condition.message).unwrap_or_default();
        assert!(message.contains(words), "{case}: {message}");
        assert!(!message.contains("manage_project") || problem != Some(Reason::PermissionMissing), "{case}: {message}");
    }
}

#[test]
fn operations_in_progress_and_failures_are_taken_into_account() {
    let running = "an operation is in progress at the remote: plan again after it";
    let ours = |status: Value| {
        let mut status = status;
        status["id"] = json!("remote");
        json!({"status": status})
    };
    let live = ours(json!({"applied": applied("info")}));
    let redeploying = |level: &str| ours(json!({"applied": applied("old"), "operation": operation("Redeploy", level)}));
    let creating = |level: &str| json!({"status": {"operation": operation("Create", level)}});
    let with = |mut base: Value, part: &str, change: &Value| {
        base[part] = change.clone();
        base
    };
    let correct = json!({"driftPolicy": "Correct"});
    let asked = json!({"annotations": {names::REDEPLOY_REQUESTED_AT: "now"}});
    let asked_note = format!("the annotation {} requests a redeploy", names::REDEPLOY_REQUESTED_AT);
    let [deployed, drifted] = ["info", "debug"].map(|level| record("Deployed", level));
    let failed = record("Failed", "info");
    let drift_note = "visible values drifted at the remote; see spec.driftPolicy";
    let unknown = json!({"generation": 1, "outcome": "Deployed", "serves": true, "at": "1970-01-01T00:00:00Z"});
    let unknown = ours(json!({"applied": unknown}));
    let unknown_note = "the values that were applied last are not known, so all values are sent again";
    let deleted = json!({"deletionTimestamp": "1970-01-01T00:00:00Z"});
    let deleted_note = "it is being deleted, and applying changes nothing about that";
    let rows: Vec<Row<'_>> = vec![
        ("live", live.clone(), deployed.clone(), Action::None, None, None),
        ("its redeploy runs", redeploying("info"), record("Deploying", "info"), Action::NotKnown, None, Some(running)),
        ("a foreign operation", live.clone(), record("Deploying", "info"), Action::NotKnown, None, Some(running)),
        ("its create runs", creating("info"), record("Queued", "info"), Action::NotKnown, None, Some(running)),
        ("its create is not visible yet", creating("info"), json!(null), Action::NotKnown, None, Some(running)),
        ("never created", json!({}), json!(null), Action::Create, None, None),
        ("deleted at the remote", live.clone(), json!(null), Action::None, Some(Reason::RemoteDisappeared), None),
        ("to be created again", with(live.clone(), "spec", &correct), json!(null), Action::Create, None, None),
        ("drifted", live.clone(), drifted.clone(), Action::None, None, Some(drift_note)),
        ("to be corrected", with(live.clone(), "spec", &correct), drifted, Action::Redeploy, None, None),
        (
            "requested",
            with(live.clone(), "metadata", &asked),
            deployed.clone(),
            Action::Redeploy,
            None,
            Some(&asked_note),
        ),
        ("unknown applied values", unknown, deployed.clone(), Action::Redeploy, None, Some(unknown_note)),
        ("failed, and nothing new", live.clone(), failed, Action::None, Some(Reason::DeploymentFailed), None),
        ("being deleted", with(live, "metadata", &deleted), deployed, Action::None, None, Some(deleted_note)),
    ];
    for (case, change, record, action, problem, notes) in rows {
        let outcome = foreseen(&resource("info", &change), &record);
        assert_eq!(outcome.action, action, "{case}: {outcome:?}");
        assert_eq!(outcome.problem.as_ref().map(|it| it.reason), problem.map(Reason::as_str), "{case}: {outcome:?}");
        assert_eq!(outcome.notes, Vec::from_iter(notes), "{case}");
    }
}

#[test]
fn a_url_of_an_application_is_known_after_deployment() {
    let from =
        json!({"applicationUrl": {"applicationName": "service", "path": "/hook", "placeholder": "https://none"}});
    let values = json!([{"key": "HOOK", "valueFrom": from}]);
    let spec = json!({"configurations": [{"applicationName": "service", "standardConfiguration": values}]});
    let later =
        "known after the deployment, and sent by one more redeploy: service/HOOK; until then the placeholder is sent";
    let new = resource("", &json!({"spec": spec}));
    let live = resource("", &json!({"spec": spec, "status": {"id": "remote", "applied": applied("info")}}));
    let mut shows = record("Deployed", "info");
    shows["applications"][0]["url"] = json!("https://service");
    for (case, object, record, action, value, note) in [
        ("not created yet", &new, json!(null), Action::Create, "https://none", Some(later)),
        ("the record has the URL", &live, shows, Action::Redeploy, "https://service/hook", None),
        ("no URL in the record", &live, record("Deployed", "info"), Action::Redeploy, "https://none", Some(later)),
    ] {
        let outcome = foreseen(object, &record);
        assert_eq!(outcome.action, action, "{case}: {outcome:?}");
        let after = outcome.differences.iter().find(|difference| difference.key.as_deref() == Some("HOOK"));
        assert_eq!(after.and_then(|difference| difference.after.as_deref()), Some(value), "{case}");
        assert_eq!(outcome.notes, Vec::from_iter(note), "{case}");
    }
}
