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
                let done = change.annotation().is_none_or(|annotation| handled(annotation, value));
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
                Reason::PreviewRefused => Some(&status.previewable_report),
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
    use crate::cli::resources::samples::{check, conditions, deployment, project, staged};

    fn handled(change: Change) -> Goal<'static> {
        Goal::Handled { change, value: "now" }
    }

    fn status(main: (&str, &str, &str), more: &Value) -> Value {
        let mut status = json!({"observedGeneration": 3, "conditions": conditions(main)});
        for (name, value) in more.as_object().expect("an object") {
            status[name] = value.clone();
        }
        json!({"status": status})
    }

    #[test]
    fn a_request_is_done_once_it_is_handled_and_the_resource_has_settled() {
        let ready = ("True", "Deployed", "");
        let failed = ("False", "RedeployFailed", "Stalled");
        let both = json!({"handledRedeployRequest": "now", "handledReconcileRequest": "now"});
        let read = json!({"handledReconcileRequest": "now"});
        let report = json!([{"type": "Error", "title": "No", "message": "not\u{1b}so", "application": "service"}]);
        let mut with_report = both.clone();
        with_report["report"] = report;
        let waiting = || Progress::Running("waiting for the operator".into());
        for (case, resource, expected) in [
            ("no status", deployment(&json!({"status": null})), waiting()),
            ("ready before the request", deployment(&status(ready, &json!({}))), waiting()),
            (
                "failed before the request",
                deployment(&status(failed, &json!({}))),
                Progress::Running("waiting for the operator, which reported RedeployFailed: because".into()),
            ),
            ("another request", deployment(&status(ready, &json!({"handledRedeployRequest": "before"}))), waiting()),
            ("ready, and not sent yet", deployment(&status(ready, &read)), waiting()),
            (
                "in progress",
                deployment(&status(("Unknown", "Redeploying", "Reconciling"), &both)),
                Progress::Running("Redeploying: because".into()),
            ),
            (
                "it waits for a Secret",
                deployment(&status(("False", "SecretMissing", "Reconciling"), &read)),
                Progress::Running("SecretMissing: because".into()),
            ),
            (
                "it cannot be sent",
                deployment(&status(("False", "ConfigurationInvalid", "Stalled"), &read)),
                Progress::Failed("ConfigurationInvalid: because".into()),
            ),
            (
                "suspended",
                deployment(
                    &json!({"spec": {"suspend": true}, "status": status(("False", "Suspended", ""), &read)["status"]}),
                ),
                Progress::Failed("Suspended: because".into()),
            ),
            (
                "it failed",
                deployment(&status(failed, &with_report)),
                Progress::Failed("RedeployFailed: because\n  Error in service: No: not\u{fffd}so".into()),
            ),
            ("done", deployment(&status(ready, &both)), Progress::Ready("Deployed: because".into())),
        ] {
            assert_eq!(handled(Change::Redeploy).progress(&resource), expected, "{case}");
        }
        let called = |request: &str, main| {
            check(&status(main, &json!({"checkedFor": {"generation": 3, "rerunRequest": request}})))
        };
        let passed = ("True", "CheckPassed", "");
        assert_eq!(handled(Change::Rerun).progress(&called("before", passed)), waiting());
        assert_eq!(
            handled(Change::Rerun).progress(&called("now", passed)),
            Progress::Ready("CheckPassed: because".into())
        );
        let failing = handled(Change::Rerun).progress(&called("now", ("False", "CheckFailing", "")));
        assert_eq!(failing, Progress::Failed("CheckFailing: because".into()));
    }

    #[test]
    fn only_the_status_of_the_current_generation_counts() {
        let reports =
            |title: &str| json!([{"type": "Error", "title": title, "message": "not so", "application": "service"}]);
        let with = |generation: i64, main| {
            let more = json!({"observedGeneration": generation, "report": reports("No")});
            status(main, &more)
        };
        let (ready, stalled) = (("True", "Deployed", ""), ("False", "DeploymentFailed", "Stalled"));
        let waiting = || Progress::Running("waiting for the operator".into());
        let reason = |reason: &str| format!("{reason}: because");
        for (case, resource, expected) in [
            ("no status yet", deployment(&json!({})), waiting()),
            ("ready", deployment(&with(3, ready)), Progress::Ready(reason("Deployed"))),
            ("ready before the edit", deployment(&with(2, ready)), waiting()),
            (
                "failed before the edit",
                deployment(&with(2, stalled)),
                Progress::Running("waiting for the operator, which reported DeploymentFailed: because".into()),
            ),
            (
                "ready with unverified secrets",
                deployment(&with(3, ("True", "Deployed", "SecretsUnverified"))),
                Progress::Ready("Deployed: because\n  SecretsUnverified: because".into()),
            ),
            (
                "in progress",
                deployment(&with(3, ("Unknown", "Redeploying", "Reconciling"))),
                Progress::Running(reason("Redeploying")),
            ),
            (
                "waiting for a Secret",
                deployment(&with(3, ("False", "SecretMissing", "Reconciling"))),
                Progress::Running(reason("SecretMissing")),
            ),
            (
                "a user has to act",
                deployment(&with(3, stalled)),
                Progress::Failed("DeploymentFailed: because\n  Error in service: No: not so".into()),
            ),
            (
                "the report is about warnings",
                deployment(&with(3, ("False", "WarningsReported", "Stalled"))),
                Progress::Failed("WarningsReported: because\n  Error in service: No: not so".into()),
            ),
            (
                "the report is that of an earlier operation",
                deployment(&with(3, ("False", "ConfigurationInvalid", "Stalled"))),
                Progress::Failed(reason("ConfigurationInvalid")),
            ),
            (
                "publishing failed",
                staged(&status(
                    ("False", "PublishingFailed", "Stalled"),
                    &json!({"publishingReport": reports("Publishing"), "previewableReport": reports("Preview")}),
                )),
                Progress::Failed("PublishingFailed: because\n  Error in service: Publishing: not so".into()),
            ),
            (
                "a project",
                project(&status(("True", "Available", ""), &json!({}))),
                Progress::Ready(reason("Available")),
            ),
            (
                "a check that is repeated",
                check(&status(("False", "CheckFailing", ""), &json!({}))),
                Progress::Running(reason("CheckFailing")),
            ),
        ] {
            assert_eq!(Goal::Ready.progress(&resource), expected, "{case}");
        }
    }
}
