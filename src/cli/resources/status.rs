//! `status`: shows one page about each resource.

use clock::Clock;

use crate::cli::printing::print;

use super::failure::Failed;
use super::kind::ResourceType;
use super::output::Output;
use super::page::{View, page};
use super::selection::{Selection, read};

const EXAMPLES: &str = "\
Examples:
  # The ConnectorDeployment tax in the namespace of the context
  connect-operator status tax

  # A staged connector and its project in another namespace, with all conditions
  connect-operator status staged/kit project/shop --namespace shop --output wide

  # Every deployment of a team, in all namespaces
  connect-operator status --selector team=tax --all-namespaces";

/// Show running state, desired state, problems and remedies on one page.
///
/// The page shows what the operator last reported: the Ready condition, the remote object, the operation in progress,
/// requests that were not handled yet, the last report, and the next step.
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(in crate::cli) struct Status {
    #[command(flatten)]
    selection: Selection,

    #[command(flatten)]
    output: Output,
}

/// Prints the pages.
///
/// # Errors
/// If a resource does not exist or cannot be read.
pub(in crate::cli) async fn status(args: Status) -> Result<(), Failed> {
    let (_, found) = args.selection.find(&ResourceType::DEPLOYMENTS_FIRST).await?;
    if let Some(text) = args.output.objects(&found).map_err(Failed::Argument)? {
        return Ok(print(&text)?);
    }
    let view = View { now: Clock::system().now(), program: super::program(), wide: args.output.is_wide() };
    let mut pages = Vec::new();
    for object in found {
        pages.push(page(&read(object)?, &view));
    }
    Ok(print(&pages.join("\n"))?)
}
