//! Compares staged connectors with the specs of their resources, by code of its own: the operator's comparison is under
//! test.

use std::collections::BTreeSet;

use connect_api::model::{ConnectorStaged as Record, ConnectorStatus, IsPreviewable, Repository};
use connect_operator::crd::{ConnectorStagedSpec, PublishPolicy};
use serde_json::json;

/// Returns the expected reason of `Ready` at the end; `None`: more is to be done.
pub(super) fn reason_for(spec: &ConnectorStagedSpec, record: &Record, asked: bool) -> Option<&'static str> {
    if !is_as_wanted(spec, record) {
        return None;
    }
    if spec.requests_preview() {
        match record.is_previewable {
            IsPreviewable::Yes if asked => {}
            IsPreviewable::No if asked => return Some("PreviewRefused"),
            _ => return None,
        }
    }
    match (spec.publish_policy, &record.status) {
        (_, ConnectorStatus::Processing) => None,
        (PublishPolicy::Never, _) => Some(if spec.requests_preview() { "Previewable" } else { "Staged" }),
        (_, ConnectorStatus::ReadyForCertification | ConnectorStatus::InCertification) => Some("InCertification"),
        // Another client published it without certification while it was being certified.
        (PublishPolicy::Certified, ConnectorStatus::Published | ConnectorStatus::Failed) if record.private => {
            Some("PublishingFailed")
        }
        (_, ConnectorStatus::Published | ConnectorStatus::Failed) if record.already_listed && !record.has_changes => {
            Some("Published")
        }
        (_, ConnectorStatus::Failed) => Some("PublishingFailed"),
        _ => None,
    }
}

/// Whether the record after a publication shows nothing of it: the status from before, and not what was published.
pub(super) fn shows_nothing(before: Option<&Record>, after: Option<&Record>) -> bool {
    let same = before.map(|record| &record.status) == after.map(|record| &record.status);
    same && after.is_some_and(|record| !record.already_listed || record.has_changes)
}

pub(super) fn has_tag(spec: &ConnectorStagedSpec, repository: &Repository) -> bool {
    (&spec.repository.url, &spec.repository.tag) == (&repository.url, &repository.tag)
}

/// Whether the record is as the spec asks; what the spec leaves out may have any value.
pub(super) fn is_as_wanted(spec: &ConnectorStagedSpec, record: &Record) -> bool {
    let set = |words: &[String]| words.iter().cloned().collect::<BTreeSet<_>>();
    let types = record.integration_types.iter().map(ToString::to_string).collect::<BTreeSet<_>>();
    let same = |wanted: &Option<String>, there: Option<&String>| wanted.is_none() || wanted.as_ref() == there;
    spec.name == record.name
        && same(&spec.description, Some(&record.description))
        && spec.creator.email == record.creator.email
        && same(&spec.creator.company, record.creator.company.as_ref())
        && has_tag(spec, &record.repository)
        && set(&spec.integration_types) == types
        && set(&spec.supported_regions) == set(&record.supported_regions)
        && projects(spec) == set(&record.private_projects)
}

/// Returns the projects of a spec as the service names them.
pub(super) fn projects(spec: &ConnectorStagedSpec) -> BTreeSet<String> {
    spec.private_projects.iter().map(|it| format!("{}:{}", it.region, it.project_key)).collect()
}

/// Returns everything in a record that users choose.
pub(super) fn content(record: &Record) -> String {
    let Record { name, description, integration_types, creator, repository, documentation_url, .. } = record;
    let (regions, projects) = (&record.supported_regions, &record.private_projects);
    format!(
        "{name} {description} {integration_types:?} {creator:?} {repository:?} {documentation_url:?} {regions:?} {projects:?}"
    )
}

#[test]
fn a_publication_shows_as_another_status_or_as_published() {
    let record = |(status, listed, changed): (&str, bool, bool)| -> Record {
        let record = json!({
            "id": "one", "version": 1, "name": "", "description": "", "integrationTypes": [], "creator": {"email": ""},
            "repository": {"url": "", "tag": ""}, "private": true, "privateProjects": [], "supportedRegions": [],
            "status": status, "alreadyListed": listed, "hasChanges": changed, "isPreviewable": "none",
        });
        serde_json::from_value(record).expect("a record")
    };
    for (case, before, after, expected) in [
        ("the failure from before", ("Failed", false, false), ("Failed", false, false), true),
        ("a failure", ("Draft", false, false), ("Failed", false, false), false),
        ("published", ("Failed", false, false), ("Published", true, false), false),
        ("published once more", ("Published", true, true), ("Published", true, false), false),
        ("the change from before", ("Published", true, true), ("Published", true, true), true),
    ] {
        assert_eq!(shows_nothing(Some(&record(before)), Some(&record(after))), expected, "{case}");
    }
}
