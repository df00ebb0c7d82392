//! The proxy of the environment, and what it learns. The environment belongs to a process, so each case is a process:
//! this test program once more, which then runs only [`in_a_process_with_a_proxy`].

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;

use super::remote::{CLIENT_SECRET, Remote, allowed, answer};
use crate::prelude::*;

/// Names the address that the process calls.
const CALL: &str = "CONNECT_OPERATOR_TEST_CALL";

#[tokio::test]
async fn in_a_process_with_a_proxy() {
    let Ok(url) = std::env::var(CALL) else { return };
    let client = allowed(&["*.commercetools.com", "http://127.0.0.1:*", "127.0.0.1:*"], &url);
    let _ = client.deployment(&Selector::Id("42".to_owned())).await;
}

/// Makes a process call `url` through the proxy at `proxy`, and waits for its end.
async fn call(url: &str, proxy: &str) {
    let program = std::env::current_exe().expect("a test is a program");
    let mut command = Command::new(program);
    command.args(["--exact", "client::proxy::in_a_process_with_a_proxy"]).env(CALL, url).env_remove("NO_PROXY");
    for name in ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY"] {
        command.env(name, proxy);
    }
    let status = command.env_remove("no_proxy").stdout(Stdio::null()).status().await.expect("the program runs");
    assert!(status.success(), "{status}");
}

#[tokio::test]
async fn a_proxy_learns_only_the_host_and_calls_of_this_machine_use_none() {
    let proxy = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = format!("http://{}", proxy.local_addr().expect("the listener is bound"));
    let heard = tokio::spawn(async move {
        let (mut connection, _) = proxy.accept().await.expect("the process connects");
        let mut request = vec![0; 4096];
        let length = connection.read(&mut request).await.expect("a request");
        let _ = connection.write_all(b"HTTP/1.1 502 no\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").await;
        String::from_utf8_lossy(&request[..length]).into_owned()
    });
    call("https://connect.commercetools.com", &address).await;
    let heard = heard.await.expect("the proxy was asked");
    assert!(heard.starts_with("CONNECT connect.commercetools.com:443 HTTP/1.1"), "{heard}");
    let headers = heard.to_lowercase();
    assert!(!headers.contains("authorization") && !headers.contains(CLIENT_SECRET), "{heard}");

    // By SOCKS the proxy learns no more than the name, and resolves it (`socks5h`).
    let proxy = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = format!("socks5h://{}", proxy.local_addr().expect("the listener is bound"));
    let heard = tokio::spawn(async move {
        let (mut connection, _) = proxy.accept().await.expect("the process connects");
        let mut greeting = [0; 3];
        connection.read_exact(&mut greeting).await.expect("a greeting");
        connection.write_all(&[5, 0]).await.expect("it listens");
        let mut request = vec![0; 4096];
        let length = connection.read(&mut request).await.expect("a request");
        (greeting, request[..length].to_vec())
    });
    call("https://connect.commercetools.com", &address).await;
    let (greeting, request) = heard.await.expect("the proxy was asked");
    assert_eq!(greeting, [5, 1, 0], "RFC 1928 section 3: without a user");
    let name = b"connect.commercetools.com";
    assert_eq!(request, [&[5, 1, 0, 3, 25][..], name, &443_u16.to_be_bytes()].concat(), "RFC 1928 section 4");

    // Nothing listens on port 1; a call through this proxy would not reach the remote.
    let remote = Remote::start(|_| answer(200, "")).await;
    call(&remote.url(), "http://127.0.0.1:1").await;
    assert_eq!(remote.tokens().len(), 1, "this machine is called without a proxy");
}
