//! The last lines of the log of a deployment that failed, if people asked for them (`spec.failureLogLines`).
//!
//! An optional extra: the status has the failure before the log is asked for, and nothing depends on what comes of it. The
//! service takes the log endpoints away after 2027-01-31, and it is unspecified what they answer then.

use std::time::Duration;

use clock::{Clock, between};
use connect_api::api::{LOGS_END, LogRequest};
use connect_api::mask::Masker;
use connect_api::model::{Deployment, LogEntry, LogSeverity};
use connect_api::{ApiError, ConnectApi, Selector};
use jiff::Timestamp;

use super::decide::Outcome;
use super::persisted::Phase;
use crate::crd::ConnectorDeployment;
use crate::crd::connector_deployment_status::{ConnectorDeploymentStatus, OperationType};

/// Most pages that are read for one application.
const PAGES: usize = 3;
/// No further page is asked for after this time; one takes no longer than any other call.
const LONGEST: Duration = Duration::from_secs(10);
/// How far back a log can be read: 30 days (contract section 3), less a day for clocks.
const OLDEST: Duration = Duration::from_hours(29 * 24);

/// What to read of a log.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LogQuery {
    id: String,
    applications: Vec<String>,
    /// When the operation began that failed: lines from before may hold values that are not known any more.
    start: Timestamp,
    lines: usize,
}

/// What came of it.
#[derive(Debug)]
pub(super) struct Log {
    /// The last lines, masked.
    pub(super) lines: Vec<String>,
    /// Why it could not be read, or not all of it.
    pub(super) outage: Option<String>,
}

/// What to read: once for each operation of ours that failed, in the run that sees its end.
pub(super) fn wanted(
    object: &ConnectorDeployment,
    before: &ConnectorDeploymentStatus,
    record: Option<&Deployment>,
    outcome: &Outcome,
    now: Timestamp,
) -> Option<LogQuery> {
    let lines = usize::try_from(object.spec.failure_log_lines).unwrap_or_default();
    let ended = before
        .operation
        .as_ref()
        .filter(|operation| matches!(operation.operation_type, OperationType::Create | OperationType::Redeploy))?;
    let record = record?;
    let failed = matches!(outcome, Outcome::Settled { phase: Phase::Failed, .. });
    let oldest = now.saturating_sub(OLDEST).unwrap_or(Timestamp::MIN);
    (lines > 0 && failed).then(|| LogQuery {
        id: record.id.clone(),
        applications: record.applications.iter().map(|application| application.application_name.clone()).collect(),
        // A clock that was set back since leaves a start in the future.
        start: ended.started_at.0.min(now).max(oldest),
        lines,
    })
}

/// Reads it, until it has all or [`LONGEST`] is over.
pub(super) async fn read(api: &dyn ConnectApi, clock: &Clock, wanted: &LogQuery, masker: &Masker) -> Log {
    let began = clock.now();
    let (mut entries, mut outage) = (Vec::new(), None);
    for (number, application) in wanted.applications.iter().enumerate() {
        let read = match in_time(clock, began, number > 0) {
            Ok(()) => errors(api, clock, began, wanted, application, &mut entries).await,
            late => late,
        };
        if let Err(why) = read {
            outage = Some(why);
            break;
        }
    }
    // RFC 3339 in UTC sorts as text.
    entries.sort_by(|one, other| one.timestamp.cmp(&other.timestamp));
    let last = entries.len().saturating_sub(wanted.lines);
    let lines = entries[last..].iter().map(|entry| masker.mask(&line(entry))).collect();
    Log { lines, outage }
}

async fn errors(
    api: &dyn ConnectApi,
    clock: &Clock,
    began: Timestamp,
    wanted: &LogQuery,
    application: &str,
    found: &mut Vec<LogEntry>,
) -> Result<(), String> {
    let selector = Selector::Id(wanted.id.clone());
    let mut request = LogRequest {
        application_name: Some(application.to_owned()),
        start: Some(wanted.start),
        ..LogRequest::default()
    };
    for number in 0..PAGES {
        in_time(clock, began, number > 0)?;
        let page = match api.logs(&selector, &request).await {
            Ok(Some(page)) => page,
            Ok(None) => return Err(unreadable("the service says that there is none")),
            Err(error) => return Err(unreadable(&ApiError { correlation_id: None, ..error }.to_string())),
        };
        found.extend(page.data.into_iter().filter(|entry| is_error(&entry.severity)));
        // Whatever ends a list of pages (contract section 3).
        if page.next.as_deref().is_none_or(str::is_empty) || page.next == request.page_token {
            break;
        }
        request.page_token = page.next;
    }
    Ok(())
}

/// Whether there is time for another call; there is for the first one.
fn in_time(clock: &Clock, began: Timestamp, another: bool) -> Result<(), String> {
    if another && between(began, clock.now()) > LONGEST {
        return Err(format!("The log of the failed deployment was read in part: it takes more than {LONGEST:?}"));
    }
    Ok(())
}

fn unreadable(why: &str) -> String {
    format!("The log of the failed deployment cannot be read: {why}. Nothing depends on it; {LOGS_END}")
}

fn is_error(severity: &LogSeverity) -> bool {
    match severity {
        LogSeverity::Error | LogSeverity::Critical | LogSeverity::Alert | LogSeverity::Emergency => true,
        LogSeverity::Default
        | LogSeverity::Debug
        | LogSeverity::Info
        | LogSeverity::Notice
        | LogSeverity::Warning
        | LogSeverity::Other(_) => false,
    }
}

fn line(entry: &LogEntry) -> String {
    let text = match &entry.details {
        serde_json::Value::String(text) => text.clone(),
        details => details
            .get("message")
            .and_then(|message| message.as_str())
            .map_or_else(|| details.to_string(), ToOwned::to_owned),
    };
    format!("{} {} {}: {text}", entry.timestamp, entry.application_name, entry.severity)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_log_is_read_once_for_each_operation_that_failed_from_its_start() {
        let now: Timestamp = "2026-03-01T00:00:00Z".parse().expect("a time");
        let record: Deployment = serde_json::from_value(json!({
            "id": "1", "key": "tax", "version": 2, "status": "Failed",
            "applications": [{"applicationName": "service"}, {"applicationName": "job"}],
        }))
        .expect("a record");
        let operation = |kind: &str, at: &str| json!({"type": kind, "state": "Accepted", "attempt": 1, "generation": 1, "startedAt": at});
        let redeploy = || operation("Redeploy", "2026-02-28T23:00:00Z");
        let settled = |phase| Outcome::Settled { phase, drifted: false };
        for (case, lines, operation, outcome, start) in [
            ("its end", 5, redeploy(), settled(Phase::Failed), Some("2026-02-28T23:00:00Z")),
            (
                "long ago",
                5,
                operation("Create", "2025-12-01T00:00:00Z"),
                settled(Phase::Failed),
                Some("2026-01-31T00:00:00Z"),
            ),
            ("nobody asked", 0, redeploy(), settled(Phase::Failed), None),
            ("it went well", 5, redeploy(), settled(Phase::Deployed), None),
            ("it was read, or others did it", 5, Value::Null, settled(Phase::Failed), None),
            ("taken down", 5, operation("Undeploy", "2026-02-28T23:00:00Z"), settled(Phase::Failed), None),
        ] {
            let object: ConnectorDeployment = serde_json::from_value(json!({
                "apiVersion": "connect-operator.io/v1alpha1", "kind": "ConnectorDeployment", "metadata": {"name": "tax"},
                "spec": {"projectRef": {"name": "shop"}, "connector": {"key": "tax"}, "failureLogLines": lines},
            }))
            .expect("a resource");
            let before: ConnectorDeploymentStatus =
                serde_json::from_value(json!({"observedGeneration": 1, "operation": operation})).expect("a status");
            let wanted = wanted(&object, &before, Some(&record), &outcome, now);
            assert_eq!(wanted.as_ref().map(|wanted| wanted.start.to_string()).as_deref(), start, "{case}");
            assert!(wanted.is_none_or(|wanted| wanted.applications == ["service", "job"]), "{case}");
        }
    }
}
