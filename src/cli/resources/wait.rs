//! `wait`: waits until resources are ready, or cannot become ready unless a user acts.
//!
//! Trusts a status only for the current generation, so that it can follow `kubectl apply` directly.

use std::time::Duration;

use clock::Clock;
use kube::Client;

use crate::crd::parse_duration;

use super::failure::Failed;
use super::follow::{Followed, TIMEOUT, follow};
use super::kind::ResourceType;
use super::output::Output;
use super::progress::Goal;
use super::selection::{Selection, get};

const EXAMPLES: &str = "\
Examples:
  # The ConnectorDeployment tax
  connect-operator wait tax

  # A staged connector and the check of its preview, for at most an hour
  connect-operator wait staged/kit check/add-to-cart --timeout 60m

  # Every deployment of a team
  connect-operator wait deployments --selector team=tax

  # The resource itself, once it is ready
  connect-operator wait tax --output yaml";

/// Wait until resources are ready.
///
/// Prints each resource once it is ready, and exits with 0 when all are. Exits with 1 once all are ready or need a user
/// to act, with the report of each that does; and with 1 after the timeout. Changes go to standard error. With --output,
/// prints names or objects of all that are ready in the end.
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(in crate::cli) struct Wait {
    #[command(flatten)]
    selection: Selection,

    /// Maximum time to wait for all resources, such as 90s or 20m.
    #[arg(long, value_name = "DURATION", default_value = TIMEOUT, value_parser = parse_duration)]
    timeout: Duration,

    #[command(flatten)]
    output: Output,
}

/// Waits for one `ConnectorDeployment`.
///
/// # Errors
/// If it does not exist, or is not ready in the end.
pub(in crate::cli) async fn await_ready(
    client: &Client,
    namespace: &str,
    name: &str,
    timeout: Duration,
) -> Result<(), Failed> {
    let found = get(client, namespace, ResourceType::Deployment, name).await?;
    let followed = Followed { goal: Goal::Ready, timeout, output: Output::default() };
    follow(client, &Clock::system(), &[(ResourceType::Deployment, found)], &followed).await
}

/// Waits.
///
/// # Errors
/// If a resource does not exist or is not ready in the end, or if no resource is selected.
pub(in crate::cli) async fn wait(args: Wait) -> Result<(), Failed> {
    let (client, found) = args.selection.find(&ResourceType::DEPLOYMENTS_FIRST).await?;
    if found.is_empty() {
        return Err(Failed::Unfinished("there is nothing to wait for".to_owned()));
    }
    let followed = Followed { goal: Goal::Ready, timeout: args.timeout, output: args.output };
    follow(&client, &Clock::system(), &found, &followed).await
}
