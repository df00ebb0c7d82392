//! Why a client cannot be created.

use std::path::PathBuf;

use thiserror::Error;

/// Why a client could not be created.
#[derive(Debug, Error)]
pub enum BuildError {
    /// A file of CA certificates cannot be read, is not PEM, or contains no certificate.
    #[error("CA certificates of {}: {why}", file.display())]
    CaFile {
        /// The file.
        file: PathBuf,
        /// Why it cannot be used.
        why: String,
    },
    /// The token path cannot be appended to the authorization URL.
    #[error("the token path cannot be appended to the authorization URL: give the URL without a path")]
    AuthUrl,
    /// TLS cannot be set up.
    #[error("TLS cannot be set up ({0}): are the CA certificates of the system installed?")]
    Tls(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl From<reqwest::Error> for BuildError {
    fn from(error: reqwest::Error) -> Self {
        Self::Tls(Box::new(error))
    }
}

impl From<rustls::Error> for BuildError {
    fn from(error: rustls::Error) -> Self {
        Self::Tls(Box::new(error))
    }
}
