//! A DNS server that answers only one of two questions, as some home routers and company resolvers do. The system asks the
//! server of `/etc/resolv.conf`, so this test runs in a network and a mount namespace of its own: this test program once
//! more, which then runs only [`in_its_own_network`].

use tokio::net::UdpSocket;
use tokio::process::Command;

use super::remote::{Remote, allowed, deployment, json_answer, later, token};
use crate::prelude::*;

/// Names the type of records for which the DNS server has an answer.
const ANSWERED: &str = "CONNECT_OPERATOR_TEST_DNS";

/// Answers questions for these records (RFC 1035 section 4) with 127.0.0.1 or `::1`, and never any other.
async fn serve(socket: UdpSocket, answered: u16) {
    let mut query = [0; 512];
    loop {
        let (length, client) = socket.recv_from(&mut query).await.expect("a question");
        let question = query[12..length].iter().position(|byte| *byte == 0).expect("the name ends") + 12 + 5;
        let kind = u16::from_be_bytes([query[question - 4], query[question - 3]]);
        if kind != answered {
            continue;
        }
        let address: &[u8] =
            if kind == 1 { &[127, 0, 0, 1] } else { &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1] };
        // Without the options that may follow the question.
        let mut answer = [&query[..2], &[0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0], &query[12..question]].concat();
        answer.extend([0xc0, 12]);
        answer.extend([kind.to_be_bytes(), [0, 1], [0, 0], [0, 60]].concat());
        answer.extend(u16::try_from(address.len()).expect("short").to_be_bytes());
        answer.extend(address);
        socket.send_to(&answer, client).await.expect("it is sent");
    }
}

#[tokio::test]
async fn in_its_own_network() {
    let Ok(kind) = std::env::var(ANSWERED) else { return };
    let socket = UdpSocket::bind("127.0.0.1:53").await.expect("nobody else is in this network");
    let (number, listen) = if kind == "A" { (1, "127.0.0.1:0") } else { (28, "[::1]:0") };
    tokio::spawn(serve(socket, number));
    let listener = TcpListener::bind(listen).await.expect("a free port");
    let remote = Remote::on(listener.local_addr().expect("it is bound"));
    let router = remote.router(later(|_| json_answer(200, &deployment("42"))), later(|seen| token(seen.before + 1)));
    tokio::spawn(async move { axum::serve(listener, router).await });
    let url = format!("http://connect.example.test:{}", remote.address.port());
    let client = allowed(&["http://connect.example.test:*"], &url);
    let found = client.deployment(&Selector::Id("42".to_owned())).await;
    assert!(found.expect("the server is reached").is_some());
}

#[tokio::test]
async fn a_dns_server_that_answers_for_one_family_only_delays_no_connection() {
    let program = std::env::current_exe().expect("a test is a program");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let resolver = folder.path().join("resolv.conf");
    std::fs::write(&resolver, "nameserver 127.0.0.1\n").expect("it can be written");
    // `nsswitch.conf` of this machine may name services that answer first.
    let names = folder.path().join("nsswitch.conf");
    std::fs::write(&names, "hosts: files dns\n").expect("it can be written");
    let script = format!(
        "ip link set lo up && mount --bind {} /etc/resolv.conf && {{ [ ! -e /etc/nsswitch.conf ] || mount --bind {} \
         /etc/nsswitch.conf; }} && exec \"$@\"",
        resolver.display(),
        names.display(),
    );
    let tried = Command::new("unshare").args(["--net", "--mount", "--map-root-user", "ip", "link"]).output().await;
    if !tried.is_ok_and(|tried| tried.status.success()) {
        eprintln!(
            "NOT TRIED: a DNS server that answers for one family. It needs namespaces, and the programs unshare and ip"
        );
        return;
    }
    for kind in ["A", "AAAA"] {
        let mut command = Command::new("unshare");
        command.args(["--net", "--mount", "--map-root-user", "sh", "-c", &script, "sh"]).arg(&program);
        command.args(["--exact", "client::dns::in_its_own_network"]).env(ANSWERED, kind).stdin(Stdio::null());
        let output = command.output().await.expect("unshare is part of every Linux system");
        let text = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        assert!(output.status.success(), "{kind}: {text}");
    }
}
