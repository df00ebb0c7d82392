//! `adopt`: takes an existing deployment over, one step at a time, with what other commands do: export, apply, wait.

use std::collections::BTreeMap;
use std::time::Duration;

use connect_api::model::Deployment;
use connect_api::{ConnectApi as _, Selector};
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};

use super::export::{keys_of_secrets, manifests};
use super::manifests::print_manifests;
use super::project::Project;
use super::{Failed, existing};
use crate::cli::printing::{print, tell};
use crate::cli::resources::{self, ResourceType, TIMEOUT, await_ready};
use crate::crd::{ConnectorDeployment, parse_duration};
use crate::names;
use crate::operator::cluster::objects::secret;
use crate::operator::deployment::intent;

const EXAMPLES: &str = "\
Examples:
  # Look at the manifests
  connect-operator adopt tax --project shop

  # Apply them: the resource only observes the deployment
  connect-operator adopt tax --project shop --apply

  # Once the Secret has its keys, and no script changes the deployment any more
  connect-operator adopt tax --project shop --take-over";

/// Take over an existing deployment, one step at a time.
///
/// 1. Without an option: prints the manifests of the deployment, as `deployments export` does.
///
/// 2. --apply: applies them, shows what the operator reports about the deployment, and which keys the Secret lacks. The
///    resource only observes. The Secret is for you to create, because the API never returns secured values.
///
/// 3. --take-over: sets `managementPolicy: Full` and `adoptionPolicy: Adopt`, and waits. Nothing is redeployed unless a visible
///    value differs; `connect-operator plan` shows it beforehand. Stop other programs that change the deployment.
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(in crate::cli) struct Adopt {
    /// Key of the deployment, as `deployments list` shows it.
    #[arg(value_name = "KEY")]
    key: String,

    /// Apply the manifests, and wait until the operator has observed the deployment.
    #[arg(long, requires = "project", conflicts_with = "take_over")]
    apply: bool,

    /// Let the ConnectorDeployment manage the deployment, and wait until it does. The Secret needs all its keys.
    #[arg(long, requires = "project")]
    take_over: bool,

    /// Maximum time to wait, such as 90s or 20m.
    #[arg(long, value_name = "DURATION", default_value = TIMEOUT, value_parser = parse_duration)]
    timeout: Duration,

    #[command(flatten)]
    project: Project,
}

/// Takes the step that was asked for.
///
/// # Errors
/// If the deployment or its resource does not exist, a Secret lacks a key, or the cluster refuses something.
pub(in crate::cli) async fn run(args: Adopt) -> Result<(), Failed> {
    let (client, known) = args.project.client_and_manifest().await?;
    let selector = Selector::Key(args.key.clone());
    let deployment = existing("deployment", selector.clone(), client.deployment(&selector).await?)?;
    if args.take_over {
        return take_over(&args, &deployment).await;
    }
    let (manifests, ..) = manifests(&known, &[&deployment]);
    if args.apply {
        return apply(&args, &manifests, &deployment).await;
    }
    print_manifests(&manifests)?;
    if args.project.is_of_cluster() {
        tell!("Next: the same command with --apply");
    }
    Ok(())
}

async fn apply(args: &Adopt, manifests: &[Value], deployment: &Deployment) -> Result<(), Failed> {
    let (client, namespace) = &args.project.cluster().await?;
    let api = ResourceType::Deployment.api(client.clone(), namespace);
    let parameters = PatchParams::apply(names::COMMAND_FIELD_MANAGER);
    for manifest in manifests {
        let name = manifest["metadata"]["name"].as_str().unwrap_or_default();
        api.patch(name, &parameters, &Patch::Apply(manifest)).await.map_err(resources::Failed::from)?;
        print(&format!("deployment/{name} applied\n"))?;
    }
    let object = resource_of(client, namespace, &args.key).await?;
    await_ready(client, namespace, &object.name_any(), args.timeout).await?;
    let missing = missing(client, namespace, &object, deployment).await?;
    for (secret, keys) in &missing {
        tell!("Next: put the values of the deployment into the Secret {secret}, which lacks {}", keys.join(", "));
    }
    if args.project.is_of_cluster() {
        let start = if missing.is_empty() { "Next" } else { "Then" };
        tell!("{start}: the same command with --take-over in place of --apply");
    }
    Ok(())
}

async fn take_over(args: &Adopt, deployment: &Deployment) -> Result<(), Failed> {
    let (client, namespace) = args.project.cluster().await?;
    let object = resource_of(&client, &namespace, &args.key).await?;
    let missing = missing(&client, &namespace, &object, deployment).await?;
    if !missing.is_empty() {
        let each = missing.iter().map(|(secret, keys)| format!("the Secret {secret} lacks {}", keys.join(", ")));
        let all = each.collect::<Vec<_>>().join("; ");
        return Err(Failed::Argument(format!("{all}: add the values of the deployment first")));
    }
    let name = object.name_any();
    let change = json!({
        "metadata": {"resourceVersion": object.resource_version()},
        "spec": {"managementPolicy": "Full", "adoptionPolicy": "Adopt"},
    });
    let api = ResourceType::Deployment.api(client.clone(), &namespace);
    api.patch(&name, &resources::patch_params(), &Patch::Merge(change)).await.map_err(resources::Failed::from)?;
    Ok(await_ready(&client, &namespace, &name, args.timeout).await?)
}

/// Returns the `ConnectorDeployment` of a remote key.
async fn resource_of(client: &Client, namespace: &str, key: &str) -> Result<ConnectorDeployment, Failed> {
    let all = Api::<ConnectorDeployment>::namespaced(client.clone(), namespace).list(&ListParams::default()).await;
    all.map_err(resources::Failed::from)?.items.into_iter().find(|object| intent::key(object) == key).ok_or_else(|| {
        let remedy = "create it with --apply";
        Failed::Argument(format!("no ConnectorDeployment in the namespace {namespace} has the key {key}: {remedy}"))
    })
}

/// Returns the keys that the Secrets of a resource lack.
async fn missing(
    client: &Client,
    namespace: &str,
    object: &ConnectorDeployment,
    deployment: &Deployment,
) -> Result<BTreeMap<String, Vec<String>>, Failed> {
    let spec = serde_json::to_value(&object.spec).map_err(|error| Failed::Argument(error.to_string()))?;
    let mut needed = keys_of_secrets(&spec, deployment);
    for (name, keys) in &mut needed {
        let found = secret::read(client, namespace, name).await.map_err(resources::Failed::from)?;
        let data = found.and_then(|secret| secret.data).unwrap_or_default();
        keys.retain(|key| !data.contains_key(key));
    }
    needed.retain(|_, keys| !keys.is_empty());
    Ok(needed)
}
