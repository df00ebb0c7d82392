use serde_json::json;

use super::*;
use crate::crd::ConnectorStaged;
use crate::crd::connector_staged_status::RemoteStaged;
use crate::operator::staged::decide::{Input, Memory, Step, decide};
use crate::operator::staged::intent;
use crate::operator::staged::observed::Observed;
use crate::operator::staged::outcome::{Outcome, ready_condition};
use crate::operator::staged::state::RequestedPreview;

fn object() -> ConnectorStaged {
    let object = json!({
        "apiVersion": "connect-operator.io/v1alpha1", "kind": "ConnectorStaged", "metadata": {"name": "kit", "generation": 1},
        "spec": {
            "projectRef": {"name": "shop"}, "key": "kit", "name": "Kit", "creator": {"email": "dev@example.com"},
            "repository": {"url": "https://example.com/kit.git", "tag": "1"}, "preview": "Request", "publishPolicy": "Private",
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
    let errors = "SAST and SCA analysis check skipped; Image security analysis check failed (checks that were skipped \
                  are reported as errors, too)";
    let refused = format!("PreviewRefused: Permission to deploy this tag as a preview was refused: {errors}");
    let failed = format!("PublishingFailed: Publishing failed: {errors}");
    for (case, status, previewable, listed, expected) in [
        ("published", "Published", "true", true, "Published: Tag 1 is published"),
        ("refused as a preview", "Draft", "false", false, refused.as_str()),
        ("not published", "Failed", "true", false, &failed),
    ] {
        let (object, record) = (object(), record(status, previewable, listed));
        let intent = intent::intent(&object);
        let state = State {
            id: Some("one".into()),
            preview: Some(RequestedPreview { tag: "1".into(), shown: true }),
            publication: intent.publication.clone(),
            ..State::default()
        };
        let observed = Observed::of(&record, &object.spec);
        let (memory, now) = (Memory::default(), Timestamp::UNIX_EPOCH);
        let decision = decide(&Input { state: &state, intent: &intent, record: Some(&observed), memory: &memory, now });
        let Step::Report(outcome, _) = decision.step else { panic!("{case}: {decision:?}") };
        let condition = ready_condition(outcome, "kit", Some(&record), &[]);
        assert_eq!(format!("{}: {}", condition.reason, condition.message), expected, "{case}");
    }
}

#[test]
fn the_remote_is_fixed_once_it_may_have_the_connector() {
    let remote = |key: &str| RemoteIdentity { api_url: "https://connect.test".into(), project_key: key.into() };
    for (case, before, id, expected) in [
        ("not known before", None, None, "new"),
        ("nothing was created", Some("old"), None, "new"),
        ("something exists", Some("old"), Some("one"), "old"),
        ("something exists, and it is not known where", None, Some("one"), "new"),
    ] {
        let state = State { id: id.map(str::to_owned), ..State::default() };
        let mut object = object();
        object.status = Some(ConnectorStagedStatus {
            remote: before.map(|key| RemoteStaged { project: remote(key), ..RemoteStaged::default() }),
            ..ConnectorStagedStatus::default()
        });
        let (condition, remote) = (ready_condition(Outcome::Missing, "kit", None, &[]), remote("new"));
        let record = ObservedRecord::NotRead;
        let facts =
            StagedFacts { object: &object, state: Some(&state), condition: &condition, remote: Some(&remote), record };
        let status = summarize(&facts, Timestamp::UNIX_EPOCH);
        assert_eq!(status.remote.map(|remote| remote.project.project_key).as_deref(), Some(expected), "{case}");
    }
}

#[test]
fn nothing_is_shown_of_a_record_that_is_somebody_elses() {
    for (case, id, shown) in
        [("its own", Some("one"), true), ("of another one", Some("two"), false), ("none", None, false)]
    {
        let (object, record) = (object(), record("Published", "true", true));
        let state = State { id: id.map(str::to_owned), ..State::default() };
        let condition = ready_condition(Outcome::Missing, "kit", None, &[]);
        let record = ObservedRecord::Present(&record);
        let status = summarize(
            &StagedFacts { object: &object, state: Some(&state), condition: &condition, remote: None, record },
            Timestamp::UNIX_EPOCH,
        );
        assert_eq!((status.published_tag.is_some(), status.preview.is_some()), (shown, shown), "{case}");
    }
}
