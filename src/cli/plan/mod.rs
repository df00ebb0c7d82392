//! `plan`: shows what applying manifests would do at the remote, before anything is applied.
//!
//! Reads manifests, the cluster and the remote, and runs the operator's own decision table. Writes nothing: it calls
//! the API server with reads and dry runs (`dry_run`), and the Connect API with reads. Start at [`run`]; next:
//! `projected_cluster` for the cluster after applying, `simulation` for the decisions, `report` for the output.

mod difference;
mod dry_run;
mod manifests;
mod projected_cluster;
mod refusal;
mod remote;
mod report;
mod simulation;
mod staged;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use clap_complete::engine::ArgValueCandidates;
use kube::Client;

use self::projected_cluster::{Planned, PlannedStaged, ProjectedCluster};
use self::remote::Remotes;
use self::report::staged::Staging;
use self::report::{Form, Planning, Report};
use self::simulation::{Action, Inputs, Projection, simulate};
use super::cluster::Connection;
use super::completion;
use super::installs::{self, Install};
use super::printing::print;
use super::reach::{Reach, ReachError};
use crate::controllers::connect_factory::HttpFactory;
use crate::controllers::connect_project;
use crate::controllers::connector_deployment::application_urls;
use crate::controllers::connector_deployment::applications;
use crate::controllers::connector_deployment::desired::{self, Contents};
use crate::controllers::connector_deployment::registered::Registered;
use crate::controllers::connector_deployment::{intent, status_conversion};
use crate::controllers::connector_staged;
use crate::controllers::connector_staged::proof::Objects;
use crate::controllers::digest::{DigestKey, KEY_LENGTH};
use crate::controllers::digest_key;
use crate::controllers::driver::identity_changed;
use crate::controllers::object_ref::ObjectRef;
use crate::controllers::problem;
use crate::controllers::secret;
use crate::crd::{ConnectorDeployment, ManagementPolicy, UpdatePolicy};
use crate::names;

/// Exit code with `--exit-code` if something would change.
const CHANGES: u8 = 2;

const HOSTS_HELP: &str = "\
Allowed hosts for the Connect API and its authorization server, written as for `run`. Default: those of the operator's \
Deployment; if it cannot be read, the hosts of commercetools and this machine";

/// Show what applying manifests would do at the remote.
///
/// For each ConnectorDeployment, shows whether the operator would create, redeploy (with the values that differ) or
/// adopt a deployment; for each ConnectorStaged, which steps it would take and what publishing waits for; and which
/// problems the operator would report. ConnectProjects, Secrets and ConfigMaps in the same files count as applied;
/// everything else comes from the cluster. Nothing is written: the API server checks the manifests in dry runs, and the
/// Connect API is only read. Secured values are never shown.
///
/// Exits with 0 if a plan was made without a problem, and with 1 if there is a problem. With --exit-code, 0 means that
/// nothing would happen, and 2 that something would.
#[derive(Clone, Debug, clap::Args)]
#[command(mut_arg("allowed_api_hosts", |it| it.long_help(HOSTS_HELP).help(HOSTS_HELP)))]
pub(super) struct Args {
    /// File or folder with manifests, or - for standard input; may be repeated.
    #[arg(long = "filename", short, value_name = "FILE", required = true, value_hint = clap::ValueHint::AnyPath)]
    files: Vec<PathBuf>,

    /// Read folders recursively.
    #[arg(long, short = 'R')]
    recursive: bool,

    /// Namespace of manifests without one. Default: that of the current context.
    #[arg(long, short, value_name = "NAMESPACE", add = ArgValueCandidates::new(completion::namespaces))]
    namespace: Option<String>,

    /// Exit with 2 if something would happen at the remote and there is no problem.
    #[arg(long)]
    exit_code: bool,

    /// Output format; docs/plan.md describes json.
    #[arg(long, short, value_enum, default_value = "text")]
    output: Form,

    /// Field manager that will apply: fields that it applied before and that the manifests no longer contain are
    /// removed. Default: the manager that applied the object before, otherwise kubectl.
    #[arg(long, value_name = "NAME")]
    field_manager: Option<String>,

    /// Namespace of the operator, with the key for comparing secured values. Default: that of the current context.
    #[arg(long, value_name = "NAMESPACE", env = "OPERATOR_NAMESPACE", add = ArgValueCandidates::new(completion::namespaces))]
    operator_namespace: Option<String>,

    /// Secret in that namespace with the key.
    #[arg(long, value_name = "NAME", default_value = names::DIGEST_KEY_SECRET, env = "DIGEST_KEY_SECRET")]
    digest_key_secret: String,

    /// Allow only Secrets with the label connect-operator.io/use=true, as the operator does with this flag.
    #[arg(long, env = "REQUIRE_SECRET_LABEL")]
    require_secret_label: bool,

    #[command(flatten)]
    reach: Reach,

    #[command(flatten)]
    connection: Connection,
}

/// Why no plan can be made.
#[derive(Debug, thiserror::Error)]
pub(super) enum PlanError {
    /// The manifests cannot be read.
    #[error(transparent)]
    Manifests(#[from] manifests::ManifestError),
    /// The manifests contain no object.
    #[error("the files that --filename names contain no object")]
    Nothing,
    /// The cluster cannot be reached.
    #[error("the cluster cannot be reached: {0}")]
    Cluster(String),
    /// The API server returned an error.
    #[error("unexpected response of the API server: {0}")]
    Kubernetes(#[from] kube::Error),
    /// An option for the remote is invalid.
    #[error(transparent)]
    Reach(#[from] ReachError),
    /// Standard output cannot be written.
    #[error("the result cannot be written: {0}")]
    Output(#[from] std::io::Error),
}

/// The operator's digest key, or why it cannot be read.
struct Keys {
    known: Result<DigestKey, String>,
    /// A random key of this process, to compare values if the operator's key cannot be read.
    spare: DigestKey,
}

/// Prints the plan.
///
/// # Errors
/// If no plan can be made.
pub(super) async fn run(args: Args) -> Result<ExitCode, PlanError> {
    let documents = manifests::read(&args.files, args.recursive)?;
    if documents.is_empty() {
        return Err(PlanError::Nothing);
    }
    let (client, namespace) = args.connection.client(args.namespace.as_deref()).await.map_err(PlanError::Cluster)?;
    let mut remotes = Remotes::new(factory(&client, &args, &namespace).await?);
    let keys = keys(&client, &args).await?;
    let secrets = secret::Policy { require_label: args.require_secret_label };
    let projected_cluster =
        projected_cluster::projected_cluster(client, secrets, &namespace, args.field_manager.as_deref(), &documents)
            .await?;
    let mut staged = BTreeMap::new();
    for (object_ref, planned) in &projected_cluster.staged {
        staged.insert(object_ref.clone(), plan_staged(&projected_cluster, &mut remotes, object_ref, planned).await?);
    }
    let mut deployments = Vec::new();
    for (object_ref, planned) in &projected_cluster.planned {
        let named = planned.after.spec.connector.staged_ref.as_ref();
        let follows = named.and_then(|named| staged.get(&ObjectRef::staged(&object_ref.namespace, &named.name)));
        let outcome = plan(&projected_cluster, &mut remotes, &keys, object_ref, planned, follows).await?;
        deployments.push(Planning::of(object_ref, planned, outcome));
    }
    let staged = projected_cluster.staged.iter().zip(staged.into_values());
    let staged = staged.map(|((object_ref, planned), outcome)| Staging::of(object_ref, planned, outcome)).collect();
    let report =
        Report::of((deployments, staged), projected_cluster.invalid, projected_cluster.notes, keys.known.err());
    print(&report.text(args.output))?;
    Ok(if report.has_problems() {
        ExitCode::FAILURE
    } else if args.exit_code && report.has_changes() {
        ExitCode::from(CHANGES)
    } else {
        ExitCode::SUCCESS
    })
}

/// Returns a factory for clients that may call the hosts that the operator may call, if they can be read.
async fn factory(client: &Client, args: &Args, namespace: &str) -> Result<HttpFactory, PlanError> {
    if args.reach.given().is_none() {
        // Users who may not read the Deployment still get a plan.
        let operators = installs::list(client, args.operator_namespace.as_deref()).await.unwrap_or_default();
        let installs: Vec<Install<'_>> = operators.iter().filter_map(Install::of).collect();
        let here = installs.iter().filter(|install| install.watches(Some(namespace)));
        let hosts: Vec<&str> = here.flat_map(|install| install.values("--allowed-api-hosts")).collect();
        if !hosts.is_empty() {
            return Ok(args.reach.factory_for(hosts)?);
        }
    }
    Ok(args.reach.factory(&[])?)
}

async fn keys(client: &Client, args: &Args) -> Result<Keys, PlanError> {
    let namespace = match &args.operator_namespace {
        Some(namespace) => namespace.clone(),
        None => args.connection.client(None).await.map_err(PlanError::Cluster)?.1,
    };
    let name = &args.digest_key_secret;
    let known = match digest_key::load(client, &namespace, name).await {
        Ok(Some(key)) => Ok(key),
        Ok(None) => Err(format!(
            "the Secret {namespace}/{name} with the operator's key does not exist: name it with --operator-namespace and --digest-key-secret"
        )),
        Err(error) => Err(error.to_string()),
    };
    Ok(Keys { known, spare: DigestKey::new(rand::random::<[u8; KEY_LENGTH]>()) })
}

/// Plans one reconcile of a staged connector, and those that follow it.
async fn plan_staged(
    projected_cluster: &ProjectedCluster,
    remotes: &mut Remotes,
    object_ref: &ObjectRef,
    planned: &PlannedStaged,
) -> Result<staged::Projection, kube::Error> {
    let object = &planned.after;
    let spec = &object.spec;
    if let Some(winner) = projected_cluster.winner(object) {
        return Ok(staged::Projection::problem(problem::key_conflict("ConnectorStaged", &winner, &spec.key)));
    }
    let place = ObjectRef::project(&object_ref.namespace, &spec.project_ref.name);
    let Some(project) = projected_cluster.project(&place).await? else {
        return Ok(staged::Projection::problem(problem::project_missing(&spec.project_ref.name)));
    };
    if let Some(condition) = identity_changed(object, &connect_project::identity(&project)) {
        return Ok(staged::Projection::problem(condition));
    }
    let api = match remotes.client(projected_cluster, &place, &project).await? {
        Ok(api) => api,
        Err(condition) => return Ok(staged::Projection::problem(problem::of_project(&condition))),
    };
    let persisted = connector_staged::status_conversion::persisted(&object.status.clone().unwrap_or_default());
    let record = match connector_staged::observe::read_remote(&*api, &spec.key, &persisted).await {
        Ok(record) => record,
        Err(error) => return Ok(staged::Projection::problem(problem::condition(&error, &project.spec.project_key))),
    };
    let proofs = match &spec.publish_after {
        Some(after) => projected_cluster.proofs(&object_ref.namespace, after).await?,
        None => Objects::default(),
    };
    Ok(staged::simulate(&staged::Inputs {
        object,
        name: &object_ref.name,
        record: record.as_ref(),
        proofs: &proofs,
        granted: &api.granted().unwrap_or_default(),
        project: &project.spec.project_key,
        now: remotes.now(),
    }))
}

/// Plans a reconcile of a deployment, up to the first call that the operator would send. `follows`: the plan for the
/// staged connector that it deploys.
async fn plan(
    projected_cluster: &ProjectedCluster,
    remotes: &mut Remotes,
    keys: &Keys,
    object_ref: &ObjectRef,
    planned: &Planned,
    follows: Option<&staged::Projection>,
) -> Result<Projection, kube::Error> {
    let object = &planned.after;
    if let Some(winner) = projected_cluster.winner(object) {
        return Ok(Projection::problem(problem::key_conflict("ConnectorDeployment", &winner, &intent::key(object))));
    }
    let place = ObjectRef::project(&object_ref.namespace, &object.spec.project_ref.name);
    let Some(project) = projected_cluster.project(&place).await? else {
        return Ok(Projection::problem(problem::project_missing(&object.spec.project_ref.name)));
    };
    let wanted = intent::identity_in(object, connect_project::identity(&project), &project.spec.region);
    if let Some(condition) = identity_changed(object, &wanted.remote) {
        return Ok(Projection::problem(condition));
    }
    let api = match remotes.client(projected_cluster, &place, &project).await? {
        Ok(api) => api,
        Err(condition) => return Ok(Projection::problem(problem::of_project(&condition))),
    };
    let persisted = status_conversion::persisted(&object.status.clone().unwrap_or_default());
    let read = match remotes.look(&api, &wanted.key, &persisted).await {
        Ok(read) => read,
        Err(error) => return Ok(Projection::problem(problem::condition(&error, &project.spec.project_key))),
    };
    if let Some(follows) = follows.filter(|follows| follows.moves && read.record.is_none() && persisted.id.is_none()) {
        return later(projected_cluster, object_ref, object, follows).await;
    }
    let staged = projected_cluster.staged(&object_ref.namespace, object).await?;
    let target = match intent::target(object, staged.as_ref()) {
        Ok(target) => target,
        Err(condition) => return Ok(Projection::problem(condition)),
    };
    // A resource that only observes sends nothing, so its plan needs neither the registry nor values.
    let observes = object.spec.management_policy == ManagementPolicy::ObserveOnly;
    let registry_entry =
        if observes { None } else { Some(remotes.registry_entry(&place, &api, target.name.clone()).await) };
    let deployable = target.staged.as_ref().and_then(|staged| staged.as_ref().ok()).copied();
    let registered = Registered { registry_entry, deployable };
    let declared = registered.declarations(object, read.record.as_deref());
    let named = if observes { std::collections::BTreeSet::new() } else { desired::references(&object.spec) };
    let contents = projected_cluster.contents_after(&object_ref.namespace, &named).await?;
    let missing = read.record.as_deref().map(applications::missing).unwrap_or_default();
    let urls = |object: &ConnectorDeployment| {
        application_urls::urls(read.record.as_deref(), &object.status.clone().unwrap_or_default())
    };
    let mut desired = desired::from_spec(&object.spec, &contents, declared.as_ref())
        .map_err(|unready| registered.condition(object, unready, &wanted.region, read.record.as_deref()));
    if let (Ok(desired), Some(_)) = (&mut desired, &read.record) {
        desired.fit(&missing, declared.as_ref(), &persisted);
    }
    if let Ok(desired) = &mut desired {
        desired.resolve(&urls(object));
    }
    // The values before applying: if they are those that were applied last, they show which secured values change.
    let earlier = match planned.before.as_ref().filter(|_| !observes) {
        Some(before) => {
            let contents: Contents =
                projected_cluster.contents_before(&object_ref.namespace, &desired::references(&before.spec)).await?;
            let declared = registered.declarations(before, read.record.as_deref());
            let mut earlier = desired::from_spec(&before.spec, &contents, declared.as_ref()).ok();
            if let (Some(earlier), Some(_)) = (&mut earlier, &read.record) {
                earlier.fit(&missing, declared.as_ref(), &persisted);
            }
            if let Some(earlier) = &mut earlier {
                earlier.resolve(&urls(before));
            }
            earlier
        }
        None => None,
    };
    let mut outcome = simulate(&Inputs {
        before: planned.before.as_ref(),
        after: object,
        wanted: &wanted,
        target: &target,
        registered: &registered,
        read: &read,
        desired: &desired,
        earlier: earlier.as_ref(),
        key: keys.known.as_ref().ok(),
        spare: &keys.spare,
        granted: &api.granted().unwrap_or_default(),
        now: remotes.now(),
    });
    if let Some(follows) = follows {
        follow(object, follows, &mut outcome);
    }
    Ok(outcome)
}

/// Plans a deployment that is created once its staged connector is deployable.
async fn later(
    projected_cluster: &ProjectedCluster,
    object_ref: &ObjectRef,
    object: &ConnectorDeployment,
    follows: &staged::Projection,
) -> Result<Projection, kube::Error> {
    if let Some(why) = &follows.not_deployable {
        return Ok(Projection::problem(intent::not_deployable(object, why)));
    }
    let contents = projected_cluster.contents_after(&object_ref.namespace, &desired::references(&object.spec)).await?;
    if let Err(unready) = desired::from_spec(&object.spec, &contents, None) {
        return Ok(Projection::problem(unready.condition));
    }
    let note = "it waits until its ConnectorStaged is deployable; the declarations of that connector are not known \
                yet, so values were not checked";
    Ok(Projection { action: Action::Create, notes: vec![note.to_owned()], ..Projection::nothing() })
}

/// Adds the redeploy of a live deployment that follows its staged connector to the next tag.
fn follow(object: &ConnectorDeployment, follows: &staged::Projection, outcome: &mut Projection) {
    let will = follows.moves && follows.not_deployable.is_none() && outcome.problem.is_none();
    if !will || object.spec.connector.update_policy != UpdatePolicy::Latest || object.spec.suspend {
        return;
    }
    if matches!(outcome.action, Action::None | Action::Unknown) {
        outcome.action = Action::Redeploy;
    }
    let note = "it follows its ConnectorStaged once that is deployable; its new declarations are not known yet";
    outcome.notes.push(note.to_owned());
}
