//! Which certificates servers are trusted by: those of the system, and those that the operator was given.
//!
//! They are read once for all clients that trust the same ones, and kept for as long as one of these exists: on their own they would
//! be the largest part of a client. Nothing else is shared between clients, neither connections nor TLS sessions.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use rustls::client::Resumption;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, crypto};
use rustls_platform_verifier::Verifier;

use super::settings::BuildError;

/// TLS sessions that a client remembers: 8 for each host, of which it calls two.
const SESSIONS: usize = 16;

/// The verifiers in use.
static IN_USE: Mutex<Vec<Known>> = Mutex::new(Vec::new());

/// A verifier, and the extra certificates in PEM that it trusts.
type Known = (Option<Vec<u8>>, Weak<Verifier>);

/// The TLS of one client. `extra`: certificates in PEM that are trusted beside those of the system.
///
/// # Errors
/// When there are no certificates, or the extra ones cannot be read.
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
    // A panic elsewhere leaves at worst a verifier that is made again.
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

/// The extra certificates, of which there is at least one if there is a file of them.
///
/// # Errors
/// When they cannot be read.
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
        assert!(!Arc::ptr_eq(&first, &get(&other)), "who trusts others");
        let gone = Arc::downgrade(&first);
        drop(first);
        assert!(gone.upgrade().is_none(), "nothing is kept that nobody uses");
        get(&one);
    }

    #[test]
    fn what_is_no_certificate_is_refused() {
        for (case, extra) in
            [("nothing", &b""[..]), ("no PEM", b"certificate"), ("cut", b"-----BEGIN CERTIFICATE-----\nAAAA")]
        {
            assert!(matches!(tls(Some(extra)), Err(BuildError::ExtraCa)), "{case}");
        }
    }
}
