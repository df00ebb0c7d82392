//! `adopt`: takes an existing deployment over, one step at a time, with what other commands do: export, apply, wait.

use crate::cli::printing::tell;
use std::collections::BTreeSet;
use std::time::Duration;

use connect_api::model::Deployment;
use connect_api::{ConnectApi as _, Selector};
use kube::api::{DynamicObject, ListParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};

use super::export::manifests;
use super::manifests::print_manifests;
use super::project::Project;
use super::{Failed, existing};
use crate::cli::printing::print;
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
///    resource only observes. The values are for you to fill in, because the API never returns secured values.
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
    if args.take_over {
        return take_over(&args).await;
    }
    let (_, known) = args.project.client_and_manifest().await?;
    let deployment = record(&args).await?;
    let (manifests, _) = manifests(&known, &[&deployment]);
    if args.apply {
        let (client, namespace) = args.project.cluster().await?;
        return apply(&args, (&manifests, &deployment), &client, &namespace).await;
    }
    print_manifests(&manifests)?;
    if args.project.is_of_cluster() {
        tell!("Next: the same command with --apply");
    }
    Ok(())
}

async fn apply(
    args: &Adopt,
    (manifests, record): (&[Value], &Deployment),
    client: &Client,
    namespace: &str,
) -> Result<(), Failed> {
    let parameters = PatchParams::apply(names::COMMAND_FIELD_MANAGER);
    for manifest in manifests {
        let name = manifest["metadata"]["name"].as_str().unwrap_or_default();
        let deployment = manifest["kind"] == ResourceType::Deployment.kind();
        let applied = if deployment {
            let api = ResourceType::Deployment.api(client.clone(), namespace);
            api.patch(name, &parameters, &Patch::Apply(manifest)).await.map(drop)
        } else {
            let resource = kube::api::ApiResource::erase::<k8s_openapi::api::core::v1::Secret>(&());
            let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &resource);
            api.patch_metadata(name, &parameters, &Patch::Apply(manifest)).await.map(drop)
        };
        applied.map_err(resources::Failed::from)?;
        print(&format!("{}/{name} applied\n", if deployment { "deployment" } else { "secret" }))?;
    }
    let object = resource_of(client, namespace, &args.key).await?;
    await_ready(client, namespace, &object.name_any(), args.timeout).await?;
    let missing = missing(client, namespace, &object, record).await?;
    if !missing.is_empty() {
        tell!(
            "Next: add the values of the deployment to the Secret {}, which lacks {}",
            object.name_any(),
            missing.join(", ")
        );
    }
    if args.project.is_of_cluster() {
        let start = if missing.is_empty() { "Next" } else { "Then" };
        tell!("{start}: the same command with --take-over in place of --apply");
    }
    Ok(())
}

async fn take_over(args: &Adopt) -> Result<(), Failed> {
    let (client, namespace) = args.project.cluster().await?;
    let object = resource_of(&client, &namespace, &args.key).await?;
    let record = record(args).await?;
    let missing = missing(&client, &namespace, &object, &record).await?;
    if !missing.is_empty() {
        let message = format!(
            "the Secrets of {} lack {}: add the values of the deployment first",
            object.name_any(),
            missing.join(", ")
        );
        return Err(Failed::Argument(message));
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

/// Returns the deployment.
async fn record(args: &Adopt) -> Result<Deployment, Failed> {
    let (client, _) = args.project.client_and_manifest().await?;
    let selector = Selector::Key(args.key.clone());
    existing("deployment", selector.clone(), client.deployment(&selector).await?)
}

/// Returns the keys of secured values that a deployment has, and for which neither the spec nor its Secrets have one.
async fn missing(
    client: &Client,
    namespace: &str,
    object: &ConnectorDeployment,
    record: &Deployment,
) -> Result<Vec<String>, Failed> {
    let spec = &object.spec;
    let single = spec.configurations.iter().map(|application| &application.values).chain(&spec.global_configuration);
    let single = single.flat_map(|values| &values.secured_configuration).map(|value| value.key.clone());
    let mut given: BTreeSet<String> = single.collect();
    for from in &spec.configuration_from {
        let Some(reference) = &from.secret_ref else { continue };
        let found = secret::read(client, namespace, &reference.name).await.map_err(resources::Failed::from)?;
        let prefix = from.prefix.as_deref().unwrap_or_default();
        let data = found.and_then(|secret| secret.data).unwrap_or_default();
        given.extend(data.into_keys().map(|key| format!("{prefix}{key}")));
    }
    let global = record.global_configuration.iter().map(|global| &global.secured_configuration);
    let lists = record.applications.iter().map(|application| &application.secured_configuration).chain(global);
    let needed: BTreeSet<String> = lists.flatten().map(|value| value.key.clone()).collect();
    Ok(needed.difference(&given).cloned().collect())
}
