//! Certificates: those of the platform and the extra ones, nothing else.

use clock::Clock;
use connect_api::api::{ConnectApi, Selector};
use connect_api::error::Failure;
use connect_api::http::{BuildError, HttpConnect};
use tokio::net::TcpListener;

use super::remote::{Remote, deployment, json_answer, later, settings, token};
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

pub(super) fn tls_client(remote: &Remote, extra_ca_pem: Option<Vec<u8>>) -> Result<HttpConnect, BuildError> {
    let url = format!("https://{}", remote.address);
    let mut settings = settings(&url, &url);
    settings.extra_ca_pem = extra_ca_pem;
    HttpConnect::new(settings, Clock::system())
}

#[tokio::test]
async fn a_certificate_is_trusted_only_if_it_was_given() {
    let (remote, pem) = tls_remote().await;
    let id = Selector::Id("42".to_owned());

    let trusting = tls_client(&remote, Some(pem)).expect("a client");
    assert!(trusting.deployment(&id).await.expect("a trusted server").is_some());

    let (_, other) = tls_remote().await;
    let seen = remote.tokens().len();
    let distrusting = tls_client(&remote, Some(other)).expect("a client");
    let error = distrusting.deployment(&id).await.expect_err("an unknown certificate");
    assert_eq!(error.failure, Failure::NotSent);
    assert!(error.message.contains("certificate"), "{error}");
    assert_eq!(remote.tokens().len(), seen, "nothing was sent to it");
}

#[tokio::test]
async fn invalid_extra_certificates_are_refused() {
    let remote = Remote::on(([127, 0, 0, 1], 1).into());
    for (case, pem) in [("empty", ""), ("text", "not a certificate")] {
        let error = tls_client(&remote, Some(pem.into())).expect_err(case);
        assert!(matches!(error, BuildError::ExtraCa), "{case}: {error}");
    }
}
