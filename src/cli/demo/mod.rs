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
mod steps;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;

use clock::Clock;
use dev_server::{DevServer, Options};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use self::cluster::DemoCluster;
use self::display::done;
use self::steps::Demo;
use super::cluster::Connection;
use super::run;
use crate::error_text::with_causes;
use crate::names;
use crate::operator::clients::cluster_access::Access;
use crate::telemetry::{self, LogFormat};

/// Preferred port of the dev server, as in `examples/quickstart.yaml`.
const PORT: u16 = 8787;

/// Namespace of all objects of the demo.
const NAMESPACE: &str = "default";

const EXAMPLES: &str = "\
Examples:
  # Watch the main job, then try things yourself until Ctrl-C
  connect-operator demo

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
    /// Run unattended: also break a value, repair it and delete the deployments, then clean up and exit; with 0 only if
    /// every step succeeded.
    #[arg(long)]
    pub exit_when_ready: bool,
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

/// Runs the demo until it is done or the process is asked to end, then cleans up.
///
/// # Errors
/// If a step failed, or the cleanup is incomplete.
pub(super) async fn run(args: Args) -> Result<(), Error> {
    // The output shows what matters; the log of the operator appears only on request.
    if std::env::var_os("RUST_LOG").is_some_and(|filter| !filter.is_empty()) {
        telemetry::start(LogFormat::Text, "info");
    }
    let interrupted = || Error("interrupted".to_owned());
    let mut asked = pin!(super::asked_to_end());
    let place = tokio::select! {
        biased;
        // Dropping the other branch stops what it started.
        () = &mut asked => return Err(interrupted()),
        place = DemoCluster::start() => place?,
    };
    let ready = Cell::new(false);
    let result = tokio::select! {
        biased;
        () = asked => if ready.get() { Ok(()) } else { Err(interrupted()) },
        result = perform(&args, &place, &ready) => result,
    };
    let clock = Clock::system();
    let cleaned = place.local.stop().await;
    if cleaned.is_ok() {
        done("Cleaned up: no process and no folder remains", clock.elapsed());
    }
    result.and(cleaned.map_err(Error::from))
}

/// Runs everything between the start of the cluster and the cleanup. Unless it exits when it is ready, it only ends with
/// an error.
async fn perform(args: &Args, place: &DemoCluster, ready: &Cell<bool>) -> Result<(), Error> {
    let clock = Clock::system();
    place.serve().await?;
    done("The CustomResourceDefinitions are served", clock.elapsed());
    let clock = Clock::system();
    let remote = Arc::new(dev_server(args).await?);
    let mut running = JoinSet::new();
    running.spawn(run::run_with(operator(), Access::direct(place.local.config()), std::future::pending()));
    done(&format!("Dev server on {} and operator run in this process", remote.url()), clock.elapsed());
    let mut demo = Demo::new(place, Arc::clone(&remote))?;
    let steps = async {
        show(args, &mut demo).await?;
        if !args.exit_when_ready {
            hints::print(place, &demo.console(), &demo.variables());
            ready.set(true);
            std::future::pending::<()>().await;
        }
        Ok(())
    };
    tokio::select! {
        result = steps => result,
        never = follow::follow(&place.client, &remote) => match never {},
        ended = running.join_next() => match ended {
            Some(Ok(Err(error))) => Err(Error(format!("the operator: {error}"))),
            _ => Err(Error("the operator ended unexpectedly".to_owned())),
        },
    }
}

async fn dev_server(args: &Args) -> Result<DevServer, Error> {
    let mut options = Options::default();
    if args.exit_when_ready {
        // Nobody watches, so deployments need not be slow.
        options.deploy_duration /= 5;
    }
    let listener = match TcpListener::bind(("127.0.0.1", PORT)).await {
        Ok(listener) => listener,
        Err(_) => TcpListener::bind(("127.0.0.1", 0)).await?,
    };
    Ok(DevServer::start_on(listener, options, Clock::system()).await?)
}

/// Returns the arguments of `run` for this cluster.
fn operator() -> run::Args {
    run::Args {
        selector: kube::core::Selector::default(),
        leader_elect: false,
        lease_name: names::LEASE.to_owned(),
        metrics_listen: None,
        health_listen: None,
        watch_namespaces: Vec::new(),
        concurrency: 16,
        allowed_api_hosts: vec!["http://127.0.0.1:*".to_owned()],
        allowed_action_hosts: vec!["http://127.0.0.1:*".to_owned()],
        default_deletion_policy: None,
        common_labels: BTreeMap::new(),
        require_secret_label: false,
        cluster_projects: false,
        ca_file: None,
        operator_namespace: Some(NAMESPACE.to_owned()),
        digest_key_secret: names::DIGEST_KEY_SECRET.to_owned(),
        log_format: LogFormat::Text,
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
