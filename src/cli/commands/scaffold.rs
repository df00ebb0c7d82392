//! `scaffold`: prints the manifests of a deployment of a connector, from what the registry reports about it.

use connect_api::ConnectApi as _;

use super::project::Project;
use super::template::{credentials, manifests};
use super::{Failed, RecordName, existing, label};
use crate::cli::printing::print;
use crate::cli::text::yaml;

const EXAMPLES: &str = "\
Examples:
  # Write the manifests of a connector, fill in the required values, and plan them
  connect-operator scaffold demo-connector --project shop > tax.yaml
  connect-operator plan --filename tax.yaml

  # Through a project that namespaces share
  connect-operator scaffold demo-connector --project clusterproject/shop

  # Another name, and the credentials from the environment (CTP_PROJECT_KEY and others)
  connect-operator scaffold demo-connector --name tax

  # Check whether the project may deploy it
  connect-operator scaffold demo-connector --project shop | connect-operator plan --filename -";

/// Print the manifests of a deployment of a connector.
///
/// Prints a ConnectorDeployment, a Secret and a ConfigMap with the keys that the connector declares, each with its
/// description. Those that require a value come first and are marked; the others are comments. Without --project, a ConnectProject comes
/// before them, with a Secret for its credentials. Values are for you to fill in: an empty one is deployed as it is.
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
#[command(mut_arg("name", |it| it.help("Key of the connector; its id with --id")))]
pub(in crate::cli) struct Scaffold {
    #[command(flatten)]
    connector: RecordName,

    /// Name of the ConnectorDeployment, its Secret and its ConfigMap. Default: the key of the connector.
    #[arg(id = "resource_name", long = "name", value_name = "NAME")]
    name: Option<String>,

    #[command(flatten)]
    project: Project,
}

/// Prints the manifests.
///
/// # Errors
/// If the connector does not exist, or the API cannot be called.
pub(in crate::cli) async fn run(args: Scaffold) -> Result<(), Failed> {
    let (client, project) = args.project.client_and_manifest().await?;
    let selector = args.connector.selector();
    let connector = existing("connector", selector.clone(), client.connector(&selector).await?)?;
    let key = connector.key.as_deref().unwrap_or(&connector.id);
    let name = args.name.unwrap_or_else(|| label(key));
    let mut text = String::new();
    if let Some(manifest) = &project.manifest {
        let document = yaml(manifest).map_err(Failed::Argument)?;
        let secret = manifest["spec"]["credentialsSecretRef"]["name"].as_str().unwrap_or_default();
        text = format!("{}{document}---\n", credentials(secret));
    }
    Ok(print(&(text + &manifests(&connector, &project.reference, &name)))?)
}
