//! Each difference becomes the action that it needs, and nothing else does.

use json_patch::merge;
use serde_json::{Value, json};

use super::*;

fn spec(change: &Value) -> ConnectorStagedSpec {
    let mut spec = json!({
        "projectRef": {"name": "shop"}, "key": "tax", "name": "Tax", "creator": {"email": "dev@example.com"},
        "repository": {"url": "https://example.com/tax.git", "tag": "1"},
        "integrationTypes": ["tax", "oms"], "supportedRegions": ["a.b"], "privateProjects": private(&["one", "two"]),
    });
    merge(&mut spec, change);
    serde_json::from_value(spec).expect("it is a spec")
}

/// Projects as a spec names them.
fn private(keys: &[&str]) -> Value {
    keys.iter().map(|key| json!({"region": "a.b", "projectKey": key})).collect()
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

#[test]
fn each_difference_is_one_action_and_what_the_spec_leaves_out_is_none() {
    let (mail, docs, url) = ("new@example.com", "https://example.com/d", "https://example.com/tax.git");
    let (logo, support) = ("https://example.com/l", "https://example.com/s");
    let creator = json!({"creator": {"name": "Dev", "company": "New", "title": "Engineer", "noOfContributors": 3,
        "logoUrl": logo, "supportUrl": support}});
    let of_creator = json!([
        {"action": "setCreatorName", "creatorName": "Dev"},
        {"action": "setCreatorCompany", "creatorCompany": "New"},
        {"action": "setCreatorTitle", "creatorTitle": "Engineer"},
        {"action": "setCreatorLogo", "logoUrl": logo},
        {"action": "setCreatorSupportUrl", "creatorSupportUrl": support},
        {"action": "setCreatorNoOfContributors", "creatorNoOfContributors": 3},
    ]);
    let same_creator = json!({"creator": {"company": "Example", "noOfContributors": 2}});
    let types = json!({"action": "setIntegrationTypes", "integrationTypes": []});
    let regions = json!({"action": "setSupportedRegions", "regions": ["a.b", "c.d"]});
    let projects = json!([
        {"action": "addPrivateProject", "privateProject": "a.b:three"},
        {"action": "removePrivateProject", "privateProject": "a.b:one"},
    ]);
    let name = json!({"action": "setName", "name": "Taxes"});
    let tag = json!({"action": "setRepository", "url": url, "tag": "2"});
    let described = json!([{"action": "setDescription", "description": "All"}]);
    let mailed = json!([{"action": "setCreatorEmail", "creatorEmail": mail}]);
    let documented = json!([{"action": "setDocumentationUrl", "documentationUrl": docs}]);
    for (case, change, expected) in [
        ("nothing, in another order and with more at the remote", json!({}), json!([])),
        ("name", json!({"name": "Taxes"}), json!([name])),
        ("description", json!({"description": "All"}), described),
        ("the same description", json!({"description": "Taxes"}), json!([])),
        ("e-mail", json!({"creator": {"email": mail}}), mailed),
        ("all fields of the creator", creator, of_creator),
        ("the same creator", same_creator, json!([])),
        ("documentation", json!({"documentationUrl": docs}), documented),
        ("integration types", json!({"integrationTypes": []}), json!([types])),
        ("regions", json!({"supportedRegions": ["a.b", "c.d"]}), json!([regions])),
        ("projects", json!({"privateProjects": private(&["two", "three"])}), projects),
        ("a tag, with the same URL", json!({"repository": {"tag": "2"}}), json!([tag])),
        ("several, the repository last", json!({"repository": {"tag": "2"}, "name": "Taxes"}), json!([name, tag])),
    ] {
        let changes = changes(&spec(&change), &record(&json!({})));
        assert_eq!(serde_json::to_value(&changes.actions).expect("actions are JSON"), expected, "{case}");
        assert_eq!(changes.impossible, [""; 0], "{case}");
    }
}

#[test]
fn fields_that_the_spec_leaves_out_and_the_connector_has_are_retained() {
    let named = json!({"description": "All", "documentationUrl": "https://example.com/docs",
        "creator": {"company": "Example", "noOfContributors": 2}});
    let empty =
        json!({"description": "", "documentationUrl": null, "creator": {"company": null, "noOfContributors": 0}});
    let more =
        json!({"creator": {"name": "Dev", "title": "Dr", "logoUrl": "https://a.b/l", "supportUrl": "https://a.b"}});
    for (case, change, there, expected) in [
        (
            "left out",
            json!({}),
            json!({}),
            &["description", "documentationUrl", "creator.company", "creator.noOfContributors"][..],
        ),
        ("named", named.clone(), json!({}), &[]),
        ("the others", named, more, &["creator.name", "creator.title", "creator.logoUrl", "creator.supportUrl"]),
        ("never set", json!({}), empty, &[]),
    ] {
        assert_eq!(changes(&spec(&change), &record(&there)).retained, expected, "{case}");
    }
}

#[test]
fn what_no_action_can_change_is_reported() {
    let regions = "supportedRegions cannot be emptied once it is set: name at least one (the remote has a.b)";
    let projects = "privateProjects cannot be changed while the connector is public: set the list back to that of the \
                    remote (a.b:one, a.b:two)";
    for (change, there, sentence) in [
        (json!({"supportedRegions": []}), json!({}), regions),
        (json!({"privateProjects": []}), json!({"private": false}), projects),
    ] {
        let changes = changes(&spec(&change), &record(&there));
        assert_eq!((changes.impossible, changes.actions), (vec![sentence.to_owned()], vec![]), "{change}");
    }
}
