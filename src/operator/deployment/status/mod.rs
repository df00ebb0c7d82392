//! The status of a `ConnectorDeployment`, from what this reconcile observed and did. Pure.
//!
//! Makes no call and no decision: `decide/` returns an outcome, and this module turns it into conditions.

mod ready;

use connect_api::mask::Masker;
use connect_api::model::{Deployment, DeploymentStatus};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

pub use self::ready::{not_applied, of_redeploy, ready_condition};
use super::persisted::PersistedState;
use super::state;
use crate::crd::connector_deployment_status::{
    APPLICATIONS_SIZE, ConnectorDeploymentStatus, DeployedApplication, DeployedConnector, REPORT_SIZE, ReportEntry,
};
use crate::crd::shared::RemoteIdentity;
use crate::crd::{DeletionPolicy, DeploymentType};
use crate::names;
use crate::operator::object_ref::ObjectRef;
use crate::operator::reporting::bounds;
use crate::operator::reporting::conditions::{self, ConditionUpdate, Extra, cut};
use crate::operator::reporting::observed_record::ObservedRecord;
use crate::operator::reporting::reason::Reason;
use crate::operator::reporting::remedy;
use crate::operator::reporting::service_report;
use crate::operator::values::names::{Item, Names, listed};

/// What a reconcile knows at its end.
#[derive(Debug)]
pub struct DeploymentFacts<'a> {
    /// The resource.
    pub object_ref: &'a ObjectRef,
    /// Generation of the resource that was reconciled.
    pub generation: i64,
    /// What the decision table keeps.
    pub persisted: &'a PersistedState,
    /// The Ready condition.
    pub condition: ConditionUpdate,
    /// How visible values compare with those that were applied.
    pub comparison: Comparison,
    /// Names of what the deployment has and the spec does not name; `None`: they were not compared.
    pub retained: Option<Names>,
    /// Whether the resource has secured values at all.
    pub secured: bool,
    /// `spec.suspend`.
    pub suspended: bool,
    /// Whether the registry has a newer version of the connector.
    pub newer: Newer,
    /// Key, type and region of the desired remote deployment; `None` if the project is not known.
    pub wanted: Option<DesiredIdentity>,
    /// The deletion policy in force.
    pub deletion_policy: DeletionPolicy,
    /// The record, as this reconcile saw it.
    pub record: ObservedRecord<'a, Deployment>,
    /// How texts of the service may be shown.
    pub texts: Texts<'a>,
    /// The reconcile request that this reconcile served.
    pub handled_reconcile: Option<String>,
    /// The condition `Verified`; `None`: the spec verifies nothing.
    pub verified: Option<ConditionUpdate>,
}

/// What identifies the remote deployment, which the status shows even before it exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DesiredIdentity {
    /// Its key.
    pub key: String,
    /// Its type.
    pub kind: DeploymentType,
    /// Its region.
    pub region: String,
    /// The project that contains it.
    pub remote: RemoteIdentity,
}

/// A version of a connector, for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// Its number.
    pub version: i64,
    /// The Git tag that it was built from; empty: not known.
    pub tag: String,
}

impl std::fmt::Display for Release {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}", self.version)?;
        if self.tag.is_empty() { Ok(()) } else { write!(formatter, " (tag {})", cut(&self.tag, 100)) }
    }
}

/// Whether the registry has a newer version of the connector than the one that runs (rule 15).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Newer {
    /// The registry was not read, or did not answer: the condition stays as it was.
    Unknown,
    /// There is none, or the deployment follows the latest version by itself.
    No,
    /// There is this one.
    Yes {
        /// The version that runs.
        running: Release,
        /// The latest version in the registry.
        latest: Release,
    },
}

/// How the visible values of the remote deployment compare with those that were applied (rule 16).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Comparison {
    /// They were not compared: nothing was read, or the values are not known, or something is going on.
    #[default]
    None,
    /// They are the same, or drift is ignored.
    Same,
    /// These differ; none of them if an older version of the connector runs.
    Different(Vec<Item>),
}

/// How much of the service's texts may be shown.
#[derive(Debug)]
pub enum Texts<'a> {
    /// All of them, with the values that were sent masked.
    Masked(&'a Masker),
    /// None of them: the values in force are not known, so they cannot be masked.
    LeftOut,
    /// As they were before: nothing was read.
    Unchanged,
}

/// Returns the new status, from the one before.
pub fn summarize(
    before: &ConnectorDeploymentStatus,
    facts: &DeploymentFacts<'_>,
    now: Timestamp,
) -> ConnectorDeploymentStatus {
    let mut status = before.clone();
    status.observed_generation = facts.generation;
    state::write(&mut status, facts.persisted);
    status.deletion_policy = Some(facts.deletion_policy);
    if let Some(wanted) = &facts.wanted {
        status.key = Some(wanted.key.clone());
        let is_new = status.remote.is_none();
        let remote = status.remote.get_or_insert_default();
        // What exists stays in its region, whatever that of the project is today.
        if remote.state.is_none() {
            remote.deployment_type = Some(wanted.kind);
            remote.region = Some(wanted.region.clone());
        }
        // Once the project may contain something of this resource, it is fixed.
        if is_new || (facts.persisted.id.is_none() && facts.persisted.operation.is_none()) {
            remote.project = wanted.remote.clone();
        }
    }
    match facts.record {
        // What has the key is that of somebody else.
        _ if facts.condition.reason == Reason::KeyTaken => hide(&mut status),
        ObservedRecord::Present(record) => {
            if before.id.as_ref() != Some(&record.id) {
                status.applications.clear();
            }
            show(&mut status, record, &facts.texts);
        }
        ObservedRecord::Absent => hide(&mut status),
        ObservedRecord::NotRead => {}
    }
    if let Some(handled) = &facts.handled_reconcile {
        status.handled_reconcile_request = Some(handled.clone());
    }
    status.conditions =
        conditions::conditions(&before.conditions, &facts.condition, extra(before, facts), facts.generation, now);
    status.conditions.push(available(before, facts, now));
    let verified = facts.verified.as_ref();
    let verified = verified
        .map(|condition| conditions::about(&before.conditions, names::VERIFIED, condition, facts.generation, now));
    status.conditions.extend(verified);
    bounded(status)
}

/// Reports whether some version serves. A redeploy, also one that fails, does not stop what was deployed before (contract
/// section 7).
fn available(before: &ConnectorDeploymentStatus, facts: &DeploymentFacts<'_>, now: Timestamp) -> Condition {
    let reason = facts.condition.reason;
    let serves = match facts.record {
        _ if reason == Reason::KeyTaken => false,
        ObservedRecord::Present(record) if record.status == DeploymentStatus::Deployed => true,
        ObservedRecord::Present(record) if record.status == DeploymentStatus::Undeploying => false,
        // One 404 proves nothing.
        ObservedRecord::Absent if reason != Reason::ServiceUnavailable => false,
        _ => conditions::is_true(&before.conditions, names::AVAILABLE),
    };
    let (status, reason, message) = if serves {
        ("True", "Serving", "A version of the deployment serves")
    } else {
        ("False", "NotServing", "No version of the deployment is known to serve")
    };
    conditions::condition(&before.conditions, names::AVAILABLE, status, (reason, message), facts.generation, now)
}

/// Limits the size of each list.
pub fn bounded(mut status: ConnectorDeploymentStatus) -> ConnectorDeploymentStatus {
    bounds::keep(&mut status.applications, APPLICATIONS_SIZE);
    bounds::keep(&mut status.report, REPORT_SIZE);
    status
}

fn extra(before: &ConnectorDeploymentStatus, facts: &DeploymentFacts<'_>) -> impl IntoIterator<Item = Extra> {
    let conditions = [
        drifted(before, facts),
        update_available(before, &facts.newer),
        values_retained(before, facts),
        secrets_unverified(facts),
        Extra::suspended(facts.suspended),
    ];
    conditions.into_iter().flatten()
}

fn secrets_unverified(facts: &DeploymentFacts<'_>) -> Option<Extra> {
    let message = || {
        format!(
            "The secured values of the deployment cannot be read back, and this resource is not known to have sent \
             them. The next redeploy sends them: {}",
            remedy::redeploy(facts.object_ref)
        )
    };
    let unverified = facts.persisted.unverified && facts.secured;
    unverified.then(|| Extra::new(names::SECRETS_UNVERIFIED, "NotSentFromHere", message()))
}

/// Reports values that the deployment still has and the spec does not name. The message says whether secured values are
/// among them, because these are still in force.
fn values_retained(before: &ConnectorDeploymentStatus, facts: &DeploymentFacts<'_>) -> Option<Extra> {
    let type_ = names::VALUES_RETAINED;
    let Some(retained) = &facts.retained else {
        // Without the names of what was sent, nothing can be compared.
        facts.persisted.applied.as_ref()?.names.as_ref()?;
        return Extra::unchanged(&before.conditions, type_);
    };
    if retained.is_empty() {
        return None;
    }
    let revoke = if retained.has_secured() { "; revoke secured ones where they were issued" } else { "" };
    let names = listed(retained.iter().filter(|item| item.is_listed()));
    let message = format!(
        "The deployment still has values that the spec does not name: {names}. A redeploy does not remove values: name \
         them again with other values, or set removedValuesPolicy to Recreate, which deletes the deployment and creates it \
         again, with other URLs{revoke}"
    );
    Some(Extra::new(type_, "NotInSpec", message))
}

/// Reports what another client changed, by name only: a plain value may be confidential, too.
fn drifted(before: &ConnectorDeploymentStatus, facts: &DeploymentFacts<'_>) -> Option<Extra> {
    let record = match facts.record {
        ObservedRecord::Present(record) => Some(record),
        ObservedRecord::Absent | ObservedRecord::NotRead => None,
    };
    let is_gone = matches!(facts.record, ObservedRecord::Absent) || facts.persisted.operation.is_some();
    let values = match &facts.comparison {
        Comparison::None if is_gone => return None,
        Comparison::None => return Extra::unchanged(&before.conditions, names::DRIFTED),
        Comparison::Same => return None,
        Comparison::Different(values) => values,
    };
    let applied = facts.persisted.applied.as_ref().and_then(|applied| applied.connector_version);
    let older = applied.zip(record).is_some_and(|(applied, record)| record.connector.version < applied);
    let version = older.then(|| "the connector version".to_owned());
    let names = Some(listed(values.iter())).filter(|names| !names.is_empty());
    let parts: Vec<String> = version.into_iter().chain(names).collect();
    let parts = if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) };
    let (reason, what) = match record.and_then(|record| record.rollback_revision.as_deref()) {
        Some(revision) => {
            let revision = cut(revision, 256);
            ("RolledBack", format!("Another client rolled the deployment back to revision {revision}, which"))
        }
        None => ("ValuesDiffer", "The deployment".to_owned()),
    };
    let message = format!("{what} differs from what was applied{parts}; see driftPolicy");
    Some(Extra::new(names::DRIFTED, reason, message))
}

fn update_available(before: &ConnectorDeploymentStatus, newer: &Newer) -> Option<Extra> {
    let type_ = names::UPDATE_AVAILABLE;
    match newer {
        Newer::No => None,
        Newer::Yes { running, latest } => {
            let message = format!(
                "Version {latest} of the connector is published, and {running} runs: set connector.version to {}, or \
                 connector.updatePolicy to Latest",
                latest.version
            );
            Some(Extra::new(type_, "NewerVersion", message))
        }
        Newer::Unknown => Extra::unchanged(&before.conditions, type_),
    }
}

fn show(status: &mut ConnectorDeploymentStatus, record: &Deployment, texts: &Texts<'_>) {
    // A record need not show URLs during a redeploy.
    let before = std::mem::take(&mut status.applications);
    let url = |name: &str| before.iter().find(|application| application.application_name == name)?.url.clone();
    if let Some(remote) = &mut status.remote {
        remote.region = Some(cut(&record.deployed_region, 64));
        remote.state = Some(cut(record.status.as_str(), 64));
        remote.version = Some(record.version);
    }
    status.connector = Some(DeployedConnector {
        // Whole, because it is compared with that of a ConnectorStaged.
        id: Some(record.connector.id.clone()).filter(|id| !id.is_empty()),
        key: record.connector.key.as_deref().map(|key| cut(key, 256)),
        version: Some(record.connector.version),
        tag: Some(cut(&record.connector.repository.tag, 256)).filter(|tag| !tag.is_empty()),
        name: Some(cut(&record.connector.name, 256)).filter(|name| !name.is_empty()),
    });
    let declared = record.connector.configurations.as_deref().unwrap_or_default();
    status.applications = record
        .applications
        .iter()
        .take(64)
        .map(|application| DeployedApplication {
            application_name: cut(&application.application_name, 256),
            application_type: declared
                .iter()
                .find(|declared| declared.application_name == application.application_name)
                .map(|declared| cut(declared.application_type.as_str(), 64)),
            url: application
                .url
                .as_deref()
                .map(|url| cut(url, usize::MAX))
                .or_else(|| url(&application.application_name)),
            topic: application.topic.as_deref().map(|topic| cut(topic, 1024)),
            schedule: application.schedule.as_deref().map(|schedule| cut(schedule, 100)),
        })
        .collect();
    if let Some(report) = report(record, texts) {
        status.report = report;
    }
}

/// Returns the report of a record; `None`: it stays as it was.
pub(super) fn report(record: &Deployment, texts: &Texts<'_>) -> Option<Vec<ReportEntry>> {
    match texts {
        Texts::Masked(masker) => Some(service_report::newest(record.report(), Some(masker))),
        Texts::LeftOut => Some(service_report::newest(record.report(), None)),
        Texts::Unchanged => None,
    }
}

fn hide(status: &mut ConnectorDeploymentStatus) {
    if let Some(remote) = &mut status.remote {
        (remote.state, remote.version) = (None, None);
    }
    status.connector = None;
    status.applications.clear();
    status.report.clear();
}
