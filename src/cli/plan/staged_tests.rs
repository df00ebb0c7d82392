use serde_json::{Value, json};

use super::*;

/// A resource that is previewable and published, with tag 2; `spec` and `status` override its parts.
fn object(spec: &Value, status: Value) -> ConnectorStaged {
    let mut object = json!({
        "apiVersion": "connect-operator.io/v1alpha1", "kind": "ConnectorStaged", "metadata": {"name": "kit", "generation": 2},
        "spec": {
            "projectRef": {"name": "shop"}, "key": "kit", "name": "Kit", "creator": {"email": "dev@example.com"},
            "repository": {"url": "https://example.com/kit.git", "tag": "2"}, "preview": "Request", "publishPolicy": "Private",
        },
    });
    for (name, value) in spec.as_object().into_iter().flatten() {
        object["spec"][name] = value.clone();
    }
    if status.is_object() {
        object["status"] = status;
    }
    serde_json::from_value(object).expect("a valid resource")
}

/// A record without an operation in progress, published and granted with this tag; `patch` overrides members.
fn record(tag: &str, patch: &Value) -> Record {
    let mut record = json!({
        "id": "one", "key": "kit", "version": 7, "name": "Kit", "creator": {"email": "dev@example.com"},
        "repository": {"url": "https://example.com/kit.git", "tag": tag}, "private": true, "status": "Published",
        "isPreviewable": "true", "alreadyListed": true, "hasChanges": false,
    });
    for (name, value) in patch.as_object().into_iter().flatten() {
        record[name] = value.clone();
    }
    serde_json::from_value(record).expect("a valid record")
}

/// A status with the staged connector one, whose preview was requested for a tag.
fn ours(previewed: Option<&str>) -> Value {
    let preview = previewed.map(|tag| json!({"tag": tag, "shown": true}));
    json!({"observedGeneration": 1, "id": "one", "state": json!({"v": 1, "preview": preview}).to_string()})
}

fn of(object: &ConnectorStaged, record: Option<Record>) -> Projection {
    with(object, record, "")
}

fn with(object: &ConnectorStaged, record: Option<Record>, granted: &str) -> Projection {
    let (proofs, granted) = (Objects { deployment: None, checks: vec![None] }, vec![granted.to_owned()]);
    plan(&Inputs { object, record, proofs, granted, project: "demo", now: Timestamp::UNIX_EPOCH })
}

#[test]
fn a_missing_scope_is_reported_before_it_is_needed() {
    let object = object(&json!({}), Value::Null);
    for (granted, lacks) in [("view_connectors:demo", true), ("manage_connectors:demo", false), ("", false)] {
        let outcome = with(&object, None, granted);
        let condition = outcome.problem.filter(|problem| problem.reason == "PermissionMissing");
        assert_eq!(condition.is_some(), lacks, "{granted}");
        assert_eq!(outcome.action == Action::None, lacks, "{granted}");
    }
}

#[test]
fn only_fields_that_an_update_changes_are_differences() {
    let there = json!({
        "description": "Kits", "integrationTypes": ["tax", "oms"],
        "creator": {"email": "dev@example.com", "noOfContributors": 2},
    });
    let creator = json!({"email": "dev@example.com", "noOfContributors": 3});
    for (case, change, expected) in [
        ("nothing, although the remote has more", json!({"integrationTypes": ["oms", "tax"]}), None),
        ("a text", json!({"integrationTypes": ["oms", "tax"], "name": "Kits"}), Some(("name", "Kit", "Kits"))),
        (
            "a number",
            json!({"integrationTypes": ["oms", "tax"], "creator": creator}),
            Some(("creator.noOfContributors", "2", "3")),
        ),
        ("a list", json!({"integrationTypes": ["tax"]}), Some(("integrationTypes", "oms, tax", "tax"))),
    ] {
        let found = differences(&object(&change, Value::Null).spec, &record("2", &there));
        let found: Vec<_> = found
            .iter()
            .map(|it| [&it.key, &it.before, &it.after].map(|text| text.as_deref().unwrap_or_default()))
            .map(|[key, before, after]| (key, before, after))
            .collect();
        assert_eq!(found, Vec::from_iter(expected), "{case}");
    }
}

#[test]
fn the_next_step_of_a_tag_is_planned() {
    use Action::{Create, None, NotKnown, Preview, Publish, Update};
    let after = r#"{"publishAfter": {"deploymentRef": {"name": "preview"}, "checkRefs": [{"name": "cart"}]}}"#;
    let draft = r#"{"status": "Draft", "alreadyListed": false}"#;
    let publishing = r#"{"status": "Processing", "alreadyListed": false}"#;
    let private = r#"{"privateProjects": [{"region": "europe-west1.gcp", "projectKey": "demo"}]}"#;
    // Changes of the spec; the tag whose preview was requested, if the staged connector is ours; tag and changes of the
    // record; then what is planned, why not, and a text about it.
    for (case, spec, previewed, tag, patch, action, reason, more) in [
        ("new", "{}", "", "", "{}", Create, "", ""),
        ("only staged", r#"{"preview": "Never", "publishPolicy": "Never"}"#, "", "", "{}", Create, "", ""),
        ("new, to be proven", after, "", "", "{}", Create, "", ""),
        ("unchanged", "{}", "2", "2", "{}", None, "", ""),
        ("unchanged and proven before", after, "2", "2", "{}", None, "", ""),
        ("another tag", "{}", "1", "1", "{}", Update, "", "tag 1 2"),
        ("another tag, to be proven", after, "1", "1", "{}", Update, "", "tag 1 2"),
        ("another name", r#"{"name": "Other"}"#, "2", "2", "{}", Update, "", "name Kit Other"),
        ("to be certified", r#"{"publishPolicy": "Certified"}"#, "2", "2", "{}", Publish, "", ""),
        ("to be proven", after, "2", "2", draft, None, "", "preview is missing; ActionCheck cart is missing"),
        ("owned by another client", "{}", "", "2", "{}", None, "KeyTaken", ""),
        ("adopted", r#"{"adoptionPolicy": "Adopt"}"#, "", "2", "{}", Preview, "", ""),
        ("refused as a preview", "{}", "2", "2", r#"{"isPreviewable": "false"}"#, None, "PreviewRefused", ""),
        ("impossible", private, "2", "2", r#"{"private": false}"#, None, "CannotBeChanged", ""),
        ("suspended", r#"{"suspend": true}"#, "1", "1", "{}", None, "", "tag 1 2"),
        ("being published", "{}", "2", "2", publishing, NotKnown, "", "an operation is in progress"),
        ("deleted at the remote", "{}", "2", "", "{}", None, "RemoteDisappeared", ""),
    ] {
        let [spec, patch] = [spec, patch].map(|text| serde_json::from_str::<Value>(text).expect(text));
        let status = if previewed.is_empty() { Value::Null } else { ours(Some(previewed)) };
        let record = (!tag.is_empty()).then(|| record(tag, &patch));
        let outcome = of(&object(&spec, status), record);
        let problem = outcome.problem.as_ref().map(|problem| problem.reason).unwrap_or_default();
        assert_eq!((outcome.action, problem), (action, reason), "{case}: {outcome:?}");
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let differences = outcome.differences.iter();
        let differences = differences.map(|it| [&it.key, &it.before, &it.after].map(text).join(" "));
        let lines: Vec<String> = outcome.notes.iter().cloned().chain(differences).collect();
        assert!(lines.iter().any(|line| line.contains(more)) || more.is_empty(), "{case}: {lines:?}");
    }
}

#[test]
fn a_suspended_resource_shows_what_is_held() {
    use Action::{Adopt, Preview, Update};
    let ours = ours(Some("1"));
    let adopts = json!({"suspend": true, "adoptionPolicy": "Adopt"});
    for (case, spec, status, tag, action, held) in [
        ("another tag", json!({"suspend": true}), ours.clone(), "1", Action::None, Some(Update)),
        ("adopted", adopts, Value::Null, "2", Adopt, Some(Preview)),
        ("not suspended", json!({}), ours, "1", Update, None),
    ] {
        let outcome = of(&object(&spec, status), Some(record(tag, &json!({}))));
        assert_eq!((outcome.action, outcome.held), (action, held), "{case}: {outcome:?}");
        let pending = outcome.notes.iter().any(|note| note.contains("A change is pending"));
        assert_eq!(pending, held.is_some(), "{case}: {outcome:?}");
        assert!(outcome.problem.is_none() && (!outcome.moves() || held.is_none()), "{case}: {outcome:?}");
    }
}
