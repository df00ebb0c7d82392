//! `staged`: shows staged connectors.

use clap::Arg;
use connect_api::model::{ConnectorStaged, IntegrationType};
use connect_api::registry::StagedQuery;
use connect_api::{ConnectApi, paging};

use crate::cli::resources::{Output, RecordType};

use super::connectors::{scopes, table_of_applications, variables};
use super::output::{Section, list, or_dash, print_records};
use super::project::Project;
use super::{Failed, Get, absent_staged, export_staged, read};

const LIST_EXAMPLES: &str = "\
Examples:
  # All staged connectors of the organization
  connect-operator staged list --project shop

  # The private ones for taxes
  connect-operator staged list --type tax --private true --project shop";

const GET_EXAMPLES: &str = "\
Examples:
  # Status and reports of the staged connector of the ConnectorStaged kit
  connect-operator staged get staged/kit

  # The same for any staged connector, by its key
  connect-operator staged get my-connector --project shop

  # The record of the API
  connect-operator staged get my-connector --project shop --output yaml";

/// Describes the argument that names a staged connector.
fn named(name: Arg) -> Arg {
    let help = "Key of the staged connector, its id with --id, or its ConnectorStaged as staged/NAME, which names the \
                project too";
    name.help(help)
}

/// Show staged connectors.
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = GET_EXAMPLES)]
pub(in crate::cli) struct Staged {
    #[command(subcommand)]
    command: Command,
}

#[derive(Clone, Debug, clap::Subcommand)]
enum Command {
    /// List the staged connectors.
    #[command(after_long_help = LIST_EXAMPLES)]
    List(List),
    /// Show one staged connector: its status, its reports, its applications, and the variables that they declare.
    #[command(after_long_help = GET_EXAMPLES, mut_arg("name", named))]
    Get(Get),
    Export(export_staged::Export),
}

#[derive(Clone, Debug, clap::Args)]
struct List {
    /// Type of integration; may be repeated.
    #[arg(long = "type", value_name = "TYPE")]
    types: Vec<IntegrationType>,

    /// true: only private ones; false: only public ones.
    #[arg(long)]
    private: Option<bool>,

    /// Maximum number of results. Default: all, up to the 10,500 that the API returns.
    #[arg(long, value_name = "NUMBER")]
    limit: Option<usize>,

    #[command(flatten)]
    project: Project,

    #[command(flatten)]
    output: Output,
}

/// Prints the requested staged connectors.
///
/// # Errors
/// If the staged connector does not exist, or the API cannot be called.
pub(in crate::cli) async fn run(arguments: Staged) -> Result<(), Failed> {
    match arguments.command {
        Command::List(all) => {
            let client = all.project.client().await?;
            let query = StagedQuery { is_private: all.private, integration_types: all.types, sort: Vec::new() };
            let found = read("staged connectors", paging::connectors_staged(&client, &query), all.limit).await?;
            print_records(all.output, &found, || vec![table(&found)])?;
        }
        Command::Get(get) => {
            let (selector, project) = get.name.find(get.project, RecordType::Staged).await?;
            let client = project.client().await?;
            let Some(staged) = client.staged(&selector).await? else {
                return Err(absent_staged(&client, selector, &project.options()).await);
            };
            print_records(get.output, &staged, || {
                let applications = staged.configurations.as_deref().unwrap_or_default();
                vec![
                    table(std::slice::from_ref(&staged)),
                    findings(&staged),
                    scopes(staged.api_client.as_ref()),
                    table_of_applications(applications),
                    variables(applications, staged.global_configuration.as_ref()),
                ]
            })?;
        }
        Command::Export(export) => export_staged::run(export).await?,
    }
    Ok(())
}

fn table(all: &[ConnectorStaged]) -> Section {
    let header =
        ["KEY", "VERSION", "TAG", "STATUS", "PREVIEW", "LISTED", "CHANGES", "TYPES", "REGIONS", "REPOSITORY", "ID"];
    let rows = all.iter().map(|staged| {
        [
            or_dash(staged.key.as_deref().or(Some(&staged.id))),
            staged.version.to_string(),
            or_dash(Some(&staged.repository.tag)),
            staged.status.to_string(),
            staged.is_previewable.to_string(),
            staged.already_listed.to_string(),
            staged.has_changes.to_string(),
            list(&staged.integration_types),
            list(&staged.supported_regions),
            or_dash(Some(&staged.repository.url)),
            staged.id.clone(),
        ]
    });
    Section::new(header, rows).with_details(2)
}

/// Returns the findings of publishing, the preview request and certification.
fn findings(staged: &ConnectorStaged) -> Section {
    let reports = [("publishing", &staged.publishing_report), ("preview", &staged.previewable_report)];
    let entries = reports.into_iter().flat_map(|(about, report)| {
        report.iter().flat_map(|report| &report.entries).map(move |entry| {
            [about.to_owned(), entry.kind.to_string(), entry.title.clone(), or_dash(entry.message.as_deref())]
        })
    });
    let comments = staged.certification_info.iter().flat_map(|info| &info.comments).map(|comment| {
        ["certification".to_owned(), "Comment".to_owned(), comment.comment.clone(), or_dash(Some(&comment.datetime))]
    });
    Section::new(["ABOUT", "FINDING", "TITLE", "MESSAGE"], entries.chain(comments))
}
