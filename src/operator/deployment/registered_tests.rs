use std::sync::Arc;

use connect_api::model::{DeclaredApplication, IsPreviewable};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::crd::ConnectorDeploymentSpec;

/// A registry that answers this.
fn answering(found: RegistryAnswer, current: bool) -> Registered {
    let registry_entry = Some(RegistryEntry { at: Timestamp::UNIX_EPOCH, found, current });
    Registered { registry_entry, deployable: None }
}

fn there(offering: RegistryConnector) -> RegistryAnswer {
    RegistryAnswer::There(Arc::new(offering))
}

/// The registry has this version, with applications of these names; `None`: it does not say which.
fn registered(version: i64, applications: Option<&[&str]>) -> Registered {
    let applications = applications.map(|names| names.iter().map(|name| application(name)).collect());
    let offering = RegistryConnector { version, applications, ..RegistryConnector::default() };
    answering(there(offering), true)
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
        let previewable = Some(IsPreviewable::Yes);
        let offering = RegistryConnector { version: 7, previewable, ..RegistryConnector::default() };
        Registered { deployable, ..answering(there(offering), true) }
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
    let correct = json!({"driftPolicy": "Correct"});
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
    let read = |version, applications: Option<&[&str]>| registered(version, applications);
    let outdated = || {
        let found = registered(2, Some(&["a"])).registry_entry.map_or(RegistryAnswer::Unreadable, |entry| entry.found);
        answering(found, false)
    };
    let (a, ab) = (Some(&["a"][..]), Some(&["a", "b"][..]));
    let any = || json!({});
    let version = |version: i64| json!({"connector": {"key": "tax", "version": version}});
    // The deployment has the application `b`, or lacks it; its record may not declare anything.
    let has = || Some(record(1, ab, &["a", "b"]));
    let lacks = || Some(record(1, ab, &["a"]));
    let undeclared = || Some(record(2, None, &["a"]));
    // The values have an application `b`: whether that is a problem, and whether the registry says so.
    for (case, spec, registered, record, call, is_problem, by_registry) in [
        ("it is declared", any(), read(2, ab), None, Create, false, false),
        ("it is not", any(), read(2, a), None, Create, true, true),
        ("the registry cannot be read now", any(), outdated(), None, Create, false, false),
        ("of the version of the spec", version(2), read(2, a), None, Create, true, true),
        ("another version than that of the spec", version(1), read(2, a), None, Create, false, false),
        ("a move", any(), read(2, a), has(), Move, true, true),
        ("a move of a deployment that lacks it", any(), read(2, ab), lacks(), Move, true, true),
        ("a redeploy", any(), read(2, a), has(), Redeploy, false, false),
        ("a redeploy of a deployment that lacks it", any(), read(2, ab), lacks(), Redeploy, true, false),
        ("the registry declares the running version", any(), read(2, a), undeclared(), Redeploy, true, false),
        ("and not another one", any(), read(3, a), undeclared(), Redeploy, false, false),
        ("an undeploy", any(), read(2, a), Some(record(1, a, &["a"])), Undeploy, false, false),
    ] {
        let mut desired = Desired::default();
        desired.values.applications.insert("b".into());
        let (problems, found) = registered.problems(&object(&spec), &desired, "a.b", record.as_ref(), call);
        let problems = problems.join("; ");
        assert_eq!((problems.contains("no application b"), found), (is_problem, by_registry), "{case}: {problems}");
        assert_eq!(problems.is_empty(), !is_problem, "{case}: {problems}");
    }
}

#[test]
fn a_call_needs_the_rights_of_what_it_does() {
    use CallKind::{Create, Move, Recreate, Redeploy, Undeploy};
    use Right::{GenerateApiClients, ManageDeployments, ViewConnectors};
    let plain = RegistryConnector { applications: Some(Vec::new()), ..RegistryConnector::default() };
    let generating = RegistryConnector { api_client: vec!["manage_orders".into()], ..plain.clone() };
    let undeclared = RegistryConnector::default();
    let deploy: &[Right] = &[ManageDeployments];
    let generate: &[Right] = &[ManageDeployments, GenerateApiClients];
    let view: &[Right] = &[ManageDeployments, ViewConnectors];
    let generates = Some(&generating);
    for (case, offering, call, needed, suspected) in [
        ("create", Some(&plain), Create, deploy, deploy),
        ("create with an API client", generates, Create, generate, &[GenerateApiClients, ManageDeployments]),
        ("create, not read", None, Create, view, deploy),
        ("create, undeclared", Some(&undeclared), Create, view, deploy),
        ("redeploy, not read", None, Redeploy, deploy, deploy),
        ("redeploy", generates, Redeploy, deploy, deploy),
        ("move, not read", None, Move, view, deploy),
        ("move, which may generate an API client", generates, Move, deploy, generate),
        ("deleted to be created again", generates, Recreate, generate, deploy),
        ("undeploy", generates, Undeploy, deploy, deploy),
    ] {
        let found = offering.map_or(RegistryAnswer::Unreadable, |offering| there(offering.clone()));
        let registered = answering(found, true);
        assert_eq!(registered.rights(call), needed, "{case}");
        assert_eq!(suspects(call, registered.generates_api_client()), suspected, "{case}");
    }
}
