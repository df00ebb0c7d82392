//! The status of a `ConnectorStaged`, from what this reconcile observed and did. Pure.

use connect_api::mask::Masker;
use connect_api::model::{ConnectorStaged as Record, Report};
use jiff::Timestamp;

use super::observed::{Observed, Permission};
use super::state::State;
use crate::controllers::reporting::bounds;
use crate::controllers::reporting::conditions::{self, ConditionUpdate, Extra, cut};
use crate::controllers::reporting::observed_record::ObservedRecord;
use crate::controllers::reporting::reason::Reason;
use crate::controllers::reporting::service_report;
use crate::crd::ConnectorStagedSpec;
use crate::crd::connector_deployment_status::{MESSAGE_LENGTH, REPORT_SIZE};
use crate::crd::connector_staged_status::{
    CERTIFICATION_COMMENTS, COMMENTS_SIZE, CertificationComment, ConnectorStagedStatus, PreviewPermission,
};
use crate::crd::shared::RemoteIdentity;

/// What a reconcile knows at its end.
#[derive(Debug)]
pub struct StagedFacts<'a> {
    /// Generation of the resource that was reconciled.
    pub generation: i64,
    /// What the operator remembers; `None`: what it has remembered so far, also if it cannot be read.
    pub state: Option<&'a State>,
    /// The Ready condition.
    pub condition: ConditionUpdate,
    /// `spec.suspend`.
    pub suspended: bool,
    /// Key of the connector.
    pub key: &'a str,
    /// The project that contains it; `None` if that is not known.
    pub remote: Option<RemoteIdentity>,
    /// The record, as this reconcile saw it.
    pub record: ObservedRecord<'a, Record>,
    /// The reconcile request that this reconcile served.
    pub handled_reconcile: Option<String>,
}

/// Returns the new status, from the one before.
#[must_use]
pub fn summarize(before: &ConnectorStagedStatus, facts: &StagedFacts<'_>, now: Timestamp) -> ConnectorStagedStatus {
    let mut status = before.clone();
    status.observed_generation = facts.generation;
    status.key = Some(facts.key.to_owned());
    if let Some(state) = facts.state {
        status.remember(state);
    }
    // Once the project may contain something of this resource, `status.remote` is fixed.
    let has_begun = status.remembered().map_or(true, |state| state.has_begun());
    if status.remote.is_none() || !has_begun {
        status.remote = facts.remote.clone().or(status.remote);
    }
    match facts.record {
        ObservedRecord::Present(record) => {
            show(&mut status, record);
            if facts.condition.reason == Reason::Published || (record.already_listed && !record.has_changes) {
                status.published_tag = Some(cut(&record.repository.tag, 256));
            }
        }
        ObservedRecord::Absent => hide(&mut status),
        ObservedRecord::NotRead => {}
    }
    if let Some(handled) = &facts.handled_reconcile {
        status.handled_reconcile_request = Some(handled.clone());
    }
    let extra = Extra::suspended(facts.suspended);
    status.conditions = conditions::conditions(&before.conditions, &facts.condition, extra, facts.generation, now);
    bounded(status)
}

/// Limits the size of each list.
#[must_use]
pub fn bounded(mut status: ConnectorStagedStatus) -> ConnectorStagedStatus {
    bounds::keep(&mut status.publishing_report, REPORT_SIZE);
    bounds::keep(&mut status.previewable_report, REPORT_SIZE);
    bounds::keep(&mut status.certification_comments, COMMENTS_SIZE);
    status
}

fn show(status: &mut ConnectorStagedStatus, record: &Record) {
    status.version = Some(record.version);
    status.connector_status = Some(cut(record.status.as_str(), 64));
    status.previewable = Some(match record.is_previewable {
        Permission::Yes => PreviewPermission::Granted,
        Permission::No => PreviewPermission::Refused,
        Permission::Pending => PreviewPermission::Pending,
        Permission::NeverAsked => PreviewPermission::NotRequested,
        Permission::Other(_) => PreviewPermission::Unknown,
    });
    // No secured value was sent, so there is nothing to mask.
    let masker = Masker::new([]);
    let entries = |found: &Option<Report>| {
        found.as_ref().map(|found| service_report::newest(&found.entries, Some(&masker))).unwrap_or_default()
    };
    status.publishing_report = entries(&record.publishing_report);
    status.previewable_report = entries(&record.previewable_report);
    status.certification_comments = comments(record);
}

fn hide(status: &mut ConnectorStagedStatus) {
    status.version = None;
    status.connector_status = None;
    status.previewable = None;
    status.publishing_report.clear();
    status.previewable_report.clear();
    status.certification_comments.clear();
}

fn comments(record: &Record) -> Vec<CertificationComment> {
    let mut comments: Vec<_> = record.certification_info.iter().flat_map(|info| &info.comments).collect();
    comments.sort_by(|one, other| other.datetime.cmp(&one.datetime));
    let comment = |comment: &&connect_api::model::CertificationInfoComment| CertificationComment {
        project: cut(&comment.user_id, 64),
        at: cut(&comment.datetime, 64),
        comment: cut(&comment.comment, MESSAGE_LENGTH),
    };
    comments.iter().take(CERTIFICATION_COMMENTS).map(comment).collect()
}

/// Returns since which version the desired tag can be deployed while it is staged, or why it cannot be.
///
/// # Errors
/// The reason, in a sentence for the status of a deployment.
pub fn deployable(state: &State, seen: Option<&Observed>, spec: &ConnectorStagedSpec) -> Result<i64, String> {
    let Some(seen) = seen else { return Err("it does not exist at the remote yet".to_owned()) };
    let tag = &spec.repository.tag;
    let known = state.deployable.as_ref().filter(|deployable| deployable.source == seen.source);
    match (known, &seen.permission) {
        _ if !seen.repository_met => Err(format!("its tag is not yet {tag}")),
        (Some(deployable), Permission::Yes) => Ok(deployable.version),
        (_, Permission::Pending) | (None, Permission::Yes) => {
            Err(format!("permission to deploy tag {tag} as a preview is being requested"))
        }
        (_, Permission::No) => Err(format!("permission to deploy tag {tag} as a preview was refused")),
        _ if spec.previewable => Err(format!("permission to deploy tag {tag} as a preview was not granted yet")),
        _ => Err("permission to deploy it as a preview was not requested: set previewable: true there".to_owned()),
    }
}

#[cfg(test)]
#[path = "status_tests.rs"]
mod tests;
