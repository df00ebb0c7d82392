//! The status of a `ConnectorDeployment`, from what was seen and done in this run. Pure.
//!
//! No call and no decision: `decide/` has said what is the case, this says it to people.

use connect_api::mask::Masker;
use connect_api::model::Deployment;
use jiff::Timestamp;

use super::application_urls::{self, Urls};
use super::applications;
use super::decide::Verdict;
use super::ledger::{Applied, Ledger, OperationKind, Phase};
use super::stored;
use crate::controllers::bounds;
use crate::controllers::conditions::{self, Extra, Told, cut};
use crate::controllers::reason::Reason;
use crate::controllers::report;
use crate::controllers::tags::Item;
use crate::crd::connector_deployment_status::{
    APPLICATIONS_SIZE, ConnectorDeploymentStatus, DeployedApplication, DeployedConnector, LOG_LINE_LENGTH, LOG_LINES,
    LOG_SIZE, REPORT_SIZE, ReportEntry, VALUES_SIZE,
};
use crate::crd::shared::RemoteIdentity;
use crate::crd::{DeletionPolicy, DeploymentType};
use crate::names;

/// Most bytes of the names of values in a message.
const NAMES_LENGTH: usize = 600;

/// What is the case at the end of a run.
#[derive(Debug)]
pub struct Facts<'a> {
    /// Generation of the resource that the run was about.
    pub generation: i64,
    /// What is remembered.
    pub ledger: &'a Ledger,
    /// What to tell.
    pub told: Told,
    /// Whether visible values differ from those that were applied.
    pub comparison: Comparison,
    /// Whether the resource has secured values at all.
    pub secured: bool,
    /// `spec.suspend`.
    pub suspended: bool,
    /// Whether the registry has a newer version of the connector.
    pub newer: Newer,
    /// Key, type and region of the remote deployment, as the resource wants them; `None` if the project is not known.
    pub wanted: Option<WantedIdentity>,
    /// The deletion policy in force.
    pub deletion_policy: DeletionPolicy,
    /// What was seen in this run.
    pub seen: Sight<'a>,
    /// How to show texts of the service.
    pub texts: Texts<'a>,
    /// The last lines of its log, if they were fetched in this run.
    pub lines: Option<Vec<String>>,
    /// The reconcile request that this run has served.
    pub handled_reconcile: Option<String>,
    /// What the condition `Verified` says; `None`: nothing is verified.
    pub verified: Option<Told>,
}

/// What the status says of the remote deployment even before it exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedIdentity {
    /// Its key.
    pub key: String,
    /// Its type.
    pub kind: DeploymentType,
    /// Its region.
    pub region: String,
    /// The project that holds it.
    pub remote: RemoteIdentity,
}

/// What a run saw of the remote deployment.
#[derive(Clone, Copy, Debug)]
pub enum Sight<'a> {
    /// It did not look.
    NotLooked,
    /// There is none.
    Nothing,
    /// This one.
    Record(&'a Deployment),
}

/// A version of a connector, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// Its number.
    pub version: i64,
    /// The Git tag that it is built from; empty: not known.
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
    /// It was not asked, or did not answer: what was said stays.
    Unknown,
    /// It has none, or the deployment follows by itself.
    No,
    /// It has this one.
    Yes {
        /// The version that runs.
        running: Release,
        /// The registry's latest.
        latest: Release,
    },
}

/// How the visible values of the remote deployment compare with those that were applied (rule 16).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// They were not compared in this run: nothing was read, or something runs.
    None,
    /// `drift.policy: Ignore`.
    Ignored,
    /// They are those.
    Same,
    /// They differ.
    Different,
}

/// How much of the service's texts may be shown.
#[derive(Debug)]
pub enum Texts<'a> {
    /// All of them, without the values that were sent.
    Masked(&'a Masker),
    /// Titles only: the values that were sent are not known any more.
    Titles(&'a Masker),
    /// As they were: nothing was seen.
    Unchanged,
}

/// The new status, from the one before.
#[must_use]
pub fn summarize(before: &ConnectorDeploymentStatus, facts: &Facts<'_>, now: Timestamp) -> ConnectorDeploymentStatus {
    let mut status = before.clone();
    status.observed_generation = facts.generation;
    stored::store(&mut status, facts.ledger);
    status.deletion_policy = Some(facts.deletion_policy);
    if let Some(wanted) = &facts.wanted {
        status.key = Some(wanted.key.clone());
        status.deployment_type = Some(wanted.kind);
        status.region = Some(wanted.region.clone());
        // Once something of ours may be there, the project that holds it is fixed.
        if status.remote.is_none() || (facts.ledger.id.is_none() && facts.ledger.operation.is_none()) {
            status.remote = Some(wanted.remote.clone());
        }
    }
    match facts.seen {
        Sight::Record(record) => {
            let known = application_urls::urls(Some(record), before);
            show(&mut status, record, &known, &facts.texts);
        }
        Sight::Nothing => hide(&mut status),
        Sight::NotLooked => {}
    }
    if let Some(lines) = &facts.lines {
        status.last_log_lines = lines.iter().take(LOG_LINES).map(|line| cut(line, LOG_LINE_LENGTH)).collect();
    } else if !facts.told.reason.is_failed() && !matches!(facts.seen, Sight::NotLooked) {
        status.last_log_lines.clear();
    }
    if let Some(handled) = &facts.handled_reconcile {
        status.handled_reconcile_request = Some(handled.clone());
    }
    status.conditions =
        conditions::conditions(&before.conditions, &facts.told, extra(before, facts), facts.generation, now);
    let verified = facts.verified.as_ref();
    let verified =
        verified.map(|told| conditions::about(&before.conditions, names::VERIFIED, told, facts.generation, now));
    status.conditions.extend(verified);
    bounded(status)
}

/// The same, with lists of a bounded size.
#[must_use]
pub fn bounded(mut status: ConnectorDeploymentStatus) -> ConnectorDeploymentStatus {
    if let Some(applied) = &mut status.applied {
        for (values, size) in applied.value_lists() {
            bounds::keep(values, size);
        }
    }
    if let Some(operation) = &mut status.operation {
        bounds::keep(&mut operation.values, VALUES_SIZE);
    }
    bounds::keep(&mut status.applications, APPLICATIONS_SIZE);
    bounds::keep(&mut status.report, REPORT_SIZE);
    bounds::keep(&mut status.last_log_lines, LOG_SIZE);
    status
}

fn extra(before: &ConnectorDeploymentStatus, facts: &Facts<'_>) -> Vec<Extra> {
    let unverified = facts.ledger.unverified && facts.secured;
    let (reason, message) = if unverified {
        (
            "NotSentFromHere",
            "The secured values there cannot be read, and were not seen to be sent from here; the next redeploy sends them",
        )
    } else {
        ("NothingUnverified", "No secured values are there that were not sent from here")
    };
    vec![
        drifted(facts.comparison, facts.seen),
        update_available(before, &facts.newer),
        values_retained(facts),
        Extra::new(names::SECRETS_UNVERIFIED, Some(unverified), reason, message),
        Extra::suspended(facts.suspended),
    ]
}

/// What the deployment still has of what is not wanted; whether secured ones are among them is said first, because such a
/// value is still in force. Unknown while nothing that was sent is remembered.
fn values_retained(facts: &Facts<'_>) -> Extra {
    let type_ = names::VALUES_RETAINED;
    let applied = facts.ledger.applied.as_ref();
    // What this generation removes was not looked for yet, or cannot be.
    let is_behind = applied.is_some_and(|applied| applied.generation != facts.generation);
    let compared = !(is_behind && facts.comparison == Comparison::None);
    let retained = applied.map(|applied| &applied.retained).filter(|retained| !retained.is_empty());
    let Some(retained) = retained else {
        return match applied.and_then(|applied| applied.sent.as_ref()) {
            Some(_) if compared => Extra::new(
                type_,
                Some(false),
                "NothingRetained",
                "The deployment has no values that the spec does not name",
            ),
            Some(_) => Extra::new(
                type_,
                None,
                "NotCompared",
                "It was not compared yet which values of the deployment the spec does not name any more",
            ),
            None => Extra::new(type_, None, "NotCompared", "It is not known which values were sent to the deployment"),
        };
    };
    let secured = applied.is_some_and(Applied::retains_secured);
    let revoke = if secured { "; revoke secured ones where they were issued" } else { "" };
    let names = listed(retained.iter().map(|(item, _)| item).filter(|item| item.is_listed()));
    let message = format!(
        "The deployment still has values that the spec does not name: {names}. A redeploy takes nothing away: name them \
         again with other values, or set removedValues to Recreate, which deletes and creates the deployment and changes its \
         URLs{revoke}"
    );
    Extra::new(type_, Some(true), "NotInSpec", message)
}

fn drifted(comparison: Comparison, seen: Sight<'_>) -> Extra {
    if let (Comparison::Different, Sight::Record(Deployment { rollback_revision: Some(revision), .. })) =
        (comparison, seen)
    {
        let message = format!(
            "Somebody rolled the deployment back to revision {}: connector or values are not those that were applied; see \
             drift.policy",
            cut(revision, 256)
        );
        return Extra::new(names::DRIFTED, Some(true), "RolledBack", message);
    }
    let (holds, reason, message) = match comparison {
        Comparison::None => (None, "NotCompared", "Visible values were not compared with those that were applied"),
        Comparison::Ignored => (Some(false), "Ignored", "drift.policy is Ignore"),
        Comparison::Same => (Some(false), "ValuesMatch", "Visible values are those that were applied"),
        Comparison::Different => (
            Some(true),
            "ValuesDiffer",
            "Visible values or the connector are not those that were applied; see drift.policy",
        ),
    };
    Extra::new(names::DRIFTED, holds, reason, message)
}

fn update_available(before: &ConnectorDeploymentStatus, newer: &Newer) -> Extra {
    let type_ = names::UPDATE_AVAILABLE;
    match newer {
        Newer::No => {
            Extra::new(type_, Some(false), "NoNewerVersion", "No newer version of the connector waits to be named")
        }
        Newer::Yes { running, latest } => Extra::new(
            type_,
            Some(true),
            "NewerVersion",
            format!(
                "Version {latest} of the connector is published, and {running} runs: set connector.version to {}, or \
                 connector.updatePolicy to Latest",
                latest.version
            ),
        ),
        Newer::Unknown => match before.conditions.iter().find(|condition| condition.type_ == type_) {
            Some(earlier) if earlier.status != "Unknown" => {
                Extra::new(type_, Some(earlier.status == "True"), &earlier.reason, earlier.message.clone())
            }
            _ => Extra::new(type_, None, "RegistryNotRead", "The registry was not read yet"),
        },
    }
}

fn show(status: &mut ConnectorDeploymentStatus, record: &Deployment, urls: &Urls, texts: &Texts<'_>) {
    status.deployment_status = Some(cut(record.status.as_str(), 64));
    status.version = Some(record.version);
    status.connector = Some(DeployedConnector {
        id: Some(cut(&record.connector.id, 256)).filter(|id| !id.is_empty()),
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
            name: cut(&application.application_name, 256),
            application_type: declared
                .iter()
                .find(|declared| declared.application_name == application.application_name)
                .map(|declared| cut(declared.application_type.as_str(), 64)),
            url: urls.get(&application.application_name).map(|url| cut(url, 2048)),
            topic: application.topic.as_deref().map(|topic| cut(topic, 1024)),
            schedule: application.schedule.as_deref().map(|schedule| cut(schedule, 100)),
        })
        .collect();
    show_report(status, record, texts);
}

/// Shows the report of a record, and nothing else of it.
pub(super) fn show_report(status: &mut ConnectorDeploymentStatus, record: &Deployment, texts: &Texts<'_>) {
    match texts {
        Texts::Masked(masker) => status.report = report::newest(record.report(), masker, true),
        Texts::Titles(masker) => status.report = report::newest(record.report(), masker, false),
        Texts::Unchanged => {}
    }
}

fn hide(status: &mut ConnectorDeploymentStatus) {
    status.deployment_status = None;
    status.version = None;
    status.connector = None;
    status.applications.clear();
    status.report.clear();
}

/// What to tell people of values that the remote does not show as they were sent; names only.
#[must_use]
pub fn not_applied(items: &[Item]) -> Told {
    let names = listed(items.iter());
    let message = format!(
        "Live, but with other values than those that were sent: {names}. They are not sent again: look at the deployment, \
         then change the values, or ask for a redeploy"
    );
    Told::new(Reason::ValuesNotApplied, message)
}

/// Names of values, as many as fit beside a sentence, and how many more there are.
pub(super) fn listed<'i>(items: impl Iterator<Item = &'i Item>) -> String {
    let names: Vec<String> = items.map(ToString::to_string).collect();
    let (mut text, mut shown) = (String::new(), 0);
    for name in &names {
        if text.len() + name.len() > NAMES_LENGTH {
            break;
        }
        text = if text.is_empty() { name.clone() } else { format!("{text}, {name}") };
        shown += 1;
    }
    if shown < names.len() { format!("{text} and {} more", names.len() - shown) } else { text }
}

/// What failed on top of something that works is no outage: the service goes on with what it had (contract section 7).
#[must_use]
pub fn of_redeploy(told: Told, ledger: &Ledger) -> Told {
    let serves = ledger.applied.as_ref().is_some_and(|applied| applied.serves);
    if told.reason != Reason::DeploymentFailed || !serves {
        return told;
    }
    let message =
        format!("The last redeploy failed, and what was deployed before it goes on serving: {}", told.message);
    Told::new(Reason::RedeployFailed, message)
}

/// What to tell people of a verdict. `report`: the entries that the status shows.
#[must_use]
pub fn tell(verdict: &Verdict, key: &str, record: Option<&Deployment>, report: &[ReportEntry]) -> Told {
    let phase = record.map_or("nothing", |record| record.status.as_str());
    match verdict {
        Verdict::Running(OperationKind::Create) => Told::new(Reason::Creating, running("Creating", record)),
        Verdict::Running(OperationKind::Redeploy) => Told::new(Reason::Redeploying, running("Deploying again", record)),
        Verdict::Running(OperationKind::Recreate) => Told::new(
            Reason::Undeploying,
            running("Taking it down, to create it without the values that were removed", record),
        ),
        Verdict::Running(OperationKind::Undeploy) | Verdict::Released => {
            Told::new(Reason::Undeploying, running("Taking it down", record))
        }
        Verdict::TakesTooLong => Told::new(
            Reason::TakesTooLong,
            format!("No end after 30 minutes; the deployment is {phase}. The operator goes on looking"),
        ),
        Verdict::Changing => Told::new(Reason::Redeploying, "A change is about to be sent"),
        Verdict::Busy => {
            Told::new(Reason::Redeploying, format!("Somebody else works on it; the deployment is {phase}"))
        }
        Verdict::Settled { phase: settled, .. } => tell_settled(*settled, record, report),
        Verdict::NotApplied { .. } => lacking(record).unwrap_or_else(|| {
            Told::new(Reason::ValuesNotApplied, "The deployment shows other values than those that were sent")
        }),
        Verdict::KeyTaken => Told::new(
            Reason::KeyTaken,
            format!(
                "A deployment with key {key} exists and was not made by this resource: choose another key, or set adoptionPolicy: Adopt"
            ),
        ),
        Verdict::NotAdoptable => Told::new(Reason::KeyTaken, not_adoptable(key, record)),
        Verdict::TakingOver => Told::new(
            Reason::Adopting,
            format!("The deployment with key {key} is taken over once nothing has moved in it for a minute"),
        ),
        Verdict::Missing => {
            Told::new(Reason::ServiceUnavailable, "The deployment does not show; looking again to be sure")
        }
        Verdict::Disappeared => Told::new(
            Reason::RemoteDisappeared,
            "The deployment was deleted elsewhere: delete and create this resource, or set drift.policy: Correct",
        ),
        Verdict::Refused | Verdict::ValuesUnknown => {
            Told::new(Reason::RequestRejected, "The API refused the last request")
        }
        Verdict::HeldBySuspend => Told::new(Reason::Suspended, "A change waits: set suspend to false to send it"),
        Verdict::Observed(Phase::Deployed) => {
            lacking(record).unwrap_or_else(|| Told::new(Reason::Observed, "Deployed; only observed"))
        }
        Verdict::Observed(other) => tell_settled(*other, record, report),
        Verdict::NothingToObserve => {
            Told::new(Reason::RemoteDisappeared, format!("There is no deployment with key {key} to observe"))
        }
        Verdict::VersionUnavailable { wanted, latest } => Told::new(
            Reason::ConnectorVersionUnavailable,
            match latest {
                Some(latest) => format!(
                    "The service only deploys version {latest} of the connector, its latest, and not {wanted}: set connector.version to {latest}"
                ),
                None => format!("The registry does not say whether version {wanted} of the connector is its latest"),
            },
        ),
        Verdict::VersionMismatch { wanted, running } => Told::new(
            Reason::ConnectorVersionMismatch,
            format!(
                "Version {running} of the connector runs, and no redeploy can move it to {wanted}: set connector.version to {running}"
            ),
        ),
    }
}

fn not_adoptable(key: &str, record: Option<&Deployment>) -> String {
    let other = record.map_or_else(String::new, |record| {
        let connector = record.connector.key.as_deref().unwrap_or(&record.connector.id);
        format!(" ({connector}, {}, {})", record.deployed_region, record.kind.as_str())
    });
    format!(
        "A deployment with key {key} exists and cannot be taken over, because connector, region or type are others{other}: \
         delete this resource and create one that names the same, or one with another key"
    )
}

fn running(what: &str, record: Option<&Deployment>) -> String {
    match record {
        Some(record) => format!("{what}: the deployment is {}", record.status),
        None => what.to_owned(),
    }
}

/// A deployment that lives without all of its applications does not do what was asked for.
fn lacking(record: Option<&Deployment>) -> Option<Told> {
    let missing = applications::missing(record?);
    (!missing.is_empty()).then(|| Told::new(Reason::ApplicationMissing, applications::message(&missing)))
}

fn tell_settled(phase: Phase, record: Option<&Deployment>, report: &[ReportEntry]) -> Told {
    let finding = report::worst(report);
    match phase {
        Phase::Deployed => lacking(record).unwrap_or_else(|| match finding {
            Some(finding) => Told::new(Reason::DeployedWithWarnings, format!("Deployed, with findings: {finding}")),
            None => Told::new(Reason::Deployed, "Deployed"),
        }),
        Phase::Failed => Told::new(
            Reason::DeploymentFailed,
            finding.unwrap_or_else(|| "The deployment failed without a report".to_owned()),
        ),
        Phase::UndeployFailed => Told::new(
            Reason::UndeployFailed,
            finding.unwrap_or_else(|| "Taking it down did not work, and something may still run".to_owned()),
        ),
        Phase::Draft => Told::new(
            Reason::TakesTooLong,
            format!("The deployment stays in Draft: to start it, set the annotation {}", names::REDEPLOY_REQUESTED_AT),
        ),
        Phase::Queued | Phase::Deploying | Phase::Undeploying | Phase::Other => {
            Told::new(Reason::Redeploying, running("At work", record))
        }
    }
}
