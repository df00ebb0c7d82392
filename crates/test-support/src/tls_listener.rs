//! A TLS server for tests: a self-signed certificate for 127.0.0.1, and axum behind it.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::server::TlsStream;

/// Accepts only connections whose handshake succeeds.
pub struct TlsListener {
    /// Where connections arrive.
    pub listener: TcpListener,
    /// Does the handshakes.
    pub acceptor: TlsAcceptor,
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

/// Returns an acceptor with a new self-signed certificate for 127.0.0.1 and these protocols, and the certificate in
/// PEM.
///
/// # Panics
/// If no certificate can be generated.
#[must_use]
pub fn acceptor(protocols: &[&[u8]]) -> (TlsAcceptor, String) {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate");
    let key = signing_key.serialize_der().try_into().expect("a key");
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("TLS 1.2 and 1.3")
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .expect("certificate and key belong together");
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    (TlsAcceptor::from(Arc::new(config)), cert.pem())
}
