//! A real etcd and kube-apiserver on this machine, without containers, for `demo` and for tests.
//!
//! [`Assets`] finds, downloads or builds the programs; [`LocalCluster`] runs them. All files are in one temporary
//! folder that only this user can read, the API server listens on one port of 127.0.0.1, and everything is removed when
//! the process that started it ends, in whatever way. There are no nodes and no controllers: Pods never run, and owned
//! objects are never garbage-collected.
//!
//! This crate does not know the operator's kinds, and the rest of the operator does not depend on it, so that an image
//! can be built without it. See `guardian.rs` for the process that runs the programs and `flags.rs` for their flags.

mod archive;
mod assets;
mod build;
mod cache;
mod conversation;
mod download;
mod error;
mod find;
mod flags;
mod guardian;
mod identity;
mod log;
mod ports;
mod protocol;
mod running_build;
mod step;
pub mod versions;

use std::path::{Path, PathBuf};
use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use kube::config::KubeConfigOptions;
use kube::{Api, Client, Config};

use clock::Clock;
#[cfg(test)]
use test_support::patience;

pub use assets::Assets;
pub use error::Error;
pub use guardian::{GRACE, guard};
pub use protocol::Process;
pub use step::Step;

use conversation::Conversation;
use identity::Identity;

/// Hidden command of the `connect-operator` binary that runs the guardian ([`guard`]).
pub const GUARDIAN_COMMAND: &str = "local-cluster-guardian";

/// Maximum number of starts, if another process takes the port between the choice of the port and listening on it.
const STARTS: usize = 3;

/// Pause between two readiness checks of the API server.
const LOOK_AT_START: Duration = Duration::from_millis(100);

/// Time limit of one readiness check; a process that took the port may never respond.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// Options of a local cluster.
#[derive(Clone, Debug)]
pub struct Options {
    /// The programs.
    pub assets: Assets,
    /// A `connect-operator` binary to run as guardian: this program itself, or in its integration tests the binary that
    /// Cargo built.
    pub guardian: PathBuf,
    /// Maximum time until the API server is ready; it usually takes a few seconds.
    pub ready_within: Duration,
    /// Whether both programs serve profiles under `/debug/pprof`: kube-apiserver to the administrator, etcd at the socket
    /// `etcd.sock` in the folder of the cluster.
    pub profiling: bool,
}

impl Options {
    /// Creates options with a readiness limit of 2 minutes, which is enough for a very busy machine, and without profiles.
    #[must_use]
    pub fn new(assets: Assets, guardian: PathBuf) -> Self {
        Self { assets, guardian, ready_within: Duration::from_mins(2), profiling: false }
    }
}

/// A running etcd and kube-apiserver.
///
/// It is not tied to a runtime: tests with a runtime each can share one in a `static` (a `tokio::sync::OnceCell`), as
/// long as each test creates its own [`client`](Self::client). Statics are never dropped, but when this process ends,
/// in whatever way, the guardian removes everything within moments. [`stop`](Self::stop) removes it as well and waits.
/// Dropping the cluster blocks until everything is removed, usually well below a second.
#[derive(Debug)]
pub struct LocalCluster {
    conversation: Conversation,
    options: Options,
    port: u16,
    config: Config,
}

impl LocalCluster {
    /// Starts both programs, and waits until the API server is ready and its first namespaces exist.
    ///
    /// # Errors
    /// [`Error::Ended`] and [`Error::NotReady`] with the end of the log, [`Error::Guardian`], [`Error::Port`],
    /// [`Error::File`]. After an error, no process and no file is left.
    pub async fn start(options: Options) -> Result<Self, Error> {
        let conversation = Conversation::begin(options.guardian.clone()).await?;
        let started = Self::start_guarded(conversation.clone(), options).await;
        if started.is_err() {
            // The first error is more useful than one that follows from it.
            let _ = conversation.end().await;
        }
        started
    }

    async fn start_guarded(conversation: Conversation, options: Options) -> Result<Self, Error> {
        let folder = conversation.folder().to_owned();
        let identity = Identity::create(&folder)?;
        conversation.start(Process::Etcd, options.assets.etcd.clone(), flags::etcd(options.profiling)).await?;
        let mut starts = 0;
        loop {
            starts += 1;
            let port = ports::choose()?;
            let kubeconfig = identity.kubeconfig(&folder, port)?;
            let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
            // The default comes from the environment, but no proxy can reach this machine's loopback address.
            config.proxy_url = None;
            let cluster = Self { conversation: conversation.clone(), options: options.clone(), port, config };
            match cluster.start_apiserver().await {
                Err(Error::Ended { process: Process::ApiServer, .. }) if starts < STARTS && ports::is_taken(port) => {}
                result => return result.map(|()| cluster),
            }
        }
    }

    /// Returns the path of the administrator's kubeconfig; the file is removed with the cluster.
    #[must_use]
    pub fn kubeconfig_path(&self) -> PathBuf {
        self.folder().join(identity::KUBECONFIG)
    }

    /// Returns the folder of all files, with `etcd.log` and `kube-apiserver.log`; it is removed with the cluster.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.conversation.folder()
    }

    /// Returns the client configuration of the administrator (group `system:masters`).
    #[must_use]
    pub fn config(&self) -> Config {
        self.config.clone()
    }

    /// Returns a client configuration that impersonates `user`, with only the groups that everybody has; a service
    /// account, `system:serviceaccount:NAMESPACE:NAME`, also has those of service accounts. RBAC decides what the user
    /// may do, which is nothing at first.
    #[must_use]
    pub fn config_as(&self, user: &str) -> Config {
        let mut config = self.config();
        config.auth_info.impersonate = Some(user.to_owned());
        config
    }

    /// Creates a client of the administrator. It belongs to the current runtime.
    ///
    /// # Errors
    /// [`Error::Client`] if TLS cannot be set up.
    pub fn client(&self) -> Result<Client, Error> {
        client(self.config())
    }

    /// Creates a client of `user`, see [`config_as`](Self::config_as). It belongs to the current runtime.
    ///
    /// # Errors
    /// [`Error::Client`] if TLS cannot be set up.
    pub fn client_as(&self, user: &str) -> Result<Client, Error> {
        client(self.config_as(user))
    }

    /// Stops kube-apiserver, by force after [`GRACE`], and waits until it has ended. The data remains.
    ///
    /// # Errors
    /// [`Error::Guardian`].
    pub async fn stop_apiserver(&self) -> Result<(), Error> {
        self.conversation.stop(Process::ApiServer).await
    }

    /// Starts kube-apiserver again on the same port with the same data, and waits until it is ready.
    ///
    /// # Errors
    /// Fails like [`start`](Self::start), and if it is already running.
    pub async fn start_apiserver(&self) -> Result<(), Error> {
        let program = self.options.assets.kube_apiserver.clone();
        self.conversation
            .start(Process::ApiServer, program, flags::api_server(self.port, self.options.profiling))
            .await?;
        let client = self.client()?;
        let limit = self.options.ready_within;
        match tokio::time::timeout(limit, self.wait_until_ready(&client)).await {
            Ok(result) => result,
            Err(_) => Err(Error::NotReady {
                seconds: limit.as_secs(),
                last_lines: log::last_lines(self.folder(), Process::ApiServer),
            }),
        }
    }

    /// Stops etcd, by force after [`GRACE`], and waits until it has ended. The data remains. kube-apiserver keeps
    /// running without it, but fails requests and then takes long to stop.
    ///
    /// # Errors
    /// [`Error::Guardian`].
    pub async fn stop_etcd(&self) -> Result<(), Error> {
        self.conversation.stop(Process::Etcd).await
    }

    /// Starts etcd again with the same data. It does not wait until etcd is ready; kube-apiserver does.
    ///
    /// # Errors
    /// [`Error::Guardian`], also if it is already running.
    pub async fn start_etcd(&self) -> Result<(), Error> {
        self.conversation
            .start(Process::Etcd, self.options.assets.etcd.clone(), flags::etcd(self.options.profiling))
            .await
    }

    /// Returns the process id of `process`.
    ///
    /// # Errors
    /// [`Error::Ended`] with the end of its log if it is not running.
    pub async fn process_id(&self, process: Process) -> Result<u32, Error> {
        self.conversation.look(process).await?.map_err(|how| Error::Ended {
            process,
            how,
            last_lines: log::last_lines(self.folder(), process),
        })
    }

    /// Returns the process id of the guardian.
    #[must_use]
    pub fn guardian_id(&self) -> u32 {
        self.conversation.guardian_id()
    }

    /// Ends kube-apiserver and then etcd, removes the folder, and waits for all of it. Both are killed, because nothing
    /// that they could still write is kept.
    ///
    /// # Errors
    /// [`Error::Guardian`] if a process or the folder may be left.
    pub async fn stop(self) -> Result<(), Error> {
        self.conversation.end().await
    }

    async fn wait_until_ready(&self, client: &Client) -> Result<(), Error> {
        loop {
            self.process_id(Process::ApiServer).await?;
            self.process_id(Process::Etcd).await?;
            if let Ok(true) = tokio::time::timeout(ANSWER_WITHIN, is_ready(client)).await {
                return Ok(());
            }
            Clock::system().sleep(LOOK_AT_START).await;
        }
    }
}

fn client(config: Config) -> Result<Client, Error> {
    Client::try_from(config).map_err(|error| Error::Client(Box::new(error)))
}

/// Returns whether the API server reports that it is ready and has created the namespace `default`, which a first
/// `kubectl apply` uses and which appears a little later.
async fn is_ready(client: &Client) -> bool {
    let Ok(readyz) = http::Request::get("/readyz").body(Vec::new()) else { return false };
    client.request_text(readyz).await.is_ok() && Api::<Namespace>::all(client.clone()).get("default").await.is_ok()
}
