//! The certificates that are trusted for servers: those of the system, and those of a file given to the operator.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme, crypto};
use rustls_platform_verifier::Verifier;

use super::build_error::BuildError;

/// Number of TLS sessions that a client caches: 8 for each of the two hosts that it calls.
const SESSIONS: usize = 16;

/// The authorities whose certificates are trusted. Clones share what was read: a copy for each client would be the largest
/// part of its memory.
///
/// The file is read again for each new connection, so a bundle that is replaced counts at once, also for clients
/// that exist already. What cannot be read changes nothing, and is logged.
#[derive(Clone, Debug, Default)]
pub struct Authorities(Arc<Trust>);

#[derive(Debug, Default)]
struct Trust {
    file: Option<PathBuf>,
    /// What the file contained, and the verifier of that. Loaded with the first connection that needs it: systems that
    /// are called by plain HTTP may have no certificates.
    loaded: Mutex<Option<(Vec<u8>, Arc<Verifier>)>>,
}

impl Authorities {
    /// Trusts the authorities of the system, and those of a file in PEM if there is one.
    ///
    /// # Errors
    /// If the file cannot be read, or contains no certificate.
    pub fn with(file: Option<&Path>) -> Result<Self, BuildError> {
        let trust = Trust { file: file.map(Path::to_owned), loaded: Mutex::default() };
        trust.read()?;
        Ok(Self(Arc::new(trust)))
    }

    /// Creates the TLS configuration of one client.
    ///
    /// # Errors
    /// If there are no certificates, or if the file cannot be read.
    pub(super) fn tls(&self) -> Result<ClientConfig, BuildError> {
        self.0.current()?;
        let versions = [&rustls::version::TLS13, &rustls::version::TLS12];
        let config = ClientConfig::builder_with_provider(provider()).with_protocol_versions(&versions)?;
        let verifier: Arc<dyn ServerCertVerifier> = Arc::<Trust>::clone(&self.0);
        let mut config = config.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        config.resumption = Resumption::in_memory_sessions(SESSIONS);
        Ok(config)
    }
}

impl Trust {
    /// Reads the file, and the certificates in it, of which there must be one.
    fn read(&self) -> Result<(Vec<u8>, Vec<CertificateDer<'static>>), BuildError> {
        let Some(file) = &self.file else { return Ok((Vec::new(), Vec::new())) };
        let refused = |why: String| BuildError(format!("CA certificates of {}: {why}", file.display()));
        let pem = std::fs::read(file).map_err(|error| refused(error.to_string()))?;
        let roots: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
        let roots = roots.map_err(|error| refused(format!("{error}: give certificates in PEM")))?;
        if roots.is_empty() { Err(refused("it contains no certificate in PEM".to_owned())) } else { Ok((pem, roots)) }
    }

    /// Returns the verifier for a new connection.
    fn current(&self) -> Result<Arc<Verifier>, BuildError> {
        // A poisoned lock is safe to use: at worst, the file is read again.
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let read = self.read().and_then(|(pem, roots)| match &*loaded {
            Some((before, verifier)) if pem == *before => Ok((pem, Arc::clone(verifier))),
            _ => Ok((pem, Arc::new(Verifier::new_with_extra_roots(roots, provider())?))),
        });
        match (read, &*loaded) {
            (Err(error), Some((_, before))) => {
                tracing::warn!(%error, "the CA certificates cannot be read again: those from before are used");
                Ok(Arc::clone(before))
            }
            (read, _) => Ok(Arc::clone(&loaded.insert(read?).1)),
        }
    }
}

impl ServerCertVerifier for Trust {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verifier = self.current().map_err(|error| Error::General(error.to_string()))?;
        verifier.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &provider().signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &provider().signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        provider().signature_verification_algorithms.supported_schemes()
    }
}

fn provider() -> Arc<CryptoProvider> {
    CryptoProvider::get_default().cloned().unwrap_or_else(|| Arc::new(crypto::ring::default_provider()))
}
