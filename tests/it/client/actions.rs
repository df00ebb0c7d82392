//! Frontend actions over real HTTP: what is sent, what counts as an answer, and that nothing is sent twice.

use std::sync::atomic::{AtomicUsize, Ordering};

use connect_api::action::{Action, ActionRequest};
use connect_api::http::ActionClient;
use serde_json::value::{RawValue, to_raw_value};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::remote::{Remote, action, action_client, answer, endpoint, json_answer, no_hurry};
use crate::prelude::*;

fn body(body: &Value) -> Box<RawValue> {
    to_raw_value(body).expect("it is JSON")
}

const COOKIE: [(&str, &str); 1] = [("Cookie", "session=canary")];

fn writing() -> Action {
    action(ActionMethod::Post(body(&json!({"variant": {"sku": "A1", "count": 1}}))), &COOKIE)
}

fn client(url: &str) -> ActionClient {
    action_client(url, &Authorities::default(), ClientContext::plain(Clock::system()))
}

fn request(action: &Action, url: &str) -> ActionRequest {
    action.request(&Preset::SERVICE, &endpoint(url)).expect("the request is valid")
}

#[tokio::test]
async fn each_method_is_one_request_with_the_headers_of_its_preset() {
    let methods = [ActionMethod::Get, ActionMethod::Post(body(&json!({}))), ActionMethod::Put(body(&json!([1])))];
    for (preset, path, locale, version) in [
        (Preset::SERVICE, "/service/action", "service-locale", "service-frontend-extension-version"),
        (Preset::FRONTASTIC, "/frontastic/action", "frontastic-locale", "commercetools-frontend-extension-version"),
    ] {
        let remote = Remote::start(|_| json_answer(200, &json!({"cartId": "1"}))).await;
        let client = client(&remote.url());
        for method in methods.clone() {
            let request =
                action(method, &COOKIE).request(&preset, &endpoint(&remote.url())).expect("the request is valid");
            let answer = client.send(request, Some(no_hurry())).await.expect("an answer");
            assert_eq!(serde_json::from_slice::<Value>(&answer.body).ok(), Some(json!({"cartId": "1"})));
            assert_eq!((answer.status.as_u16(), answer.whole), (200, true));
            assert!(answer.duration > Duration::ZERO);
        }
        let seen = remote.seen();
        for (seen, (method, body)) in seen.iter().zip([("GET", ""), ("POST", "{}"), ("PUT", "[1]")]) {
            assert_eq!(seen.line, format!("{method} {path}/cart/addToCart?list%5B0%5D=a+b"));
            assert_eq!((seen.header(locale), seen.header(version)), ("en-GB", "1.4.0"));
            assert_eq!((seen.header("accept"), seen.header("cookie")), ("application/json", "session=canary"));
            assert_eq!(seen.header("content-type"), if body.is_empty() { "" } else { "application/json" });
            assert_eq!((seen.body.as_str(), seen.header("authorization")), (body, ""), "{method}");
        }
        assert!(seen.len() == 3 && remote.tokens().is_empty(), "no token is requested");
    }
}

/// Starts a server below HTTP that keeps its connections open, and counts connections and requests.
async fn silent() -> (SocketAddr, Arc<AtomicUsize>, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let (address, counts) = (listener.local_addr().expect("bound"), [(); 2].map(|()| Arc::new(AtomicUsize::new(0))));
    let [connections, requests] = counts.clone();
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            connections.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(serve(connection, Arc::clone(&requests)));
        }
    });
    let [connections, requests] = counts;
    (address, connections, requests)
}

async fn serve(mut connection: TcpStream, requests: Arc<AtomicUsize>) -> std::io::Result<()> {
    let mut request = [0; 16 << 10];
    while connection.read(&mut request).await? > 0 {
        requests.fetch_add(1, Ordering::SeqCst);
        connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_connection_is_never_used_again() {
    let (address, connections, requests) = silent().await;
    let url = format!("http://{address}");
    let client = client(&url);
    for _ in 0..3 {
        client.send(request(&writing(), &url), None).await.expect("an answer");
    }
    assert_eq!((connections.load(Ordering::SeqCst), requests.load(Ordering::SeqCst)), (3, 3));
}

#[tokio::test]
async fn a_request_that_cannot_be_sent_is_known_not_to_be_sent() {
    let (address, _socket) = crate::addresses::closed();
    let nobody = format!("http://{address}");
    let error = client(&nobody).send(request(&writing(), &nobody), Some(no_hurry())).await.expect_err("nobody listens");
    assert_eq!((error.failure.clone(), error.effect()), (Failure::NotSent, Effect::None), "{error}");
    let remote = Remote::start(|_| answer(200, "")).await;
    let client = client(&remote.url());
    for (case, made_for, send_before) in [
        ("too late", remote.url(), Timestamp::UNIX_EPOCH),
        ("made for another host", format!("http://localhost:{}", remote.address.port()), no_hurry()),
        ("made for another port", nobody, no_hurry()),
    ] {
        let error = client.send(request(&writing(), &made_for), Some(send_before)).await.expect_err(case);
        assert_eq!((error.failure.clone(), error.effect()), (Failure::NotSent, Effect::None), "{case}: {error}");
    }
    assert!(remote.seen().is_empty());
}
