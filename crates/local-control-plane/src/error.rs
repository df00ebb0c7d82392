//! Errors of a local cluster; each message includes what to do about it.

use std::path::{Path, PathBuf};

/// Why a local cluster is not available. The messages are for users and contain no secrets.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// `KUBEBUILDER_ASSETS` names a folder that lacks programs.
    #[error(
        "KUBEBUILDER_ASSETS is {folder}, which has no {}: point it at a folder with etcd, kube-apiserver and kubectl, \
         or unset it to have them downloaded or built once",
        missing.join(", ")
    )]
    AssetsMissing {
        /// The folder from the variable.
        folder: PathBuf,
        /// Names of the missing programs.
        missing: Vec<&'static str>,
    },
    /// There is no folder for the programs.
    #[error(
        "neither XDG_CACHE_HOME nor HOME is set, so there is no folder to keep etcd, kube-apiserver and kubectl in: set one of \
         them, or KUBEBUILDER_ASSETS"
    )]
    NoCacheFolder,
    /// The programs can neither be downloaded nor built.
    #[error(
        "etcd, kube-apiserver and kubectl can neither be downloaded nor built:\n\
         - {address}: {why}. Make it reachable (HTTPS_PROXY), or unpack it elsewhere and set KUBEBUILDER_ASSETS to the folder \
         with the programs\n\
         - {go}"
    )]
    NoPrograms {
        /// URL of the archive.
        address: String,
        /// Why the archive is not available.
        why: String,
        /// Why the programs cannot be built: [`Error::Go`], [`Error::Build`] or [`Error::File`].
        go: Box<Error>,
    },
    /// Go is missing or too old.
    #[error(
        "etcd and kube-apiserver are built once with Go {} or newer, but {problem}: install it from https://go.dev/dl, \
         or set KUBEBUILDER_ASSETS to a folder with etcd, kube-apiserver and kubectl",
        super::versions::GO
    )]
    Go {
        /// What was found instead of a usable toolchain.
        problem: String,
    },
    /// `go build` failed.
    #[error(
        "building {program} failed ({status}): if the last lines below mention the network, make the Go module proxy \
         reachable (GOPROXY, HTTPS_PROXY) and start again; what was built is kept\n{last_lines}"
    )]
    Build {
        /// Name of the program.
        program: &'static str,
        /// Exit status of the build.
        status: String,
        /// The last lines of the build's output.
        last_lines: String,
    },
    /// The shell that guards the programs cannot be run, or could not remove everything.
    #[error("the programs of the local cluster: {0}")]
    Guard(#[source] std::io::Error),
    /// A program ended while it was needed.
    #[error("{program} ended by itself ({how}); the end of its log:\n{last_lines}")]
    Ended {
        /// The program.
        program: &'static str,
        /// Exit status or signal.
        how: String,
        /// The last lines of its log.
        last_lines: String,
    },
    /// The API server was not ready in time.
    #[error("kube-apiserver was not ready after {seconds} s: is the machine busy? The end of its log:\n{last_lines}")]
    NotReady {
        /// How long the caller waited.
        seconds: u64,
        /// The last lines of its log.
        last_lines: String,
    },
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// No port of the range is free.
    #[error("no free port for kube-apiserver on 127.0.0.1: {0}")]
    Port(#[source] std::io::Error),
    /// Keys or certificates could not be generated.
    #[error("certificates of the local cluster: {0}")]
    Certificates(#[from] rcgen::Error),
    /// The kubeconfig of the cluster is invalid.
    #[error("kubeconfig of the local cluster: {0}")]
    Kubeconfig(#[from] kube::config::KubeconfigError),
    /// A client could not be created.
    #[error("client of the local cluster: {0}")]
    Client(#[source] Box<kube::Error>),
}

impl Error {
    pub(super) fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { path, source }
    }
}
