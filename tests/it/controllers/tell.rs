//! What people are told of each verdict: the reason, and a message that helps.

use connect_operator::controllers::connector_deployment::decide::Verdict;
use connect_operator::controllers::connector_deployment::ledger::{OperationKind, Phase};
use connect_operator::controllers::connector_deployment::status::tell;
use connect_operator::controllers::reason::{Reason, Stance};
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

fn settled(phase: Phase) -> Verdict {
    Verdict::Settled { phase, drifted: false }
}

#[test]
fn rule_17_ready_is_said_only_of_what_is_live_and_applied() {
    let warning = entry("Warning", "Slow start", None);
    let error = entry("Error", "Health check", Some("no answer"));
    let information = entry("Information", "Built", None);
    for (case, verdict, report, reason, words) in [
        ("live", settled(Phase::Deployed), vec![], Reason::Deployed, "Deployed"),
        ("information is no warning", settled(Phase::Deployed), vec![information], Reason::Deployed, "Deployed"),
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
        ("observed and live", Verdict::Observed(Phase::Deployed), vec![], Reason::Observed, "only observed"),
        ("a change waits to be sent", Verdict::Changing, vec![], Reason::Redeploying, "about to be sent"),
        ("a change is held", Verdict::HeldBySuspend, vec![], Reason::Suspended, "suspend to false"),
    ] {
        let told = tell(&verdict, "shop_tax", Some(&record("Deployed", &json!([]))), &report);
        assert_eq!(told.reason, reason, "{case}");
        assert!(told.message.contains(words), "{case}: {}", told.message);
    }
}

#[test]
fn rule_18_a_failure_shows_its_report_and_what_does_not_end_is_said() {
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
            Verdict::Observed(Phase::Failed),
            "Failed",
            vec![error],
            Reason::DeploymentFailed,
            "postDeploy",
        ),
        ("no end", Verdict::TakesTooLong, "Deploying", vec![], Reason::TakesTooLong, "is Deploying"),
        ("a draft", settled(Phase::Draft), "Draft", vec![], Reason::TakesTooLong, "redeploy-requested-at"),
        (
            "undeploying failed",
            settled(Phase::UndeployFailed),
            "UndeployFailed",
            vec![],
            Reason::UndeployFailed,
            "may still run",
        ),
    ] {
        let told = tell(&verdict, "shop_tax", Some(&record(status, &json!([]))), &report);
        assert_eq!(told.reason, reason, "{case}");
        assert!(told.message.contains(words), "{case}: {}", told.message);
    }
}

#[test]
fn rule_19_stalled_is_what_needs_a_person_and_its_message_says_what_to_do() {
    for (case, verdict, reason, stance, words) in [
        ("creating", Verdict::Running(OperationKind::Create), Reason::Creating, Stance::Running, "Creating"),
        ("redeploying", Verdict::Running(OperationKind::Redeploy), Reason::Redeploying, Stance::Running, "again"),
        ("undeploying", Verdict::Running(OperationKind::Undeploy), Reason::Undeploying, Stance::Running, "down"),
        ("gone", Verdict::Released, Reason::Undeploying, Stance::Running, "down"),
        ("busy elsewhere", Verdict::Busy, Reason::Redeploying, Stance::Running, "Somebody else"),
        ("an unknown status", settled(Phase::Other), Reason::Redeploying, Stance::Running, "At work"),
        ("taking over", Verdict::TakingOver, Reason::Adopting, Stance::Running, "shop_tax"),
        ("not to be seen", Verdict::Missing, Reason::ServiceUnavailable, Stance::Waiting, "to be sure"),
        ("key taken", Verdict::KeyTaken, Reason::KeyTaken, Stance::Stalled, "adoptionPolicy: Adopt"),
        (
            "cannot be adopted",
            Verdict::NotAdoptable,
            Reason::KeyTaken,
            Stance::Stalled,
            "create one that names the same",
        ),
        ("disappeared", Verdict::Disappeared, Reason::RemoteDisappeared, Stance::Stalled, "drift.policy: Correct"),
        ("refused", Verdict::Refused, Reason::RequestRejected, Stance::Stalled, "refused"),
        ("nothing to observe", Verdict::NothingToObserve, Reason::RemoteDisappeared, Stance::Stalled, "shop_tax"),
        (
            "not the latest",
            Verdict::VersionUnavailable { wanted: 3, latest: Some(5) },
            Reason::ConnectorVersionUnavailable,
            Stance::Stalled,
            "set connector.version to 5",
        ),
        (
            "latest unknown",
            Verdict::VersionUnavailable { wanted: 3, latest: None },
            Reason::ConnectorVersionUnavailable,
            Stance::Stalled,
            "version 3",
        ),
        (
            "another runs",
            Verdict::VersionMismatch { wanted: 3, running: 4 },
            Reason::ConnectorVersionMismatch,
            Stance::Stalled,
            "set connector.version to 4",
        ),
    ] {
        let told = tell(&verdict, "shop_tax", None, &[]);
        assert_eq!((told.reason, told.reason.stance()), (reason, stance), "{case}");
        assert!(told.message.contains(words), "{case}: {}", told.message);
    }
}
