//! The real etcd and kube-apiserver on this machine, without containers, for `demo` and for tests.
//!
//! [`Assets`] finds, downloads or builds the programs, [`LocalCluster`] runs them: everything in one temporary folder that only
//! this user can read, on one port of 127.0.0.1, gone with the process that started it however that ends. There are no
//! nodes and no controllers: Pods are never run and owned objects never collected.
//!
//! Nothing here knows the kinds of this operator, and nothing else of the operator depends on this module, so that an
//! image can do without it. Next: `guardian.rs` for who runs the programs, `flags.rs` for how.

mod archive;
mod assets;
mod build;
mod cache;
mod conversation;
mod download;
mod error;
mod flags;
mod guardian;
mod identity;
mod log;
#[cfg(test)]
#[path = "../../../tests/common/patience.rs"]
#[allow(dead_code, reason = "each test binary asks other things of it")]
mod patience;
mod ports;
mod protocol;
mod running_build;
pub mod versions;

use std::path::{Path, PathBuf};
use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use kube::config::KubeConfigOptions;
use kube::{Api, Client, Config};

use clock::Clock;

pub use assets::{Assets, Step};
pub use error::Error;
pub use guardian::{GRACE, guard};
pub use protocol::Process;

use conversation::Conversation;
use identity::Identity;

/// Hidden command of the `connect-operator` binary that does the guardian's work ([`guard`]).
pub const GUARDIAN_COMMAND: &str = "local-cluster-guardian";

/// How often a start is repeated because somebody took the port between choosing and listening.
const STARTS: usize = 3;

/// Pause between two looks at whether the API server is ready.
const LOOK_AT_START: Duration = Duration::from_millis(100);

/// How long one look may take: whoever took our port may never answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// What a local cluster is started with.
#[derive(Clone, Debug)]
pub struct Options {
    /// The programs.
    pub assets: Assets,
    /// A `connect-operator` binary, run as guardian: this program itself, or in its integration tests the one that
    /// Cargo built.
    pub guardian: PathBuf,
    /// How long the API server may take to get ready; it usually takes a few seconds.
    pub ready_within: Duration,
}

impl Options {
    /// Options with 2 minutes to get ready, which is enough for a very busy machine.
    #[must_use]
    pub fn new(assets: Assets, guardian: PathBuf) -> Self {
        Self { assets, guardian, ready_within: Duration::from_mins(2) }
    }
}

/// A running etcd and kube-apiserver.
///
/// It belongs to no runtime: one in a `static` (a `tokio::sync::OnceCell`) can be shared by tests that have a runtime
/// each, as long as each makes its own [`client`](Self::client). Statics are never dropped, and need not be: when this
/// process ends, however it does, the guardian removes everything within moments. [`stop`](Self::stop) does the same
/// and waits; dropping does it too and blocks until it is done, usually well below a second.
#[derive(Debug)]
pub struct LocalCluster {
    conversation: Conversation,
    options: Options,
    port: u16,
    config: Config,
}

impl LocalCluster {
    /// Starts both programs and waits until the API server is ready and its first namespaces are there.
    ///
    /// # Errors
    /// [`Error::Ended`] and [`Error::NotReady`] with the end of the log, [`Error::Guardian`], [`Error::Port`],
    /// [`Error::File`]. Nothing is left running or lying about then.
    pub async fn start(options: Options) -> Result<Self, Error> {
        let conversation = Conversation::begin(options.guardian.clone()).await?;
        let started = Self::start_guarded(conversation.clone(), options).await;
        if started.is_err() {
            // The first error says more than one that follows from it.
            let _ = conversation.end().await;
        }
        started
    }

    async fn start_guarded(conversation: Conversation, options: Options) -> Result<Self, Error> {
        let folder = conversation.folder().to_owned();
        let identity = Identity::create(&folder)?;
        conversation.start(Process::Etcd, options.assets.etcd.clone(), flags::etcd()).await?;
        let mut starts = 0;
        loop {
            starts += 1;
            let port = ports::choose()?;
            let kubeconfig = identity.kubeconfig(&folder, port)?;
            let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
            // Taken from the environment otherwise, and no proxy can reach this machine's loopback address.
            config.proxy_url = None;
            let cluster = Self { conversation: conversation.clone(), options: options.clone(), port, config };
            match cluster.start_apiserver().await {
                Err(Error::Ended { process: Process::ApiServer, .. }) if starts < STARTS && ports::is_taken(port) => {}
                result => return result.map(|()| cluster),
            }
        }
    }

    /// The administrator's kubeconfig; the file is gone with the cluster.
    #[must_use]
    pub fn kubeconfig_path(&self) -> PathBuf {
        self.folder().join(identity::KUBECONFIG)
    }

    /// The folder of everything, with `etcd.log` and `kube-apiserver.log`; gone with the cluster.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.conversation.folder()
    }

    /// How to connect as administrator (group `system:masters`).
    #[must_use]
    pub fn config(&self) -> Config {
        self.config.clone()
    }

    /// How to connect as `user` with no groups but those that everybody has (a service account,
    /// `system:serviceaccount:NAMESPACE:NAME`, has those of service accounts too): by impersonation, so RBAC decides
    /// what is allowed, which is nothing at first.
    #[must_use]
    pub fn config_as(&self, user: &str) -> Config {
        let mut config = self.config();
        config.auth_info.impersonate = Some(user.to_owned());
        config
    }

    /// A client of the administrator. It belongs to the current runtime.
    ///
    /// # Errors
    /// [`Error::Client`] if TLS cannot be set up.
    pub fn client(&self) -> Result<Client, Error> {
        client(self.config())
    }

    /// A client of `user`, see [`config_as`](Self::config_as). It belongs to the current runtime.
    ///
    /// # Errors
    /// [`Error::Client`] if TLS cannot be set up.
    pub fn client_as(&self, user: &str) -> Result<Client, Error> {
        client(self.config_as(user))
    }

    /// Stops kube-apiserver, after [`GRACE`] by force, and waits for its end. The data stays.
    ///
    /// # Errors
    /// [`Error::Guardian`].
    pub async fn stop_apiserver(&self) -> Result<(), Error> {
        self.conversation.stop(Process::ApiServer).await
    }

    /// Starts kube-apiserver again, on the same port with the same data, and waits until it is ready.
    ///
    /// # Errors
    /// As [`start`](Self::start); also if it runs.
    pub async fn start_apiserver(&self) -> Result<(), Error> {
        let program = self.options.assets.kube_apiserver.clone();
        self.conversation.start(Process::ApiServer, program, flags::api_server(self.port)).await?;
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

    /// Stops etcd, after [`GRACE`] by force, and waits for its end. The data stays; kube-apiserver goes on without it,
    /// badly, and then takes long to stop.
    ///
    /// # Errors
    /// [`Error::Guardian`].
    pub async fn stop_etcd(&self) -> Result<(), Error> {
        self.conversation.stop(Process::Etcd).await
    }

    /// Starts etcd again with the same data. It does not wait: kube-apiserver does.
    ///
    /// # Errors
    /// [`Error::Guardian`], also if it runs.
    pub async fn start_etcd(&self) -> Result<(), Error> {
        self.conversation.start(Process::Etcd, self.options.assets.etcd.clone(), flags::etcd()).await
    }

    /// Process id of `process`.
    ///
    /// # Errors
    /// [`Error::Ended`] with the end of its log if it does not run.
    pub async fn process_id(&self, process: Process) -> Result<u32, Error> {
        self.conversation.look(process).await?.map_err(|how| Error::Ended {
            process,
            how,
            last_lines: log::last_lines(self.folder(), process),
        })
    }

    /// Process id of the guardian.
    #[must_use]
    pub fn guardian_id(&self) -> u32 {
        self.conversation.guardian_id()
    }

    /// Ends kube-apiserver, then etcd, removes the folder, and waits for all of it. Both are killed: nothing that they
    /// could still write is kept.
    ///
    /// # Errors
    /// [`Error::Guardian`] if something may be left.
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

/// Whether the API server says so, and has made the namespace that a first `kubectl apply` uses, which comes a little later.
async fn is_ready(client: &Client) -> bool {
    let Ok(readyz) = http::Request::get("/readyz").body(Vec::new()) else { return false };
    client.request_text(readyz).await.is_ok() && Api::<Namespace>::all(client.clone()).get("default").await.is_ok()
}
