//! The user's cache folder, and how the programs get into it: the published archive, or a build with Go.
//!
//! Both have a folder of their own there, named after the version, since the versions differ. Programs appear in it only
//! when they are whole, and one process fills the cache at a time. Next: `archive.rs` and `download.rs` for the archive,
//! `build.rs` for the build.

use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::archive::{self, Archive};
use super::assets::{Assets, Step};
use super::build::Workshop;
use super::download::download;
use super::running_build::remove;
use super::{Error, versions};
use clock::Clock;

/// Pause between two looks at whether another process still fills the cache.
const LOOK_AT_LOCK: Duration = Duration::from_millis(500);

/// The cache folder, and what it is filled with.
pub(super) struct Cache {
    /// The folder.
    pub(super) folder: PathBuf,
    /// The archive; `None` builds with Go at once, and does not use what was downloaded before.
    pub(super) archive: Option<Archive>,
    /// The `go` command.
    pub(super) go: OsString,
    /// What a download is timed with.
    pub(super) clock: Clock,
}

impl Cache {
    /// The programs of the cache; if there are none yet, it is filled first. `report` hears of every step.
    ///
    /// # Errors
    /// [`Error::File`]; [`Error::Go`] and [`Error::Build`], in an [`Error::NoPrograms`] if the archive was tried before.
    pub(super) async fn programs(&self, report: &impl Fn(Step)) -> Result<Assets, Error> {
        if let Some(assets) = self.found() {
            return Ok(assets);
        }
        std::fs::create_dir_all(&self.folder).map_err(Error::file(&self.folder))?;
        let lock = Arc::new(self.lock(report).await?);
        // Looked at again: another process may have filled it while this one waited.
        if let Some(assets) = self.found() {
            return Ok(assets);
        }
        let Some(archive) = &self.archive else {
            return self.build(report).await;
        };
        let host = archive.address.host_str().unwrap_or_default().to_owned();
        report(Step::Asking { host });
        match self.fetch(archive, &lock, report).await {
            Ok(assets) => {
                report(Step::Downloaded);
                Ok(assets)
            }
            Err(why) => {
                report(Step::NotDownloaded { why: why.clone() });
                let no_programs =
                    |go| Error::NoPrograms { address: archive.address.to_string(), why, go: Box::new(go) };
                self.build(report).await.map_err(no_programs)
            }
        }
    }

    /// What is there, the newer version first.
    fn found(&self) -> Option<Assets> {
        let downloaded = self.archive.is_some().then(|| self.downloaded());
        [Some(self.built()), downloaded].into_iter().flatten().find_map(|folder| Assets::of(&folder).ok())
    }

    /// The folder of what is built with Go.
    fn built(&self) -> PathBuf {
        self.folder.join(format!("kubernetes-{}-etcd-{}", versions::KUBERNETES, versions::ETCD))
    }

    /// The folder of what is downloaded.
    fn downloaded(&self) -> PathBuf {
        self.folder.join(format!("envtest-{}", versions::ENVTEST))
    }

    async fn build(&self, report: &impl Fn(Step)) -> Result<Assets, Error> {
        let folder = self.built();
        Workshop { folder: folder.clone(), go: self.go.clone() }.build_missing(report).await?;
        Ok(Assets::at(&folder))
    }

    /// Downloads and unpacks the archive; otherwise, why that cannot be done.
    async fn fetch(&self, archive: &Archive, lock: &Arc<File>, report: &impl Fn(Step)) -> Result<Assets, String> {
        let folder = self.downloaded();
        let unfinished = Unfinished::begin(&folder, lock).map_err(|error| error.to_string())?;
        download(archive, &unfinished.archive(), &self.clock, report).await?;
        // It goes on if this future is dropped, and keeps the lock until it has ended.
        let finished = tokio::task::spawn_blocking(move || unfinished.finish()).await;
        finished.map_err(|error| error.to_string())?.map_err(|error| format!("it cannot be unpacked: {error}"))?;
        Ok(Assets::at(&folder))
    }

    /// Held until the file is dropped; the system lets go of it if this process dies.
    async fn lock(&self, report: &impl Fn(Step)) -> Result<File, Error> {
        let path = self.folder.join("lock");
        let file = File::create(&path).map_err(Error::file(&path))?;
        let mut waiting = false;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::Error(source)) => return Err(Error::File { path, source }),
                Err(TryLockError::WouldBlock) if !waiting => {
                    waiting = true;
                    report(Step::WaitingForAnotherProcess);
                }
                Err(TryLockError::WouldBlock) => Clock::system().sleep(LOOK_AT_LOCK).await,
            }
        }
    }
}

/// A temporary folder beside the one that the programs are to be in; dropping it removes it.
struct Unfinished {
    temporary: PathBuf,
    folder: PathBuf,
    /// Nobody else uses the temporary folder as long as it is there.
    _lock: Arc<File>,
}

impl Unfinished {
    /// Makes the temporary folder for `folder`, in place of one that a process left that was killed.
    fn begin(folder: &Path, lock: &Arc<File>) -> Result<Self, Error> {
        let temporary = folder.with_added_extension("unfinished");
        remove(&temporary).map_err(Error::file(&temporary))?;
        std::fs::create_dir(&temporary).map_err(Error::file(&temporary))?;
        Ok(Self { temporary, folder: folder.to_owned(), _lock: Arc::clone(lock) })
    }

    /// Where the archive is to be.
    fn archive(&self) -> PathBuf {
        self.temporary.join("archive.tar.gz")
    }

    /// Unpacks the archive; its programs take the place of the folder all at once.
    fn finish(self) -> std::io::Result<()> {
        let programs = self.temporary.join("programs");
        std::fs::create_dir(&programs)?;
        archive::unpack(&self.archive(), &programs)?;
        // It lacked programs, or there was no need for a download.
        remove(&self.folder)?;
        std::fs::rename(&programs, &self.folder)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // What cannot be removed now is removed before the next download.
        let _ = remove(&self.temporary);
    }
}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
