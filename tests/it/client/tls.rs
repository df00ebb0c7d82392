//! Certificates: those of the platform and the extra ones, nothing else.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use connect_operator::clock::Clock;
use connect_operator::connect::api::{ConnectApi, Selector};
use connect_operator::connect::error::Failure;
use connect_operator::connect::http::{BuildError, HttpConnect};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::server::TlsStream;

use super::remote::{Remote, deployment, json_answer, later, settings, token};

/// Accepts only connections whose handshake succeeds.
struct TlsListener {
    listener: TcpListener,
    acceptor: TlsAcceptor,
}

impl axum::serve::Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let Ok((connection, address)) = self.listener.accept().await else { continue };
            if let Ok(connection) = self.acceptor.accept(connection).await {
                return (connection, address);
            }
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}

/// A server with a certificate for 127.0.0.1 that nobody else signed, and that certificate in PEM. It offers HTTP/2.
pub(super) async fn tls_remote() -> (Remote, Vec<u8>) {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate");
    let key = signing_key.serialize_der().try_into().expect("a key");
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("TLS 1.2 and 1.3")
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .expect("certificate and key belong together");
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let remote = Remote::on(listener.local_addr().expect("bound"));
    let router = remote.router(later(|_| json_answer(200, &deployment("42"))), later(|seen| token(seen.before + 1)));
    let listener = TlsListener { listener, acceptor: TlsAcceptor::from(Arc::new(config)) };
    tokio::spawn(async move { axum::serve(listener, router).await });
    (remote, cert.pem().into_bytes())
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
    assert_eq!(remote.tokens().len(), seen, "nothing was said to it");
}

#[tokio::test]
async fn extra_certificates_that_are_none_are_refused() {
    let remote = Remote::on(([127, 0, 0, 1], 1).into());
    for (case, pem) in [("empty", ""), ("text", "not a certificate")] {
        let error = tls_client(&remote, Some(pem.into())).expect_err(case);
        assert!(matches!(error, BuildError::ExtraCa), "{case}: {error}");
    }
}
