//! `demo`: the main job on this machine, from an API server to a live deployment, with everything that happens shown.
//!
//! Nothing is a stub: the controllers of `run`, the dev server of `dev-server`, a real API server. Whatever ends it,
//! nothing of it is left. Next: `place.rs` for where, `steps/` for what, `follow.rs` for what is shown of it.

mod display;
mod follow;
mod hints;
mod manifests;
mod place;
mod seen;
mod steps;

use std::pin::{Pin, pin};
use std::sync::Arc;

use clock::Clock;
use dev_server::{DevServer, DevServerError, Options};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use self::display::Display;
use self::follow::Follower;
use self::place::Place;
use self::steps::Demo;
use super::run::{self, RunError};
use crate::controllers::project_quota::ProjectLimits;
use crate::names;
use crate::telemetry::{self, LogFormat};

/// Port of the dev server if it is free, as in `examples/quickstart.yaml`.
const PORT: u16 = 8787;

/// Show the main job on this machine.
///
/// Starts an API server, a dev server and the operator, finds a connector, deploys it with examples/quickstart.yaml, checks
/// actions and changes its Secret; then publishes another connector with examples/staged.yaml, deploys it, publishes its next
/// version and follows that; then stays up to try things, until Ctrl-C.
///
/// The API server is that of `KUBEBUILDER_ASSETS`, if set; else it is downloaded once from the releases of
/// kubernetes-sigs/controller-tools, or, where that cannot be done or `CONNECT_OPERATOR_BUILD_WITH_GO` is set, built once with
/// Go, which takes some minutes.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Args {
    /// Use the cluster of this context of the kubeconfig. The CRDs are applied there if they are not there, and stay;
    /// everything else goes into a namespace of its own, which is removed at the end. No other operator may watch it.
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,

    /// Do it unattended: also break a value, repair it and delete the deployments, then clean up and end; with 0 only if
    /// all of that was seen.
    #[arg(long)]
    pub exit_when_ready: bool,
}

/// Why the demo did not get to its end.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// There is no API server of its own.
    #[error(transparent)]
    LocalCluster(#[from] local_control_plane::Error),
    /// The context cannot be used.
    #[error("--context {context}: {message}; `kubectl config get-contexts` shows which there are")]
    Context {
        /// Its name.
        context: String,
        /// Why.
        message: String,
    },
    /// The path of this program is not known.
    #[error("this program cannot find itself: {0}")]
    Program(#[source] std::io::Error),
    /// The API server refused something.
    #[error("the API server: {0}")]
    Kubernetes(#[source] Box<kube::Error>),
    /// An object could not be watched.
    #[error("the API server: {0}")]
    Watch(#[from] kube::runtime::wait::Error),
    /// The CRD was accepted, but is not served.
    #[error("the API server does not serve the CustomResourceDefinition {0} that it accepted")]
    NotServed(String),
    /// No port for the dev server.
    #[error("no free port for the dev server on 127.0.0.1: {0}")]
    Port(#[source] std::io::Error),
    /// The dev server did not start.
    #[error("the dev server: {0}")]
    DevServer(#[from] DevServerError),
    /// The operator did not start.
    #[error("the operator: {0}")]
    Operator(#[from] RunError),
    /// The operator ended by itself.
    #[error("the operator ended by itself")]
    OperatorEnded,
    /// An example cannot be read.
    #[error("examples/{name}: {why}")]
    Example {
        /// Name of the file.
        name: &'static str,
        /// Why.
        why: String,
    },
    /// A step was seen to go another way; becomes [`Error::NotSeen`] with the step's name.
    #[error("{0}")]
    Otherwise(String),
    /// A step was not seen.
    #[error("it was not seen that {what}: {why}. Seen last:\n{seen}")]
    NotSeen {
        /// The step.
        what: &'static str,
        /// What happened instead.
        why: String,
        /// Status and Events.
        seen: String,
    },
    /// Ctrl-C, or asked to end, before it was done.
    #[error("interrupted")]
    Interrupted,
    /// Not everything is gone from an existing cluster.
    #[error("the namespace {0} is not gone yet; `kubectl get connect --namespace {0}` shows what holds it")]
    Left(String),
}

impl From<kube::Error> for Error {
    fn from(error: kube::Error) -> Self {
        Self::Kubernetes(Box::new(error))
    }
}

/// Runs the demo until it is done, or until the process is asked to end; then cleans up.
///
/// # Errors
/// When a step was not seen, or anything is left.
pub(super) async fn run(args: Args) -> Result<(), Error> {
    // What matters is shown; the log of the operator is for whoever asks for it.
    if std::env::var_os("RUST_LOG").is_some_and(|filter| !filter.is_empty()) {
        telemetry::start(LogFormat::Text, "info");
    }
    let display = Display::new();
    let mut asked = pin!(super::asked_to_end());
    let place = tokio::select! {
        biased;
        () = &mut asked => {
            display.say("Stopping");
            // What was begun ends as the other branch is dropped.
            return Err(Error::Interrupted);
        }
        place = open(&args, &display) => place?,
    };
    let mut running = Running::default();
    let result = perform(&args, &place, &display, &mut running, asked).await;
    // In a cluster of its own, nothing has to be taken down first.
    let running = args.context.is_some().then_some(running);
    let busy = display.busy("cleaning up");
    let clock = Clock::system();
    let cleaned = Box::pin(place.clean_up()).await;
    drop((running, busy));
    match (result, cleaned) {
        (result, Ok(said)) => {
            display.done(&said, clock.elapsed());
            result
        }
        (Ok(()), Err(error)) => Err(error),
        (Err(first), Err(error)) => {
            display.say(&error.to_string());
            Err(first)
        }
    }
}

async fn open(args: &Args, display: &Display) -> Result<Place, Error> {
    match &args.context {
        Some(context) => Place::existing(context, display).await,
        None => Place::own(display).await,
    }
}

/// What must run until the cluster is clean: in an existing one, deployments are taken down then.
#[derive(Default)]
struct Running {
    operator: JoinSet<Result<(), RunError>>,
    remote: Option<Arc<DevServer>>,
    follower: Option<Follower>,
}

impl Running {
    /// Waits for the end of the operator, which does not end by itself.
    async fn operator_ended(&mut self) -> Error {
        match self.operator.join_next().await {
            Some(Ok(Err(error))) => Error::Operator(error),
            _ => Error::OperatorEnded,
        }
    }
}

/// Everything between a cluster and cleaning up.
async fn perform(
    args: &Args,
    place: &Place,
    display: &Display,
    running: &mut Running,
    mut asked: Pin<&mut impl Future<Output = ()>>,
) -> Result<(), Error> {
    let mut demo = tokio::select! {
        biased;
        () = &mut asked => return Err(Error::Interrupted),
        demo = start(args, place, display, running) => demo?,
    };
    tokio::select! {
        biased;
        () = &mut asked => return Err(Error::Interrupted),
        ended = running.operator_ended() => return Err(ended),
        result = show(args, &mut demo) => result?,
    }
    if args.exit_when_ready {
        return Ok(());
    }
    hints::print(place, display);
    tokio::select! {
        biased;
        () = asked => Ok(()),
        ended = running.operator_ended() => Err(ended),
    }
}

async fn start<'a>(args: &Args, place: &'a Place, display: &Display, running: &mut Running) -> Result<Demo<'a>, Error> {
    let clock = Clock::system();
    place.prepare().await?;
    display.done("The CustomResourceDefinitions are served", clock.elapsed());
    let clock = Clock::system();
    let remote = Arc::new(dev_server(args).await?);
    running.remote = Some(Arc::clone(&remote));
    running.operator.spawn(run::run_with(operator(place), place.config.clone(), std::future::pending()));
    display.done(&format!("Dev server on {} and operator run in this process", remote.url()), clock.elapsed());
    let follower = Follower::start(&place.client, &place.namespace, Arc::clone(&remote), display.clone());
    let seen = follower.seen();
    running.follower = Some(follower);
    Demo::new(place, remote, seen, display.clone())
}

async fn dev_server(args: &Args) -> Result<DevServer, Error> {
    let listener = match TcpListener::bind(("127.0.0.1", PORT)).await {
        Ok(listener) => listener,
        Err(_) => TcpListener::bind(("127.0.0.1", 0)).await.map_err(Error::Port)?,
    };
    let mut options = Options::default();
    if args.exit_when_ready {
        // Nobody is there to watch it.
        options.deploy_duration /= 5;
    }
    Ok(DevServer::start_on(listener, options, Clock::system()).await?)
}

/// The arguments of `run` for this place.
fn operator(place: &Place) -> run::Args {
    run::Args {
        selector: kube::core::Selector::default(),
        leader_elect: false,
        lease_name: names::LEASE.to_owned(),
        metrics_listen: None,
        health_listen: None,
        watch_namespaces: place.watched(),
        concurrency: 16,
        max_projects_per_namespace: ProjectLimits::DEFAULT.per_namespace,
        max_projects: ProjectLimits::DEFAULT.total,
        allowed_api_hosts: vec!["http://127.0.0.1:*".to_owned()],
        allowed_action_hosts: vec!["http://127.0.0.1:*".to_owned()],
        default_deletion_policy: None,
        require_secret_label: false,
        ca_file: None,
        operator_namespace: Some(place.namespace.clone()),
        digest_key_secret: names::DIGEST_KEY_SECRET.to_owned(),
        log_format: LogFormat::Text,
    }
}

async fn show(args: &Args, demo: &mut Demo<'_>) -> Result<(), Error> {
    demo.search().await?;
    demo.deploy().await?;
    demo.browse_and_check().await?;
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
