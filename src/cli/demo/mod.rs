//! `demo`: the main job on this machine, from an API server to a live deployment, with every event shown.
//!
//! Nothing is a stub: it uses the controllers of `run`, the dev server of `dev-server`, and a real API server. However
//! it ends, it leaves nothing behind. Next: `cluster.rs` for the cluster, `steps/` for the steps, `follow.rs` for the
//! output.

mod cluster;
mod display;
mod follow;
mod hints;
mod manifests;
mod observed;
mod steps;

use std::collections::BTreeMap;
use std::pin::{Pin, pin};
use std::sync::Arc;

use clock::Clock;
use dev_server::{DevServer, Options};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use self::cluster::DemoCluster;
use self::display::Display;
use self::follow::Follower;
use self::steps::Demo;
use super::cluster::Connection;
use super::dev_server::CommonArgs;
use super::run::{self, RunError};
use crate::error_text::with_causes;
use crate::names;
use crate::telemetry::{self, LogFormat};

/// Preferred port of the dev server, as in `examples/quickstart.yaml`.
const PORT: u16 = 8787;

const EXAMPLES: &str = "\
Examples:
  # Watch the main job, then try things yourself until Ctrl-C
  connect-operator demo

  # The same in the cluster of a context of the kubeconfig
  connect-operator demo --context kind-test

  # Unattended, as a test of this machine
  connect-operator demo --exit-when-ready";

/// Deploy a connector on this machine, as a demo.
///
/// Starts an API server, a dev server and the operator, finds a connector, deploys it with examples/quickstart.yaml,
/// checks actions and changes its Secret; then publishes another connector with examples/staged.yaml, deploys it,
/// publishes its next version and upgrades to it; then keeps running for you to try things, until Ctrl-C.
///
/// The API server comes from `KUBEBUILDER_ASSETS`, if set; otherwise the demo downloads it once from the releases of
/// kubernetes-sigs/controller-tools, or, if that is not possible or `CONNECT_OPERATOR_BUILD_WITH_GO` is set, builds it
/// once with Go, which takes some minutes. No controller-manager runs beside it: a deleted namespace stays Terminating,
/// and objects whose owner is gone stay.
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct Args {
    /// Use the cluster of this context of the kubeconfig. The demo applies the CRDs if they are missing, and leaves
    /// them; everything else is in a new namespace, which is removed at the end. No other operator may watch it.
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,

    /// Run unattended: also break a value, repair it and delete the deployments, then clean up and exit; with 0 only if
    /// every step succeeded.
    #[arg(long)]
    pub exit_when_ready: bool,

    #[command(flatten)]
    pub dev_server: CommonArgs,
}

/// Why the demo failed, as a sentence.
#[derive(Debug)]
pub(super) struct Error(String);

impl std::fmt::Display for Error {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl<E: std::error::Error + 'static> From<E> for Error {
    fn from(error: E) -> Self {
        Self(with_causes(&error))
    }
}

fn interrupted() -> Error {
    Error("interrupted".to_owned())
}

/// Runs the demo until it is done or the process is asked to end, then cleans up.
///
/// # Errors
/// If a step failed, or the cleanup is incomplete.
pub(super) async fn run(args: Args) -> Result<(), Error> {
    let options = options(&args).await?;
    // The display shows what matters; the log of the operator appears only on request.
    if std::env::var_os("RUST_LOG").is_some_and(|filter| !filter.is_empty()) {
        telemetry::start(LogFormat::Text, "info");
    }
    let display = Display::new();
    let mut asked = pin!(super::asked_to_end());
    let place = tokio::select! {
        biased;
        () = &mut asked => {
            display.line("Stopping");
            // Dropping the other branch stops what it started.
            return Err(interrupted());
        }
        place = open(&args, &display) => place?,
    };
    let mut running = Running::default();
    let result = perform(&args, options, &place, &display, &mut running, asked).await;
    // A local cluster is stopped as a whole, so the operator need not run while it is cleaned up.
    let running = args.context.is_some().then_some(running);
    let busy = display.busy("cleaning up");
    let clock = Clock::system();
    let cleaned = Box::pin(place.clean_up()).await;
    drop((running, busy));
    match (result, cleaned) {
        (result, Ok(summary)) => {
            display.done(&summary, clock.elapsed());
            result
        }
        (Ok(()), Err(error)) => Err(error),
        (Err(first), Err(error)) => {
            display.line(&error.to_string());
            Err(first)
        }
    }
}

async fn open(args: &Args, display: &Display) -> Result<DemoCluster, Error> {
    match &args.context {
        Some(context) => DemoCluster::existing(context, display).await,
        None => DemoCluster::own(display).await,
    }
}

/// What must run until the cluster is clean: in an existing cluster, the operator undeploys during the cleanup.
#[derive(Default)]
struct Running {
    operator: JoinSet<Result<(), RunError>>,
    remote: Option<Arc<DevServer>>,
    follower: Option<Follower>,
}

impl Running {
    /// Waits until the operator ends, which it does only after an error.
    async fn operator_ended(&mut self) -> Error {
        match self.operator.join_next().await {
            Some(Ok(Err(error))) => Error(format!("the operator: {error}")),
            _ => Error("the operator ended unexpectedly".to_owned()),
        }
    }
}

/// Runs everything between the start of the cluster and the cleanup.
async fn perform(
    args: &Args,
    options: Options,
    place: &DemoCluster,
    display: &Display,
    running: &mut Running,
    mut asked: Pin<&mut impl Future<Output = ()>>,
) -> Result<(), Error> {
    let mut demo = tokio::select! {
        biased;
        () = &mut asked => return Err(interrupted()),
        demo = start(options, place, display, running) => demo?,
    };
    tokio::select! {
        biased;
        () = &mut asked => return Err(interrupted()),
        ended = running.operator_ended() => return Err(ended),
        result = show(args, &mut demo) => result?,
    }
    if args.exit_when_ready {
        return Ok(());
    }
    hints::print(place, display, &demo.console(), &demo.variables());
    tokio::select! {
        biased;
        () = asked => Ok(()),
        ended = running.operator_ended() => Err(ended),
    }
}

async fn start<'a>(
    options: Options,
    place: &'a DemoCluster,
    display: &Display,
    running: &mut Running,
) -> Result<Demo<'a>, Error> {
    let clock = Clock::system();
    place.prepare().await?;
    display.done("The CustomResourceDefinitions are served", clock.elapsed());
    let clock = Clock::system();
    let remote = Arc::new(dev_server(options).await?);
    running.remote = Some(Arc::clone(&remote));
    running.operator.spawn(run::run_with(operator(place), place.access.clone(), std::future::pending()));
    display.done(&format!("Dev server on {} and operator run in this process", remote.url()), clock.elapsed());
    let follower = Follower::start(&place.client, &place.namespace, Arc::clone(&remote), display.clone());
    let seen = follower.seen();
    running.follower = Some(follower);
    Demo::new(place, remote, seen, display.clone())
}

/// Returns the options of the dev server.
async fn options(args: &Args) -> Result<Options, Error> {
    let mut options = Options::default();
    if args.exit_when_ready {
        // Nobody watches, so deployments need not be slow.
        options.deploy_duration /= 5;
    }
    args.dev_server.apply(&mut options).await?;
    Ok(options)
}

async fn dev_server(options: Options) -> Result<DevServer, Error> {
    let listener = match TcpListener::bind(("127.0.0.1", PORT)).await {
        Ok(listener) => listener,
        Err(_) => TcpListener::bind(("127.0.0.1", 0)).await?,
    };
    Ok(DevServer::start_on(listener, options, Clock::system()).await?)
}

/// Returns the arguments of `run` for this cluster.
fn operator(place: &DemoCluster) -> run::Args {
    run::Args {
        selector: kube::core::Selector::default(),
        leader_elect: false,
        lease_name: names::LEASE.to_owned(),
        metrics_listen: None,
        health_listen: None,
        watch_namespaces: place.watched(),
        concurrency: 16,
        allowed_api_hosts: vec!["http://127.0.0.1:*".to_owned()],
        allowed_action_hosts: vec!["http://127.0.0.1:*".to_owned()],
        default_deletion_policy: None,
        common_labels: BTreeMap::new(),
        require_secret_label: false,
        cluster_projects: false,
        ca_file: None,
        operator_namespace: Some(place.namespace.clone()),
        digest_key_secret: names::DIGEST_KEY_SECRET.to_owned(),
        log_format: LogFormat::Text,
        log_filter_file: None,
        connection: Connection::default(),
    }
}

async fn show(args: &Args, demo: &mut Demo<'_>) -> Result<(), Error> {
    demo.search().await?;
    demo.deploy().await?;
    demo.check().await?;
    demo.rotate().await?;
    if args.exit_when_ready {
        demo.fail().await?;
        demo.repair().await?;
    }
    demo.publish().await?;
    demo.publish_next().await?;
    demo.follow().await?;
    if args.exit_when_ready {
        demo.delete().await?;
    }
    Ok(())
}
