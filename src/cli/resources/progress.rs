//! How far a resource is on its way to a goal. Pure.

use crate::names;
use crate::operator::reporting::conditions::is_true;
use crate::operator::reporting::reason::Reason;

use super::change::Change;
use super::kind::Resource;
use super::page::findings;
use crate::cli::text::plain;

/// State of a resource or a request that the operator has not read yet.
const WAITING: &str = "waiting for the operator";
/// State of a resource that is being deleted.
const DELETED: &str = "it is being deleted";

/// How far a resource is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// It has reached the goal.
    Ready(String),
    /// It does not reach the goal unless a user acts.
    Failed(String),
    /// It may reach the goal without a user's action.
    Running(String),
}

/// What is waited for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Goal<'a> {
    /// The resource is ready.
    Ready,
    /// The operator has handled a request, and the resource is ready.
    Handled {
        /// What was requested.
        change: Change,
        /// The value of the annotation.
        value: &'a str,
    },
}

impl Goal<'_> {
    /// Returns how far the resource is.
    pub(super) fn progress(self, resource: &Resource) -> Progress {
        if resource.meta().deletion_timestamp.is_some() {
            return Progress::Running(DELETED.to_owned());
        }
        let Some(ready) = resource.ready() else { return Progress::Running(WAITING.to_owned()) };
        let text = format!("{}: {}", ready.reason, plain(&ready.message));
        let is = |condition: &str| is_true(resource.conditions(), condition);
        let handled = |annotation: &str, value: &str| resource.handled(annotation) == Some(value);
        let (done, read) = match self {
            Self::Ready => (true, true),
            Self::Handled { change, value } => {
                let done =
                    change.annotation(resource.resource_type()).is_none_or(|annotation| handled(annotation, value));
                // The status is newer than the request, although the request may not be handled.
                (done, done || handled(names::RECONCILE_REQUESTED_AT, value))
            }
        };
        let is_current = resource.observed_generation() == resource.meta().generation;
        if is_current && !done && resource.suspend() && ready.reason == Reason::Suspended.as_str() {
            return Progress::Failed(text);
        }
        if !is_current || !read || (is(names::READY) && !done) {
            let before = if is(names::READY) { String::new() } else { format!(", which reported {text}") };
            return Progress::Running(format!("{WAITING}{before}"));
        }
        // A request has ended, however a resource is that tries again by itself.
        let has_ended = matches!(self, Self::Handled { .. }) && !is(names::RECONCILING);
        if is(names::READY) {
            let unverified = resource.conditions().iter().find(|it| it.type_ == names::SECRETS_UNVERIFIED);
            let unverified = unverified.filter(|it| it.status == "True");
            let line = unverified.map(|it| format!("\n  {}: {}", it.type_, plain(&it.message)));
            Progress::Ready(text + &line.unwrap_or_default())
        } else if is(names::STALLED) || has_ended {
            let report = Reason::parse(&ready.reason).map(|reason| report(resource, reason)).unwrap_or_default();
            Progress::Failed(text + &report)
        } else {
            Progress::Running(text)
        }
    }
}

/// Returns the report that a reason is about, an entry per line.
fn report(resource: &Resource, reason: Reason) -> String {
    let lines: Vec<String> = match resource {
        Resource::Deployment(object) if reason.is_failed() || reason == Reason::WarningsReported => {
            let status = object.status.as_ref();
            let report = status.map(|status| status.report.as_slice()).unwrap_or_default();
            findings(report).collect()
        }
        Resource::Staged(object) => {
            let status = object.status.as_ref();
            let report = status.and_then(|status| match reason {
                Reason::PublishingFailed => Some(&status.publishing_report),
                Reason::PreviewRefused => Some(&status.preview_report),
                _ => None,
            });
            findings(report.map(Vec::as_slice).unwrap_or_default()).collect()
        }
        Resource::Deployment(_) | Resource::Project(_) | Resource::Check(_) | Resource::ClusterProject(_) => Vec::new(),
    };
    lines.iter().flat_map(|line| ["\n  ".to_owned(), plain(line)]).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::cli::resources::testing::{check, conditions, deployment, project, staged};

    const WAITING: &str = "running: waiting for the operator";
    const READ: &str = r#"{"handledReconcileRequest": "now"}"#;
    const BOTH: &str = r#"{"handledRedeployRequest": "now", "handledReconcileRequest": "now"}"#;

    fn shown(goal: Goal<'_>, resource: &Resource) -> String {
        match goal.progress(resource) {
            Progress::Ready(text) => format!("ready: {text}"),
            Progress::Failed(text) => format!("failed: {text}"),
            Progress::Running(text) => format!("running: {text}"),
        }
    }

    /// A status with these conditions (that of Ready, its reason, and another type that is true) and more members.
    fn status(main: &str, more: &str) -> Value {
        let mut words = main.split(' ');
        let mut next = || words.next().unwrap_or_default();
        let mut status = json!({"observedGeneration": 3, "conditions": conditions((next(), next(), next()))});
        let more: Value = serde_json::from_str(more).expect(more);
        for (name, value) in more.as_object().expect("an object") {
            status[name] = value.clone();
        }
        json!({"status": status})
    }

    fn tax(main: &str, more: &str) -> Resource {
        deployment(&status(main, more))
    }

    #[test]
    fn a_request_is_done_once_it_is_handled_and_the_resource_has_settled() {
        let mut suspended = status("False Suspended", READ);
        suspended["spec"] = json!({"suspend": true});
        let mut reported: Value = serde_json::from_str(BOTH).expect("JSON");
        reported["report"] =
            json!([{"type": "Error", "title": "No", "message": "a\u{1b}b", "applicationName": "service"}]);
        let reported = reported.to_string();
        for (case, resource, expected) in [
            ("no status", deployment(&json!({"status": null})), WAITING),
            ("ready before the request", tax("True Deployed", "{}"), WAITING),
            (
                "failed before the request",
                tax("False RedeployFailed Stalled", "{}"),
                "running: waiting for the operator, which reported RedeployFailed: because",
            ),
            ("another request", tax("True Deployed", r#"{"handledRedeployRequest": "before"}"#), WAITING),
            ("ready, and not sent yet", tax("True Deployed", READ), WAITING),
            ("in progress", tax("Unknown Redeploying Reconciling", BOTH), "running: Redeploying: because"),
            ("it waits for a Secret", tax("False SecretMissing Reconciling", READ), "running: SecretMissing: because"),
            ("not sent", tax("False ConfigurationInvalid Stalled", READ), "failed: ConfigurationInvalid: because"),
            ("suspended", deployment(&suspended), "failed: Suspended: because"),
            (
                "it failed",
                tax("False RedeployFailed Stalled", &reported),
                "failed: RedeployFailed: because\n  Error in service: No: a\u{fffd}b",
            ),
            ("done", tax("True Deployed", BOTH), "ready: Deployed: because"),
        ] {
            let goal = Goal::Handled { change: Change::Redeploy, value: "now" };
            assert_eq!(shown(goal, &resource), expected, "{case}");
        }
        for (request, main, expected) in [
            ("before", "True CheckPassed", WAITING),
            ("now", "True CheckPassed", "ready: CheckPassed: because"),
            ("now", "False CheckFailing", "failed: CheckFailing: because"),
        ] {
            let more = json!({"handledRerunRequest": request}).to_string();
            let goal = Goal::Handled { change: Change::Rerun, value: "now" };
            assert_eq!(shown(goal, &check(&status(main, &more))), expected, "{request} {main}");
        }
    }

    #[test]
    fn only_the_status_of_the_current_generation_counts() {
        let entry =
            |title: &str| json!([{"type": "Error", "title": title, "message": "so", "applicationName": "service"}]);
        let more = json!({"report": entry("No")}).to_string();
        let old = json!({"observedGeneration": 2, "report": entry("No")}).to_string();
        let both = json!({"publishingReport": entry("Publishing"), "previewReport": entry("Preview")}).to_string();
        for (case, resource, expected) in [
            ("no status yet", deployment(&json!({})), WAITING),
            ("ready", tax("True Deployed", &more), "ready: Deployed: because"),
            ("ready before the edit", tax("True Deployed", &old), WAITING),
            (
                "failed before the edit",
                tax("False DeploymentFailed Stalled", &old),
                "running: waiting for the operator, which reported DeploymentFailed: because",
            ),
            (
                "ready with unverified secrets",
                tax("True Deployed SecretsUnverified", &more),
                "ready: Deployed: because\n  SecretsUnverified: because",
            ),
            ("in progress", tax("Unknown Redeploying Reconciling", &more), "running: Redeploying: because"),
            ("waiting for a Secret", tax("False SecretMissing Reconciling", &more), "running: SecretMissing: because"),
            (
                "a user has to act",
                tax("False DeploymentFailed Stalled", &more),
                "failed: DeploymentFailed: because\n  Error in service: No: so",
            ),
            (
                "the report is about warnings",
                tax("False WarningsReported Stalled", &more),
                "failed: WarningsReported: because\n  Error in service: No: so",
            ),
            (
                "an older report",
                tax("False ConfigurationInvalid Stalled", &more),
                "failed: ConfigurationInvalid: because",
            ),
            (
                "publishing failed",
                staged(&status("False PublishingFailed Stalled", &both)),
                "failed: PublishingFailed: because\n  Error in service: Publishing: so",
            ),
            ("a project", project(&status("True Available", "{}")), "ready: Available: because"),
            ("a repeated check", check(&status("False CheckFailing", "{}")), "running: CheckFailing: because"),
        ] {
            assert_eq!(shown(Goal::Ready, &resource), expected, "{case}");
        }
    }
}
