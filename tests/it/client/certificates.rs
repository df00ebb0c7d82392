//! What a server must present before the client sends anything: a certificate for its name, within its validity, from a
//! trusted authority, over TLS 1.2 or 1.3.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
use tokio::io::AsyncReadExt as _;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;

use super::remote::{Remote, settings};
use super::tls::{authorities, tls_client};
use crate::prelude::*;

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority() -> Authority {
    let mut params = CertificateParams::new(Vec::new()).expect("no names");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("an authority")
}

/// Starts a server on 127.0.0.1 with this certificate; it counts the bytes that clients send.
async fn server(issuer: &Authority, params: CertificateParams) -> (SocketAddr, Arc<std::sync::atomic::AtomicUsize>) {
    let key = KeyPair::generate().expect("a key");
    let certificate = params.signed_by(&key, issuer).expect("a certificate");
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("TLS 1.2 and 1.3")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key.serialize_der().try_into().expect("a key"))
        .expect("certificate and key belong together");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("the listener is bound");
    let said = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = Arc::clone(&said);
    let acceptor = TlsAcceptor::from(Arc::new(config));
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            if let Ok(mut connection) = acceptor.accept(connection).await {
                let heard = connection.read(&mut [0; 4096]).await.unwrap_or_default();
                count.fetch_add(heard, std::sync::atomic::Ordering::SeqCst);
            }
        }
    });
    (address, said)
}

fn named(name: &str) -> CertificateParams {
    CertificateParams::new([name.to_owned()]).expect("a name")
}

#[tokio::test]
async fn nothing_is_sent_to_a_server_with_an_invalid_certificate() {
    let (ours, other) = (authority(), authority());
    let (_file, trusted) = authorities(ours.pem().as_bytes());
    let trusted = trusted.expect("certificates");
    let expired = |mut params: CertificateParams| {
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2020, 2, 1);
        params
    };
    let later = |mut params: CertificateParams| {
        params.not_before = date_time_ymd(2200, 1, 1);
        params.not_after = date_time_ymd(2200, 2, 1);
        params
    };
    for (case, issuer, params, good) in [
        ("for this address, of a trusted authority", &ours, named("127.0.0.1"), true),
        ("for another address", &ours, named("127.0.0.2"), false),
        ("for a name", &ours, named("connect.commercetools.com"), false),
        ("expired", &ours, expired(named("127.0.0.1")), false),
        ("not valid yet", &ours, later(named("127.0.0.1")), false),
        ("of an unknown authority", &other, named("127.0.0.1"), false),
    ] {
        let (address, said) = server(issuer, params).await;
        let client = tls_client(&Remote::on(address), &trusted);
        let error = client.deployment(&Selector::Id("42".to_owned())).await.expect_err("the server never answers");
        assert_eq!(error.failure, Failure::NotSent, "{case}");
        let said = said.load(std::sync::atomic::Ordering::SeqCst);
        assert_eq!(said > 0, good, "{case}: {said} bytes were sent; {error}");
        assert_eq!(error.message.contains("certificate"), !good, "{case}: {error}");
    }
}

/// Returns the protocol versions that a `ClientHello` offers (RFC 8446 section 4.2.1), from its extension 43.
fn offered(hello: &[u8]) -> Vec<u16> {
    let number =
        |at: usize, length: usize| hello[at..at + length].iter().fold(0, |all, byte| all << 8 | usize::from(*byte));
    // Skips record header, handshake header, version and random; then session id, cipher suites and compression.
    let mut at = 5 + 4 + 2 + 32;
    at += 1 + number(at, 1);
    at += 2 + number(at, 2);
    at += 1 + number(at, 1);
    let end = at + 2 + number(at, 2);
    at += 2;
    while at < end {
        let (kind, length) = (number(at, 2), number(at + 2, 2));
        if kind == 43 {
            let list = &hello[at + 5..at + 4 + length];
            return list.chunks(2).map(|version| u16::from_be_bytes([version[0], version[1]])).collect();
        }
        at += 4 + length;
    }
    Vec::new()
}

#[tokio::test]
async fn only_tls_1_2_and_1_3_are_offered() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("https://{}", listener.local_addr().expect("the listener is bound"));
    let hello = tokio::spawn(async move {
        let (mut connection, _) = listener.accept().await.expect("a client");
        let mut header = [0; 5];
        connection.read_exact(&mut header).await.expect("a record");
        let mut hello = vec![0; usize::from(u16::from_be_bytes([header[3], header[4]]))];
        connection.read_exact(&mut hello).await.expect("a whole record");
        [header.to_vec(), hello].concat()
    });
    let mut settings = settings(&url, &url);
    let (_file, trusted) = authorities(authority().pem().as_bytes());
    settings.authorities = trusted.expect("certificates");
    let client = HttpConnect::new(settings, ClientContext::plain(Clock::system())).expect("a client");
    let error = client.deployment(&Selector::Id("42".to_owned())).await.expect_err("nobody answers");
    assert_eq!(error.failure, Failure::NotSent);
    assert_eq!(offered(&hello.await.expect("the server task ends")), [0x0304, 0x0303]);
}
