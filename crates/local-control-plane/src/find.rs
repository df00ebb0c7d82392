//! Locates the programs of a local cluster: in the folder that `KUBEBUILDER_ASSETS` names, or in the user's cache
//! folder. See `cache.rs` for how the cache is filled.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::Error;
use super::archive::Archive;
use super::assets::Assets;
use super::cache::Cache;

/// If set to any value, the programs are built with Go; downloaded programs are neither fetched nor used.
const BUILD_WITH_GO: &str = "CONNECT_OPERATOR_BUILD_WITH_GO";

impl Assets {
    /// Returns the programs in the folder that `KUBEBUILDER_ASSETS` names, or those in the cache folder
    /// (`XDG_CACHE_HOME` or `~/.cache`, then `connect-operator`). If the cache has none, the archive that is published
    /// for envtest is downloaded, about 90 MB. If the download fails, or if `CONNECT_OPERATOR_BUILD_WITH_GO` is set,
    /// they are built with the Go toolchain: this takes minutes, a gigabyte of downloads and 4 GB in Go's own caches.
    /// Either happens only once. `report` is called with a line for users for every step.
    ///
    /// Dropping the future stops a download or a build; an incomplete file is never used as a program.
    ///
    /// # Errors
    /// [`Error::AssetsMissing`], [`Error::NoCacheFolder`], [`Error::NoPrograms`], [`Error::Go`], [`Error::Build`] and
    /// [`Error::File`].
    pub async fn find_or_build(report: impl Fn(&str)) -> Result<Self, Error> {
        if let Some(folder) = variable("KUBEBUILDER_ASSETS") {
            return Self::of(Path::new(&folder));
        }
        let folder = cache_folder(variable("XDG_CACHE_HOME"), variable("HOME")).ok_or(Error::NoCacheFolder)?;
        let archive = if variable(BUILD_WITH_GO).is_some() { None } else { Archive::published() };
        Cache { folder, archive, go: "go".into() }.programs(&report).await
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
}
