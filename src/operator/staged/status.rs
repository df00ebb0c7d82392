//! The status of a `ConnectorStaged`, from what this reconcile observed and did. Pure.

use connect_api::mask::Masker;
use connect_api::model::{ConnectorStaged as Record, Report};
use jiff::Timestamp;

use super::desired;
use super::observed::Permission;
use super::state::State;
use crate::crd::ConnectorStaged;
use crate::crd::connector_deployment_status::{MESSAGE_LENGTH, REPORT_SIZE};
use crate::crd::connector_staged_status::{
    CERTIFICATION_COMMENTS, COMMENTS_SIZE, CertificationComment, ConnectorStagedStatus, PreviewPermission,
};
use crate::crd::shared::RemoteIdentity;
use crate::names;
use crate::operator::reconcile::request;
use crate::operator::reporting::bounds;
use crate::operator::reporting::conditions::{self, ConditionUpdate, Extra, cut};
use crate::operator::reporting::observed_record::ObservedRecord;
use crate::operator::reporting::reason::Reason;
use crate::operator::reporting::service_report;

/// What a reconcile knows at its end.
#[derive(Debug)]
pub struct StagedFacts<'a> {
    /// The resource that was reconciled, with the status before.
    pub object: &'a ConnectorStaged,
    /// What the operator remembers; `None`: what it has remembered so far, also if it cannot be read.
    pub state: Option<&'a State>,
    /// The Ready condition.
    pub condition: &'a ConditionUpdate,
    /// The project that contains it; `None` if that is not known.
    pub remote: Option<&'a RemoteIdentity>,
    /// The record, as this reconcile saw it.
    pub record: ObservedRecord<'a, Record>,
}

/// Returns the new status.
pub fn summarize(facts: &StagedFacts<'_>, now: Timestamp) -> ConnectorStagedStatus {
    let StagedFacts { object, condition, .. } = *facts;
    let mut status = object.status.clone().unwrap_or_default();
    status.observed_generation = object.metadata.generation.unwrap_or_default();
    status.key = Some(object.spec.key.clone());
    if let Some(state) = facts.state {
        status.remember(state);
        // What comes after an observation serves the request that came before.
        let request = request(object, names::RECONCILE_REQUESTED_AT);
        status.handled_reconcile_request = request.or(status.handled_reconcile_request);
    }
    // Once the project may contain something of this resource, `status.remote` is fixed.
    let has_begun = status.remembered().map_or(true, |state| state.has_begun());
    if let Some(project) = facts.remote.filter(|_| status.remote.is_none() || !has_begun) {
        status.remote.get_or_insert_default().project = project.clone();
    }
    let is_own = |record: &Record| status.id.as_ref() == Some(&record.id);
    let record = facts.record.only(is_own);
    match record {
        // What has the key is that of somebody else.
        _ if condition.reason == Reason::KeyTaken => hide(&mut status),
        ObservedRecord::Present(record) => {
            show(&mut status, record);
            if condition.reason == Reason::Published || (record.already_listed && !record.has_changes) {
                status.published_tag = Some(cut(&record.repository.tag, 256));
            }
        }
        ObservedRecord::Absent => hide(&mut status),
        ObservedRecord::NotRead => {}
    }
    let retained = match record {
        ObservedRecord::Present(record) => retained(object, record),
        ObservedRecord::Absent => None,
        ObservedRecord::NotRead => Extra::unchanged(&status.conditions, names::VALUES_RETAINED),
    };
    let extra = [retained, Extra::suspended(object.spec.suspend)].into_iter().flatten();
    status.conditions = conditions::conditions(&status.conditions, condition, extra, status.observed_generation, now);
    bounded(status)
}

/// Reports fields that the spec leaves out and the connector has.
fn retained(object: &ConnectorStaged, record: &Record) -> Option<Extra> {
    let retained = desired::changes(&object.spec, record).retained;
    let message = format!(
        "No update can remove these, so they stay: {}. Name each in the spec, as it is or with another value",
        retained.join(", ")
    );
    (!retained.is_empty()).then(|| Extra::new(names::VALUES_RETAINED, "NotInSpec", message))
}

/// Limits the size of each list.
pub fn bounded(mut status: ConnectorStagedStatus) -> ConnectorStagedStatus {
    bounds::keep(&mut status.publishing_report, REPORT_SIZE);
    bounds::keep(&mut status.preview_report, REPORT_SIZE);
    bounds::keep(&mut status.certification_comments, COMMENTS_SIZE);
    status
}

fn show(status: &mut ConnectorStagedStatus, record: &Record) {
    if let Some(remote) = &mut status.remote {
        remote.state = Some(cut(record.status.as_str(), 64));
        remote.version = Some(record.version);
    }
    status.preview = Some(match record.is_previewable {
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
    status.preview_report = entries(&record.previewable_report);
    status.certification_comments = comments(record);
}

fn hide(status: &mut ConnectorStagedStatus) {
    if let Some(remote) = &mut status.remote {
        (remote.state, remote.version) = (None, None);
    }
    status.preview = None;
    status.publishing_report.clear();
    status.preview_report.clear();
    status.certification_comments.clear();
}

fn comments(record: &Record) -> Vec<CertificationComment> {
    let mut comments: Vec<_> = record.certification_info.iter().flat_map(|info| &info.comments).collect();
    comments.sort_by(|one, other| other.datetime.cmp(&one.datetime));
    let comment = |comment: &&connect_api::model::CertificationInfoComment| CertificationComment {
        project_key: cut(&comment.user_id, 64),
        at: cut(&comment.datetime, 64),
        comment: cut(&comment.comment, MESSAGE_LENGTH),
    };
    comments.iter().take(CERTIFICATION_COMMENTS).map(comment).collect()
}

#[cfg(test)]
#[path = "status_tests.rs"]
mod tests;
