//! The programs of a local cluster in a folder. See `find.rs` for how they are found.

use std::path::{Path, PathBuf};

use super::Error;

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

impl Assets {
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
