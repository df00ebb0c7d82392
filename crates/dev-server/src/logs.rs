//! Logs of a deployment (contract sections 3 and 4.5): lines of its builds, and lines that tests write.
//!
//! Pure. Pages use a cursor and are ordered by time; `next` is an empty string on the last page. The variant chooses
//! whether the endpoints exist at all.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::build::in_milliseconds;
use super::refusal::{Refusal, cut};
use connect_api::model::ApplicationType;
use connect_api::{ErrorCode, open_enum};

/// Number of entries in one page.
const LOG_PAGE: usize = 20;
/// Maximum number of entries of one deployment; beyond it, the oldest are dropped.
const KEPT: usize = 1_000;
/// Maximum age of `startDate` in days (contract section 3).
const LONGEST_SPAN_DAYS: i64 = 30;

open_enum! {
    /// Severity of a log entry.
    LogSeverity {
        /// No severity was given.
        Default = "DEFAULT",
        /// For debugging.
        Debug = "DEBUG",
        /// Routine information.
        Info = "INFO",
        /// Normal but significant.
        Notice = "NOTICE",
        /// Might cause problems.
        Warning = "WARNING",
        /// Likely causes problems.
        Error = "ERROR",
        /// Causes severe problems.
        Critical = "CRITICAL",
        /// A person must act immediately.
        Alert = "ALERT",
        /// The system is unusable.
        Emergency = "EMERGENCY",
    }
}

open_enum! {
    /// Origin and format of a log entry.
    #[derive(Default)]
    LogType {
        /// A served request.
        HttpRequest = "HTTP_REQUEST",
        /// A line of text.
        #[default]
        ApplicationText = "APPLICATION_TEXT",
        /// A JSON object.
        ApplicationJson = "APPLICATION_JSON",
    }
}

/// An entry of a log (contract section 4.5).
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LogEntry {
    #[serde(rename = "type")]
    pub(super) kind: LogType,
    deployment_id: String,
    application_name: String,
    severity: LogSeverity,
    timestamp: String,
    pub(super) details: Value,
}

/// A page of a log (contract section 4.5).
#[derive(Debug, Serialize)]
pub(super) struct LogPage {
    pub(super) data: Vec<LogEntry>,
    /// Token of the next page; empty on the last one.
    pub(super) next: String,
}

/// The log of one deployment.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct LogBook {
    /// Number of dropped entries, which keeps page tokens valid.
    dropped: usize,
    lines: Vec<Line>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Line {
    at: Timestamp,
    application: String,
    severity: LogSeverity,
    text: String,
    #[serde(default)]
    kind: LogType,
}

/// Query parameters of the logs.
#[derive(Clone, Debug, Default)]
pub(super) struct LogQuery {
    /// `next` of the previous page.
    pub(super) page_token: Option<String>,
    /// Keeps only entries of this application.
    pub(super) application_name: Option<String>,
    /// Earliest time, in RFC 3339.
    pub(super) start_date: Option<String>,
    /// Latest time, in RFC 3339.
    pub(super) end_date: Option<String>,
}

impl LogBook {
    /// Adds one line for each of these applications.
    pub(super) fn note(&mut self, at: Timestamp, applications: &[String], severity: &LogSeverity, text: &str) {
        for application in applications {
            self.add(at, application, LogType::ApplicationText, severity, text);
        }
    }

    /// Adds the lines of an application that goes live: one entry of each type that the application writes.
    pub(super) fn note_live(&mut self, at: Timestamp, application: &str, kind: &ApplicationType) {
        match kind {
            ApplicationType::Service | ApplicationType::Event => {
                self.add(at, application, LogType::ApplicationText, &LogSeverity::Default, "Listening on port 8080");
                self.add(at, application, LogType::ApplicationJson, &LogSeverity::Info, "Ready");
                self.add(at, application, LogType::HttpRequest, &LogSeverity::Info, "/health");
            }
            ApplicationType::Job => {
                self.add(at, application, LogType::ApplicationJson, &LogSeverity::Info, "Waiting for the schedule");
            }
            // Static files write no log.
            _ => {}
        }
    }

    /// Adds one line. `text` is a text, the message of a JSON object, or the path of a request, depending on `kind`.
    pub(super) fn add(&mut self, at: Timestamp, application: &str, kind: LogType, severity: &LogSeverity, text: &str) {
        let (application, severity) = (application.to_owned(), severity.clone());
        self.lines.push(Line { at, application, severity, text: text.to_owned(), kind });
        let surplus = self.lines.len().saturating_sub(KEPT);
        self.lines.drain(..surplus);
        self.dropped += surplus;
    }

    /// Returns the last `count` entries, oldest first.
    pub(super) fn tail(&self, deployment: &str, count: usize) -> Vec<LogEntry> {
        let first = self.lines.len().saturating_sub(count);
        self.lines[first..].iter().map(|line| line.show(deployment)).collect()
    }

    /// Returns one page.
    pub(super) fn page(&self, deployment: &str, query: &LogQuery, now: Timestamp) -> Result<LogPage, Refusal> {
        let start = date(query.start_date.as_deref(), "startDate")?;
        let end = date(query.end_date.as_deref(), "endDate")?;
        let oldest = now.saturating_sub(SignedDuration::from_hours(24 * LONGEST_SPAN_DAYS)).unwrap_or(Timestamp::MIN);
        if start.is_some_and(|start| start < oldest) {
            return Err(wrong_date(&format!("startDate must not be more than {LONGEST_SPAN_DAYS} days ago.")));
        }
        if let (Some(start), Some(end)) = (start, end)
            && end < start
        {
            return Err(wrong_date("endDate must not be before startDate."));
        }
        let first = match query.page_token.as_deref() {
            None | Some("") => 0,
            Some(token) => self.position(token)?,
        };
        let matches = |line: &&(usize, &Line)| {
            query.application_name.as_ref().is_none_or(|name| line.1.application == *name)
                && start.is_none_or(|start| line.1.at >= start)
                && end.is_none_or(|end| line.1.at <= end)
        };
        let lines: Vec<_> = self.lines.iter().enumerate().map(|(index, line)| (index + self.dropped, line)).collect();
        let mut found = lines.iter().filter(|line| line.0 >= first).filter(matches);
        let data: Vec<_> = found.by_ref().take(LOG_PAGE).map(|(_, line)| line.show(deployment)).collect();
        let next = found.next().map_or(String::new(), |(index, _)| format!("p{index:08x}"));
        Ok(LogPage { data, next })
    }

    fn position(&self, token: &str) -> Result<usize, Refusal> {
        let digits = token.strip_prefix('p').filter(|digits| digits.len() == 8);
        let position = digits.and_then(|digits| usize::from_str_radix(digits, 16).ok());
        position.filter(|position| *position <= self.dropped + self.lines.len()).ok_or_else(|| {
            Refusal::new(
                ErrorCode::DeploymentLogInvalidPageToken,
                "The page token does not come from a page of this log.",
            )
        })
    }
}

impl Line {
    fn show(&self, deployment: &str) -> LogEntry {
        let details = match self.kind {
            LogType::HttpRequest => {
                json!({"requestMethod": "GET", "requestUrl": self.text, "status": 200, "latency": "0.012s"})
            }
            LogType::ApplicationJson => json!({"message": self.text, "logger": "application"}),
            LogType::ApplicationText | LogType::Other(_) => json!({"message": self.text}),
        };
        LogEntry {
            kind: self.kind.clone(),
            deployment_id: deployment.to_owned(),
            application_name: self.application.clone(),
            severity: self.severity.clone(),
            timestamp: in_milliseconds(self.at),
            details,
        }
    }
}

fn date(text: Option<&str>, name: &str) -> Result<Option<Timestamp>, Refusal> {
    let Some(text) = text else { return Ok(None) };
    let read = text.parse().map(Some);
    read.map_err(|_| wrong_date(&format!("{name} `{}` is not an RFC 3339 date, like 2026-01-31T08:00:00Z.", cut(text))))
}

fn wrong_date(message: &str) -> Refusal {
    Refusal::new(ErrorCode::DeploymentLogInvalidDate, message)
}
