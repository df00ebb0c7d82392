//! Limits of time and size, and connections that break.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use clock::Clock;
use connect_api::api::{ConnectApi, PageRequest, Selector};
use connect_api::error::{ApiError, Effect, Failure};
use connect_api::http::{HttpConnect, Limits};
use futures::future::join_all;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::remote::{Remote, answer, draft, no_hurry, settings};
use crate::addresses;
use crate::patience::{brief, patience};

/// What a raw server does after it has read a request.
#[derive(Clone, Copy, Debug)]
enum Odd {
    /// Sends this and closes.
    Close(&'static str),
    /// Sends this and stays silent.
    Silent(&'static str),
    /// Sends this, then chunks of 64 KiB without end.
    Endless(&'static str),
    /// Sends this, then now and then a chunk of one byte.
    Trickling(&'static str),
}

/// Starts a server below HTTP; it counts the bytes of bodies that it could send.
async fn odd(odd: Odd) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let (address, sent) = (listener.local_addr().expect("bound"), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&sent);
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            tokio::spawn(serve(connection, odd, Arc::clone(&count)));
        }
    });
    (address, sent)
}

async fn serve(mut connection: TcpStream, odd: Odd, sent: Arc<AtomicUsize>) -> std::io::Result<()> {
    let mut request = [0; 16 << 10];
    let _ = connection.read(&mut request).await?;
    let (Odd::Close(start) | Odd::Silent(start) | Odd::Endless(start) | Odd::Trickling(start)) = odd;
    connection.write_all(start.as_bytes()).await?;
    match odd {
        Odd::Close(_) => connection.shutdown().await,
        // Ends when the client closes.
        Odd::Silent(_) => connection.read(&mut request).await.map(drop),
        Odd::Endless(_) => {
            let chunk = format!("10000\r\n{}\r\n", " ".repeat(0x10000));
            loop {
                connection.write_all(chunk.as_bytes()).await?;
                sent.fetch_add(chunk.len(), Ordering::Relaxed);
            }
        }
        Odd::Trickling(_) => {
            let mut pause = tokio::time::interval(Duration::from_millis(20));
            loop {
                pause.tick().await;
                connection.write_all(b"1\r\n \r\n").await?;
            }
        }
    }
}

/// Returns a client with a working token endpoint, whose API is at `api`.
async fn client(api: SocketAddr, limits: Limits) -> HttpConnect {
    let tokens = Remote::start(|_| answer(500, "")).await;
    let mut settings = settings(&format!("http://{api}"), &tokens.url());
    settings.limits = limits;
    HttpConnect::new(settings, Clock::system()).expect("a client")
}

async fn read(api: &HttpConnect) -> ApiError {
    api.deployment(&Selector::Id("42".to_owned())).await.expect_err("no deployment")
}

#[tokio::test]
async fn incomplete_answers_are_errors() {
    const OK: &str = "HTTP/1.1 200 OK\r\n";
    // Only the limit under test can be reached, however slow the machine is.
    let long = Limits { connect: patience(), call: patience(), silence: patience(), ..Limits::default() };
    let never_answered = Limits { call: brief(), ..long };
    let pauses = Limits { silence: brief(), ..long };
    let cases = [
        ("closed before an answer", Odd::Close(""), "the connection broke", long),
        ("closed within the head", Odd::Close("HTTP/1.1 200"), "the connection broke", long),
        ("not HTTP", Odd::Close("SSH-2.0-x\r\n\r\n"), "the connection broke", long),
        ("closed within the body", Odd::Close("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{"), "is incomplete", long),
        (
            "closed within a body of chunks",
            Odd::Close("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\n{"),
            "is incomplete",
            long,
        ),
        (
            "closed within an error",
            Odd::Close("HTTP/1.1 400 Bad\r\ncontent-length: 9\r\n\r\n{"),
            "status 400, but",
            long,
        ),
        ("no answer at all", Odd::Silent(""), "no answer within", never_answered),
        ("no end of the head", Odd::Silent(OK), "no answer within", never_answered),
        ("a body that pauses", Odd::Silent("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{"), "no data arrived", pauses),
        ("100 MB announced", Odd::Silent("HTTP/1.1 200 OK\r\ncontent-length: 104857600\r\n\r\n"), "more than", long),
        (
            "beyond every number",
            Odd::Silent("HTTP/1.1 200 OK\r\ncontent-length: 9223372036854775807\r\n\r\n"),
            "more than",
            long,
        ),
    ];
    join_all(cases.map(|(case, what, said, limits)| async move {
        let (address, _) = odd(what).await;
        let error = read(&client(address, limits).await).await;
        assert_eq!((error.failure.clone(), error.effect()), (Failure::NoAnswer, Effect::Unknown), "{case}: {error}");
        assert!(error.message.contains(said), "{case}: {error}");
        assert!(error.correlation_id.is_some(), "{case}");
    }))
    .await;
}

#[tokio::test]
async fn reading_an_endless_body_stops_at_the_limit() {
    let (address, sent) = odd(Odd::Endless("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")).await;
    let limits = Limits { body: 1 << 20, page_body: 2 << 20, ..Limits::default() };
    let api = client(address, limits).await;
    let error = read(&api).await;
    assert_eq!(
        (error.failure, error.message.as_str()),
        (Failure::NoAnswer, "status 200, but a body of more than 1048576 bytes")
    );
    let error = api.deployments(PageRequest { limit: 100, offset: 0 }).await.expect_err("too much");
    assert!(error.message.contains("2097152"), "{error}");
    // The buffers of both ends add to it.
    assert!(sent.load(Ordering::Relaxed) < 40 << 20, "{sent:?} bytes were taken");
}

#[tokio::test]
async fn reading_an_endless_error_stops_earlier() {
    let (address, _) = odd(Odd::Endless("HTTP/1.1 502 Bad\r\ntransfer-encoding: chunked\r\n\r\n")).await;
    let api = client(address, Limits { small_body: 1 << 16, ..Limits::default() }).await;
    let error = read(&api).await;
    assert_eq!(error.message, "status 502, but a body of more than 65536 bytes");
}

#[tokio::test]
async fn reading_a_slow_body_stops_at_the_time_limit_of_the_call() {
    let (address, _) = odd(Odd::Trickling("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")).await;
    let api = client(address, Limits { call: brief(), ..Limits::default() }).await;
    let error = read(&api).await;
    let said = format!("status 200, but the body was incomplete after {:?}", brief());
    assert_eq!((error.failure, error.message), (Failure::NoAnswer, said));
}

#[tokio::test]
async fn without_a_connection_nothing_was_sent() {
    let (closed, _socket) = addresses::closed();
    let api = client(closed, Limits::default()).await;
    let error = api.create(&draft("s"), no_hurry()).await.expect_err("nobody listens");
    assert_eq!((error.failure.clone(), error.effect()), (Failure::NotSent, Effect::None));
    assert!(error.message.starts_with("no connection: "), "{error}");
    assert_eq!(error.correlation_id, None);
}
