//! `plan`: shows what applying manifests would do at the remote, before anything is applied.
//!
//! Reads manifests, the cluster and the remote, and runs the operator's own decision table. Writes nothing: it calls
//! the API server with reads and dry runs (`dry_run`), and the Connect API with reads. Start at [`run`]; next:
//! `projected_cluster` for the cluster after applying, `reconcile` for each resource, `simulation` for the decisions,
//! `report` for the output; `local` for a plan without a cluster.

mod difference;
mod dry_run;
mod local;
mod manifests;
mod overlay;
mod projected_cluster;
mod reconcile;
mod remote;
mod report;
mod schema;
mod simulation;
mod staged;
mod stop;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use kube::ResourceExt as _;

use self::manifests::Document;
use self::projected_cluster::{Planned, Settings};
use self::reconcile::ended;
use self::report::{Form, Planning, Report};
use self::simulation::{Action, Projection};
use super::cluster::ClusterOptions;
use super::installs::OperatorNamespace;
use super::printing::print;
use super::reach::{Reach, ReachError};
use crate::error_text::with_causes;
use crate::operator::cluster::objects::secret;
use crate::operator::kinds::managed_kind::ManagedKind;
use crate::operator::object_ref::ObjectRef;
use crate::operator::values::digest::{DigestKey, KEY_LENGTH};

/// Exit code with `--exit-code` if something would change.
const CHANGES: u8 = 2;

const EXAMPLES: &str = "\
Examples:
  # What applying a file would do
  connect-operator plan --filename tax.yaml

  # A folder, recursively; exits with 2 if there is a change
  connect-operator plan --filename deploy --recursive --exit-code

  # The output of another program, without a cluster
  kustomize build overlays/live | connect-operator plan --filename - --local";

/// Show what applying manifests would do at the remote.
///
/// For each ConnectorDeployment, shows whether the operator would create, redeploy (with the values that differ) or
/// adopt a deployment; for each ConnectorStaged, its next step and what publishing waits for; and which problems the
/// operator would report. Projects, Secrets and ConfigMaps in the same files count as applied;
/// everything else comes from the cluster. A manifest without a namespace belongs to --namespace. Nothing is written: the
/// API server checks the manifests in dry runs, and the Connect API is only read. Secured values are never shown.
///
/// With --local, the plan uses only the files, and no cluster. The remote is read if the files, or the environment
/// (`CTP_PROJECT_KEY`, `CTP_CLIENT_ID`, `CTP_CLIENT_SECRET`), have credentials. docs/plan.md describes its limits.
///
/// Exits with 0 if a plan was made without a problem, and with 1 if there is a problem. With --exit-code, 0 means that
/// nothing would happen, and 2 that something would.
#[derive(Clone, Debug, clap::Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag")]
#[command(after_long_help = EXAMPLES)]
pub(super) struct Args {
    /// File or folder with manifests, or - for standard input; may be repeated.
    #[arg(long = "filename", short, value_name = "FILE", required = true, value_hint = clap::ValueHint::AnyPath)]
    files: Vec<PathBuf>,

    /// Read folders recursively.
    #[arg(long, short = 'R')]
    recursive: bool,

    /// Do not ask the cluster: plan with the files alone, and with the remote if there are credentials.
    #[arg(long, conflicts_with_all = ["context", "kubeconfig", "user", "groups"])]
    local: bool,

    /// Exit with 2 if something would happen at the remote and there is no problem.
    #[arg(long)]
    exit_code: bool,

    /// Output format; docs/plan.md describes json.
    #[arg(long, short, value_enum, default_value = "text")]
    output: Form,

    #[command(flatten)]
    operator: OperatorNamespace,

    /// Allow only Secrets with the label connect-operator.io/use=true, as an operator with this flag does.
    #[arg(long, env = "REQUIRE_SECRET_LABEL")]
    require_secret_label: bool,

    #[command(flatten)]
    reach: Reach,

    #[command(flatten)]
    place: ClusterOptions,
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
    #[error("the API server did not answer as expected: {}", with_causes(.0))]
    Kubernetes(#[from] kube::Error),
    /// An option for the remote is invalid.
    #[error(transparent)]
    Reach(#[from] ReachError),
    /// Standard output cannot be written.
    #[error("the result cannot be written: {0}")]
    Output(#[from] std::io::Error),
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
    let report = Box::pin(report(&args, &documents)).await?;
    print(&report.text(args.output))?;
    Ok(if report.problems {
        ExitCode::FAILURE
    } else if args.exit_code && report.changes {
        ExitCode::from(CHANGES)
    } else {
        ExitCode::SUCCESS
    })
}

/// Makes the plan of these manifests.
async fn report(args: &Args, documents: &[Document]) -> Result<Report, PlanError> {
    let (client, namespace) = if args.local {
        (None, args.place.namespace.clone().unwrap_or_else(|| "default".to_owned()))
    } else {
        let (client, namespace) = args.place.client().await.map_err(PlanError::Cluster)?;
        (Some(client), namespace)
    };
    let settings = Settings {
        factory: args.reach.factory(&[])?,
        key: DigestKey::new(rand::random::<[u8; KEY_LENGTH]>()),
        secrets: secret::Policy { require_label: args.require_secret_label, ..secret::Policy::default() },
        local: args.local,
        namespace,
        operator_namespace: args.operator.given().map(ToOwned::to_owned),
    };
    let projected_cluster = projected_cluster::projected_cluster(client, settings, documents).await?;
    let (mut staged, mut outcomes) = (Vec::new(), BTreeMap::new());
    for (object_ref, planned) in &projected_cluster.staged {
        let outcome = projected_cluster.plan_staged(&planned.after).await.or_else(ended)?;
        staged.extend(planning(planned, outcome.clone()));
        outcomes.insert(object_ref.clone(), outcome);
    }
    let mut deployments = Vec::new();
    for (object_ref, planned) in &projected_cluster.deployments {
        let named = planned.after.spec.connector.staged_ref.as_ref();
        let follows = named.and_then(|named| outcomes.get(&ObjectRef::staged(&object_ref.namespace, &named.name)));
        let outcome = projected_cluster.plan(planned, follows).await.or_else(ended)?;
        deployments.extend(planning(planned, outcome));
    }
    let notes = projected_cluster.notes();
    Ok(Report::new([staged, deployments], projected_cluster.invalid, notes))
}

/// Returns the plan for a resource; `None` if it is not among the manifests and would not change.
fn planning<K: ManagedKind>(planned: &Planned<K>, outcome: Projection) -> Option<Planning> {
    if !planned.written && outcome.action == Action::None && outcome.problem.is_none() {
        return None;
    }
    let (namespace, name) = (planned.after.namespace().unwrap_or_default(), planned.after.name_any());
    Some(Planning { kind: K::KIND.as_str(), namespace, name, key: planned.after.claim()?.key, outcome })
}
