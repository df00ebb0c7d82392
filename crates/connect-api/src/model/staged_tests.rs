//! Tables of staged connectors and their updates, written from contract sections 4.3, 6.2, 12 and 13.

use serde_json::{Value, json};

use super::*;
use crate::model::{ConnectorStaged, ConnectorStagedDraft, ConnectorStatus, EntryType, IsPreviewable};
use crate::testing::rows;

fn repository(url: &str, tag: &str) -> Repository {
    Repository { url: url.into(), tag: tag.into() }
}

/// Every action, with the name of its variant.
const ACTIONS: &str = r#"
    AddCertificationComment | {"action": "addCertificationComment", "comment": "c"}
    AddPrivateProject | {"action": "addPrivateProject", "privateProject": "europe-west1.gcp:demo"}
    RemovePrivateProject | {"action": "removePrivateProject", "privateProject": "europe-west1.gcp:demo"}
    Publish | {"action": "publish", "certification": true}
    SetCreatorCompany | {"action": "setCreatorCompany", "creatorCompany": "c"}
    SetCreatorEmail | {"action": "setCreatorEmail", "creatorEmail": "e"}
    SetCreatorLogo | {"action": "setCreatorLogo", "logoUrl": "l"}
    SetCreatorName | {"action": "setCreatorName", "creatorName": "n"}
    SetCreatorNoOfContributors | {"action": "setCreatorNoOfContributors", "creatorNoOfContributors": 3}
    SetCreatorSupportUrl | {"action": "setCreatorSupportUrl", "creatorSupportUrl": "s"}
    SetCreatorTitle | {"action": "setCreatorTitle", "creatorTitle": "t"}
    SetDescription | {"action": "setDescription", "description": "d"}
    SetDocumentationUrl | {"action": "setDocumentationUrl", "documentationUrl": "u"}
    SetIntegrationTypes | {"action": "setIntegrationTypes", "integrationTypes": ["tax", "moon"]}
    SetName | {"action": "setName", "name": "n"}
    SetRepository | {"action": "setRepository", "url": "u.git", "tag": "v2"}
    SetSupportedRegions | {"action": "setSupportedRegions", "regions": ["us-east-2.aws"]}
    Unlist | {"action": "unlist"}
    UpdatePreviewable | {"action": "updatePreviewable"}
"#;

#[test]
fn each_of_the_nineteen_actions_is_read_and_written_as_the_contract_has_it() {
    let table = rows::<2>(ACTIONS);
    assert_eq!(table.len(), 19);
    for [variant, text] in table {
        let mut value: Value = serde_json::from_str(&text).expect(&text);
        let action: ConnectorUpdateAction = serde_json::from_value(value.clone()).expect(&text);
        let debug = format!("{action:?}");
        assert_eq!(debug.split([' ', '(']).next(), Some(variant.as_str()));
        assert_eq!(serde_json::to_value(&action).expect("JSON"), value);
        value["somethingNew"] = json!({"deep": null});
        assert_eq!(serde_json::from_value::<ConnectorUpdateAction>(value).expect("the action is decoded"), action);
    }
    for refused in [json!({"action": "setConfigurations"}), json!({"name": "n"}), json!({"action": "setName"})] {
        serde_json::from_value::<ConnectorUpdateAction>(refused.clone()).expect_err(&refused.to_string());
    }
}

#[test]
fn an_update_is_a_version_and_its_actions() {
    let update = ConnectorUpdate { version: 7, actions: vec![ConnectorUpdateAction::Unlist] };
    assert_eq!(serde_json::to_value(&update).expect("JSON"), json!({"version": 7, "actions": [{"action": "unlist"}]}));
}

#[test]
fn a_repository_without_an_address_keeps_the_old_one() {
    for (change, expected) in [
        (json!({"action": "setRepository", "tag": "v2"}), repository("old.git", "v2")),
        (json!({"action": "setRepository", "url": null, "tag": "v2"}), repository("old.git", "v2")),
        (json!({"action": "setRepository", "url": "new.git", "tag": "v2"}), repository("new.git", "v2")),
    ] {
        let read = serde_json::from_value(change.clone()).expect("the action is decoded");
        let ConnectorUpdateAction::SetRepository(read) = read else { panic!("{change}") };
        assert_eq!(read.applied_to(repository("old.git", "v1")), expected, "{change}");
    }
}

/// A record with all its members, and some that the contract does not list.
fn record() -> Value {
    json!({
        "id": "6f0c1a52-8e0b-4a57-9a6f-0d6f6f1b1c01", "key": "my-tax", "version": 4, "name": "Tax",
        "description": "Taxes.", "integrationTypes": ["tax", "moon"],
        "creator": {"email": "dev@example.com", "noOfContributors": 2, "logoUrl": null},
        "repository": {"url": "https://example.com/tax.git", "tag": "v1"},
        "configurations": [{"applicationName": "service", "applicationType": "service",
            "standardConfiguration": [{"key": "LEVEL", "description": "how much", "default": null}],
            "securedConfiguration": [{"key": "TOKEN", "description": "the token", "default": "not meant"}]}],
        "globalConfiguration": {"standardConfiguration": null},
        "apiClient": {"scopes": ["view_products"]},
        "private": true, "privateProjects": ["europe-west1.gcp:demo"], "supportedRegions": [],
        "certificationInfo": {"comments": [{"userId": "demo", "datetime": "2026-01-02T03:04:05Z", "comment": "Why?"}]},
        "status": "InCertification",
        "publishingReport": {"entries": [{"type": "Error", "title": "no", "message": null, "application": null,
            "createdAt": "2026-01-02T03:04:05.678Z"}]},
        "alreadyListed": true, "hasChanges": true, "isPreviewable": "pending", "previewableReport": null,
        "documentationUrl": "https://example.com/docs", "certified": true, "somethingNew": [1, {"a": 2}],
    })
}

fn read(change: impl FnOnce(&mut Value)) -> ConnectorStaged {
    let mut record = record();
    change(&mut record);
    serde_json::from_value(record).expect("a staged connector")
}

#[test]
fn a_staged_connector_is_read_whole_and_written_without_nulls() {
    let whole = read(|_| {});
    assert_eq!((whole.version, whole.status.clone()), (4, ConnectorStatus::InCertification));
    assert_eq!(whole.integration_types, [IntegrationType::Tax, IntegrationType::Other("moon".into())]);
    assert_eq!(whole.certification_info.as_ref().expect("remarks").comments[0].user_id, "demo");
    assert_eq!(whole.publishing_report.as_ref().expect("a report").entries[0].kind, EntryType::Error);
    let written = serde_json::to_value(&whole).expect("JSON");
    assert!(!written.to_string().contains("null"), "{written}");
    assert_eq!((&written["isPreviewable"], written.get("certified")), (&json!("pending"), None));
    assert_eq!(serde_json::from_value::<ConnectorStaged>(written).expect("read again"), whole);
}

#[test]
fn a_staged_connector_may_lack_all_but_id_and_version() {
    let bare: ConnectorStaged = serde_json::from_value(json!({"id": "1", "version": 1})).expect("read");
    assert_eq!((bare.status.clone(), bare.is_previewable.clone()), (ConnectorStatus::Draft, IsPreviewable::NeverAsked));
    assert_eq!(bare.configurations, None);
    let nulls = read(|record| {
        for (name, value) in record.as_object_mut().expect("an object") {
            if name != "id" && name != "version" {
                *value = Value::Null;
            }
        }
    });
    assert_eq!(ConnectorStaged { id: "1".into(), version: 1, ..nulls }, bare);
}

#[test]
fn previewable_is_a_word_or_a_boolean() {
    for (value, expected) in [
        (json!("true"), IsPreviewable::Yes),
        (json!("false"), IsPreviewable::No),
        (json!("pending"), IsPreviewable::Pending),
        (json!("none"), IsPreviewable::NeverAsked),
        (json!(true), IsPreviewable::Yes),
        (json!(false), IsPreviewable::No),
        (json!("perhaps"), IsPreviewable::Other("perhaps".into())),
    ] {
        assert_eq!(read(|record| record["isPreviewable"] = value.clone()).is_previewable, expected, "{value}");
    }
    let odd = json!({"id": "1", "version": 1, "isPreviewable": 7});
    serde_json::from_value::<ConnectorStaged>(odd).expect_err("a number is neither");
}

#[test]
fn a_draft_holds_only_what_is_given() {
    let least = json!({"name": "Tax", "creator": {"email": "dev@example.com"},
        "repository": {"url": "https://example.com/tax.git", "tag": "v1"}});
    let draft: ConnectorStagedDraft = serde_json::from_value(least.clone()).expect("a draft");
    assert_eq!(serde_json::to_value(draft).expect("JSON"), least);
    // A published example contains members of the record (contract section 13, row 8).
    let draft: ConnectorStagedDraft = serde_json::from_value(record()).expect("a draft");
    let written = serde_json::to_value(draft).expect("JSON");
    let members: Vec<_> = written.as_object().expect("an object").keys().map(String::as_str).collect();
    let expected = "creator description documentationUrl integrationTypes key name privateProjects repository";
    assert_eq!(members.join(" "), expected);
}
