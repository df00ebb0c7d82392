//! Keeps the state in a file across restarts: written to a new temporary file and renamed, readable by its owner only.
//!
//! Secured values are stored as keyed fingerprints (`values.rs`), plain values in clear text.

use std::path::{Path, PathBuf};

use tokio::io::AsyncWriteExt as _;

use super::world::Kept;

/// Why the state file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The file cannot be read or written.
    #[error("state file {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The content is not that of a state file of this version.
    #[error("state file {path} cannot be read ({source}); remove it to start with an empty state")]
    Content {
        /// The file.
        path: PathBuf,
        /// The error of the parser.
        source: serde_json::Error,
    },
}

/// Reads the state; `None` if there is no file yet.
pub(super) async fn load(path: &Path) -> Result<Option<Kept>, StateError> {
    let text = match tokio::fs::read(path).await {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(StateError::Io { path: path.to_owned(), source }),
    };
    let kept = serde_json::from_slice(&text);
    kept.map(Some).map_err(|source| StateError::Content { path: path.to_owned(), source })
}

/// Replaces the state file.
pub(super) async fn store(path: &Path, content: &[u8]) -> Result<(), StateError> {
    write_private(path, content).await.map_err(|source| StateError::Io { path: path.to_owned(), source })
}

/// Replaces a file atomically; the new file is readable by its owner only, whoever could read the old one.
pub(super) async fn write_private(path: &Path, content: &[u8]) -> std::io::Result<()> {
    // Nobody can have put a link, or a file that others can read, at a name that is not known before.
    let neighbour = path.with_added_extension(format!("{}.new", uuid::Uuid::new_v4().simple()));
    let written = async {
        let mut options = tokio::fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        options.mode(0o600);
        let mut file = options.open(&neighbour).await?;
        file.write_all(content).await?;
        // A file of Tokio writes in the background: that the disk is full is known here, and not to `sync_all`.
        file.flush().await?;
        file.sync_all().await?;
        tokio::fs::rename(&neighbour, path).await
    };
    let written = written.await;
    if written.is_err() {
        // What went wrong is said; that nothing is left is best effort.
        let _ = tokio::fs::remove_file(&neighbour).await;
    }
    written
}
