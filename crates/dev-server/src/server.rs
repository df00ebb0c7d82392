//! Starts and stops the server: [`run`] for the command, [`DevServer`] for tests and the demo.

use std::collections::BTreeMap;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use axum::Router;
use axum::middleware::from_fn;
use axum::routing::get;
use http::header::CONTENT_TYPE;
use jiff::Timestamp;
use tokio::net::TcpListener;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::applications::{self, Applications};
use super::calls::{Answer, Call};
use super::cli_credentials::{self, CliCredentialsError};
use super::connection::{CuttableListener, Scissors};
use super::console;
use super::control;
use super::faults::Fault;
use super::foreign;
use super::http::answer;
use super::options::Options;
use super::state::Shared;
use super::state_file::StateError;
use super::world::World;
use clock::Clock;

/// OpenAPI description of all operations and answers.
pub const DESCRIPTION: &str = include_str!("openapi.yaml");
/// Path at which the description is served.
pub const DESCRIPTION_PATH: &str = "/openapi.yaml";
/// Time for open requests to end at shutdown.
const FAREWELL: Duration = Duration::from_secs(2);

/// Why a dev server failed to start, or stopped.
#[derive(Debug, thiserror::Error)]
pub enum DevServerError {
    /// The state file cannot be read or written.
    #[error(transparent)]
    State(#[from] StateError),
    /// The login of the command line client cannot be written.
    #[error(transparent)]
    CliCredentials(#[from] CliCredentialsError),
    /// The HTTP client for applications under development cannot be created.
    #[error("applications: {0}")]
    Applications(#[from] reqwest::Error),
    /// The listener failed.
    #[error("listener: {0}")]
    Listener(#[from] std::io::Error),
}

/// Serves the Connect API until `shutdown` completes; open requests then have 2 s to end.
///
/// # Errors
/// If the state file cannot be read or written, or the listener fails.
pub async fn run(
    listener: TcpListener,
    options: Options,
    clock: Clock,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<(), DevServerError> {
    let shared = prepared(options, clock, listener.local_addr()?).await?;
    serve(listener, shared, shutdown).await
}

/// Creates the state and writes the login of the command line client. `address` is the listen address.
async fn prepared(options: Options, clock: Clock, address: SocketAddr) -> Result<Arc<Shared>, DevServerError> {
    let applications = Applications::new(options.applications.clone(), address)?;
    let shared = Shared::new(options, clock, applications).await?;
    if let Some(home) = &shared.options.cli_credentials {
        cli_credentials::write(&shared, home).await?;
    }
    Ok(Arc::new(shared))
}

async fn serve(
    listener: TcpListener,
    shared: Arc<Shared>,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<(), DevServerError> {
    // RFC 9512 defines this media type.
    let description = get(|| async { ([(CONTENT_TYPE, "application/yaml")], DESCRIPTION) });
    let mut router = Router::new()
        .route(DESCRIPTION_PATH, description.fallback(answer))
        .route("/", get(console::root).fallback(answer))
        .merge(console::router());
    if shared.options.control {
        router = router.nest("/_dev", control::router());
    }
    if !shared.applications.is_empty() {
        let proxy = Router::new().fallback(applications::proxy).with_state(shared.applications.clone());
        router = router.nest(applications::PATH, proxy);
    }
    // Around everything, so that no path can be forgotten.
    let router = router.fallback(answer).with_state(shared.clone()).layer(from_fn(foreign::guard));
    let (stopping, mut stopped) = watch::channel(false);
    let signal = async move {
        shutdown.await;
        stopping.send_replace(true);
        // Keeps the sender until all receivers are dropped: a dropped sender would end the waits below.
        stopping.closed().await;
    };
    let service = router.into_make_service_with_connect_info::<Scissors>();
    let mut stopping = stopped.clone();
    let serving = axum::serve(CuttableListener(listener), service).with_graceful_shutdown(async move {
        let _ = stopping.wait_for(|stopping| *stopping).await;
    });
    let patience = async move {
        let _ = stopped.wait_for(|stopping| *stopping).await;
        tokio::time::sleep(FAREWELL).await;
    };
    tokio::select! {
        served = serving.into_future() => served?,
        () = patience => {}
        () = signal => {}
    }
    shared.save().await?;
    Ok(())
}

/// A dev server that runs in a task, with access to its internals for tests. It stops when it is dropped.
#[derive(Debug)]
pub struct DevServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: watch::Sender<bool>,
    task: JoinHandle<Result<(), DevServerError>>,
}

impl DevServer {
    /// Starts a dev server on a free port of the loopback interface.
    ///
    /// # Errors
    /// Same as [`run`].
    pub async fn start(options: Options, clock: Clock) -> Result<Self, DevServerError> {
        Self::start_on(TcpListener::bind(("127.0.0.1", 0)).await?, options, clock).await
    }

    /// Starts a dev server on a listener of the caller, for example on the port of a stopped one.
    ///
    /// # Errors
    /// Same as [`run`].
    pub async fn start_on(listener: TcpListener, options: Options, clock: Clock) -> Result<Self, DevServerError> {
        let address = listener.local_addr()?;
        let shared = prepared(options, clock, address).await?;
        let (stop, mut stopped) = watch::channel(false);
        let shutdown = async move {
            // An error means that the sender was dropped, which also stops the server.
            let _ = stopped.wait_for(|stopped| *stopped).await;
        };
        let task = tokio::spawn(serve(listener, shared.clone(), shutdown));
        Ok(Self { address, shared, stop, task })
    }

    /// Returns `http://127.0.0.1:PORT`, the URL of both the Connect API and the token endpoint.
    pub fn url(&self) -> String {
        applications::local_url(self.address)
    }

    /// Returns the listen address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the clock.
    pub fn clock(&self) -> &Clock {
        &self.shared.clock
    }

    /// Returns the time of its clock, for the methods of [`World`].
    pub fn now(&self) -> Timestamp {
        self.shared.clock.now()
    }

    /// Locks and returns the world. Requests block while the guard exists, so drop it before the next `await`.
    pub fn world(&self) -> MutexGuard<'_, World> {
        self.shared.world()
    }

    /// Returns the last 20,000 calls, in the order of their answers.
    pub fn calls(&self) -> Vec<Call> {
        self.shared.calls().kept().cloned().collect()
    }

    /// Returns the number of all calls so far, by operation.
    pub fn counts(&self) -> BTreeMap<&'static str, u64> {
        self.shared.calls().counts().clone()
    }

    /// Returns a receiver of all further answers, until the next call of this method. It gets an answer before the
    /// caller does. Answers of the console, of `/_dev` and of faults are not included.
    pub fn listen(&self) -> UnboundedReceiver<Answer> {
        self.shared.listen()
    }

    /// Adds a fault.
    ///
    /// # Errors
    /// If the fault is not valid; the error says what to change.
    pub fn fault(&self, fault: Fault) -> Result<(), String> {
        fault.check()?;
        self.shared.faults().add(fault);
        Ok(())
    }

    /// Returns the active faults; `count` is how often each still applies.
    pub fn faults(&self) -> Vec<Fault> {
        self.shared.faults().set().to_vec()
    }

    /// Removes all faults.
    pub fn clear_faults(&self) {
        self.shared.faults().replace(Vec::new());
    }

    /// Revokes all tokens, so that the next call of each caller fails with 401.
    pub fn revoke_tokens(&self) {
        self.shared.tokens().revoke();
    }

    /// Resets deployments, connectors, carts, faults and calls to their initial state; tokens stay.
    pub fn reset(&self) {
        self.shared.reset();
    }

    /// Stops the server and waits until its port is free.
    ///
    /// # Errors
    /// If the state file cannot be written.
    pub async fn stop(mut self) -> Result<(), DevServerError> {
        self.stop.send_replace(true);
        (&mut self.task).await.unwrap_or(Ok(()))
    }
}

impl Drop for DevServer {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        self.task.abort();
    }
}
