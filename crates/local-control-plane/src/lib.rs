//! A real etcd and kube-apiserver on this machine, without containers, for `demo` and for tests.
//!
//! [`Assets`] finds, downloads or builds the programs; [`LocalCluster`] runs them. All files are in one temporary
//! folder that only this user can read, the API server listens on one port of 127.0.0.1, and everything is removed when
//! the process that started it ends, in whatever way. There are no nodes and no controllers: Pods never run, and owned
//! objects are never garbage-collected.
//!
//! This crate does not know the operator's kinds, and the rest of the operator does not depend on it, so that an image
//! can be built without it. See `guard.rs` for what ends the programs and `flags.rs` for their flags.

mod archive;
mod assets;
mod build;
mod cache;
mod download;
mod error;
mod find;
mod flags;
mod guard;
mod identity;
mod log;
mod ports;
pub mod versions;

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use kube::config::KubeConfigOptions;
use kube::{Api, Client, Config};

use clock::Clock;

pub use assets::Assets;
pub use error::Error;

use assets::PROGRAMS;
use guard::Guard;
use identity::Identity;

/// Maximum number of starts, if another process takes the port between the choice of the port and listening on it.
const STARTS: usize = 3;

/// Maximum time until the API server is ready; it usually takes a few seconds, and more on a very busy machine.
const READY_WITHIN: Duration = Duration::from_mins(2);

/// Pause between two readiness checks of the API server.
const LOOK_AT_START: Duration = Duration::from_millis(100);

/// Time limit of one readiness check; a process that took the port may never respond.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// Options of a local cluster.
#[derive(Clone, Debug)]
pub struct Options {
    /// The programs.
    pub assets: Assets,
    /// Whether both programs serve profiles under `/debug/pprof`: kube-apiserver to the administrator, etcd at the socket
    /// `etcd.sock` in the folder of the cluster.
    pub profiling: bool,
}

impl Options {
    /// Creates options without profiles.
    pub fn new(assets: Assets) -> Self {
        Self { assets, profiling: false }
    }
}

/// A running etcd and kube-apiserver.
///
/// It is not tied to a runtime: tests with a runtime each can share one in a `static` (a `tokio::sync::OnceCell`), as
/// long as each test creates its own [`client`](Self::client). Statics are never dropped, but when this process ends,
/// in whatever way, everything is removed within moments. [`stop`](Self::stop) removes it as well and waits. Dropping
/// the cluster blocks until everything is removed, usually well below a second.
#[derive(Debug)]
pub struct LocalCluster {
    guard: Guard,
    /// In the order of [`PROGRAMS`]: etcd and kube-apiserver.
    processes: [Child; 2],
    config: Config,
}

impl LocalCluster {
    /// Starts both programs, and waits until the API server is ready and its first namespaces exist.
    ///
    /// # Errors
    /// [`Error::Ended`] and [`Error::NotReady`] with the end of the log, [`Error::Guard`], [`Error::Port`],
    /// [`Error::File`]. After an error, no process and no file is left.
    pub async fn start(options: Options) -> Result<Self, Error> {
        let mut starts = 1;
        loop {
            let port = ports::choose()?;
            match Self::start_on(port, &options).await {
                Err(Error::Ended { .. }) if starts < STARTS && ports::is_taken(port) => starts += 1,
                result => return result,
            }
        }
    }

    async fn start_on(port: u16, options: &Options) -> Result<Self, Error> {
        let folder = format!("connect-operator-{}", uuid::Uuid::new_v4().simple());
        let guard = Guard::of(std::env::temp_dir().join(folder)).map_err(Error::Guard)?;
        let kubeconfig = Identity::create(guard.folder())?.kubeconfig(guard.folder(), port)?;
        let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        // The default comes from the environment, but no proxy can reach this machine's loopback address.
        config.proxy_url = None;
        let Assets { etcd, kube_apiserver, .. } = &options.assets;
        let processes = [
            start(&guard, PROGRAMS[0], etcd, flags::etcd(options.profiling))?,
            start(&guard, PROGRAMS[1], kube_apiserver, flags::api_server(port, options.profiling))?,
        ];
        let mut cluster = Self { guard, processes, config };
        let client = cluster.client()?;
        match tokio::time::timeout(READY_WITHIN, cluster.wait_until_ready(&client)).await {
            Ok(result) => result.map(|()| cluster),
            Err(_) => Err(Error::NotReady {
                seconds: READY_WITHIN.as_secs(),
                last_lines: log::last_lines(cluster.folder(), PROGRAMS[1]),
            }),
        }
    }

    /// Returns the path of the administrator's kubeconfig; the file is removed with the cluster.
    pub fn kubeconfig_path(&self) -> PathBuf {
        self.folder().join(identity::KUBECONFIG)
    }

    /// Returns the folder of all files, with `etcd.log` and `kube-apiserver.log`; it is removed with the cluster.
    pub fn folder(&self) -> &Path {
        self.guard.folder()
    }

    /// Returns the client configuration of the administrator (group `system:masters`).
    pub fn config(&self) -> Config {
        self.config.clone()
    }

    /// Returns a client configuration that impersonates `user`, with only the groups that everybody has; a service
    /// account, `system:serviceaccount:NAMESPACE:NAME`, also has those of service accounts. RBAC decides what the user
    /// may do, which is nothing at first.
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

    /// Returns the process ids of etcd and kube-apiserver.
    pub fn process_ids(&self) -> [u32; 2] {
        self.processes.each_ref().map(Child::id)
    }

    /// Ends both programs, removes the folder, and waits for all of it. They are killed, because nothing that they could
    /// still write is kept.
    ///
    /// # Errors
    /// [`Error::Guard`] if the folder may be left.
    pub async fn stop(mut self) -> Result<(), Error> {
        let ended = tokio::task::spawn_blocking(move || self.end()).await;
        ended.map_err(std::io::Error::other).flatten().map_err(Error::Guard)
    }

    fn end(&mut self) -> std::io::Result<()> {
        let ended = self.guard.end();
        for process in &mut self.processes {
            // The guard did this already, unless somebody killed it.
            process.kill()?;
            process.wait()?;
        }
        ended
    }

    async fn wait_until_ready(&mut self, client: &Client) -> Result<(), Error> {
        loop {
            for (program, process) in PROGRAMS.into_iter().zip(&mut self.processes) {
                if let Some(status) = process.try_wait().map_err(Error::Guard)? {
                    let last_lines = log::last_lines(self.guard.folder(), program);
                    return Err(Error::Ended { program, how: status.to_string(), last_lines });
                }
            }
            if let Ok(true) = tokio::time::timeout(ANSWER_WITHIN, is_ready(client)).await {
                return Ok(());
            }
            Clock::system().sleep(LOOK_AT_START).await;
        }
    }
}

impl Drop for LocalCluster {
    fn drop(&mut self) {
        // Errors cannot be reported here.
        let _ = self.end();
    }
}

/// Starts a program in the folder of the cluster, with a log there that only this user can read.
fn start(guard: &Guard, name: &str, program: &Path, arguments: Vec<String>) -> Result<Child, Error> {
    let path = log::path(guard.folder(), name);
    let log = OpenOptions::new().create(true).append(true).mode(0o600).open(&path);
    let log = log.and_then(|log| Ok((log.try_clone()?, log))).map_err(Error::file(&path))?;
    let child = guard.start(program, |command| {
        command.args(arguments).current_dir(guard.folder()).stdout(log.0).stderr(log.1);
        // Empty, because etcd also reads its flags from the environment. Less garbage collection for more memory, which
        // these short-lived programs have enough of.
        command.env_clear().env("GOGC", "300");
    });
    child.map_err(Error::Guard)
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
