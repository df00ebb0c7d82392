//! The status of a `ConnectorStaged`, from what this reconcile observed and did. Pure.
//!
//! Makes no call and no decision: `decide/` returns an outcome, and this module turns it into conditions.

use connect_api::mask::Masker;
use connect_api::model::{ConnectorStaged as Record, DeclaredApplication, IsPreviewable, Report};
use jiff::Timestamp;

use super::decide::{Outcome, ReachedStep};
use super::observed::{Observed, Permission};
use super::state::{CallKind, State};
use crate::controllers::reporting::bounds;
use crate::controllers::reporting::conditions::{self, ConditionUpdate, Extra, cut};
use crate::controllers::reporting::observed_record::ObservedRecord;
use crate::controllers::reporting::reason::Reason;
use crate::controllers::reporting::service_report;
use crate::crd::ConnectorStagedSpec;
use crate::crd::connector_deployment_status::{MESSAGE_LENGTH, REPORT_SIZE};
use crate::crd::connector_staged_status::{
    CERTIFICATION_COMMENTS, COMMENTS_SIZE, CertificationComment, ConnectorStagedStatus, PreviewPermission,
    STAGED_APPLICATIONS, STAGED_APPLICATIONS_SIZE, STAGED_KEYS, STAGED_KEYS_SIZE, StagedApplication, StagedVariable,
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
///
/// # Errors
/// If the state cannot be serialized, which is a bug.
pub fn summarize(
    before: &ConnectorStagedStatus,
    facts: &StagedFacts<'_>,
    now: Timestamp,
) -> Result<ConnectorStagedStatus, serde_json::Error> {
    let mut status = before.clone();
    status.observed_generation = facts.generation;
    let has_begun = match facts.state {
        Some(state) => {
            remember(&mut status, state)?;
            state.has_begun()
        }
        None => status.remembered().map_or(true, |state| state.has_begun()),
    };
    status.key = Some(facts.key.to_owned());
    // Once the project may contain something of this resource, `status.remote` is fixed.
    let fixed = status.remote.is_some() && has_begun;
    if let Some(remote) = facts.remote.as_ref().filter(|_| !fixed) {
        status.remote = Some(remote.clone());
    }
    match facts.record {
        ObservedRecord::Present(record) => show(&mut status, record),
        ObservedRecord::Absent => hide(&mut status),
        ObservedRecord::NotRead => {}
    }
    if let ObservedRecord::Present(record) = facts.record
        && (facts.condition.reason == Reason::Published || (record.already_listed && !record.has_changes))
    {
        status.published_tag = Some(cut(&record.repository.tag, 256));
    }
    if let Some(handled) = &facts.handled_reconcile {
        status.handled_reconcile_request = Some(handled.clone());
    }
    let extra = Extra::suspended(facts.suspended);
    status.conditions = conditions::conditions(&before.conditions, &facts.condition, extra, facts.generation, now);
    Ok(bounded(status))
}

/// Writes the state, and what users look at of it.
fn remember(status: &mut ConnectorStagedStatus, state: &State) -> Result<(), serde_json::Error> {
    status.state = state.text()?;
    status.id.clone_from(&state.id);
    status.previewed_tag = state.preview.as_ref().map(|preview| preview.tag.clone());
    status.deployable.clone_from(&state.deployable);
    status.handled_redeploy_request.clone_from(&state.handled_request);
    Ok(())
}

/// Limits the size of each list.
#[must_use]
pub fn bounded(mut status: ConnectorStagedStatus) -> ConnectorStagedStatus {
    bounds::keep(&mut status.publishing_report, REPORT_SIZE);
    bounds::keep(&mut status.previewable_report, REPORT_SIZE);
    bounds::keep(&mut status.certification_comments, COMMENTS_SIZE);
    for application in &mut status.configurations {
        bounds::keep(&mut application.standard_configuration, STAGED_KEYS_SIZE);
        bounds::keep(&mut application.secured_configuration, STAGED_KEYS_SIZE);
    }
    bounds::keep(&mut status.configurations, STAGED_APPLICATIONS_SIZE);
    status
}

fn show(status: &mut ConnectorStagedStatus, record: &Record) {
    status.version = Some(record.version);
    status.connector_status = Some(cut(record.status.as_str(), 64));
    status.previewable = Some(permission(&record.is_previewable));
    status.already_listed = Some(record.already_listed);
    status.has_changes = Some(record.has_changes);
    // No secured value was sent, so there is nothing to mask.
    let masker = Masker::new([]);
    let entries = |found: &Option<Report>| {
        found.as_ref().map(|found| service_report::newest(&found.entries, Some(&masker))).unwrap_or_default()
    };
    status.publishing_report = entries(&record.publishing_report);
    status.previewable_report = entries(&record.previewable_report);
    status.certification_comments = comments(record);
    let declared = record.configurations.as_deref().unwrap_or_default();
    status.configurations = declared.iter().take(STAGED_APPLICATIONS).map(application).collect();
}

fn permission(word: &IsPreviewable) -> PreviewPermission {
    match word {
        IsPreviewable::Yes => PreviewPermission::Granted,
        IsPreviewable::No => PreviewPermission::Refused,
        IsPreviewable::Pending => PreviewPermission::Pending,
        IsPreviewable::NeverAsked => PreviewPermission::NotRequested,
        IsPreviewable::Other(_) => PreviewPermission::Unknown,
    }
}

fn hide(status: &mut ConnectorStagedStatus) {
    status.version = None;
    status.connector_status = None;
    status.previewable = None;
    status.already_listed = None;
    status.has_changes = None;
    status.publishing_report.clear();
    status.previewable_report.clear();
    status.certification_comments.clear();
    status.configurations.clear();
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

fn application(declared: &DeclaredApplication) -> StagedApplication {
    let variable = |key: &str, required: bool| StagedVariable { key: cut(key, 256), required };
    let standard = declared.standard_configuration.iter().map(|key| variable(&key.key, key.required));
    let secured = declared.secured_configuration.iter().map(|key| variable(&key.key, key.required));
    StagedApplication {
        application_name: cut(&declared.application_name, 256),
        application_type: cut(declared.application_type.as_str(), 64),
        standard_configuration: standard.take(STAGED_KEYS).collect(),
        secured_configuration: secured.take(STAGED_KEYS).collect(),
    }
}

/// Returns the Ready condition of an outcome. `details`: what differs and cannot be changed, or what publishing waits
/// for.
#[must_use]
pub fn ready_condition(outcome: Outcome, key: &str, record: Option<&Record>, details: &[String]) -> ConditionUpdate {
    let condition = of_outcome(outcome, key, record, details);
    match outcome {
        // The Event of a call is reported when it was sent.
        Outcome::Running(_) => condition.without_event(),
        _ => condition,
    }
}

fn of_outcome(outcome: Outcome, key: &str, record: Option<&Record>, details: &[String]) -> ConditionUpdate {
    let status = record.map_or_else(|| "not found".to_owned(), |record| record.status.to_string());
    match outcome {
        Outcome::Running(CallKind::Create) => ConditionUpdate::new(Reason::Staging, "Creating the staged connector"),
        Outcome::Running(CallKind::Update) => ConditionUpdate::new(Reason::Updating, "Sending the changes of the spec"),
        Outcome::Running(CallKind::Preview) => {
            ConditionUpdate::new(Reason::PreviewRequested, "Requested permission to deploy this tag as a preview")
        }
        Outcome::Running(CallKind::Publish) => {
            ConditionUpdate::new(Reason::Publishing, format!("Publishing: the connector is {status}"))
        }
        Outcome::Running(CallKind::Delete) => ConditionUpdate::new(Reason::Deleting, "Deleting the staged connector"),
        Outcome::TakesTooLong => ConditionUpdate::new(
            Reason::TakesTooLong,
            format!("Not finished after 30 minutes; the connector is {status}. The operator keeps polling"),
        ),
        Outcome::Busy => ConditionUpdate::new(
            Reason::Updating,
            format!("The connector is {status}; changes of the spec are sent once it is idle"),
        ),
        Outcome::Certifying => ConditionUpdate::new(Reason::InCertification, certifying(&status, record)),
        Outcome::AwaitingProof => {
            let tag = record.map(|record| record.repository.tag.as_str()).unwrap_or_default();
            ConditionUpdate::new(
                Reason::AwaitingProof,
                format!("Tag {tag} is not published yet: {}", details.join("; ")),
            )
        }
        Outcome::Settled(rest) => settled(rest, record),
        Outcome::CannotChange => ConditionUpdate::new(Reason::CannotBeChanged, details.join("; ")),
        Outcome::PreviewRefused => failed(
            Reason::PreviewRefused,
            "Permission to deploy this tag as a preview was refused",
            record.and_then(|record| record.previewable_report.as_ref()),
        ),
        Outcome::PublishingFailed => failed(
            Reason::PublishingFailed,
            "Publishing failed",
            record.and_then(|record| record.publishing_report.as_ref()),
        ),
        Outcome::KeyTaken => ConditionUpdate::new(
            Reason::KeyTaken,
            format!(
                "A staged connector with key {key} exists and was not created by this resource: choose another key, or \
                 set adoptionPolicy: Adopt"
            ),
        ),
        Outcome::Missing => ConditionUpdate::new(
            Reason::ServiceUnavailable,
            "The staged connector was not found; it is read again to be sure",
        ),
        Outcome::Disappeared => ConditionUpdate::new(
            Reason::RemoteDisappeared,
            "Another client deleted the staged connector: delete this resource and create it again",
        ),
        Outcome::Refused => ConditionUpdate::new(Reason::RequestRejected, "The API refused the last request"),
        Outcome::HeldBySuspend => {
            ConditionUpdate::new(Reason::Suspended, "A change is pending: set suspend to false to send it")
        }
    }
}

fn settled(rest: ReachedStep, record: Option<&Record>) -> ConditionUpdate {
    let tag = record.map(|record| record.repository.tag.as_str()).unwrap_or_default();
    match rest {
        ReachedStep::Published => ConditionUpdate::new(Reason::Published, format!("Tag {tag} is published")),
        ReachedStep::Previewable => {
            ConditionUpdate::new(Reason::Previewable, format!("Tag {tag} may be deployed as a preview"))
        }
        ReachedStep::Staged => ConditionUpdate::new(Reason::Staged, format!("Tag {tag} is staged")),
    }
}

fn certifying(status: &str, record: Option<&Record>) -> String {
    let comments = record.map(comments).unwrap_or_default();
    match comments.first() {
        Some(newest) => format!("{status}; the newest comment: {}", newest.comment),
        None => format!("{status}; no comments yet"),
    }
}

/// Reports a failure. Only the status of the connector says that it failed; its report may contain the reason, but the
/// service also reports checks that it skipped as errors (contract section 15.2), even for a connector that is
/// published.
fn failed(reason: Reason, what: &str, found: Option<&Report>) -> ConditionUpdate {
    let entries = found.map(|found| service_report::newest(&found.entries, Some(&Masker::new([])))).unwrap_or_default();
    let errors = service_report::errors(&entries);
    let finding = match errors.as_slice() {
        [] => service_report::worst(&entries).unwrap_or_else(|| "the service gives no reason".to_owned()),
        [one] => one.clone(),
        several => format!("{} (checks that were skipped are reported as errors, too)", several.join("; ")),
    };
    ConditionUpdate::new(reason, format!("{what}: {finding}"))
}

/// Returns since which version the desired tag can be deployed while it is staged, or why it cannot be.
///
/// # Errors
/// The reason, in a sentence for the status of a deployment.
pub fn deployable(state: &State, seen: Option<&Observed>, spec: &ConnectorStagedSpec) -> Result<i64, String> {
    let Some(seen) = seen else { return Err("it does not exist at the remote yet".to_owned()) };
    let tag = &spec.repository.tag;
    let known = state.deployable.as_ref().filter(|deployable| deployable.source == seen.source);
    match (known, seen.permission) {
        _ if !seen.repository_met => Err(format!("its tag is not yet {tag}")),
        (Some(deployable), Permission::Granted) => Ok(deployable.version),
        (_, Permission::Pending) | (None, Permission::Granted) => {
            Err(format!("permission to deploy tag {tag} as a preview is being requested"))
        }
        (_, Permission::Refused) => Err(format!("permission to deploy tag {tag} as a preview was refused")),
        _ if spec.previewable => Err(format!("permission to deploy tag {tag} as a preview was not granted yet")),
        _ => Err("permission to deploy it as a preview was not requested: set previewable: true there".to_owned()),
    }
}

#[cfg(test)]
#[path = "status_tests.rs"]
mod tests;
