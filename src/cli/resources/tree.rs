//! `tree`: shows projects with their staged connectors, deployments and checks.

use crate::cli::printing::tell;
use clock::Clock;
use kube::ResourceExt as _;

use crate::cli::cluster::{AllNamespaces, ClusterOptions};
use crate::cli::printing::print;

use super::argument::{Selected, wanted};
use super::branches::Forest;
use super::failure::Failed;
use super::kind::{Resource, ResourceType};
use super::output::Output;
use super::page::View;
use super::selection::{Found, NAMED_EVERYWHERE, absent, is_named_everywhere, list, none, read};

/// What the command works on; a bare name is a `ConnectorDeployment`.
const TYPES: [ResourceType; 5] = [
    ResourceType::Deployment,
    ResourceType::Project,
    ResourceType::Staged,
    ResourceType::Check,
    ResourceType::ClusterProject,
];

const EXAMPLES: &str = "\
Examples:
  # All projects of the namespace, and what belongs to them
  connect-operator tree

  # One project with everything below it, with the messages of the Ready conditions
  connect-operator tree project/shop --output wide

  # What the ConnectorDeployment tax belongs to, and its checks
  connect-operator tree tax

  # A ClusterConnectProject, and what belongs to it in this namespace
  connect-operator tree clusterproject/shop

  # All namespaces
  connect-operator tree --all-namespaces";

/// Show projects with their staged connectors, deployments and checks as a tree.
///
/// A deployment stands below the staged connector that it deploys, otherwise below its project; a check below the
/// deployment that it follows, otherwise below its project. A ClusterConnectProject is shown if resources of the namespace
/// use it.
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(in crate::cli) struct Tree {
    /// Show only these, with what is above and below them: TYPE/NAME, or the NAME of a ConnectorDeployment.
    #[arg(value_name = "TYPE/NAME")]
    resources: Vec<String>,

    #[command(flatten)]
    output: Output,

    #[command(flatten)]
    place: ClusterOptions,

    #[command(flatten)]
    everywhere: AllNamespaces,
}

/// Prints the tree.
///
/// # Errors
/// If a named resource does not exist, or the resources cannot be listed.
pub(in crate::cli) async fn tree(args: Tree) -> Result<(), Failed> {
    let everywhere = args.everywhere.given;
    let named = if args.resources.is_empty() {
        Vec::new()
    } else {
        match wanted(&args.resources, None, false, &TYPES).map_err(Failed::Argument)? {
            Selected::Named(named) => named,
            Selected::Matching { .. } => Vec::new(),
        }
    };
    if everywhere && is_named_everywhere(&named) {
        return Err(Failed::Argument(NAMED_EVERYWHERE.to_owned()));
    }
    let (client, namespace) = args.place.client().await.map_err(Failed::Cluster)?;
    let place = (!everywhere).then_some(namespace.as_str());
    let mut objects: Vec<Found> = Vec::new();
    for resource_type in ResourceType::ALL {
        let wanted = named.iter().any(|(it, _)| *it == resource_type);
        match list(&client, place, resource_type, None).await {
            Ok(found) => objects.extend(found),
            // Users of a namespace need not be allowed to list what the cluster shares; the tree then has its names.
            Err(Failed::Forbidden { .. } | Failed::NotInstalled(_)) if resource_type.is_cluster_scoped() && !wanted => {
            }
            Err(error) => return Err(error),
        }
    }
    for (resource_type, name) in &named {
        if !objects.iter().any(|(other, object)| other == resource_type && object.name_any() == *name) {
            return Err(absent(&client, &namespace, *resource_type, name).await);
        }
    }
    let mut resources = Vec::new();
    for object in &objects {
        match read(object.clone()) {
            Ok(resource) => resources.push(resource),
            // One object hides no other.
            Err(error) => tell!("skipped: {error}"),
        }
    }
    let mut forest = Forest::of(&resources);
    if !named.is_empty() {
        forest.retain(&named);
    } else if !everywhere {
        forest.retain_used();
    }
    let shown = forest.resources();
    if let Some(text) = args.output.objects(&sorted(&objects, &shown)).map_err(Failed::Argument)? {
        return Ok(print(&text)?);
    }
    if forest.is_empty() {
        tell!("{}", none(place));
        return Ok(());
    }
    let view = View { now: Clock::system().now(), program: super::program(), wide: args.output.is_wide() };
    Ok(print(&forest.text(&view, everywhere))?)
}

/// Returns the objects in the order of the tree.
fn sorted(objects: &[Found], shown: &[&Resource]) -> Vec<Found> {
    let object = |resource: &&Resource| {
        objects
            .iter()
            .find(|(it, object)| *it == resource.resource_type() && object.metadata == *resource.meta())
            .cloned()
    };
    shown.iter().filter_map(object).collect()
}
