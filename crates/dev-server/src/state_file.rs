//! Keeps the state in a file across restarts: written to a temporary file and renamed, readable by its owner only.
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

/// Replaces a file atomically; the new file is readable by its owner only.
pub(super) async fn write_private(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let mut neighbour = path.as_os_str().to_owned();
    neighbour.push(".new");
    let neighbour = PathBuf::from(neighbour);
    let mut options = tokio::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    options.mode(0o600);
    let mut file = options.open(&neighbour).await?;
    file.write_all(content).await?;
    file.sync_all().await?;
    tokio::fs::rename(&neighbour, path).await
}
