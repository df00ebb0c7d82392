//! Each difference becomes the action that it needs, and nothing else does.

use serde_json::{Value, json};

use super::*;

fn spec(change: &Value) -> ConnectorStagedSpec {
    let mut spec = json!({
        "projectRef": {"name": "shop"}, "key": "tax", "name": "Tax", "creator": {"email": "dev@example.com"},
        "repository": {"url": "https://example.com/tax.git", "tag": "1"},
        "integrationTypes": ["tax", "oms"], "supportedRegions": ["a.b"], "privateProjects": ["a.b:one", "a.b:two"],
    });
    merge(&mut spec, change);
    serde_json::from_value(spec).expect("it is a spec")
}

fn record(change: &Value) -> Record {
    let mut record = json!({
        "id": "one", "key": "tax", "version": 3, "name": "Tax", "description": "Taxes", "private": true,
        "creator": {"email": "dev@example.com", "company": "Example", "noOfContributors": 2},
        "repository": {"url": "https://example.com/tax.git", "tag": "1"},
        "integrationTypes": ["oms", "tax"], "supportedRegions": ["a.b"], "privateProjects": ["a.b:two", "a.b:one"],
        "documentationUrl": "https://example.com/docs",
    });
    merge(&mut record, change);
    serde_json::from_value(record).expect("it is a record")
}

fn merge(into: &mut Value, change: &Value) {
    match (into, change) {
        (Value::Object(into), Value::Object(change)) => {
            for (name, value) in change {
                merge(into.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (into, change) => *into = change.clone(),
    }
}

#[test]
fn each_difference_is_one_action_and_what_the_spec_leaves_out_is_none() {
    for (case, change, expected) in [
        ("nothing, in another order and with more at the remote", json!({}), json!([])),
        ("name", json!({"name": "Taxes"}), json!([{"action": "setName", "name": "Taxes"}])),
        ("description", json!({"description": "All"}), json!([{"action": "setDescription", "description": "All"}])),
        ("the same description", json!({"description": "Taxes"}), json!([])),
        (
            "e-mail",
            json!({"creator": {"email": "new@example.com"}}),
            json!([{"action": "setCreatorEmail", "creatorEmail": "new@example.com"}]),
        ),
        (
            "all fields of the creator",
            json!({"creator": {"name": "Dev", "company": "New", "title": "Engineer", "noOfContributors": 3,
                "logoUrl": "https://example.com/l", "supportUrl": "https://example.com/s"}}),
            json!([
                {"action": "setCreatorName", "creatorName": "Dev"},
                {"action": "setCreatorCompany", "creatorCompany": "New"},
                {"action": "setCreatorTitle", "creatorTitle": "Engineer"},
                {"action": "setCreatorLogo", "logoUrl": "https://example.com/l"},
                {"action": "setCreatorSupportUrl", "creatorSupportUrl": "https://example.com/s"},
                {"action": "setCreatorNoOfContributors", "creatorNoOfContributors": 3},
            ]),
        ),
        ("the same creator", json!({"creator": {"company": "Example", "noOfContributors": 2}}), json!([])),
        (
            "documentation",
            json!({"documentationUrl": "https://example.com/d"}),
            json!([{"action": "setDocumentationUrl", "documentationUrl": "https://example.com/d"}]),
        ),
        (
            "integration types",
            json!({"integrationTypes": []}),
            json!([{"action": "setIntegrationTypes", "integrationTypes": []}]),
        ),
        (
            "regions",
            json!({"supportedRegions": ["a.b", "c.d"]}),
            json!([{"action": "setSupportedRegions", "regions": ["a.b", "c.d"]}]),
        ),
        (
            "projects",
            json!({"privateProjects": ["a.b:two", "a.b:three"]}),
            json!([
                {"action": "addPrivateProject", "privateProject": "a.b:three"},
                {"action": "removePrivateProject", "privateProject": "a.b:one"},
            ]),
        ),
        (
            "a tag, with the same URL",
            json!({"repository": {"tag": "2"}}),
            json!([{"action": "setRepository", "url": "https://example.com/tax.git", "tag": "2"}]),
        ),
        (
            "several, the repository last",
            json!({"repository": {"tag": "2"}, "name": "Taxes"}),
            json!([
                {"action": "setName", "name": "Taxes"},
                {"action": "setRepository", "url": "https://example.com/tax.git", "tag": "2"},
            ]),
        ),
    ] {
        let changes = changes(&spec(&change), &record(&json!({})));
        assert_eq!(serde_json::to_value(&changes.actions).expect("actions are JSON"), expected, "{case}");
        assert_eq!(changes.impossible, [""; 0], "{case}");
    }
}

#[test]
fn what_no_action_can_change_is_reported() {
    for (case, change, there, sentence) in [
        (
            "regions",
            json!({"supportedRegions": []}),
            json!({}),
            "supportedRegions cannot be emptied once it is set: name at least one (the remote has a.b)",
        ),
        (
            "projects of a public connector",
            json!({"privateProjects": []}),
            json!({"private": false}),
            "privateProjects cannot be changed while the connector is public: set the list back to that of the remote \
             (a.b:one, a.b:two)",
        ),
    ] {
        let changes = changes(&spec(&change), &record(&there));
        assert_eq!(changes.impossible, [sentence], "{case}");
        assert_eq!(changes.actions, [], "{case}");
    }
}
