use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::*;
use crate::controllers::connector_deployment::declared::DeclaredKeys;
use crate::controllers::values::ApplicationValues;

/// A deployment: declared applications with their types, and listed ones with whether they have a URL.
fn record(status: &str, declared: &[(&str, &str)], listed: &[(&str, bool)]) -> Deployment {
    let declared: Vec<Value> =
        declared.iter().map(|(name, kind)| json!({"applicationName": name, "applicationType": kind})).collect();
    let listed: Vec<Value> = listed
        .iter()
        .map(|(name, url)| {
            let mut application = json!({"id": "1", "applicationName": name, "standardConfiguration": [],
                "securedConfiguration": []});
            if *url {
                application["url"] = json!("https://service.example");
            }
            application
        })
        .collect();
    serde_json::from_value(json!({
        "id": "d1", "version": 1, "type": "sandbox", "deployedRegion": "europe-west1.gcp", "preview": false,
        "status": status, "details": {}, "applications": listed,
        "connector": {"id": "c1", "key": "tax", "version": 1, "name": "Tax", "configurations": declared},
    }))
    .expect("it is a deployment")
}

#[test]
fn missing_applications_are_found_whether_or_not_the_record_lists_them() {
    let two = &[("service", "service"), ("export", "job")][..];
    let services = &[("service", "service"), ("other", "service")][..];
    for (case, status, declared, listed, expected) in [
        ("nothing is missing", "Deployed", two, &[("service", true), ("export", false)][..], &[][..]),
        ("not listed", "Deployed", two, &[("service", true)], &["export"]),
        ("not listed after a failure", "Failed", two, &[("service", false)], &["export"]),
        (
            "a service that is listed without a URL",
            "Deployed",
            services,
            &[("service", true), ("other", false)],
            &["other"],
        ),
        ("no service has a URL", "Deployed", services, &[("service", false), ("other", false)], &[]),
        ("not deployed, so there need be no URL", "Failed", services, &[("service", true), ("other", false)], &[]),
        ("busy", "Deploying", two, &[("service", false)], &[]),
        ("nothing is listed at all", "Deployed", two, &[], &[]),
        (
            "one that the connector does not declare",
            "Deployed",
            two,
            &[("service", true), ("export", false), ("old", false)],
            &[],
        ),
    ] {
        let found = missing(&record(status, declared, listed));
        assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), expected, "{case}");
        assert!(message(&found).contains(&format!("declares: {}. ", expected.join(", "))), "{case}");
    }
}

#[test]
fn each_call_names_the_applications_that_it_has_to_name() {
    let declared = |names: &[&str]| Declared {
        applications: names.iter().map(|name| ((*name).to_owned(), DeclaredKeys::default())).collect(),
        ..Declared::default()
    };
    let create = CallKind::Create { gone: None };
    let redeploy = |update_connector| CallKind::Redeploy { id: "d1".into(), version: 1, update_connector };
    let given = ApplicationValues { schedule: Some("0 5 * * *".into()), ..ApplicationValues::default() };
    let values = |names: &[&str]| Values {
        applications: names.iter().map(|name| ((*name).to_owned(), given.clone())).collect::<BTreeMap<_, _>>(),
        ..Values::default()
    };
    let whole = record("Deployed", &[("a", "service"), ("b", "job")], &[("a", true), ("b", false)]);
    let lacking = record("Deployed", &[("a", "service"), ("b", "job")], &[("a", true)]);
    let silent = record("Deployed", &[("a", "service")], &[]);
    for (case, call, declared, record, given, expected) in [
        ("a create names all", create.clone(), declared(&["a", "b"]), None, values(&["a"]), &["a", "b"][..]),
        (
            "and what only the spec names, so that the service refuses it",
            create,
            declared(&["a"]),
            None,
            values(&["c"]),
            &["a", "c"],
        ),
        (
            "a redeploy names what the deployment has",
            redeploy(false),
            declared(&["a", "b"]),
            Some(&whole),
            values(&["a"]),
            &["a", "b"],
        ),
        (
            "whatever the connector and the spec name",
            redeploy(false),
            declared(&["a"]),
            Some(&whole),
            values(&["c"]),
            &["a", "b"],
        ),
        (
            "and nothing that the deployment lacks",
            redeploy(false),
            declared(&["a", "b"]),
            Some(&lacking),
            values(&["a", "b"]),
            &["a"],
        ),
        (
            "a move to a newer version names what that version adds",
            redeploy(true),
            declared(&["a", "b", "c"]),
            Some(&whole),
            values(&[]),
            &["a", "b", "c"],
        ),
        (
            "and leaves out what that version drops",
            redeploy(true),
            declared(&["a"]),
            Some(&whole),
            values(&["a"]),
            &["a"],
        ),
        (
            "and what the deployment was created without",
            redeploy(true),
            declared(&["a", "b", "c"]),
            Some(&lacking),
            values(&["b"]),
            &["a", "c"],
        ),
        ("a record without applications", redeploy(false), declared(&["a"]), Some(&silent), values(&[]), &["a"]),
    ] {
        let sent = named(&given, &call, Some(&declared), record);
        assert_eq!(sent.applications.keys().map(String::as_str).collect::<Vec<_>>(), expected, "{case}");
        for (name, entry) in &sent.applications {
            assert_eq!(entry.schedule, given.applications.get(name).and_then(|given| given.schedule.clone()), "{case}");
        }
    }
}
