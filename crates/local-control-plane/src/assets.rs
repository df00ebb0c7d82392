//! Locates the programs of a local cluster: in the folder that `KUBEBUILDER_ASSETS` names, or in the user's cache
//! folder. See `cache.rs` for how the cache is filled.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use super::Error;
use super::archive::Archive;
use super::cache::Cache;
use clock::Clock;

/// If set to any value, the programs are built with Go; downloaded programs are neither fetched nor used.
const BUILD_WITH_GO: &str = "CONNECT_OPERATOR_BUILD_WITH_GO";

/// Names of the programs in every folder of assets.
pub(super) const PROGRAMS: [&str; 3] = ["etcd", "kube-apiserver", "kubectl"];

/// The programs of a local cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assets {
    /// Storage of the API server.
    pub etcd: PathBuf,
    /// The API server.
    pub kube_apiserver: PathBuf,
    /// The command line client of the same version.
    pub kubectl: PathBuf,
}

/// A progress step while programs are located. `Display` formats it as a line for users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Another process downloads or builds the same programs; this one waits until the other one has finished.
    WaitingForAnotherProcess,
    /// The archive is requested from its host.
    Asking {
        /// The host.
        host: String,
    },
    /// The download of the archive has started.
    Downloading {
        /// Its size, if the server announced it.
        bytes: Option<u64>,
    },
    /// The archive was verified, and its programs are available.
    Downloaded,
    /// The archive could not be downloaded; the programs are built instead.
    NotDownloaded {
        /// The reason.
        why: String,
    },
    /// A missing program is being built, which takes minutes.
    Building {
        /// Name of the program.
        program: &'static str,
        /// How long it usually takes on 2 cores.
        usually: &'static str,
    },
    /// The program of the last [`Step::Building`] is available.
    Built {
        /// Name of the program.
        program: &'static str,
    },
}

impl Step {
    /// Returns whether the step completes an activity, so that nothing runs until the next step.
    #[must_use]
    pub fn is_an_end(&self) -> bool {
        matches!(self, Self::Downloaded | Self::NotDownloaded { .. } | Self::Built { .. })
    }
}

impl fmt::Display for Step {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WaitingForAnotherProcess => {
                write!(formatter, "waiting for another process that downloads or builds the same programs")
            }
            Self::Asking { host } => write!(formatter, "asking {host} for etcd, kube-apiserver and kubectl"),
            Self::Downloading { bytes: Some(bytes) } => {
                write!(
                    formatter,
                    "downloading etcd, kube-apiserver and kubectl, once; {} MB",
                    bytes.div_ceil(1_000_000)
                )
            }
            Self::Downloading { bytes: None } => {
                write!(formatter, "downloading etcd, kube-apiserver and kubectl, once")
            }
            Self::Downloaded => write!(formatter, "downloaded etcd, kube-apiserver and kubectl"),
            Self::NotDownloaded { why } => {
                write!(formatter, "not downloaded, so they are built with Go: {why}")
            }
            Self::Building { program, usually } => {
                write!(formatter, "building {program} with Go, once; on 2 cores this usually takes {usually}")
            }
            Self::Built { program } => write!(formatter, "built {program}"),
        }
    }
}

impl Assets {
    /// Returns the programs in the folder that `KUBEBUILDER_ASSETS` names, or those in the cache folder
    /// (`XDG_CACHE_HOME` or `~/.cache`, then `connect-operator`). If the cache has none, the archive that is published
    /// for envtest is downloaded, about 90 MB. If the download fails, or if `CONNECT_OPERATOR_BUILD_WITH_GO` is set,
    /// they are built with the Go toolchain: this takes minutes, a gigabyte of downloads and 4 GB in Go's own caches.
    /// Either happens only once. `report` is called for every step.
    ///
    /// Dropping the future stops a download or a build; an incomplete file is never used as a program.
    ///
    /// # Errors
    /// [`Error::AssetsMissing`], [`Error::NoCacheFolder`], [`Error::NoPrograms`], [`Error::Go`], [`Error::Build`] and
    /// [`Error::File`].
    pub async fn find_or_build(report: impl Fn(Step)) -> Result<Self, Error> {
        if let Some(folder) = variable("KUBEBUILDER_ASSETS") {
            return Self::of(Path::new(&folder));
        }
        let folder = cache_folder(variable("XDG_CACHE_HOME"), variable("HOME")).ok_or(Error::NoCacheFolder)?;
        let archive = if variable(BUILD_WITH_GO).is_some() { None } else { Archive::published() };
        Cache { folder, archive, go: "go".into(), clock: Clock::system() }.programs(&report).await
    }

    /// Returns the programs in `folder`.
    ///
    /// # Errors
    /// [`Error::AssetsMissing`] if one does not exist.
    pub fn of(folder: &Path) -> Result<Self, Error> {
        let missing: Vec<_> = PROGRAMS.into_iter().filter(|program| !folder.join(program).is_file()).collect();
        if missing.is_empty() {
            Ok(Self::at(folder))
        } else {
            Err(Error::AssetsMissing { folder: folder.to_owned(), missing })
        }
    }

    /// Returns the paths of the programs in `folder` without checking that they exist.
    pub(super) fn at(folder: &Path) -> Self {
        let [etcd, kube_apiserver, kubectl] = PROGRAMS.map(|program| folder.join(program));
        Self { etcd, kube_apiserver, kubectl }
    }
}

/// Returns an environment variable; an empty one counts as not set.
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Returns the cache folder. A relative `XDG_CACHE_HOME` is ignored (XDG Base Directory Specification).
fn cache_folder(xdg_cache_home: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    let cache = xdg_cache_home.map(PathBuf::from).filter(|folder| folder.is_absolute());
    let cache = cache.or_else(|| home.map(|home| Path::new(&home).join(".cache")))?;
    Some(cache.join("connect-operator"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_folder_follows_the_environment() {
        for (case, xdg, home, expected) in [
            ("only HOME", None, Some("/home/a"), Some("/home/a/.cache")),
            ("both", Some("/cache"), Some("/home/a"), Some("/cache")),
            ("a relative XDG_CACHE_HOME is ignored", Some("cache"), Some("/home/a"), Some("/home/a/.cache")),
            ("neither", None, None, None),
        ] {
            let folder = cache_folder(xdg.map(Into::into), home.map(Into::into));
            assert_eq!(folder, expected.map(|expected| Path::new(expected).join("connect-operator")), "{case}");
        }
    }

    #[test]
    fn a_folder_that_lacks_programs_is_refused_with_their_names() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(folder.path().join("etcd"), "").expect("a file");
        let error = Assets::of(folder.path()).expect_err("two programs are missing").to_string();
        assert!(error.contains("has no kube-apiserver, kubectl: point it at"), "{error}");
        for program in PROGRAMS {
            std::fs::write(folder.path().join(program), "").expect("a file");
        }
        assert_eq!(Assets::of(folder.path()).expect("all programs exist"), Assets::at(folder.path()));
    }
}
