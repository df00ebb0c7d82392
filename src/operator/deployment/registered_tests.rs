use std::sync::Arc;

use connect_api::model::{DeclaredApplication, IsPreviewable};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::crd::ConnectorDeploymentSpec;

/// The registry has this version, with applications of these names; `None`: it does not say which.
fn registered(version: i64, applications: Option<&[&str]>) -> Registered {
    let applications = applications.map(|names| names.iter().map(|name| application(name)).collect());
    let offering = RegistryConnector { version, applications, ..RegistryConnector::default() };
    let found = RegistryAnswer::There(Arc::new(offering));
    let registry_entry = RegistryEntry { at: Timestamp::UNIX_EPOCH, found, current: true };
    Registered { registry_entry: Some(registry_entry), deployable: None }
}

fn application(name: &str) -> DeclaredApplication {
    serde_json::from_value(json!({"applicationName": name, "applicationType": "job"})).expect("an application")
}

/// A resource whose last operation ended with version 2.
fn object(change: &Value) -> ConnectorDeployment {
    let mut spec = json!({"projectRef": {"name": "shop"}, "connector": {"key": "tax"}});
    spec.as_object_mut().expect("an object").extend(change.as_object().expect("an object").clone());
    let spec: ConnectorDeploymentSpec = serde_json::from_value(spec).expect("a spec");
    let mut object = ConnectorDeployment::new("tax", spec);
    let applied = json!({"generation": 1, "digest": "v1:aa", "at": "2026-01-01T00:00:00Z", "connectorVersion": 2,
        "outcome": "Deployed", "serves": true});
    let status = json!({"observedGeneration": 1, "state": json!({"v": 1, "applied": applied}).to_string()});
    object.status = Some(serde_json::from_value(status).expect("a status"));
    object
}

/// A deployment of this version that has these applications, and whose connector declares them.
fn record(version: i64, declares: Option<&[&str]>, has: &[&str]) -> Deployment {
    let named = |name: &&str| json!({"applicationName": name, "applicationType": "job"});
    let configurations = declares.map(|names| names.iter().map(named).collect::<Vec<_>>());
    serde_json::from_value(json!({
        "id": "1", "version": 1, "status": "Deployed", "applications": has.iter().map(named).collect::<Vec<_>>(),
        "connector": {"id": "9", "key": "tax", "version": version, "configurations": configurations},
    }))
    .expect("a record")
}

#[test]
fn the_latest_version_is_that_of_a_published_connector_or_since_which_a_staged_one_can_be_deployed() {
    let staged = |deployable| {
        let offering =
            RegistryConnector { version: 7, previewable: Some(IsPreviewable::Yes), ..RegistryConnector::default() };
        let found = RegistryAnswer::There(Arc::new(offering));
        let registry_entry = RegistryEntry { at: Timestamp::UNIX_EPOCH, found, current: true };
        Registered { registry_entry: Some(registry_entry), deployable }
    };
    for (case, registered, latest) in [
        ("published", registered(5, None), Some(5)),
        ("staged", staged(None), None),
        ("of a stagedRef", staged(Some(4)), Some(4)),
        ("not read", Registered::default(), None),
    ] {
        assert_eq!(registered.latest(), latest, "{case}");
    }
}

#[test]
fn rule_14_the_declarations_are_those_of_the_version_that_will_run() {
    let latest = json!({"connector": {"key": "tax", "updatePolicy": "Latest"}});
    let correct = json!({"drift": {"policy": "Correct"}});
    let old = Some(&["old"][..]);
    let new = Some(&["new"][..]);
    let rolled_back = || Some(record(1, old, &[]));
    for (case, spec, registered, record, expected) in [
        ("a create", json!({}), registered(2, new), None, Some("new")),
        ("a redeploy", json!({}), registered(3, new), Some(record(2, old, &[])), Some("old")),
        ("a record that does not declare", json!({}), registered(2, new), Some(record(2, None, &[])), Some("new")),
        ("a move to the latest version", latest.clone(), registered(3, new), Some(record(2, old, &[])), Some("new")),
        ("one of which nothing is known", latest.clone(), registered(3, None), Some(record(2, old, &[])), Some("old")),
        ("it runs already", latest, registered(2, new), Some(record(2, old, &[])), Some("old")),
        ("rolled back outside of this resource", json!({}), registered(2, new), rolled_back(), Some("old")),
        ("which is corrected", correct, registered(2, new), rolled_back(), Some("new")),
        ("nothing is known", json!({}), Registered::default(), None, None),
    ] {
        let declared = registered.declarations(&object(&spec), record.as_ref());
        let names = declared.map(|declared| declared.applications.into_keys().collect::<Vec<_>>().join(" "));
        assert_eq!(names.as_deref(), expected, "{case}");
    }
}

#[test]
fn a_call_is_compared_with_what_the_version_declares_that_it_deploys() {
    use CallKind::{Create, Move, Redeploy, Undeploy};
    let outdated = || {
        let mut registered = registered(2, Some(&["a"]));
        if let Some(entry) = &mut registered.registry_entry {
            entry.current = false;
        }
        registered
    };
    let (a, ab) = (Some(&["a"][..]), Some(&["a", "b"][..]));
    let version = |version: i64| json!({"connector": {"key": "tax", "version": version}});
    // The values have an application `b`.
    for (case, spec, registered, record, call, expected) in [
        ("it is declared", json!({}), registered(2, ab), None, Create, ("", false)),
        ("it is not", json!({}), registered(2, a), None, Create, ("no application b", true)),
        ("the registry cannot be read now", json!({}), outdated(), None, Create, ("", false)),
        ("of the version of the spec", version(2), registered(2, a), None, Create, ("no application b", true)),
        ("another version than that of the spec", version(1), registered(2, a), None, Create, ("", false)),
        ("a move", json!({}), registered(2, a), Some(record(1, ab, &["a", "b"])), Move, ("no application b", true)),
        (
            "a move of a deployment that lacks it",
            json!({}),
            registered(2, ab),
            Some(record(1, ab, &["a"])),
            Move,
            ("no application b", true),
        ),
        ("a redeploy", json!({}), registered(2, a), Some(record(1, ab, &["a", "b"])), Redeploy, ("", false)),
        (
            "a redeploy of a deployment that lacks it",
            json!({}),
            registered(2, ab),
            Some(record(1, ab, &["a"])),
            Redeploy,
            ("no application b", false),
        ),
        (
            "the registry declares the running version",
            json!({}),
            registered(2, a),
            Some(record(2, None, &["a"])),
            Redeploy,
            ("no application b", false),
        ),
        ("and not another one", json!({}), registered(3, a), Some(record(2, None, &["a"])), Redeploy, ("", false)),
        ("an undeploy", json!({}), registered(2, a), Some(record(1, a, &["a"])), Undeploy, ("", false)),
    ] {
        let mut desired = Desired::default();
        desired.values.applications.insert("b".into());
        let (problems, by_registry) = registered.problems(&object(&spec), &desired, "a.b", record.as_ref(), call);
        let problems = problems.join("; ");
        assert!(problems.contains(expected.0) && problems.is_empty() == expected.0.is_empty(), "{case}: {problems}");
        assert_eq!(by_registry, expected.1, "{case}");
    }
}

#[test]
fn a_call_needs_the_rights_of_what_it_does() {
    use CallKind::{Create, Move, Recreate, Redeploy, Undeploy};
    use Right::{GenerateApiClients, ManageDeployments, ViewConnectors};
    let plain = RegistryConnector { applications: Some(Vec::new()), ..RegistryConnector::default() };
    let generating = RegistryConnector { api_client: vec!["manage_orders".into()], ..plain.clone() };
    let undeclared = RegistryConnector::default();
    for (case, offering, call, needed, suspected) in [
        ("create", Some(&plain), Create, &[ManageDeployments][..], &[ManageDeployments][..]),
        (
            "create with an API client",
            Some(&generating),
            Create,
            &[ManageDeployments, GenerateApiClients],
            &[GenerateApiClients, ManageDeployments],
        ),
        ("create, not read", None, Create, &[ManageDeployments, ViewConnectors], &[ManageDeployments]),
        ("create, undeclared", Some(&undeclared), Create, &[ManageDeployments, ViewConnectors], &[ManageDeployments]),
        ("redeploy, not read", None, Redeploy, &[ManageDeployments], &[ManageDeployments]),
        ("redeploy", Some(&generating), Redeploy, &[ManageDeployments], &[ManageDeployments]),
        ("move, not read", None, Move, &[ManageDeployments, ViewConnectors], &[ManageDeployments]),
        (
            "move, which may generate an API client",
            Some(&generating),
            Move,
            &[ManageDeployments],
            &[ManageDeployments, GenerateApiClients],
        ),
        (
            "deleted to be created again",
            Some(&generating),
            Recreate,
            &[ManageDeployments, GenerateApiClients],
            &[ManageDeployments],
        ),
        ("undeploy", Some(&generating), Undeploy, &[ManageDeployments], &[ManageDeployments]),
    ] {
        let found =
            offering.map_or(RegistryAnswer::Unreadable, |offering| RegistryAnswer::There(Arc::new(offering.clone())));
        let registry_entry = RegistryEntry { at: Timestamp::UNIX_EPOCH, found, current: true };
        let registered = Registered { registry_entry: Some(registry_entry), deployable: None };
        assert_eq!(registered.rights(call), needed, "{case}");
        assert_eq!(suspects(call, registered.generates_api_client()), suspected, "{case}");
    }
}
