//! `deployments`: shows the deployments of a project.

use std::sync::Arc;

use connect_api::model::Deployment;
use connect_api::{ConnectApi, paging};

use crate::cli::resources::Output;

use super::output::{Section, list, or_dash, print_records};
use super::project::Project;
use super::{Failed, Get, all, existing, export};

const LIST_EXAMPLES: &str = "\
Examples:
  # The deployments of the project, whoever created them
  connect-operator deployments list --project shop

  # With the credentials from the environment (CTP_PROJECT_KEY and others)
  connect-operator deployments list";

const GET_EXAMPLES: &str = "\
Examples:
  # Status, report and URLs of a deployment, by its key
  connect-operator deployments get shop_tax --project shop

  # The record of the API, by the id of the deployment
  connect-operator deployments get --id 3d9a2f4e-7c51-4b8e-9a6d-1f0c5e8b2a47 \\
    --project shop --output json";

/// Show deployments.
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = GET_EXAMPLES)]
pub(in crate::cli) struct Deployments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Clone, Debug, clap::Subcommand)]
enum Command {
    /// List the deployments of the project.
    #[command(after_long_help = LIST_EXAMPLES)]
    List(List),
    /// Show one deployment: its status, its report and its URLs.
    #[command(after_long_help = GET_EXAMPLES)]
    Get(Get),
    /// Print manifests of existing deployments.
    ///
    /// Prints a `ConnectorDeployment` for each deployment, with `managementPolicy: ObserveOnly` and
    /// `adoptionPolicy: Adopt`. Applying them changes nothing at the remote. Each is named after the key, as is the Secret
    /// with its secured values, which you create: `shop_tax` becomes `shop-tax`.
    #[command(after_long_help = export::EXAMPLES)]
    Export(export::Export),
}

#[derive(Clone, Debug, clap::Args)]
struct List {
    #[command(flatten)]
    project: Project,

    #[command(flatten)]
    output: Output,
}

/// Prints the requested deployments or manifests.
///
/// # Errors
/// If the deployment does not exist, or the API cannot be called.
pub(in crate::cli) async fn run(arguments: Deployments) -> Result<(), Failed> {
    match arguments.command {
        Command::List(list) => {
            let client = list.project.client().await?;
            let found = all(paging::deployments(&client)).await?;
            let found: Vec<&Deployment> = found.iter().map(Arc::as_ref).collect();
            print_records(list.output, &found, || vec![table(found.iter().copied())])?;
        }
        Command::Get(get) => {
            let (client, selector) = (get.project.client().await?, get.name.selector());
            let deployment = existing("deployment", selector.clone(), client.deployment(&selector).await?)?;
            print_records(get.output, &deployment, || {
                vec![table(std::iter::once(&deployment)), findings(&deployment), applications(&deployment)]
            })?;
        }
        Command::Export(export) => export::run(export).await?,
    }
    Ok(())
}

fn table<'a>(deployments: impl Iterator<Item = &'a Deployment>) -> Section {
    let header = ["KEY", "CONNECTOR", "CONNECTOR VERSION", "TYPE", "REGION", "STATUS", "VERSION", "APPLICATIONS", "ID"];
    let rows = deployments.map(|deployment| {
        let connector = &deployment.connector;
        [
            or_dash(deployment.key.as_deref().or(Some(&deployment.id))),
            or_dash(connector.key.as_deref().or(Some(&connector.id))),
            connector.version.to_string(),
            deployment.kind().to_string(),
            or_dash(Some(&deployment.deployed_region)),
            deployment.status.to_string(),
            deployment.version.to_string(),
            list(&deployment.applications.iter().map(|it| it.application_name.as_str()).collect::<Vec<_>>()),
            deployment.id.clone(),
        ]
    });
    Section::new(header, rows).with_details(2)
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
