//! The reported conditions of each outcome: the reason, and a helpful message.

use connect_operator::controllers::connector_deployment::decide::Outcome;
use connect_operator::controllers::connector_deployment::persisted::{OperationType, Phase};
use connect_operator::controllers::connector_deployment::status::ready_condition;
use connect_operator::controllers::reporting::reason::{ConditionState, Reason};
use connect_operator::crd::ReportEntry;
use serde_json::json;

use super::record;

fn entry(kind: &str, title: &str, message: Option<&str>) -> ReportEntry {
    let mut entry = json!({"type": kind, "title": title, "application": "service"});
    if let Some(message) = message {
        entry["message"] = json!(message);
    }
    serde_json::from_value(entry).unwrap()
}

fn settled(phase: Phase) -> Outcome {
    Outcome::Settled { phase, drifted: false }
}

#[test]
fn rule_17_ready_is_reported_only_of_a_live_and_applied_deployment() {
    let warning = entry("Warning", "Slow start", None);
    let error = entry("Error", "Health check", Some("no answer"));
    let information = entry("Information", "Built", None);
    for (case, verdict, report, reason, words) in [
        ("live", settled(Phase::Deployed), vec![], Reason::Deployed, "Deployed"),
        ("information is not a warning", settled(Phase::Deployed), vec![information], Reason::Deployed, "Deployed"),
        (
            "a warning",
            settled(Phase::Deployed),
            vec![warning.clone()],
            Reason::DeployedWithWarnings,
            "service: Slow start",
        ),
        (
            "an error comes first",
            settled(Phase::Deployed),
            vec![warning, error],
            Reason::DeployedWithWarnings,
            "service: Health check (no answer)",
        ),
        ("observed and live", Outcome::Observed(Phase::Deployed), vec![], Reason::Observed, "ObserveOnly"),
        ("a change waits to be sent", Outcome::Changing, vec![], Reason::Redeploying, "about to be sent"),
        ("a change is held", Outcome::HeldBySuspend, vec![], Reason::Suspended, "suspend to false"),
    ] {
        let condition = ready_condition(&verdict, "shop_tax", Some(&record("Deployed", &json!([]))), &report);
        assert_eq!(condition.reason, reason, "{case}");
        assert_eq!(condition.event, verdict != Outcome::Changing, "{case}: nothing is sent yet");
        assert!(condition.message.contains(words), "{case}: {}", condition.message);
    }
}

#[test]
fn rule_18_a_failure_shows_its_report_and_an_endless_operation_is_reported() {
    let error = entry("Error", "postDeploy", Some("LOG_LEVEL is loud"));
    for (case, verdict, status, report, reason, words) in [
        (
            "failed",
            settled(Phase::Failed),
            "Failed",
            vec![error.clone()],
            Reason::DeploymentFailed,
            "service: postDeploy (LOG_LEVEL is loud)",
        ),
        ("failed, silently", settled(Phase::Failed), "Failed", vec![], Reason::DeploymentFailed, "without a report"),
        (
            "observed and failed",
            Outcome::Observed(Phase::Failed),
            "Failed",
            vec![error],
            Reason::DeploymentFailed,
            "postDeploy",
        ),
        ("no end", Outcome::TakesTooLong, "Deploying", vec![], Reason::TakesTooLong, "is Deploying"),
        ("a draft", settled(Phase::Draft), "Draft", vec![], Reason::TakesTooLong, "connect-operator redeploy NAME"),
        (
            "undeploying failed",
            settled(Phase::UndeployFailed),
            "UndeployFailed",
            vec![],
            Reason::UndeployFailed,
            "may still run",
        ),
    ] {
        let condition = ready_condition(&verdict, "shop_tax", Some(&record(status, &json!([]))), &report);
        assert_eq!(condition.reason, reason, "{case}");
        assert!(condition.message.contains(words), "{case}: {}", condition.message);
    }
}

#[test]
fn rule_19_stalled_needs_a_user_and_its_message_names_the_remedy() {
    for (case, verdict, reason, state, words) in [
        (
            "creating",
            Outcome::Running(OperationType::Create),
            Reason::Creating,
            ConditionState::Progressing,
            "being created",
        ),
        (
            "redeploying",
            Outcome::Running(OperationType::Redeploy),
            Reason::Redeploying,
            ConditionState::Progressing,
            "being redeployed",
        ),
        (
            "undeploying",
            Outcome::Running(OperationType::Undeploy),
            Reason::Undeploying,
            ConditionState::Progressing,
            "being undeployed",
        ),
        ("gone", Outcome::Released, Reason::Undeploying, ConditionState::Progressing, "being undeployed"),
        ("busy elsewhere", Outcome::Busy, Reason::Redeploying, ConditionState::Progressing, "Another client"),
        ("an unknown status", settled(Phase::Other), Reason::Redeploying, ConditionState::Progressing, "in progress"),
        ("taking over", Outcome::TakingOver, Reason::Adopting, ConditionState::Progressing, "shop_tax"),
        ("not visible", Outcome::Missing, Reason::ServiceUnavailable, ConditionState::Waiting, "to be sure"),
        ("key taken", Outcome::KeyTaken, Reason::KeyTaken, ConditionState::Stalled, "adoptionPolicy: Adopt"),
        (
            "cannot be adopted",
            Outcome::NotAdoptable,
            Reason::KeyTaken,
            ConditionState::Stalled,
            "create one that names the same",
        ),
        (
            "disappeared",
            Outcome::Disappeared,
            Reason::RemoteDisappeared,
            ConditionState::Stalled,
            "drift.policy: Correct",
        ),
        ("refused", Outcome::Refused, Reason::RequestRejected, ConditionState::Stalled, "refused"),
        (
            "nothing to observe",
            Outcome::NothingToObserve,
            Reason::RemoteDisappeared,
            ConditionState::Stalled,
            "shop_tax",
        ),
        (
            "not the latest",
            Outcome::VersionUnavailable { wanted: 3, latest: Some(5), drifted: false },
            Reason::ConnectorVersionUnavailable,
            ConditionState::Stalled,
            "set connector.version to 5",
        ),
        (
            "latest unknown",
            Outcome::VersionUnavailable { wanted: 3, latest: None, drifted: false },
            Reason::ConnectorVersionUnavailable,
            ConditionState::Stalled,
            "version 3",
        ),
        (
            "another runs",
            Outcome::VersionMismatch { wanted: 3, running: 4, drifted: true },
            Reason::ConnectorVersionMismatch,
            ConditionState::Stalled,
            "set connector.version to 4",
        ),
        (
            "moved, and an older one runs",
            Outcome::NotMoved { latest: 5, running: 4, drifted: false },
            Reason::ConnectorVersionMismatch,
            ConditionState::Stalled,
            "runs version 4 of the connector, although a redeploy has moved it to version 5",
        ),
    ] {
        let condition = ready_condition(&verdict, "shop_tax", None, &[]);
        assert_eq!((condition.reason, condition.reason.state()), (reason, state), "{case}");
        let operation = matches!(verdict, Outcome::Running(_) | Outcome::Released);
        assert_eq!(condition.event, !operation, "{case}: the Event of an operation is that of its call");
        assert!(condition.message.contains(words), "{case}: {}", condition.message);
    }
}

#[test]
fn a_deployment_that_lacks_applications_is_not_ready() {
    let mut lacking = record("Deployed", &json!([]));
    let mut job = lacking.connector.configurations.clone().unwrap();
    job[0].application_name = "export".into();
    lacking.connector.configurations.as_mut().unwrap().append(&mut job);
    for verdict in
        [settled(Phase::Deployed), Outcome::Observed(Phase::Deployed), Outcome::NotApplied { drifted: false }]
    {
        let condition = ready_condition(&verdict, "shop_tax", Some(&lacking), &[]);
        assert_eq!(condition.reason, Reason::ApplicationMissing, "{verdict:?}");
        assert!(condition.message.contains("export"), "{verdict:?}: {}", condition.message);
    }
}
