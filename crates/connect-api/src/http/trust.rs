//! The certificates that are trusted for servers: those of the system, and extra ones given to the operator.
//!
//! Clients that trust the same certificates share one verifier, which is loaded once and kept while one of these
//! clients exists; a verifier for each client would be the largest part of its memory. Clients share nothing else,
//! neither connections nor TLS sessions.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use rustls::client::Resumption;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, crypto};
use rustls_platform_verifier::Verifier;

use super::settings::BuildError;

/// Number of TLS sessions that a client caches: 8 for each of the two hosts that it calls.
const SESSIONS: usize = 16;

/// The verifiers that are in use.
static IN_USE: Mutex<Vec<Known>> = Mutex::new(Vec::new());

/// The extra certificates in PEM, and the verifier that trusts them.
type Known = (Option<Vec<u8>>, Weak<Verifier>);

/// Creates the TLS configuration of one client. `extra` are certificates in PEM to trust beside those of the system.
///
/// # Errors
/// Fails if there are no certificates, or if the extra ones cannot be read.
pub(super) fn tls(extra: Option<&[u8]>) -> Result<ClientConfig, BuildError> {
    let provider = CryptoProvider::get_default().cloned().unwrap_or_else(|| Arc::new(crypto::ring::default_provider()));
    let verifier = verifier(extra, &provider)?;
    let versions = [&rustls::version::TLS13, &rustls::version::TLS12];
    let config = ClientConfig::builder_with_provider(provider).with_protocol_versions(&versions)?;
    let mut config = config.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    config.resumption = Resumption::in_memory_sessions(SESSIONS);
    Ok(config)
}

fn verifier(extra: Option<&[u8]>, provider: &Arc<CryptoProvider>) -> Result<Arc<Verifier>, BuildError> {
    // A poisoned lock is safe to use: at worst, a verifier is created again.
    let mut in_use = IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
    in_use.retain(|(_, verifier)| verifier.strong_count() > 0);
    let known = in_use.iter().find(|(of, _)| of.as_deref() == extra);
    if let Some(verifier) = known.and_then(|(_, verifier)| verifier.upgrade()) {
        return Ok(verifier);
    }
    let verifier = Arc::new(Verifier::new_with_extra_roots(roots(extra)?, Arc::clone(provider))?);
    in_use.push((extra.map(<[u8]>::to_vec), Arc::downgrade(&verifier)));
    Ok(verifier)
}

/// Parses the extra certificates; if any are given, there must be at least one.
///
/// # Errors
/// Fails if they cannot be read or contain no certificate.
pub(super) fn roots(extra: Option<&[u8]>) -> Result<Vec<CertificateDer<'static>>, BuildError> {
    let Some(pem) = extra else { return Ok(Vec::new()) };
    let roots: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    roots.ok().filter(|roots| !roots.is_empty()).ok_or(BuildError::ExtraCa)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pem() -> Vec<u8> {
        rcgen::generate_simple_self_signed(["trusted.test".to_owned()]).expect("a certificate").cert.pem().into_bytes()
    }

    #[test]
    fn certificates_are_read_once_while_they_are_in_use() {
        let provider = Arc::new(crypto::ring::default_provider());
        let (one, other) = (pem(), pem());
        let get = |extra: &[u8]| verifier(Some(extra), &provider).expect("certificates");
        let first = get(&one);
        assert!(Arc::ptr_eq(&first, &get(&one)));
        assert!(!Arc::ptr_eq(&first, &get(&other)), "other certificates need another verifier");
        let gone = Arc::downgrade(&first);
        drop(first);
        assert!(gone.upgrade().is_none(), "an unused verifier is dropped");
        get(&one);
    }

    #[test]
    fn invalid_certificates_are_refused() {
        for (case, extra) in
            [("nothing", &b""[..]), ("no PEM", b"certificate"), ("cut", b"-----BEGIN CERTIFICATE-----\nAAAA")]
        {
            assert!(matches!(tls(Some(extra)), Err(BuildError::ExtraCa)), "{case}");
        }
    }
}
