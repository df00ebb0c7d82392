//! Certificates: those of the platform and the extra ones, nothing else.

use connect_api::http::BuildError;
use tempfile::NamedTempFile;

use super::remote::{Remote, deployment, json_answer, later, settings, token};
use crate::prelude::*;
use crate::tls_listener::{self, TlsListener};

/// Starts a server with a self-signed certificate for 127.0.0.1; returns it and the certificate in PEM. It offers
/// HTTP/2.
pub(super) async fn tls_remote() -> (Remote, Vec<u8>) {
    let (acceptor, pem) = tls_listener::acceptor(&[b"h2", b"http/1.1"]);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let remote = Remote::on(listener.local_addr().expect("bound"));
    let router = remote.router(later(|_| json_answer(200, &deployment("42"))), later(|seen| token(seen.before + 1)));
    let listener = TlsListener { listener, acceptor };
    tokio::spawn(async move { axum::serve(listener, router).await });
    (remote, pem.into_bytes())
}

/// Writes these certificates into a file; returns it and the authorities of the file.
pub(super) fn authorities(pem: &[u8]) -> (NamedTempFile, Result<Authorities, BuildError>) {
    let file = NamedTempFile::new().expect("a temporary file");
    std::fs::write(file.path(), pem).expect("it can be written");
    let authorities = Authorities::with(Some(file.path()));
    (file, authorities)
}

pub(super) fn tls_client(remote: &Remote, authorities: &Authorities) -> HttpConnect {
    let url = format!("https://{}", remote.address);
    let mut settings = settings(&url, &url);
    settings.authorities = authorities.clone();
    HttpConnect::new(settings, ClientContext::plain(Clock::system())).expect("a client")
}

#[tokio::test]
async fn a_certificate_is_trusted_only_if_it_was_given() {
    let (remote, pem) = tls_remote().await;
    let id = Selector::Id("42".to_owned());

    let (_file, authorities_of_it) = authorities(&pem);
    let trusting = tls_client(&remote, &authorities_of_it.expect("certificates"));
    assert!(trusting.deployment(&id).await.expect("a trusted server").is_some());

    let (_, other) = tls_remote().await;
    let seen = remote.tokens().len();
    let (_other_file, authorities_of_other) = authorities(&other);
    let distrusting = tls_client(&remote, &authorities_of_other.expect("certificates"));
    let error = distrusting.deployment(&id).await.expect_err("an unknown certificate");
    assert_eq!(error.failure, Failure::NotSent);
    assert!(error.message.contains("certificate"), "{error}");
    assert_eq!(remote.tokens().len(), seen, "nothing was sent to it");
}

#[test]
fn invalid_extra_certificates_are_refused() {
    for (case, pem) in
        [("empty", &b""[..]), ("text", b"not a certificate"), ("cut", b"-----BEGIN CERTIFICATE-----\nAAAA")]
    {
        let (file, refused) = authorities(pem);
        let message = refused.expect_err(case).to_string();
        assert!(message.contains(&file.path().display().to_string()), "{case}: {message}");
    }
    let missing = Authorities::with(Some("/nowhere/ca.crt".as_ref())).expect_err("there is no such file").to_string();
    assert!(missing.contains("/nowhere/ca.crt"), "{missing}");
}
