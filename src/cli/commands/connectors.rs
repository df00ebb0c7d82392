//! `connectors`: shows published connectors and the variables that they declare.

use connect_api::http::Query;
use connect_api::model::{Connector, ConnectorApiClient, DeclaredApplication, DeclaredGlobal, IntegrationType};
use connect_api::scopes::MANAGE_API_CLIENTS;
use connect_api::{ConnectApi, paging};

use crate::cli::resources::Output;

use super::output::{Section, list, or_dash, print_records};
use super::project::Project;
use super::{Failed, Get, all, existing};

/// Place of variables that belong to no application, as a spec names it.
const GLOBAL: &str = "globalConfiguration";

const SEARCH_EXAMPLES: &str = "\
Examples:
  # All connectors that the project may use
  connect-operator connectors search --project shop

  # Connectors for taxes, with credentials from the environment (CTP_PROJECT_KEY and others)
  connect-operator connectors search --type tax

  # The keys of the private ones
  connect-operator connectors search --private true --project shop --output name";

const GET_EXAMPLES: &str = "\
Examples:
  # The variables that a connector declares
  connect-operator connectors get demo-connector --project shop

  # The record of the API
  connect-operator connectors get demo-connector --project shop --output json";

/// Look connectors up in the registry.
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = GET_EXAMPLES)]
pub(in crate::cli) struct Connectors {
    #[command(subcommand)]
    command: Command,
}

#[derive(Clone, Debug, clap::Subcommand)]
enum Command {
    /// Find published connectors; without a filter, all that this project may use.
    #[command(after_long_help = SEARCH_EXAMPLES)]
    Search(Search),
    /// Show one published connector: its applications, the variables that they declare, and the scopes of the API client
    /// that deploying it generates.
    #[command(after_long_help = GET_EXAMPLES)]
    Get(Get),
}

#[derive(Clone, Debug, clap::Args)]
struct Search {
    /// Words to search for in name and description.
    #[arg(long)]
    text: Option<String>,

    /// Type of integration, such as tax, psp or oms; may be repeated.
    #[arg(long = "type", value_name = "TYPE")]
    types: Vec<IntegrationType>,

    /// true: only connectors that are assigned to this project; false: every connector available to it.
    #[arg(long)]
    private: Option<bool>,

    #[command(flatten)]
    project: Project,

    #[command(flatten)]
    output: Output,
}

/// Prints the requested connectors.
///
/// # Errors
/// If the connector does not exist, or the API cannot be called.
pub(in crate::cli) async fn run(arguments: Connectors) -> Result<(), Failed> {
    match arguments.command {
        Command::Search(search) => {
            let client = search.project.client().await?;
            let query = query(&search);
            let found = all(paging::connectors(&client, &query)).await?;
            print_records(search.output, &found, || vec![table(&found)])?;
        }
        Command::Get(get) => {
            let (client, selector) = (get.project.client().await?, get.name.selector());
            let connector = existing("connector", selector.clone(), client.connector(&selector).await?)?;
            print_records(get.output, &connector, || {
                let applications = connector.configurations.as_deref().unwrap_or_default();
                vec![
                    table(std::slice::from_ref(&connector)),
                    scopes(connector.api_client.as_ref()),
                    table_of_applications(applications),
                    variables(applications, connector.global_configuration.as_ref()),
                ]
            })?;
        }
    }
    Ok(())
}

/// Returns the parameters of `searchConnectors` (contract section 3). Each value of a list is one of its own.
fn query(search: &Search) -> Query {
    let text = search.text.iter().map(|text| ("text", text.clone()));
    let private = search.private.iter().map(|private| ("private", private.to_string()));
    let types = search.types.iter().map(|word| ("integrationTypes", word.to_string()));
    text.chain(private).chain(types).collect()
}

/// Returns the table of the results for `text`, with these variables instead of the environment of the process.
///
/// # Errors
/// If the API cannot be called.
#[cfg(feature = "local-cluster")]
pub(in crate::cli) async fn search(variable: impl Fn(&str) -> Option<String>, text: &str) -> Result<String, Failed> {
    let client = super::project::client_of(variable)?;
    let query = vec![("text", text.to_owned())];
    let found = all(paging::connectors(&client, &query)).await?;
    Ok(super::output::text(&[table(&found).shown(false)]))
}

fn table(connectors: &[Connector]) -> Section {
    let header = ["KEY", "VERSION", "NAME", "TYPES", "CERTIFIED", "PRIVATE", "REGIONS", "COMPANY", "ID"];
    let rows = connectors.iter().map(|connector| {
        [
            or_dash(connector.key.as_deref().or(Some(&connector.id))),
            connector.version.to_string(),
            connector.name.clone(),
            list(&connector.integration_types),
            connector.certified.to_string(),
            connector.private.to_string(),
            list(&connector.supported_regions),
            or_dash(connector.creator.company.as_deref()),
            connector.id.clone(),
        ]
    });
    Section::new(header, rows).with_details(2)
}

/// Returns the section with the scopes of the API client that deploying the connector generates.
fn scopes(api_client: Option<&ConnectorApiClient>) -> Section {
    let needs = || format!("{MANAGE_API_CLIENTS}, in addition to the scopes for deploying");
    let rows = api_client.into_iter().map(|client| [list(&client.scopes), needs()]);
    Section::new(["SCOPES OF THE GENERATED API CLIENT", "DEPLOYING IT REQUIRES"], rows)
}

/// Returns the section with every application, also those that declare no variables.
fn table_of_applications(applications: &[DeclaredApplication]) -> Section {
    let rows = applications.iter().map(|application| {
        let variables = application.standard_configuration.len() + application.secured_configuration.len();
        [application.application_name.clone(), application.application_type.as_str().to_owned(), variables.to_string()]
    });
    Section::new(["APPLICATION", "TYPE", "VARIABLES"], rows)
}

/// Returns the section with the variables that the applications of a connector declare.
fn variables(applications: &[DeclaredApplication], global: Option<&DeclaredGlobal>) -> Section {
    let none = DeclaredGlobal::default();
    let global = global.unwrap_or(&none);
    let mut rows = Vec::new();
    let places = applications.iter().map(|application| {
        let place = (application.application_name.as_str(), application.application_type.as_str());
        (place, &application.standard_configuration, &application.secured_configuration)
    });
    let everywhere = (GLOBAL, "-");
    let places =
        places.chain(std::iter::once((everywhere, &global.standard_configuration, &global.secured_configuration)));
    for ((name, kind), plain, secured) in places {
        let plain = plain.iter().map(|key| ("plain", &key.key, key.required, key.default.as_deref(), &key.description));
        let secured = secured.iter().map(|key| ("secured", &key.key, key.required, None, &key.description));
        rows.extend(plain.chain(secured).map(|(value, key, required, default, description)| {
            [
                name.to_owned(),
                kind.to_owned(),
                key.clone(),
                value.to_owned(),
                required.to_string(),
                or_dash(default),
                description.clone(),
            ]
        }));
    }
    let header = ["APPLICATION", "TYPE", "VARIABLE", "VALUE", "REQUIRED", "DEFAULT", "DESCRIPTION"];
    Section::new(header, rows.into_iter())
}
