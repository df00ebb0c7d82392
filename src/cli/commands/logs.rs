//! `logs`: prints the log of a deployment, which a resource or a key names.

use std::collections::HashSet;
use std::time::Duration;

use clap_complete::engine::ArgValueCandidates;
use clock::Clock;
use connect_api::api::LogRequest;
use connect_api::http::HttpConnect;
use connect_api::model::LogEntry;
use connect_api::{ApiError, ConnectApi, ErrorCode, Selector};
use jiff::Timestamp;

use super::project::{client_of_resource, options};
use super::{Failed, absent};
use crate::cli::cluster::ClusterOptions;
use crate::cli::completion;
use crate::cli::installs::OperatorNamespace;
use crate::cli::printing::{Reader, offer};
use crate::cli::reach::Reach;
use crate::cli::resources::{RecordType, ResourceType, record};
use crate::crd::parse_duration;

/// Pause between two reads of a log that is followed.
const FOLLOW: Duration = Duration::from_secs(3);
/// Overlap of two reads of a log that is followed, because entries may arrive late.
const LATE: Duration = Duration::from_secs(30);

/// What the command works on.
const TYPES: [ResourceType; 1] = [ResourceType::Deployment];

const EXAMPLES: &str = "\
Examples:
  # The log of the deployment of the ConnectorDeployment tax
  connect-operator logs tax

  # New entries of one application as they arrive, from half an hour ago
  connect-operator logs deployment/tax --application service --since 30m --follow";

/// Print the log of the deployment of a ConnectorDeployment.
///
/// The project and the key come from the resource, and the credentials from the Secret of its project, which you need to
/// be allowed to read. The service removes this log after 2027-01-31; Platform Insights replaces it.
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(in crate::cli) struct Logs {
    /// A ConnectorDeployment as NAME or deployment/NAME.
    #[arg(value_name = "NAME", add = ArgValueCandidates::new(|| completion::resources(&TYPES)))]
    resource: String,

    #[command(flatten)]
    entries: Entries,

    #[command(flatten)]
    operator: OperatorNamespace,

    #[command(flatten)]
    reach: Reach,

    #[command(flatten)]
    place: ClusterOptions,
}

/// Which entries of a log to print.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Entries {
    /// Only this application; required for deployments on AWS.
    #[arg(long, value_name = "NAME")]
    application: Option<String>,

    /// Only entries that are at most this old, such as 30m or 24h; at most 30 days.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    since: Option<Duration>,

    /// Keep printing new entries until interrupted.
    #[arg(long, short)]
    follow: bool,
}

/// Prints the log of a resource.
///
/// # Errors
/// If the resource, its project or its deployment does not exist, or the API cannot be called.
pub(in crate::cli) async fn run(args: Logs) -> Result<(), Failed> {
    let (client, namespace) = args.place.client().await.map_err(Failed::Argument)?;
    let found = record(&client, &namespace, &args.resource, RecordType::Deployment).await?;
    let client = client_of_resource(&client, &namespace, &found.project, (&args.operator, &args.reach)).await?;
    let place = ClusterOptions { namespace: Some(namespace), ..args.place };
    let options = options(Some(&found.project), &place, (&args.operator, &args.reach));
    follow(&client, &found.selector, &args.entries, &options).await
}

/// Prints the log entries in the order of the API. With --follow, prints each entry once. `options`: those that select
/// the project, for a suggested command.
///
/// # Errors
/// If the deployment does not exist, or the service has no log of it.
pub(super) async fn follow(
    client: &HttpConnect,
    selector: &Selector,
    wanted: &Entries,
    options: &str,
) -> Result<(), Failed> {
    let clock = Clock::system();
    let now = clock.now();
    let since = wanted.since.map(|since| now.saturating_sub(since).unwrap_or(Timestamp::MIN));
    let mut request =
        LogRequest { application_name: wanted.application.clone(), start: since, ..LogRequest::default() };
    // Only lines of the last round can come again, because each begins a little before the end of the one before.
    let mut printed = HashSet::new();
    loop {
        let started = clock.now();
        let before = std::mem::take(&mut printed);
        let each = |entry: &LogEntry| {
            let line = line(entry);
            let is_known = wanted.follow && (!printed.insert(line.clone()) || before.contains(&line));
            if is_known { Ok(Reader::There) } else { offer(&line) }
        };
        let Some(reader) = read_logs(client, selector, &request, each).await? else {
            return Err(no_log(client, selector, options).await);
        };
        if !wanted.follow || reader == Reader::Gone {
            return Ok(());
        }
        request.start = Some(started.saturating_sub(LATE).unwrap_or(Timestamp::MIN)).max(since);
        clock.sleep(FOLLOW).await;
    }
}

/// Reads all pages while standard output is read: until `next` is absent, empty or the token just used (contract
/// section 3). `None`: the service has no log under this name.
async fn read_logs(
    client: &HttpConnect,
    selector: &Selector,
    request: &LogRequest,
    mut each: impl FnMut(&LogEntry) -> std::io::Result<Reader>,
) -> Result<Option<Reader>, Failed> {
    let mut request = request.clone();
    loop {
        let page = match client.logs(selector, &request).await {
            Ok(Some(page)) => page,
            Ok(None) => return Ok(None),
            Err(error) => return Err(refused_log(error)),
        };
        for entry in &page.data {
            if each(entry)? == Reader::Gone {
                return Ok(Some(Reader::Gone));
            }
        }
        let next = page.next.filter(|next| !next.is_empty() && Some(next) != request.page_token.as_ref());
        if next.is_none() {
            return Ok(Some(Reader::There));
        }
        request.page_token = next;
    }
}

/// Tells whether a 404 of the service concerns the deployment, or means that it serves no log.
async fn no_log(client: &HttpConnect, selector: &Selector, options: &str) -> Failed {
    match client.deployment(selector).await {
        Ok(Some(_)) => Failed::Log("the service has no log of this deployment".to_owned()),
        Ok(None) => absent(client, selector.clone(), options).await,
        Err(error) => Failed::Api(error),
    }
}

/// Returns errors about the request, the credentials or the current moment unchanged; any other means that there is no
/// log.
fn refused_log(error: ApiError) -> Failed {
    let ours = matches!(
        error.code(),
        Some(
            ErrorCode::DeploymentApplicationDoesNotExist
                | ErrorCode::DeploymentLogInvalidDate
                | ErrorCode::DeploymentLogInvalidPageToken
                | ErrorCode::DeploymentLogMissingApplicationName
        )
    );
    match error.status() {
        Some(status) if !ours && !matches!(status, 401 | 403 | 429 | 502..) => Failed::Log(error.to_string()),
        _ => Failed::Api(error),
    }
}

/// Formats an entry as one line: time, severity, application, text.
fn line(entry: &LogEntry) -> String {
    let text = entry.text().trim_end().replace('\n', "\n    ");
    format!("{} {} {} {text}\n", entry.timestamp, entry.severity, entry.application_name)
}

#[cfg(test)]
mod tests {
    use connect_api::error::Failure;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_end_of_the_log_service_is_told_apart_from_a_bad_request() {
        for (status, code, ends) in [
            (400, Some(ErrorCode::InvalidPathParam), true),
            (404, None, true),
            (410, None, true),
            (500, Some(ErrorCode::General), true),
            (400, Some(ErrorCode::DeploymentLogMissingApplicationName), false),
            (403, Some(ErrorCode::AuthorizationError), false),
            (401, None, false),
            (429, None, false),
            (503, None, false),
        ] {
            let codes: Vec<_> = code.into_iter().collect();
            let error = ApiError {
                operation: "getDeploymentLogsByKey",
                failure: Failure::Answered { status, codes: codes.clone() },
                message: String::new(),
                correlation_id: None,
                retry_after: None,
            };
            let error = refused_log(error).to_string();
            assert_eq!(error.contains("Platform Insights"), ends, "{status} {codes:?}: {error}");
        }
    }

    #[test]
    fn an_entry_is_a_line_whatever_its_details() {
        for (case, details, expected) in [
            ("text", json!("started"), "started\n"),
            ("with a message", json!({"message": "started", "port": 1}), "started\n"),
            ("anything else", json!({"port": 1}), "{\"port\":1}\n"),
            ("several lines", json!("one\ntwo\n"), "one\n    two\n"),
            ("nothing", json!(null), "null\n"),
        ] {
            let entry: LogEntry = serde_json::from_value(json!({
                "timestamp": "2026-01-01T00:00:00Z", "severity": "INFO", "applicationName": "service", "details": details,
            }))
            .expect(case);
            assert_eq!(line(&entry), format!("2026-01-01T00:00:00Z INFO service {expected}"), "{case}");
        }
    }
}
