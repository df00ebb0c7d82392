//! The last lines of the log of a deployment that failed, if people asked for them (`spec.failureLogLines`).

use super::decide::Verdict;
use super::ledger::Phase;
use crate::connect::api::LogRequest;
use crate::connect::mask::Masker;
use crate::connect::model::{Deployment, LogEntry, LogSeverity};
use crate::connect::{ConnectApi, Selector};
use crate::controllers::conditions;
use crate::controllers::reason::Reason;
use crate::crd::ConnectorDeployment;
use crate::crd::connector_deployment_status::ConnectorDeploymentStatus;

/// Most pages that are read for one application.
const PAGES: usize = 3;

/// The lines, once for each failure; `None`: leave them as they are. Logs that cannot be read are no error.
pub(super) async fn after_failure(
    api: &dyn ConnectApi,
    object: &ConnectorDeployment,
    before: &ConnectorDeploymentStatus,
    masker: &Masker,
    record: Option<&Deployment>,
    verdict: &Verdict,
) -> Option<Vec<String>> {
    let wanted = usize::try_from(object.spec.failure_log_lines).unwrap_or_default();
    let record = record?;
    let failed = matches!(verdict, Verdict::Settled { phase: Phase::Failed, .. });
    let told = conditions::ready_reason(&before.conditions).and_then(Reason::parse).is_some_and(Reason::is_failed);
    if wanted == 0 || !failed || (told && before.version == Some(record.version)) {
        return None;
    }
    let mut entries = Vec::new();
    for application in &record.applications {
        entries.extend(errors(api, &record.id, &application.application_name).await);
    }
    // RFC 3339 in UTC sorts as text.
    entries.sort_by(|one, other| one.timestamp.cmp(&other.timestamp));
    let last = entries.len().saturating_sub(wanted);
    Some(entries[last..].iter().map(|entry| masker.mask(&line(entry))).collect())
}

async fn errors(api: &dyn ConnectApi, id: &str, application: &str) -> Vec<LogEntry> {
    let selector = Selector::Id(id.to_owned());
    let mut request = LogRequest { application_name: Some(application.to_owned()), ..LogRequest::default() };
    let mut found = Vec::new();
    for _ in 0..PAGES {
        let page = match api.logs(&selector, &request).await {
            Ok(Some(page)) => page,
            Ok(None) => break,
            Err(error) => {
                tracing::debug!(%error, "the log cannot be read");
                break;
            }
        };
        found.extend(page.data.into_iter().filter(|entry| is_error(&entry.severity)));
        // Whatever ends a list of pages (contract section 3).
        if page.next.as_deref().is_none_or(str::is_empty) || page.next == request.page_token {
            break;
        }
        request.page_token = page.next;
    }
    found
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
