//! What a decision reports, and the Ready condition that it becomes. Pure.

use connect_api::mask::Masker;
use connect_api::model::{ConnectorStaged as Record, Report};

use super::state::CallKind;
use crate::crd::connector_deployment_status::MESSAGE_LENGTH;
use crate::operator::reporting::conditions::{ConditionUpdate, cut};
use crate::operator::reporting::reason::Reason;
use crate::operator::reporting::service_report;

/// What a decision reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A call of this resource has not ended.
    Running(CallKind),
    /// It has not ended for 30 minutes.
    TakesTooLong,
    /// Another client keeps the connector busy.
    Busy,
    /// It waits for certification, or is being certified.
    Certifying,
    /// It is published after everything that `publishAfter` requires is proven.
    AwaitingProof,
    /// It is staged, and no more is asked for.
    Staged,
    /// It may be deployed while staged, and no more is asked for.
    Previewable,
    /// It is published.
    Published,
    /// A difference cannot be changed.
    CannotChange,
    /// The permission for a preview was refused.
    PreviewRefused,
    /// Publishing failed.
    PublishingFailed,
    /// A staged connector with this key exists, and this resource did not create it.
    KeyTaken,
    /// The connector was not found, which does not prove yet that it is gone.
    Missing,
    /// Another client deleted the connector.
    Disappeared,
    /// The call was refused.
    Refused,
    /// Something would be sent if the resource were not suspended.
    HeldBySuspend,
}

/// Returns the Ready condition of an outcome. `details`: what differs and cannot be changed, or what publishing waits
/// for.
pub fn ready_condition(outcome: Outcome, key: &str, record: Option<&Record>, details: &[String]) -> ConditionUpdate {
    let status = record.map_or("not found", |record| record.status.as_str());
    let tag = record.map(|record| record.repository.tag.as_str()).unwrap_or_default();
    let (reason, message) = match outcome {
        Outcome::Running(CallKind::Create) => (Reason::Staging, "Creating the staged connector".to_owned()),
        Outcome::Running(CallKind::Update) => (Reason::Updating, "Sending the changes of the spec".to_owned()),
        Outcome::Running(CallKind::Preview) => {
            (Reason::PreviewRequested, "Requested permission to deploy this tag as a preview".to_owned())
        }
        Outcome::Running(CallKind::Publish) => (Reason::Publishing, format!("Publishing: the connector is {status}")),
        Outcome::Running(CallKind::Delete) => (Reason::Deleting, "Deleting the staged connector".to_owned()),
        Outcome::TakesTooLong => {
            let message =
                format!("Not finished after 30 minutes; the connector is {status}. The operator keeps polling");
            (Reason::TakesTooLong, message)
        }
        Outcome::Busy => {
            (Reason::Updating, format!("The connector is {status}; changes of the spec are sent once it is idle"))
        }
        Outcome::Certifying => (Reason::InCertification, certifying(status, record)),
        Outcome::AwaitingProof => {
            (Reason::AwaitingProof, format!("Tag {tag} is not published yet: {}", details.join("; ")))
        }
        Outcome::Staged => (Reason::Staged, format!("Tag {tag} is staged")),
        Outcome::Previewable => (Reason::Previewable, format!("Tag {tag} may be deployed as a preview")),
        Outcome::Published => (Reason::Published, format!("Tag {tag} is published")),
        Outcome::CannotChange => (Reason::CannotBeChanged, details.join("; ")),
        Outcome::PreviewRefused => {
            let why = finding(record.and_then(|record| record.previewable_report.as_ref()));
            (Reason::PreviewRefused, format!("Permission to deploy this tag as a preview was refused: {why}"))
        }
        Outcome::PublishingFailed => {
            let why = finding(record.and_then(|record| record.publishing_report.as_ref()));
            (Reason::PublishingFailed, format!("Publishing failed: {why}"))
        }
        Outcome::KeyTaken => {
            let choose = "choose another key, or set adoptionPolicy: Adopt";
            let exists = format!("A staged connector with key {key} exists and was not created by this resource");
            (Reason::KeyTaken, format!("{exists}: {choose}"))
        }
        Outcome::Missing => {
            let message = "The staged connector was not found; it is read again to be sure";
            (Reason::ServiceUnavailable, message.to_owned())
        }
        Outcome::Disappeared => {
            let message = "Another client deleted the staged connector: delete this resource and create it again";
            (Reason::RemoteDisappeared, message.to_owned())
        }
        Outcome::Refused => (Reason::RequestRejected, "The API refused the last request".to_owned()),
        Outcome::HeldBySuspend => {
            (Reason::Suspended, "A change is pending: set suspend to false to send it".to_owned())
        }
    };
    // The Event of a call is reported when it was sent.
    let event = !matches!(outcome, Outcome::Running(_));
    ConditionUpdate { event, ..ConditionUpdate::new(reason, message) }
}

fn certifying(status: &str, record: Option<&Record>) -> String {
    let info = record.and_then(|record| record.certification_info.as_ref());
    match info.and_then(|info| info.comments.iter().max_by_key(|comment| &comment.datetime)) {
        Some(newest) => format!("{status}; the newest comment: {}", cut(&newest.comment, MESSAGE_LENGTH)),
        None => format!("{status}; no comments yet"),
    }
}

/// Returns why something failed. Only the status of the connector says that it failed; its report may contain the reason,
/// but the service also reports checks that it skipped as errors (contract section 15.2), even for a connector that is
/// published.
fn finding(report: Option<&Report>) -> String {
    let entries =
        report.map(|found| service_report::newest(&found.entries, Some(&Masker::new([])))).unwrap_or_default();
    match service_report::errors(&entries).as_slice() {
        [] => service_report::worst(&entries).unwrap_or_else(|| "the service gives no reason".to_owned()),
        [one] => one.clone(),
        several => format!("{} (checks that were skipped are reported as errors, too)", several.join("; ")),
    }
}
