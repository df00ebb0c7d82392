//! Starting and stopping: [`run`] for the command, [`DevServer`] for tests and the demo.

use std::collections::BTreeMap;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use http::header::CONTENT_TYPE;
use jiff::Timestamp;
use tokio::net::TcpListener;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::applications;
use super::calls::{Answer, Call};
use super::cli_credentials::CliCredentialsError;
use super::connection::{CuttableListener, Scissors};
use super::control;
use super::faults::Fault;
use super::http::{Shared, answer};
use super::options::Options;
use super::state_file::StateError;
use super::world::World;
use clock::Clock;

/// All operations and answers, as an `OpenAPI` page.
pub const DESCRIPTION: &str = include_str!("openapi.yaml");
/// Where that page is served.
pub const DESCRIPTION_PATH: &str = "/openapi.yaml";
/// Time that open requests get to end once the server is told to stop.
const FAREWELL: Duration = Duration::from_secs(2);

/// Why a dev server did not start, or ended.
#[derive(Debug, thiserror::Error)]
pub enum DevServerError {
    /// The state file cannot be used.
    #[error(transparent)]
    State(#[from] StateError),
    /// The login of the command line client cannot be written.
    #[error(transparent)]
    CliCredentials(#[from] CliCredentialsError),
    /// Applications that somebody develops cannot be called.
    #[error("applications: {0}")]
    Applications(#[from] reqwest::Error),
    /// No listener, or none any more.
    #[error("listener: {0}")]
    Listener(#[from] std::io::Error),
}

/// Serves the Connect API until `shutdown` is ready; open requests then get 2 s to end.
///
/// # Errors
/// When the state file cannot be read, or the listener fails.
pub async fn run(
    listener: TcpListener,
    options: Options,
    clock: Clock,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<(), DevServerError> {
    let shared = Arc::new(Shared::new(options, clock, listener.local_addr()?).await?);
    serve(listener, shared, shutdown).await
}

async fn serve(
    listener: TcpListener,
    shared: Arc<Shared>,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<(), DevServerError> {
    // RFC 9512 has the type.
    let description = get(|| async { ([(CONTENT_TYPE, "application/yaml")], DESCRIPTION) });
    let mut router = Router::new().route(DESCRIPTION_PATH, description.fallback(answer));
    if shared.options.control {
        router = router.nest("/_dev", control::router());
    }
    if !shared.applications.is_empty() {
        router = router.nest(applications::PATH, Router::new().fallback(applications::proxy));
    }
    let router = router.fallback(answer).with_state(shared.clone());
    let (stopping, mut stopped) = watch::channel(false);
    let signal = async move {
        shutdown.await;
        stopping.send_replace(true);
        // Kept until the server is gone: a dropped sender would end the wait below.
        stopping.closed().await;
    };
    let service = router.into_make_service_with_connect_info::<Scissors>();
    let mut told = stopped.clone();
    let serving = axum::serve(CuttableListener(listener), service).with_graceful_shutdown(async move {
        let _ = told.wait_for(|stopping| *stopping).await;
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

/// A dev server that runs beside the caller, with what tests need to look behind it. It stops when dropped.
#[derive(Debug)]
pub struct DevServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: watch::Sender<bool>,
    task: JoinHandle<Result<(), DevServerError>>,
}

impl DevServer {
    /// Starts one on a free port of the loopback interface.
    ///
    /// # Errors
    /// As [`run`].
    pub async fn start(options: Options, clock: Clock) -> Result<Self, DevServerError> {
        Self::start_on(TcpListener::bind(("127.0.0.1", 0)).await?, options, clock).await
    }

    /// Starts one on a listener of the caller, such as the port of one that was stopped.
    ///
    /// # Errors
    /// As [`run`].
    pub async fn start_on(listener: TcpListener, options: Options, clock: Clock) -> Result<Self, DevServerError> {
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::new(options, clock, address).await?);
        let (stop, mut stopped) = watch::channel(false);
        let shutdown = async move {
            // A sender that is gone means the same.
            let _ = stopped.wait_for(|stopped| *stopped).await;
        };
        let task = tokio::spawn(serve(listener, shared.clone(), shutdown));
        Ok(Self { address, shared, stop, task })
    }

    /// `http://127.0.0.1:PORT`, for Connect API and token endpoint alike.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its clock.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.shared.clock
    }

    /// The time on its clock, for the methods of [`World`].
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.shared.clock.now()
    }

    /// The world behind it. Requests wait while it is held, so let it go before the next `await`.
    pub fn world(&self) -> MutexGuard<'_, World> {
        self.shared.world()
    }

    /// Calls so far, in the order of their answers; the newest 20,000.
    #[must_use]
    pub fn calls(&self) -> Vec<Call> {
        self.shared.calls().kept().cloned().collect()
    }

    /// Number of all calls so far, by operation.
    #[must_use]
    pub fn counts(&self) -> BTreeMap<&'static str, u64> {
        self.shared.calls().counts().clone()
    }

    /// Each answer from now on, until someone else listens: it is there before the caller has it. What `/_dev` and
    /// faults answer is not among them.
    #[must_use]
    pub fn listen(&self) -> UnboundedReceiver<Answer> {
        self.shared.listen()
    }

    /// Lets calls go wrong.
    ///
    /// # Errors
    /// When the fault cannot work, with a text that says what to change.
    pub fn fault(&self, fault: Fault) -> Result<(), String> {
        fault.check()?;
        self.shared.faults().add(fault);
        Ok(())
    }

    /// Ends all faults.
    pub fn clear_faults(&self) {
        self.shared.faults().replace(Vec::new());
    }

    /// Ends all tokens, so that the next call of each caller is answered 401.
    pub fn revoke_tokens(&self) {
        self.shared.tokens().revoke();
    }

    /// Forgets deployments, carts, faults and calls; tokens stay.
    pub fn reset(&self) {
        self.shared.reset();
    }

    /// Stops it and waits until its port is free.
    ///
    /// # Errors
    /// When the state file cannot be written.
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
