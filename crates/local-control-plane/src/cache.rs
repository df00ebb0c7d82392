//! The user's cache folder, which is filled from the published archive or by a build with Go.
//!
//! Each of the two has its own subfolder named after the version, because the versions differ. Programs appear in it
//! only when they are complete, and only one process fills the cache at a time. See `archive.rs` and `download.rs` for
//! the archive, `build.rs` for the build.

use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::archive::{self, Archive};
use super::assets::Assets;
use super::build::Workshop;
use super::download::download;
use super::{Error, versions};
use clock::Clock;

/// Pause between two attempts to lock the cache while another process fills it.
const LOOK_AT_LOCK: Duration = Duration::from_millis(500);

/// The cache folder and its sources.
pub(super) struct Cache {
    /// The folder.
    pub(super) folder: PathBuf,
    /// The archive; `None` builds with Go immediately and ignores programs that were downloaded before.
    pub(super) archive: Option<Archive>,
    /// The `go` command.
    pub(super) go: OsString,
}

impl Cache {
    /// Returns the programs of the cache, and fills it first if it has none. `report` is called for every step.
    ///
    /// # Errors
    /// [`Error::File`]; [`Error::Go`] and [`Error::Build`], inside an [`Error::NoPrograms`] if the download failed
    /// before.
    pub(super) async fn programs(&self, report: &impl Fn(&str)) -> Result<Assets, Error> {
        if let Some(assets) = self.found() {
            return Ok(assets);
        }
        std::fs::create_dir_all(&self.folder).map_err(Error::file(&self.folder))?;
        let lock = Arc::new(self.lock(report).await?);
        // Checked again: another process may have filled the cache while this one waited for the lock.
        if let Some(assets) = self.found() {
            return Ok(assets);
        }
        let Some(archive) = &self.archive else {
            return self.build(report).await;
        };
        let host = archive.address.host_str().unwrap_or_default().to_owned();
        report(&format!("asking {host} for etcd, kube-apiserver and kubectl"));
        match self.fetch(archive, &lock, report).await {
            Ok(assets) => {
                report("downloaded etcd, kube-apiserver and kubectl");
                Ok(assets)
            }
            Err(why) => {
                report(&format!("not downloaded, so they are built with Go: {why}"));
                let no_programs =
                    |go| Error::NoPrograms { address: archive.address.to_string(), why, go: Box::new(go) };
                self.build(report).await.map_err(no_programs)
            }
        }
    }

    /// Returns the programs that exist, the newer version first.
    fn found(&self) -> Option<Assets> {
        let downloaded = self.archive.is_some().then(|| self.downloaded());
        [Some(self.built()), downloaded].into_iter().flatten().find_map(|folder| Assets::of(&folder).ok())
    }

    /// Returns the folder for programs that are built with Go.
    fn built(&self) -> PathBuf {
        self.folder.join(format!("kubernetes-{}-etcd-{}", versions::KUBERNETES, versions::ETCD))
    }

    /// Returns the folder for programs that are downloaded.
    fn downloaded(&self) -> PathBuf {
        self.folder.join(format!("envtest-{}", versions::ENVTEST))
    }

    async fn build(&self, report: &impl Fn(&str)) -> Result<Assets, Error> {
        let folder = self.built();
        Workshop { folder: folder.clone(), go: self.go.clone() }.build_missing(report).await?;
        Ok(Assets::at(&folder))
    }

    /// Downloads and unpacks the archive, or returns why that is not possible.
    async fn fetch(&self, archive: &Archive, lock: &Arc<File>, report: &impl Fn(&str)) -> Result<Assets, String> {
        let folder = self.downloaded();
        let unfinished = Unfinished::begin(&folder, lock).map_err(|error| error.to_string())?;
        download(archive, &unfinished.archive(), report).await?;
        // Continues if this future is dropped, and keeps the lock until it has finished.
        let finished = tokio::task::spawn_blocking(move || unfinished.finish()).await;
        finished
            .map_err(|error| error.to_string())?
            .map_err(|error| format!("the archive cannot be unpacked: {error}"))?;
        Ok(Assets::at(&folder))
    }

    /// Locks the cache folder until the returned file is dropped. The system releases the lock if this process dies.
    async fn lock(&self, report: &impl Fn(&str)) -> Result<File, Error> {
        let path = self.folder.join("lock");
        let file = File::create(&path).map_err(Error::file(&path))?;
        let mut waiting = false;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::Error(source)) => return Err(Error::File { path, source }),
                Err(TryLockError::WouldBlock) if !waiting => {
                    waiting = true;
                    report("waiting for another process that downloads or builds the same programs");
                }
                Err(TryLockError::WouldBlock) => Clock::system().sleep(LOOK_AT_LOCK).await,
            }
        }
    }
}

/// A temporary folder next to the final folder of the programs. Dropping this value removes it.
struct Unfinished {
    temporary: PathBuf,
    folder: PathBuf,
    /// Ensures that no other process uses the temporary folder while it exists.
    _lock: Arc<File>,
}

impl Unfinished {
    /// Creates the temporary folder for `folder`; removes one that a killed process left.
    fn begin(folder: &Path, lock: &Arc<File>) -> Result<Self, Error> {
        let temporary = folder.with_added_extension("unfinished");
        remove(&temporary).map_err(Error::file(&temporary))?;
        std::fs::create_dir(&temporary).map_err(Error::file(&temporary))?;
        Ok(Self { temporary, folder: folder.to_owned(), _lock: Arc::clone(lock) })
    }

    /// Returns the path for the downloaded archive.
    fn archive(&self) -> PathBuf {
        self.temporary.join("archive.tar.gz")
    }

    /// Unpacks the archive, then moves its programs to the final folder with a single rename.
    fn finish(self) -> std::io::Result<()> {
        let programs = self.temporary.join("programs");
        std::fs::create_dir(&programs)?;
        archive::unpack(&self.archive(), &programs)?;
        // If the folder exists, programs are missing in it; otherwise nothing would have been downloaded.
        remove(&self.folder)?;
        std::fs::rename(&programs, &self.folder)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // A remainder is removed before the next download.
        let _ = remove(&self.temporary);
    }
}

/// Removes a folder if it exists.
pub(super) fn remove(folder: &Path) -> std::io::Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
