//! The certificates that are trusted for servers: those of the system, and those of a file given to the operator.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use rustls::client::Resumption;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, crypto};
use rustls_platform_verifier::Verifier;

use super::build_error::BuildError;

/// Number of TLS sessions that a client caches: 8 for each of the two hosts that it calls.
const SESSIONS: usize = 16;

/// The authorities whose certificates are trusted, as they were when they were read. Clones share them: a copy for each
/// client would be the largest part of its memory.
#[derive(Clone, Debug, Default)]
pub struct Authorities(Arc<Trust>);

#[derive(Debug, Default)]
struct Trust {
    /// Those of the file.
    roots: Vec<CertificateDer<'static>>,
    /// Made with the first client that needs it: systems that are called by plain HTTP may have no certificates.
    verifier: OnceLock<Arc<Verifier>>,
}

impl Authorities {
    /// Trusts the authorities of the system, and those of a file in PEM if there is one.
    ///
    /// # Errors
    /// If the file cannot be read, or contains no certificate.
    pub fn with(file: Option<&Path>) -> Result<Self, BuildError> {
        let Some(file) = file else { return Ok(Self::default()) };
        let refused = |why: String| BuildError(format!("CA certificates of {}: {why}", file.display()));
        let roots = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let roots = roots.map_err(|error| refused(error.to_string()))?;
        if roots.is_empty() {
            return Err(refused("it contains no certificate in PEM".to_owned()));
        }
        Ok(Self(Arc::new(Trust { roots, verifier: OnceLock::new() })))
    }

    /// Creates the TLS configuration of one client.
    ///
    /// # Errors
    /// If there are no certificates.
    pub(super) fn tls(&self) -> Result<ClientConfig, BuildError> {
        let Trust { roots, verifier } = &*self.0;
        let verifier = if let Some(made) = verifier.get() {
            made
        } else {
            let made = Arc::new(Verifier::new_with_extra_roots(roots.clone(), provider())?);
            verifier.get_or_init(|| made)
        };
        let versions = [&rustls::version::TLS13, &rustls::version::TLS12];
        let config = ClientConfig::builder_with_provider(provider()).with_protocol_versions(&versions)?;
        let verifier = Arc::<Verifier>::clone(verifier);
        let mut config = config.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        config.resumption = Resumption::in_memory_sessions(SESSIONS);
        Ok(config)
    }
}

fn provider() -> Arc<CryptoProvider> {
    CryptoProvider::get_default().cloned().unwrap_or_else(|| Arc::new(crypto::ring::default_provider()))
}
