use serde_json::json;

use super::*;
use crate::controllers::connector_staged::decide::{Input, Intent, TransientState, decide};
use crate::controllers::connector_staged::persisted::Observation;
use crate::controllers::connector_staged::{intent, observe};
use crate::crd::ConnectorStaged;

fn object() -> ConnectorStaged {
    let object = json!({
        "apiVersion": "connect-operator.io/v1alpha1", "kind": "ConnectorStaged", "metadata": {"name": "kit", "generation": 1},
        "spec": {
            "projectRef": {"name": "shop"}, "key": "kit", "name": "Kit", "creator": {"email": "dev@example.com"},
            "repository": {"url": "https://example.com/kit.git", "tag": "1"}, "previewable": true, "publish": "Private",
        },
    });
    serde_json::from_value(object).expect("it is one")
}

fn record(status: &str, previewable: &str, listed: bool) -> Record {
    let report = json!({"entries": [
        {"type": "Error", "title": "SAST and SCA analysis check skipped", "createdAt": "2026-11-22T10:00:01Z"},
        {"type": "Information", "title": "Connector image build check succeeded", "createdAt": "2026-11-22T10:00:02Z"},
        {"type": "Error", "title": "Image security analysis check failed", "createdAt": "2026-11-22T10:00:00Z"},
    ]});
    let record = json!({
        "id": "one", "key": "kit", "version": 7, "name": "Kit", "creator": {"email": "dev@example.com"},
        "repository": {"url": "https://example.com/kit.git", "tag": "1"}, "private": true, "status": status,
        "isPreviewable": previewable, "alreadyListed": listed, "hasChanges": !listed,
        "publishingReport": report, "previewableReport": report,
    });
    serde_json::from_value(record).expect("it is a record")
}

#[test]
fn errors_in_a_report_are_not_a_failure_unless_the_status_says_so() {
    for (case, status, previewable, listed, expected) in [
        ("published", "Published", "true", true, "Published: Tag 1 is published"),
        (
            "refused as a preview",
            "Draft",
            "false",
            false,
            "PreviewRefused: Permission to deploy this tag as a preview was refused: SAST and SCA analysis check skipped; \
             Image security analysis check failed (checks that were skipped are reported as errors, too)",
        ),
        (
            "not published",
            "Failed",
            "true",
            false,
            "PublishingFailed: Publishing failed: SAST and SCA analysis check skipped; Image security analysis check \
             failed (checks that were skipped are reported as errors, too)",
        ),
    ] {
        let (object, record) = (object(), record(status, previewable, listed));
        let intent: Intent = intent::intent(&object);
        let persisted = PersistedState {
            id: Some("one".into()),
            previewed: Some("1".into()),
            publication: Some(crate::controllers::connector_staged::persisted::Publication {
                digest: intent.publication.clone().unwrap_or_default(),
                outcome: status_conversion::phase(status),
                at: Timestamp::UNIX_EPOCH,
            }),
            ..PersistedState::default()
        };
        let observation: Observation = observe::observation(&object.spec, Some(&record));
        let transient = TransientState::default();
        let decision = decide(&Input {
            persisted: &persisted,
            intent: &intent,
            observation: &observation,
            transient: &transient,
            now: Timestamp::UNIX_EPOCH,
        });
        let condition = ready_condition(decision.outcome, "kit", Some(&record), &[]);
        assert_eq!(format!("{}: {}", condition.reason, condition.message), expected, "{case}");
    }
}
