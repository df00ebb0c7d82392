//! The Ready condition of a `ConnectorDeployment`: what each outcome of a decision is reported as. Pure.

use connect_api::model::Deployment;

use super::super::applications;
use super::super::decide::Outcome;
use super::super::persisted::{OperationType, PersistedState, Phase};
use crate::crd::connector_deployment_status::ReportEntry;
use crate::operator::reporting::conditions::ConditionUpdate;
use crate::operator::reporting::reason::Reason;
use crate::operator::reporting::service_report;
use crate::operator::values::names::{Item, listed};

/// Reports values that the remote does not show as they were sent, by name only.
pub fn not_applied(items: &[Item]) -> ConditionUpdate {
    let names = listed(items.iter());
    let message = format!(
        "Deployed, but the deployment shows other values than those that were sent: {names}. The operator does not \
         send them again: inspect the deployment, then change the values or request a redeploy"
    );
    ConditionUpdate::new(Reason::ValuesNotApplied, message)
}

/// Reports a failed redeploy as `RedeployFailed` if earlier code keeps serving: the service does not stop it (contract
/// section 7), so this is no outage.
pub fn of_redeploy(condition: ConditionUpdate, persisted: &PersistedState) -> ConditionUpdate {
    let serves = persisted.applied.as_ref().is_some_and(|applied| applied.serves);
    if condition.reason != Reason::DeploymentFailed || !serves {
        return condition;
    }
    let message = format!("The last redeploy failed; what was deployed before keeps serving: {}", condition.message);
    ConditionUpdate::new(Reason::RedeployFailed, message)
}

/// Returns the Ready condition of an outcome. `report`: the entries that the status shows.
pub fn ready_condition(
    outcome: &Outcome,
    key: &str,
    record: Option<&Deployment>,
    report: &[ReportEntry],
) -> ConditionUpdate {
    let condition = of_outcome(outcome, key, record, report);
    match outcome {
        // The Event of an operation is reported when its call was sent.
        Outcome::Running(_) | Outcome::Changing | Outcome::Released => condition.without_event(),
        _ => condition,
    }
}

fn of_outcome(outcome: &Outcome, key: &str, record: Option<&Deployment>, report: &[ReportEntry]) -> ConditionUpdate {
    let phase = record.map_or("nothing", |record| record.status.as_str());
    match outcome {
        Outcome::Running(OperationType::Create) => {
            ConditionUpdate::new(Reason::Creating, running("The deployment is being created", record))
        }
        Outcome::Running(OperationType::Redeploy) => {
            ConditionUpdate::new(Reason::Redeploying, running("The deployment is being redeployed", record))
        }
        Outcome::Running(OperationType::Recreate) => ConditionUpdate::new(
            Reason::Undeploying,
            running("The deployment is being undeployed, to create it again without the removed values", record),
        ),
        Outcome::Running(OperationType::Undeploy) | Outcome::Released => {
            ConditionUpdate::new(Reason::Undeploying, running("The deployment is being undeployed", record))
        }
        Outcome::TakesTooLong => ConditionUpdate::new(
            Reason::TakesTooLong,
            format!("Not finished after 30 minutes; the deployment is {phase}. The operator keeps polling"),
        ),
        Outcome::Changing => ConditionUpdate::new(Reason::Redeploying, "A change is about to be sent"),
        Outcome::Busy => {
            ConditionUpdate::new(Reason::Redeploying, format!("Another client changes the deployment; it is {phase}"))
        }
        Outcome::Settled { phase: settled, .. } => settled_condition(*settled, record, report),
        Outcome::NotApplied { .. } => lacking(record).unwrap_or_else(|| {
            ConditionUpdate::new(
                Reason::ValuesNotApplied,
                "The deployment shows other values than those that were sent",
            )
        }),
        Outcome::KeyTaken => ConditionUpdate::new(
            Reason::KeyTaken,
            format!(
                "A deployment with key {key} exists and was not created by this resource: choose another key, or set \
                 adoptionPolicy: Adopt"
            ),
        ),
        Outcome::NotAdoptable => ConditionUpdate::new(Reason::KeyTaken, not_adoptable(key, record)),
        Outcome::TakingOver => ConditionUpdate::new(
            Reason::Adopting,
            format!("The deployment with key {key} is taken over once it has not changed for a minute"),
        ),
        Outcome::Missing => ConditionUpdate::new(
            Reason::ServiceUnavailable,
            "The deployment was not found; it is read again to be sure",
        ),
        Outcome::Disappeared => ConditionUpdate::new(
            Reason::RemoteDisappeared,
            "Another client deleted the deployment: delete this resource and create it again, or set \
             driftPolicy: Correct",
        ),
        Outcome::Refused | Outcome::ValuesUnknown => {
            ConditionUpdate::new(Reason::RequestRejected, "The API refused the last request")
        }
        Outcome::HeldBySuspend => {
            ConditionUpdate::new(Reason::Suspended, "A change is pending: set suspend to false to send it")
        }
        Outcome::Observed(Phase::Deployed) => lacking(record)
            .unwrap_or_else(|| ConditionUpdate::new(Reason::Observed, "Deployed; managementPolicy is ObserveOnly")),
        Outcome::Observed(other) => settled_condition(*other, record, report),
        Outcome::NothingToObserve => {
            ConditionUpdate::new(Reason::RemoteDisappeared, format!("There is no deployment with key {key} to observe"))
        }
        Outcome::VersionUnavailable { wanted, latest, .. } => ConditionUpdate::new(
            Reason::ConnectorVersionUnavailable,
            match latest {
                Some(latest) => format!(
                    "The service only deploys version {latest} of the connector, its latest, and not version {wanted}: \
                     set connector.version to {latest}"
                ),
                None => format!("The registry does not report whether version {wanted} of the connector is its latest"),
            },
        ),
        Outcome::VersionMismatch { wanted, running, .. } => ConditionUpdate::new(
            Reason::ConnectorVersionMismatch,
            format!(
                "The deployment runs version {running} of the connector, and no redeploy can move it to version \
                 {wanted}: set connector.version to {running}"
            ),
        ),
        Outcome::NotMoved { latest, running, .. } => ConditionUpdate::new(
            Reason::ConnectorVersionMismatch,
            format!(
                "The deployment runs version {running} of the connector, although a redeploy has moved it to version \
                 {latest}: ask the support of the service, or wait for the next version, which is followed again"
            ),
        ),
    }
}

fn not_adoptable(key: &str, record: Option<&Deployment>) -> String {
    let other = record.map_or_else(String::new, |record| {
        let connector = record.connector.key.as_deref().unwrap_or(&record.connector.id);
        format!(" ({connector}, {}, {})", record.deployed_region, record.kind().as_str())
    });
    format!(
        "A deployment with key {key} exists and cannot be taken over, because its connector, region or type \
         differs{other}: delete this resource, and create one that names the same connector, region and type, or \
         another key"
    )
}

fn running(what: &str, record: Option<&Deployment>) -> String {
    match record {
        Some(record) => format!("{what}; its status is {}", record.status),
        None => what.to_owned(),
    }
}

/// Reports a deployment that lacks applications, since it does not do everything that the connector declares.
fn lacking(record: Option<&Deployment>) -> Option<ConditionUpdate> {
    let missing = applications::missing(record?);
    (!missing.is_empty()).then(|| ConditionUpdate::new(Reason::ApplicationMissing, applications::message(&missing)))
}

fn settled_condition(phase: Phase, record: Option<&Deployment>, report: &[ReportEntry]) -> ConditionUpdate {
    let finding = service_report::worst(report);
    match phase {
        Phase::Deployed => lacking(record).unwrap_or_else(|| match finding {
            Some(finding) => {
                ConditionUpdate::new(Reason::DeployedWithWarnings, format!("Deployed, with findings: {finding}"))
            }
            None => ConditionUpdate::new(Reason::Deployed, "Deployed"),
        }),
        Phase::Failed => ConditionUpdate::new(
            Reason::DeploymentFailed,
            finding.unwrap_or_else(|| "The deployment failed without a report".to_owned()),
        ),
        Phase::UndeployFailed => ConditionUpdate::new(
            Reason::UndeployFailed,
            finding.unwrap_or_else(|| "Undeploying failed, and the deployment may still run".to_owned()),
        ),
        Phase::Draft => ConditionUpdate::new(
            Reason::TakesTooLong,
            "The deployment stays in Draft: to start it, request a redeploy (`connect-operator redeploy NAME`)",
        ),
        Phase::Queued | Phase::Deploying | Phase::Undeploying | Phase::Other => {
            ConditionUpdate::new(Reason::Redeploying, running("An operation is in progress", record))
        }
    }
}
