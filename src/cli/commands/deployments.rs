//! `deployments`: shows the deployments of a project and their logs.

use std::sync::Arc;

use clap_complete::engine::ArgValueCandidates;
use connect_api::model::Deployment;
use connect_api::{ConnectApi, paging};

use crate::cli::completion;

use super::logs::{Entries, follow};
use super::output::{Output, Section, or_dash};
use super::project::Project;
use super::{Failed, Get, Name, absent, export, first};

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
    #[command(alias = "describe", mut_arg("name", |name| name.add(ArgValueCandidates::new(completion::keys))))]
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

    #[command(flatten)]
    entries: Entries,

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
        Command::Logs(logs) => follow(&logs.project.client().await?, &logs.name.selector(), &logs.entries).await?,
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
