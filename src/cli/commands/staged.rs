//! `staged`: shows staged connectors.

use clap_complete::engine::ArgValueCandidates;
use connect_api::model::{ConnectorStaged, IntegrationType};
use connect_api::registry::StagedQuery;
use connect_api::{ConnectApi, paging};

use crate::cli::completion;

use super::connectors::{scopes, table_of_applications, variables};
use super::output::{Output, Section, list, or_dash};
use super::project::Project;
use super::{Failed, Get, export_staged, first};

/// Show staged connectors.
#[derive(Clone, Debug, clap::Args)]
pub(in crate::cli) struct Staged {
    #[command(subcommand)]
    command: Command,
}

#[derive(Clone, Debug, clap::Subcommand)]
enum Command {
    /// List the staged connectors.
    List(List),
    /// Show one staged connector: its status, its reports, its applications, and the variables that they declare.
    #[command(alias = "describe", mut_arg("name", |name| name.add(ArgValueCandidates::new(completion::staged))))]
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
            let found = first(paging::connectors_staged(&client, &query), all.limit).await?;
            all.output.print(&found, || vec![table(&found)])?;
        }
        Command::Get(get) => {
            let selector = get.name.selector();
            let found = get.project.client().await?.staged(&selector).await?;
            let absent = Failed::Absent { what: "staged connector", selector, list: "staged list", meant: Vec::new() };
            let staged = found.ok_or(absent)?;
            get.output.print(&staged, || {
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
    let header = ["KEY", "VERSION", "TAG", "STATUS", "PREVIEW", "LISTED", "CHANGES", "TYPES", "REGIONS"];
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
        ]
    });
    Section::new(header, rows)
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
