//! Why a client cannot be created.

/// Why a client could not be created: the CA certificates cannot be read, the token path cannot be appended to the
/// authorization URL, or TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct BuildError(pub(super) String);

impl From<reqwest::Error> for BuildError {
    fn from(error: reqwest::Error) -> Self {
        Self(format!("TLS cannot be set up ({error}): are the CA certificates of the system installed?"))
    }
}

impl From<rustls::Error> for BuildError {
    fn from(error: rustls::Error) -> Self {
        Self(format!("TLS cannot be set up ({error}): are the CA certificates of the system installed?"))
    }
}
