//! Reads the last lines of the log of a deployment that failed, if the spec asks for them (`spec.failureLogLines`).
//!
//! This is optional: the status has the failure before the log is read, and nothing depends on the result. The service
//! removes the log endpoints after 2027-01-31, and it is unspecified what they answer then.

use std::time::Duration;

use clock::{Clock, between};
use connect_api::api::{LOGS_END, LogRequest};
use connect_api::mask::{LONGEST_SEARCHED, Masker};
use connect_api::model::{Deployment, LogEntry, LogSeverity};
use connect_api::{ApiError, ConnectApi, Selector};
use jiff::Timestamp;
use tokio::sync::Semaphore;

use super::decide::Outcome;
use super::persisted::{OperationType, PersistedState, Phase};
use crate::controllers::reporting::conditions::cut;
use crate::controllers::values::tags::{Item, Kind, Tags};
use crate::crd::ConnectorDeployment;
use crate::crd::connector_deployment_status::ConnectorDeploymentStatus;

/// Most pages that are read for one application.
const PAGES: usize = 3;
/// No further page is read after this time; a single page takes no longer than any other call.
const LONGEST: Duration = Duration::from_secs(10);
/// How far back a log can be read: 30 days (contract section 3), less a day because clocks differ.
const OLDEST: Duration = Duration::from_hours(29 * 24);

/// Logs that are read at once, of all projects: a page has up to 8 MiB, and twice that while it is decoded. Without a
/// limit, a connector with large logs, deployed often enough, would take all the memory of the operator.
pub(in crate::controllers) const AT_ONCE: usize = 2;

/// Longest time of an entry, in bytes.
const LONGEST_TIME: usize = 64;

/// What to read of a log.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LogQuery {
    id: String,
    applications: Vec<String>,
    /// When the failed operation began. Older lines may contain values that the operator no longer knows and could not
    /// mask.
    start: Timestamp,
    lines: usize,
}

/// The result of reading a log.
#[derive(Debug)]
pub(super) struct Log {
    /// The last lines, masked.
    pub(super) lines: Vec<String>,
    /// Why the log could not be read, or not completely.
    pub(super) outage: Option<String>,
}

/// Returns what to read: once for each operation of this resource that failed, in the reconcile that observes its end.
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
        // If the clock was set back, the start lies in the future.
        start: ended.started_at.0.min(now).max(oldest),
        lines,
    })
}

/// Whether a log of the operation that ends may have secured values that are not those of the operation, so that they
/// could not be masked: a redeploy that fails does not stop what runs (contract section 7), which goes on to log.
pub(super) fn may_have_former_values(before: &PersistedState) -> bool {
    let Some(operation) = before.operation.as_ref().filter(|operation| operation.kind != OperationType::Create) else {
        return false;
    };
    let Some(applied) = before.applied.as_ref().filter(|_| !before.unverified) else { return true };
    let secured = |tags: Option<&Tags>| -> Option<Vec<(Item, String)>> {
        let secured = tags?.iter().filter(|(item, _)| item.kind == Kind::Secured);
        Some(secured.map(|(item, tag)| (item.clone(), tag.to_owned())).collect())
    };
    let (running, sent) = (secured(applied.sent.as_ref()), secured(operation.payload.as_ref().map(|it| &it.tags)));
    let same = running.is_some() && running == sent;
    match applied.outcome {
        // What runs is from before the last operation. Had it secured values that this one lacks, they would be retained.
        Phase::Failed if applied.serves => !(same && running.is_some_and(|secured| secured.is_empty())),
        Phase::Failed => false,
        _ => !same,
    }
}

/// Reads a log until all of it is read or [`LONGEST`] is over, once fewer than [`AT_ONCE`] others are being read.
pub(super) async fn read(
    readers: &Semaphore,
    api: &dyn ConnectApi,
    clock: &Clock,
    wanted: &LogQuery,
    masker: &Masker,
) -> Log {
    let busy = || Log { lines: Vec::new(), outage: Some(unreadable("too many other logs are being read")) };
    in_turn(readers, clock, read_pages(api, clock, wanted, masker)).await.unwrap_or_else(busy)
}

/// Awaits `read` once a permit is free; `None` if none is free for [`LONGEST`]: the caller holds a slot meanwhile.
async fn in_turn<T>(readers: &Semaphore, clock: &Clock, read: impl Future<Output = T>) -> Option<T> {
    let _permit = tokio::select! {
        biased;
        // It is never closed.
        permit = readers.acquire() => permit.ok()?,
        () = clock.sleep(LONGEST) => return None,
    };
    Some(read.await)
}

async fn read_pages(api: &dyn ConnectApi, clock: &Clock, wanted: &LogQuery, masker: &Masker) -> Log {
    let began = clock.now();
    let (mut last, mut outage) = (LastLines { most: wanted.lines, lines: Vec::new() }, None);
    for (number, application) in wanted.applications.iter().enumerate() {
        let read = match in_time(clock, began, number > 0) {
            Ok(()) => errors(api, clock, began, wanted, application, (masker, &mut last)).await,
            late => late,
        };
        if let Err(why) = read {
            outage = Some(why);
            break;
        }
    }
    Log { lines: last.lines.into_iter().map(|(_, line)| line).collect(), outage }
}

/// The last lines of all applications, masked and with their times.
struct LastLines {
    most: usize,
    lines: Vec<(String, String)>,
}

impl LastLines {
    /// Adds the errors of a page, and drops what is no longer among the last lines: a page can have many megabytes.
    fn add(&mut self, page: Vec<LogEntry>, masker: &Masker) {
        let mut errors: Vec<_> = page.into_iter().filter(|entry| is_error(&entry.severity)).collect();
        if errors.is_empty() {
            return;
        }
        // RFC 3339 in UTC sorts as text.
        errors.sort_by(|one, other| one.timestamp.cmp(&other.timestamp));
        let masker = masker.compile();
        let last = errors.len().saturating_sub(self.most);
        let shown = |entry: &LogEntry| (cut(&entry.timestamp, LONGEST_TIME), masker.mask(&line(entry)));
        self.lines.extend(errors[last..].iter().map(shown));
        self.lines.sort_by(|one, other| one.0.cmp(&other.0));
        self.lines.drain(..self.lines.len().saturating_sub(self.most));
    }
}

async fn errors(
    api: &dyn ConnectApi,
    clock: &Clock,
    began: Timestamp,
    wanted: &LogQuery,
    application: &str,
    (masker, last): (&Masker, &mut LastLines),
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
            Ok(None) => return Err(unreadable("the service reports that there is no log")),
            Err(error) => return Err(unreadable(&ApiError { correlation_id: None, ..error }.to_string())),
        };
        last.add(page.data, masker);
        // Each of these marks the last page (contract section 3).
        if page.next.as_deref().is_none_or(str::is_empty) || page.next == request.page_token {
            break;
        }
        request.page_token = page.next;
    }
    Ok(())
}

/// Whether there is time for another call; there always is for the first one.
fn in_time(clock: &Clock, began: Timestamp, another: bool) -> Result<(), String> {
    if another && between(began, clock.now()) > LONGEST {
        return Err(format!(
            "The log of the failed deployment was read in part: reading takes longer than {LONGEST:?}"
        ));
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

/// Returns the line of an entry. It has at least as much text as the masker searches: a longer one is cut there.
fn line(entry: &LogEntry) -> String {
    let mut text = entry.text();
    text.truncate(text.ceil_char_boundary(LONGEST_SEARCHED));
    format!("{} {} {}: {text}", entry.timestamp, entry.application_name, entry.severity)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::controllers::connector_deployment::status_conversion::persisted;

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
            ("no lines are requested", 0, redeploy(), settled(Phase::Failed), None),
            ("it succeeded", 5, redeploy(), settled(Phase::Deployed), None),
            ("already read, or not an operation of this resource", 5, Value::Null, settled(Phase::Failed), None),
            ("undeployed", 5, operation("Undeploy", "2026-02-28T23:00:00Z"), settled(Phase::Failed), None),
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

    #[test]
    fn what_runs_beside_a_failed_operation_may_log_other_secrets() {
        let values = |plain: &str, secret: Option<&str>| json!([{"application": "service", "standard": {"LEVEL": plain}, "secured": secret.map_or_else(|| json!({}), |it| json!({"TOKEN": it}))}]);
        let applied = |outcome: &str, serves: bool, secret| json!({"generation": 1, "outcome": outcome, "serves": serves, "values": values("a", secret)});
        let unknown = json!({"generation": 1, "outcome": "Deployed", "serves": true});
        let (new, none) = (Some("new"), None);
        for (case, kind, secret, applied, unverified, may) in [
            ("a create", "Create", new, Value::Null, false, false),
            ("only a plain value changed", "Redeploy", new, applied("Deployed", true, new), false, false),
            ("a secret changed", "Redeploy", new, applied("Deployed", true, Some("old")), false, true),
            ("a secret is new", "Redeploy", new, applied("Deployed", true, none), false, true),
            ("a deployment of somebody else", "Redeploy", new, Value::Null, false, true),
            ("what it runs with is not known", "Redeploy", new, unknown, false, true),
            ("it may have been changed", "Redeploy", new, applied("Deployed", true, new), true, true),
            ("an earlier redeploy failed, too", "Redeploy", new, applied("Failed", true, new), false, true),
            ("so it did, without any secret", "Redeploy", none, applied("Failed", true, none), false, false),
            ("nothing runs", "Redeploy", new, applied("Failed", false, Some("old")), false, false),
        ] {
            let before: ConnectorDeploymentStatus = serde_json::from_value(json!({
                "observedGeneration": 2,
                "applied": applied,
                "operation": {"type": kind, "state": "Accepted", "attempt": 1, "generation": 2, "digest": "key:hash",
                    "startedAt": "2026-02-28T23:00:00Z", "values": values("b", secret)},
            }))
            .expect("a status");
            let before = PersistedState { unverified, ..persisted(&before) };
            assert_eq!(may_have_former_values(&before), may, "{case}");
        }
    }

    #[test]
    fn only_the_last_lines_of_all_pages_are_kept_and_they_are_masked() {
        let page = |application: &str, hours: &[u32]| {
            let entry = |hour: &u32| {
                json!({"timestamp": format!("2026-03-01T{hour:02}:00:00Z"), "applicationName": application,
                    "severity": "ERROR", "details": format!("canary-value {}", "x".repeat(10_000))})
            };
            let mut entries: Vec<_> = hours.iter().map(entry).collect();
            entries.push(json!({"timestamp": "2026-03-01T23:00:00Z", "severity": "INFO", "details": "fine"}));
            serde_json::from_value::<Vec<LogEntry>>(json!(entries)).expect("entries")
        };
        let (mut last, masker) = (LastLines { most: 3, lines: Vec::new() }, Masker::new(["canary-value"]));
        for (application, hours, expected) in [
            ("one", &[4, 2, 9, 1][..], &["02 one", "04 one", "09 one"][..]),
            ("two", &[3, 9], &["04 one", "09 one", "09 two"]),
            ("two", &[], &["04 one", "09 one", "09 two"]),
        ] {
            last.add(page(application, hours), &masker);
            let kept: Vec<_> =
                last.lines.iter().map(|(time, line)| format!("{} {}", &time[11..13], &line[21..24])).collect();
            assert_eq!(kept, expected);
            assert!(last.lines.iter().all(|(_, line)| line.contains("*** x") && line.len() <= 1024), "masked and cut");
        }
    }
    #[test]
    fn a_value_is_masked_wherever_it_is_in_the_details_and_however_it_is_escaped() {
        let escaped: Vec<_> = "canary-value".chars().map(|sign| format!("\\u{:04x}", u32::from(sign))).collect();
        let escaped = escaped.concat();
        let twice = escaped.replace('\\', "\\\\");
        for (case, details) in [
            ("a string", r#""it is canary-value""#.to_owned()),
            ("a message", r#"{"message": "it is canary-value", "port": 1}"#.to_owned()),
            ("a member", r#"{"token": "it is canary-value"}"#.to_owned()),
            ("the name of a member", r#"{"it is canary-value": 1}"#.to_owned()),
            ("deep in a list", r#"[[{"a": ["it is canary-value"]}]]"#.to_owned()),
            ("an escaped string", format!(r#""it is {escaped}""#)),
            ("an escaped message", format!(r#"{{"message": "it is {escaped}"}}"#)),
            ("an escaped member", format!(r#"{{"token": "it is {escaped}"}}"#)),
            ("JSON in a message", format!(r#"{{"message": "{{\"token\": \"it is {twice}\"}}"}}"#)),
            ("JSON in a member", format!(r#"{{"body": "{{\"token\": \"it is {twice}\"}}"}}"#)),
            ("a message that is no string", r#"{"message": ["it is canary-value"]}"#.to_owned()),
            ("two messages", r#"{"message": "", "message": "it is canary-value"}"#.to_owned()),
        ] {
            let page = format!(r#"[{{"severity": "ERROR", "details": {details}}}]"#);
            let page: Vec<LogEntry> = serde_json::from_str(&page).expect(case);
            let mut last = LastLines { most: 3, lines: Vec::new() };
            last.add(page, &Masker::new(["canary-value"]));
            let line = &last.lines[0].1;
            assert!(line.contains("it is ***"), "{case}: {line}");
            assert!(
                !line.contains("canary-value") && !line.contains("u0063") && !line.contains("value"),
                "{case}: {line}"
            );
        }
    }

    #[test]
    fn a_line_is_never_cut_before_the_masker_cuts_it() {
        // Of a query nothing is shown, so what is shown ends with the last bytes that are searched: within the value.
        let query = "x".repeat(LONGEST_SEARCHED);
        for before in (LONGEST_SEARCHED - 80..LONGEST_SEARCHED).step_by(4) {
            let entry =
                json!([{"severity": "ERROR", "details": format!("https://x?{} canary-value", &query[..before])}]);
            let mut last = LastLines { most: 3, lines: Vec::new() };
            last.add(serde_json::from_value(entry).expect("entries"), &Masker::new(["canary-value"]));
            assert!(!last.lines[0].1.contains("canary"), "{before}: {}", last.lines[0].1);
        }
        let entry = json!({"severity": "ERROR", "details": "ä".repeat(LONGEST_SEARCHED)});
        let entry: LogEntry = serde_json::from_value(entry).expect("an entry");
        assert!(
            (LONGEST_SEARCHED + 1..LONGEST_SEARCHED + 64).contains(&line(&entry).len()),
            "the masker notices the cut"
        );
    }
    #[tokio::test]
    async fn few_logs_are_read_at_once_and_others_do_not_wait_for_long() {
        let clock = Clock::stepped("2026-03-01T00:00:00Z".parse().expect("a time"));
        let readers = Semaphore::new(1);
        let mut first = Box::pin(in_turn(&readers, &clock, std::future::pending::<()>()));
        assert!(futures::poll!(&mut first).is_pending());
        let mut second = Box::pin(in_turn(&readers, &clock, async { "second" }));
        let mut third = Box::pin(in_turn(&readers, &clock, async { "third" }));
        assert!(futures::poll!(&mut second).is_pending());
        clock.step(LONGEST / 2);
        assert!(futures::poll!(&mut third).is_pending());
        clock.step(LONGEST / 2);
        assert_eq!(second.await, None, "it has waited long enough");
        drop(first);
        assert_eq!(third.await, Some("third"));
    }
}
