//! `reconcile`, `redeploy`, `rerun`, `suspend` and `resume`: change resources, each with one conditional patch.

use crate::cli::printing::tell;
use std::time::Duration;

use clap::Arg;
use clock::Clock;
use kube::api::Patch;
use kube::{Client, ResourceExt as _};

use crate::cli::printing::print;
use crate::crd::parse_duration;

use super::change::Change;
use super::failure::Failed;
use super::follow::{Followed, TIMEOUT, follow};
use super::output::Output;
use super::progress::Goal;
use super::selection::{Found, Selection, get, read};

/// How often a patch is tried that meets a newer version of the resource, which the operator writes now and then.
const ATTEMPTS: u32 = 10;

const RECONCILE_EXAMPLES: &str = "\
Examples:
  # Read the remote deployment now instead of at the next interval
  connect-operator reconcile tax

  # The same, and wait until the operator has done so
  connect-operator reconcile tax --wait";

const REDEPLOY_EXAMPLES: &str = "\
Examples:
  # Redeploy the ConnectorDeployment tax once, and wait for the result
  connect-operator redeploy tax --wait

  # Repeat the refused or failed step of a staged connector
  connect-operator redeploy staged/kit

  # Redeploy every deployment of a team
  connect-operator redeploy --selector team=tax";

const RERUN_EXAMPLES: &str = "\
Examples:
  # Call the action of the ActionCheck add-to-cart once more, and wait for the result
  connect-operator rerun add-to-cart --wait";

const SUSPEND_EXAMPLES: &str = "\
Examples:
  # Send no change of the ConnectorDeployment tax until it is resumed
  connect-operator suspend tax

  # All staged connectors of the namespace
  connect-operator suspend staged --all";

const RESUME_EXAMPLES: &str = "\
Examples:
  # Send the changes of the ConnectorDeployment tax that wait
  connect-operator resume tax

  # All staged connectors of the namespace
  connect-operator resume staged --all";

/// The commands that change resources.
#[derive(Clone, Debug, clap::Subcommand)]
pub(in crate::cli) enum Request {
    /// Read the remote now, instead of at the next interval.
    ///
    /// Sets the annotation connect-operator.io/reconcile-requested-at.
    #[command(after_long_help = RECONCILE_EXAMPLES, mut_arg("resources", of(Change::Reconcile)))]
    Reconcile(Awaited),
    /// Redeploy once with the current values.
    ///
    /// Sets the annotation connect-operator.io/redeploy-requested-at. On a ConnectorStaged, it sets retry-requested-at, which
    /// repeats the step that was refused or failed: its create or update, the request for the preview permission, or
    /// publishing.
    #[command(after_long_help = REDEPLOY_EXAMPLES, mut_arg("resources", of(Change::Redeploy)))]
    Redeploy(Awaited),
    /// Call the action of an ActionCheck exactly once more.
    ///
    /// Sets the annotation connect-operator.io/rerun-requested-at. A NAME alone is an ActionCheck.
    #[command(after_long_help = RERUN_EXAMPLES, mut_arg("resources", of(Change::Rerun)))]
    Rerun(Awaited),
    /// Pause: the operator keeps reading, and sends nothing.
    ///
    /// Sets spec.suspend: nothing is sent, and a deletion waits. If the manifest is in Git, change it there instead.
    #[command(after_long_help = SUSPEND_EXAMPLES, mut_arg("resources", of(Change::Suspend)))]
    Suspend(Resources),
    /// End a pause: the operator sends the changes that wait.
    ///
    /// Removes spec.suspend. If the manifest is in Git, change it there instead.
    #[command(after_long_help = RESUME_EXAMPLES, mut_arg("resources", of(Change::Resume)))]
    Resume(Resources),
}

/// Returns the argument for the resources with the types of the change in its help.
fn of(change: Change) -> impl FnOnce(Arg) -> Arg {
    move |argument| argument.help(change.help()).long_help(None)
}

/// The resources to change.
#[derive(Clone, Debug, clap::Args)]
pub(in crate::cli) struct Resources {
    #[command(flatten)]
    selection: Selection,

    #[command(flatten)]
    output: Output,
}

/// The resources to change, and whether to wait for the result.
#[derive(Clone, Debug, clap::Args)]
pub(in crate::cli) struct Awaited {
    #[command(flatten)]
    resources: Resources,

    /// Wait until the operator has handled the request, and the resource is ready or a user has to act.
    #[arg(long)]
    wait: bool,

    /// Maximum time to wait for all resources, such as 90s or 20m.
    #[arg(long, value_name = "DURATION", default_value = TIMEOUT, value_parser = parse_duration, requires = "wait")]
    timeout: Duration,
}

/// Changes the resources.
///
/// # Errors
/// If a resource cannot be changed, or is not ready in the end.
pub(in crate::cli) async fn change(request: Request) -> Result<(), Failed> {
    let awaited = |it: Awaited| (it.resources, it.wait.then_some(it.timeout));
    let (change, (resources, timeout)) = match request {
        Request::Reconcile(it) => (Change::Reconcile, awaited(it)),
        Request::Redeploy(it) => (Change::Redeploy, awaited(it)),
        Request::Rerun(it) => (Change::Rerun, awaited(it)),
        Request::Suspend(it) => (Change::Suspend, (it, None)),
        Request::Resume(it) => (Change::Resume, (it, None)),
    };
    let Resources { selection, output } = resources;
    let (client, found) = selection.find(change.types()).await?;
    let clock = Clock::system();
    let value = clock.now().to_string();
    let mut changed = Vec::new();
    for object in found {
        let (object, reply) = patched(&client, change, object, &value, timeout.is_some()).await?;
        if !output.is_of_objects() {
            print(&reply)?;
        }
        changed.push(object);
    }
    if let Some(timeout) = timeout {
        let goal = Goal::Handled { change, value: &value };
        let followed = Followed { goal, timeout, output };
        follow(&client, &clock, &changed, &followed).await
    } else if let Some(text) = output.objects(&changed).map_err(Failed::Argument)? {
        Ok(print(&text)?)
    } else {
        Ok(())
    }
}

/// Sends the patch; reads the object again if it was changed meanwhile. Returns the object, and what is printed.
async fn patched(
    client: &Client,
    change: Change,
    found: Found,
    value: &str,
    followed: bool,
) -> Result<(Found, String), Failed> {
    let (resource_type, mut object) = found;
    let (namespace, name) = (object.namespace().unwrap_or_default(), object.name_any());
    let api = resource_type.api(client.clone(), &namespace);
    let mut attempt = 0;
    loop {
        attempt += 1;
        let resource = read((resource_type, object.clone()))?;
        let Some(patch) = change.patch(&resource, value, followed) else {
            return Ok(((resource_type, object), change.reply(resource_type, &name, false)));
        };
        match api.patch(&name, &super::patch_params(), &Patch::Merge(patch)).await {
            Ok(object) => {
                if let Some(caveat) = change.caveat(&resource, super::program()) {
                    tell!("{caveat}");
                }
                return Ok(((resource_type, object), change.reply(resource_type, &name, true)));
            }
            Err(kube::Error::Api(status)) if status.code == 409 && attempt < ATTEMPTS => {
                object = get(client, &namespace, resource_type, &name).await?;
            }
            Err(error) => return Err(Failed::of("patch", resource_type, Some(&namespace), error)),
        }
    }
}
