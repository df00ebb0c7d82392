//! `deployments`: shows the deployments of a project and their logs.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use clap_complete::engine::ArgValueCandidates;
use clock::Clock;
use connect_api::api::LogRequest;
use connect_api::http::HttpConnect;
use connect_api::model::{Deployment, LogEntry};
use connect_api::{ApiError, ConnectApi, ErrorCode, Selector, paging};
use jiff::Timestamp;

use crate::cli::completion;
use crate::cli::printing::{Reader, offer};
use crate::crd::parse_duration;

use super::output::{Output, Section, or_dash};
use super::project::Project;
use super::{Failed, Get, Name, absent, export, first};

/// Pause between two reads of a log that is followed.
const FOLLOW: Duration = Duration::from_secs(3);
/// Overlap of two reads of a log that is followed, because entries may arrive late.
const LATE: Duration = Duration::from_secs(30);

/// Show deployments.
#[derive(Clone, Debug, clap::Args)]
pub(in crate::cli) struct Deployments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Clone, Debug, clap::Subcommand)]
enum Command {
    /// List the deployments of the project.
    List(List),
    /// Show one deployment: its status, its report and its URLs.
    #[command(mut_arg("name", |name| name.add(ArgValueCandidates::new(completion::keys))))]
    Get(Get),
    /// Print the log of one deployment. The service removes it after 2027-01-31; Platform Insights replaces it.
    #[command(mut_arg("name", |name| name.add(ArgValueCandidates::new(completion::keys))))]
    Logs(Logs),
    Export(export::Export),
}

#[derive(Clone, Debug, clap::Args)]
struct List {
    /// Maximum number of results. Default: all, up to the 10,500 that the API returns.
    #[arg(long, value_name = "NUMBER")]
    limit: Option<usize>,

    #[command(flatten)]
    project: Project,

    #[command(flatten)]
    output: Output,
}

#[derive(Clone, Debug, clap::Args)]
struct Logs {
    #[command(flatten)]
    name: Name,

    /// Only this application; required for deployments on AWS.
    #[arg(long, value_name = "NAME")]
    application: Option<String>,

    /// Only entries that are at most this old, such as 30m or 24h; at most 30 days.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    since: Option<Duration>,

    /// Keep printing new entries until interrupted.
    #[arg(long, short)]
    follow: bool,

    #[command(flatten)]
    project: Project,
}

/// Prints the requested deployments, logs or manifests.
///
/// # Errors
/// If the deployment does not exist, or the API cannot be called.
pub(in crate::cli) async fn run(arguments: Deployments) -> Result<(), Failed> {
    match arguments.command {
        Command::List(all) => {
            let client = all.project.client().await?;
            let found = first(paging::deployments(&client), all.limit).await?;
            let found: Vec<&Deployment> = found.iter().map(Arc::as_ref).collect();
            all.output.print(&found, || vec![table(found.iter().copied())])?;
        }
        Command::Get(get) => {
            let selector = get.name.selector();
            let client = get.project.client().await?;
            let Some(deployment) = client.deployment(&selector).await? else {
                return Err(absent(&client, selector).await);
            };
            get.output.print(&deployment, || {
                vec![table(std::iter::once(&deployment)), findings(&deployment), applications(&deployment)]
            })?;
        }
        Command::Logs(logs) => print_logs(&logs).await?,
        Command::Export(export) => export::run(export).await?,
    }
    Ok(())
}

fn table<'a>(deployments: impl Iterator<Item = &'a Deployment>) -> Section {
    let header = ["KEY", "CONNECTOR", "CONNECTOR VERSION", "TYPE", "REGION", "STATUS", "VERSION"];
    let rows = deployments.map(|deployment| {
        let connector = &deployment.connector;
        [
            or_dash(deployment.key.as_deref().or(Some(&deployment.id))),
            or_dash(connector.key.as_deref().or(Some(&connector.id))),
            connector.version.to_string(),
            deployment.kind.to_string(),
            or_dash(Some(&deployment.deployed_region)),
            deployment.status.to_string(),
            deployment.version.to_string(),
        ]
    });
    Section::new(header, rows)
}

fn findings(deployment: &Deployment) -> Section {
    let rows = deployment.report().iter().map(|entry| {
        let application = or_dash(entry.application.as_deref());
        [entry.kind.to_string(), application, entry.title.clone(), or_dash(entry.message.as_deref())]
    });
    Section::new(["FINDING", "APPLICATION", "TITLE", "MESSAGE"], rows)
}

fn applications(deployment: &Deployment) -> Section {
    let rows = deployment.applications.iter().map(|application| {
        let rest = [&application.url, &application.topic, &application.schedule].map(|text| or_dash(text.as_deref()));
        let [url, topic, schedule] = rest;
        [application.application_name.clone(), url, topic, schedule]
    });
    Section::new(["APPLICATION", "URL", "TOPIC", "SCHEDULE"], rows)
}

/// Prints the log entries in the order of the API. With --follow, prints each entry once.
async fn print_logs(logs: &Logs) -> Result<(), Failed> {
    let client = logs.project.client().await?;
    let clock = Clock::system();
    let now = clock.now();
    let since = logs.since.map(|since| now.saturating_sub(since).unwrap_or(Timestamp::MIN));
    let mut request = LogRequest { application_name: logs.application.clone(), start: since, ..LogRequest::default() };
    let mut printed = HashSet::new();
    loop {
        let started = clock.now();
        let reader = read_logs(&client, &logs.name.selector(), &request, |entry| {
            let line = line(entry);
            if logs.follow && !printed.insert(line.clone()) { Ok(Reader::There) } else { offer(&line) }
        })
        .await?;
        if !logs.follow || reader == Reader::Gone {
            return Ok(());
        }
        request.start = Some(started.saturating_sub(LATE).unwrap_or(Timestamp::MIN)).max(since);
        clock.sleep(FOLLOW).await;
    }
}

/// Reads all pages while standard output is read: until `next` is absent, empty or the token just used (contract
/// section 3).
async fn read_logs(
    client: &HttpConnect,
    selector: &Selector,
    request: &LogRequest,
    mut each: impl FnMut(&LogEntry) -> std::io::Result<Reader>,
) -> Result<Reader, Failed> {
    let mut request = request.clone();
    loop {
        let page = match client.logs(selector, &request).await {
            Ok(Some(page)) => page,
            Ok(None) => return Err(no_log(client, selector).await),
            Err(error) => return Err(refused_log(error)),
        };
        for entry in &page.data {
            if each(entry)? == Reader::Gone {
                return Ok(Reader::Gone);
            }
        }
        let next = page.next.filter(|next| !next.is_empty() && Some(next) != request.page_token.as_ref());
        if next.is_none() {
            return Ok(Reader::There);
        }
        request.page_token = next;
    }
}

/// Tells whether a 404 of the service concerns the deployment, or means that it serves no log.
async fn no_log(client: &HttpConnect, selector: &Selector) -> Failed {
    match client.deployment(selector).await {
        Ok(Some(_)) => Failed::Log("the service has no log of this deployment".to_owned()),
        Ok(None) => absent(client, selector.clone()).await,
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
    let text = match &entry.details {
        serde_json::Value::String(text) => text.clone(),
        details => {
            details.get("message").and_then(|message| message.as_str()).map_or_else(|| details.to_string(), Into::into)
        }
    };
    let text = text.trim_end().replace('\n', "\n    ");
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
            let told = refused_log(error).to_string();
            assert_eq!(told.contains("Platform Insights"), ends, "{status} {codes:?}: {told}");
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
