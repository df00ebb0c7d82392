//! `run`: runs the controllers until the process is asked to end; with `--leader-elect` only while this process leads.

mod start;
mod telemetry;

pub mod health;
pub mod listen;

use std::error::Error;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use clock::Clock;
use connect_api::Fence;
use connect_api::client_context::ClientContext;
use connect_api::hosts::AllowedHosts;
use connect_api::http::Limits;
use kube::core::Selector;
use rustix::process::{Resource, getrlimit, setrlimit};
use uuid::Uuid;

use self::health::{Health, Stage};
use self::listen::Addresses;
use crate::crd::DeletionPolicy;
use crate::leader::scope::Labels;
use crate::leader::{Election, LeaseName, Scope, Timing, fenced, selector};
use crate::metrics::Metrics;
use crate::names;
use crate::operator::clients::action_factory::HttpActionFactory;
use crate::operator::clients::cluster_access::Access;
use crate::operator::clients::connect_factory::HttpFactory;
use crate::operator::clients::kube_client;
use crate::operator::cluster::initial_lists::InitialLists;
use crate::operator::cluster::objects::secret;
use crate::operator::context::Settings;
use crate::operator::manager;
use crate::operator::reconcile::panics;
use crate::telemetry::LogFormat;

use crate::cli::cluster::Connection;
use crate::cli::{asked_to_end, authorities};
use crate::error_text::with_causes;

const EXAMPLES: &str = "\
Examples:
  # All namespaces of the cluster of a context, with a log for people
  connect-operator run --context test --log-format text

  # Two namespaces, as one of several replicas, with the rights of a service account
  connect-operator run --watch-namespaces shop,tax --leader-elect \\
    --operator-namespace connect-operator \\
    --as system:serviceaccount:connect-operator:connect-operator";

/// Runs the controllers. Needs the CRDs of this version: `connect-operator crds | kubectl apply --server-side -f -`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(in crate::cli) struct Args {
    /// Namespaces to watch, separated by commas. Default: all.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', env = "WATCH_NAMESPACES")]
    pub watch_namespaces: Vec<String>,

    /// Label selector of the resources that this install works on, written as for kubectl: team=tax,tier!=test.
    /// Default: all.
    #[arg(long, value_name = "LABELS", default_value = "", hide_default_value = true, env = "SELECTOR", value_parser = selector::parse)]
    pub selector: Selector,

    /// Run the controllers only while this process holds the Lease of its install, so that several replicas can stand
    /// by.
    #[arg(long, env = "LEADER_ELECT")]
    pub leader_elect: bool,

    /// Lease of this install in --operator-namespace: one for each install, shared by its replicas.
    #[arg(long, value_name = "NAME", default_value = names::LEASE, env = "LEASE_NAME")]
    pub lease_name: String,

    /// Maximum number of resources reconciled at once, for each remote project.
    #[arg(long, value_name = "NUMBER", default_value = "32", env = "CONCURRENCY", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub concurrency: u16,

    /// Work with ClusterConnectProjects, whose credentials are Secrets in --operator-namespace. Needs rights to watch them
    /// and the metadata of namespaces.
    #[arg(long, env = "CLUSTER_PROJECTS")]
    pub cluster_projects: bool,

    /// Allowed hosts for the Connect API, its authorization server and the HTTP API, separated by commas:
    /// *.example.com or connect.*.example.com (HTTPS on port 443, public addresses), host or host:port (HTTPS, any
    /// address), http://host or http://host:port (plain HTTP, any address); the port * is any port.
    #[allow(clippy::doc_markdown, reason = "it is printed verbatim")]
    #[arg(long, value_name = "HOSTS", value_delimiter = ',', default_value = AllowedHosts::DEFAULT, env = "ALLOWED_API_HOSTS")]
    pub allowed_api_hosts: Vec<String>,

    /// Allowed hosts for the frontends that action checks call, separated by commas, written as for
    /// --allowed-api-hosts.
    #[arg(long, value_name = "HOSTS", value_delimiter = ',', default_value = names::DEFAULT_ACTION_HOSTS, env = "ALLOWED_ACTION_HOSTS")]
    pub allowed_action_hosts: Vec<String>,

    /// Orphan: the remote deployment stays when a ConnectorDeployment without a deletionPolicy is deleted. Default: it
    /// stays for type production, else it is deleted. It does not apply to staged connectors.
    #[arg(long, value_name = "POLICY", env = "DEFAULT_DELETION_POLICY", value_enum)]
    pub default_deletion_policy: Option<DeletionPolicy>,

    /// Certificates in PEM to trust in addition to those of the system, for the Connect API and for frontends. The file is
    /// read at the start.
    #[arg(long, value_name = "FILE", env = "CA_FILE")]
    pub ca_file: Option<PathBuf>,

    /// Namespace for the operator's own objects: the key of the digests, and a copy of the credentials of each project;
    /// and for the credentials of ClusterConnectProjects. Default: that of its service account, or of the current context.
    #[arg(long, value_name = "NAMESPACE", env = "OPERATOR_NAMESPACE")]
    pub operator_namespace: Option<String>,

    /// Secret in that namespace with the key of the digests; created if it does not exist.
    #[arg(long, value_name = "NAME", default_value = names::DIGEST_KEY_SECRET, env = "DIGEST_KEY_SECRET")]
    pub digest_key_secret: String,

    /// Labels of everything that the operator creates, separated by commas: team=tax,example.com/cost-center=42. It adds
    /// app.kubernetes.io/name, instance and managed-by. Objects that exist get them with their next change. Default: no others.
    #[arg(long, value_name = "LABELS", default_value = "", hide_default_value = true, env = "COMMON_LABELS", value_parser = selector::labels)]
    pub common_labels: Labels,

    /// Use only Secrets that carry the label connect-operator.io/use=true, so that naming one in a resource is not
    /// enough.
    #[arg(long, env = "REQUIRE_SECRET_LABEL")]
    pub require_secret_label: bool,

    /// Address on which GET /metrics is served, such as [::]:8080. [::] and 0.0.0.0 are all addresses, of IPv6 and
    /// of IPv4. Default: not served.
    #[arg(long, value_name = "ADDRESS", env = "METRICS_LISTEN", value_parser = address)]
    pub metrics_listen: Option<SocketAddr>,

    /// Address on which GET /livez and /readyz are served, such as [::]:8081; may be that of --metrics-listen. [::]
    /// and 0.0.0.0 are all addresses, of IPv6 and of IPv4. Default: not served.
    #[arg(long, value_name = "ADDRESS", env = "HEALTH_LISTEN", value_parser = address)]
    pub health_listen: Option<SocketAddr>,

    /// Format of the log.
    #[arg(long, value_enum, default_value = "json", env = "LOG_FORMAT")]
    pub log_format: LogFormat,

    #[command(flatten)]
    pub connection: Connection,
}

/// Why the operator did not start, or stopped.
pub(in crate::cli) type RunError = Box<dyn Error + Send + Sync>;

/// Runs until the process is asked to end.
///
/// # Errors
/// If the operator cannot start, or stops leading.
pub(in crate::cli) async fn run(args: Args) -> Result<(), RunError> {
    let traces = telemetry::start(&args)?;
    panics::log_places();
    let ended = match args.connection.access().await {
        Ok(access) => run_with(args, access, asked_to_end()).await,
        Err(error) => Err(not_reached(&error)),
    };
    if let Some(traces) = traces {
        traces.flush().await;
    }
    ended
}

/// Runs with the given cluster and shutdown signal.
pub(in crate::cli) async fn run_with(
    args: Args,
    access: Access,
    shutdown: impl Future<Output = ()>,
) -> Result<(), RunError> {
    allow_many_files();
    let namespace = args.operator_namespace.clone().unwrap_or_else(|| access.config.default_namespace.clone());
    let limits = kube_client::Limits { namespaces: args.watch_namespaces.len(), ..Default::default() };
    let client = kube_client::client(access, limits).map_err(|error| not_reached(&with_causes(&error)))?;
    let allowed_hosts = hosts("--allowed-api-hosts", &args.allowed_api_hosts)?;
    let allowed_action_hosts = hosts("--allowed-action-hosts", &args.allowed_action_hosts)?;
    let authorities = authorities(args.ca_file.as_deref())?;
    let name = LeaseName { namespace: namespace.clone(), name: args.lease_name.clone() };
    let scope = Scope::of(&args.watch_namespaces, args.selector.clone())
        .with_cluster_projects(args.cluster_projects)
        .with_labels(args.common_labels.clone(), &name);
    let labels = scope.labels();
    let clock = Clock::system();
    let metrics = Metrics::new(clock.now());
    let lists = InitialLists::new(Arc::clone(&metrics));
    let health = Health::new(Arc::clone(&metrics), Arc::clone(&lists));
    let addresses = Addresses { metrics: args.metrics_listen, health: args.health_listen };
    let _listening = listen::listen(addresses, &metrics, &health)?;
    let fence = if args.leader_elect { Fence::closed(clock.clone()) } else { Fence::none() };
    let around = ClientContext { clock: clock.clone(), fence: fence.clone(), observer: metrics.clone() };
    let mut shutdown = std::pin::pin!(shutdown);
    tokio::select! {
        () = start::crds_are_served(&client) => {}
        () = &mut shutdown => return Ok(()),
    }
    let mut election = if args.leader_elect {
        Election::start(client.clone(), &name, labels.clone(), identity(), Timing::default(), &clock, &fence)
    } else {
        Election::alone()
    };
    health.set_stage(Stage::StandsBy);
    tokio::select! {
        won = election.won() => won?,
        () = &mut shutdown => {
            election.give_up().await;
            return Ok(());
        }
    }
    // From here on the fence blocks writes that a former leader must not send. Without an election there is no fence.
    let client = if args.leader_elect { fenced::client(client, fence) } else { client };
    health.set_stage(Stage::AwaitsDigestKey);
    let key = tokio::select! {
        biased;
        lost = election.lost() => return Err(lost.into()),
        () = &mut shutdown => None,
        key = start::digest_key(&client, &namespace, &args.digest_key_secret, &labels) => Some(key),
    };
    let digest_key = match key {
        Some(Ok(digest_key)) => digest_key,
        ended => {
            election.give_up().await;
            return ended.map_or(Ok(()), |failed| Ok(failed.map(drop)?));
        }
    };
    let actions = HttpActionFactory {
        allowed_hosts: allowed_action_hosts,
        around: around.clone(),
        authorities: authorities.clone(),
    };
    let factory = HttpFactory { allowed_hosts, limits: Limits::default(), around, authorities };
    tracing::info!(version = env!("CARGO_PKG_VERSION"), "the controllers start");
    let options = manager::Options {
        client,
        clock,
        settings: Settings {
            operator_namespace: namespace.clone(),
            default_deletion_policy: args.default_deletion_policy,
            secrets: secret::Policy {
                require_label: args.require_secret_label,
                digest_key: Some((namespace, args.digest_key_secret)),
            },
            scope,
            digest_key,
            actions: Arc::new(actions),
        },
        concurrency: usize::from(args.concurrency),
        factory: Arc::new(factory),
        metrics,
        lists,
        jitter_seed: rand::random(),
    };
    health.set_stage(Stage::Leads);
    tokio::select! {
        biased;
        // Work in progress is dropped at once, because another process may lead now.
        lost = election.lost() => return Err(lost.into()),
        () = manager::run(options, shutdown) => {}
    }
    tracing::info!("the controllers have ended");
    election.give_up().await;
    Ok(())
}

/// Raises the number of files and connections that may be open at once to what the system allows. Container runtimes start
/// processes with 1,024, a limit for programs that cannot count further (`select`), and leave the rest to the program.
fn allow_many_files() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::warn!(%error, "the number of open files cannot be raised");
    }
}

/// Parses an address to listen on.
pub(in crate::cli) fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "give an IP address and a port, such as [::]:8080 or 127.0.0.1:8080".to_owned())
}

/// Returns an identity that is unique to this process and begins with the host name.
fn identity() -> String {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    format!("{host}_{}", Uuid::new_v4())
}

fn hosts(flag: &str, patterns: &[String]) -> Result<AllowedHosts, RunError> {
    AllowedHosts::parse(patterns.iter().map(String::as_str)).map_err(|why| format!("{flag}: {why}").into())
}

fn not_reached(why: &str) -> RunError {
    format!("the cluster cannot be reached: {why}").into()
}
