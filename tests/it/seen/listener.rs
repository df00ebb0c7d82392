//! The listener, over real HTTP: what it answers, and that no client can block it.

use connect_operator::cli::run::health::{Health, Stage};
use connect_operator::cli::run::listen::{Addresses, Listening, listen};
use connect_operator::metrics::Metrics;
use connect_operator::operator::cluster::initial_lists::{InitialLists, List};
use connect_operator::operator::object_ref::Kind;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::prelude::*;

struct Bench {
    lists: Arc<InitialLists>,
    metrics: Arc<Metrics>,
    health: Arc<Health>,
}

impl Bench {
    fn new() -> Self {
        let metrics = Metrics::new(Timestamp::UNIX_EPOCH);
        let lists = InitialLists::new(Arc::clone(&metrics));
        let health = Health::new(Arc::clone(&metrics), Arc::clone(&lists));
        Self { lists, metrics, health }
    }

    fn listen(&self, addresses: Addresses) -> Listening {
        listen(addresses, &self.metrics, &self.health).expect("a free port")
    }
}

#[allow(clippy::unnecessary_wraps, reason = "the type of both addresses")]
fn any() -> Option<SocketAddr> {
    Some(SocketAddr::from(([127, 0, 0, 1], 0)))
}

async fn send(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).await.expect("the listener accepts");
    stream.write_all(format!("{request}\r\nHost: localhost\r\n\r\n").as_bytes()).await.expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("it answers, and closes the connection");
    answer
}

#[tokio::test]
async fn each_address_serves_what_belongs_there_and_nothing_else() {
    let bench = Bench::new();
    let metrics = bench.listen(Addresses { metrics: any(), health: None }).addresses[0];
    let closed = TcpStream::connect(metrics).await;
    assert!(closed.is_err(), "the listener ends with its owner");
    let both = bench.listen(Addresses { metrics: any(), health: any() });
    let (only_metrics, only_health) = (
        bench.listen(Addresses { metrics: any(), health: None }),
        bench.listen(Addresses { metrics: None, health: any() }),
    );
    assert!(bench.listen(Addresses::default()).addresses.is_empty());
    for (listening, path, expected) in [
        (&both, "/metrics", "200 OK"),
        (&both, "/livez", "200 OK"),
        (&both, "/readyz", "503 Service Unavailable"),
        (&both, "/", "404 Not Found"),
        (&both, "/metrics/", "404 Not Found"),
        (&only_metrics, "/metrics", "200 OK"),
        (&only_metrics, "/livez", "404 Not Found"),
        (&only_health, "/livez", "200 OK"),
        (&only_health, "/metrics", "404 Not Found"),
    ] {
        let [address] = listening.addresses[..] else { panic!("one listener: {listening:?}") };
        let answer = send(address, &format!("GET {path} HTTP/1.1")).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {expected}\r\n")), "{path}: {answer}");
    }
    let address = both.addresses[0];
    let head = send(address, "HEAD /metrics HTTP/1.1").await;
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.ends_with("\r\n\r\n"), "no body: {head}");
    for method in ["POST", "PUT", "DELETE"] {
        let refused = send(address, &format!("{method} /metrics HTTP/1.1")).await;
        assert!(refused.starts_with("HTTP/1.1 405 ") && refused.contains("allow: GET,HEAD"), "{refused}");
    }
}

#[tokio::test]
async fn metrics_come_in_the_format_that_is_asked_for() {
    let bench = Bench::new();
    let listening = bench.listen(Addresses { metrics: any(), health: None });
    let prometheus = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,\
                      text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
    for (accept, expected) in [
        (prometheus, "application/openmetrics-text; version=1.0.0; charset=utf-8"),
        ("text/plain", "text/plain; version=0.0.4; charset=utf-8"),
        ("*/*", "text/plain; version=0.0.4; charset=utf-8"),
    ] {
        let answer = send(listening.addresses[0], &format!("GET /metrics HTTP/1.1\r\nAccept: {accept}")).await;
        assert!(answer.contains(&format!("content-type: {expected}\r\n")), "{accept}: {answer}");
        assert!(answer.contains("\nconnect_operator_leader 0\n") && answer.ends_with("# EOF\n"), "{answer}");
    }
}

#[tokio::test]
async fn probes_name_each_check() {
    let bench = Bench::new();
    let listening = bench.listen(Addresses { metrics: None, health: any() });
    let get = async |path: &str| {
        let answer = send(listening.addresses[0], &format!("GET {path} HTTP/1.1")).await;
        let status = answer[9..12].to_owned();
        (status, answer.split_once("\r\n\r\n").expect("a body").1.to_owned())
    };
    let leader = || bench.metrics.encode().contains("\nconnect_operator_leader 1\n");
    let condition = |status: &str, text: &str| (status.to_owned(), text.to_owned());
    let waits = "[+]ping ok\n[-]crds failed: the CRDs of this version are not served yet\nreadyz check failed\n";
    assert_eq!(get("/readyz").await, condition("503", waits));
    assert_eq!(get("/livez").await, condition("200", "ok"));

    bench.health.set_stage(Stage::StandsBy);
    let standby = "[+]ping ok\n[+]crds ok\nreadyz check passed\n";
    assert_eq!((get("/readyz").await, leader()), (condition("200", standby), false));

    let without_key = "[+]ping ok\n[+]crds ok\n\
                       [-]digest-key failed: its Secret cannot be read or created yet: the log says why\nreadyz check failed\n";
    bench.health.set_stage(Stage::AwaitsDigestKey);
    assert_eq!((get("/readyz").await, leader()), (condition("503", without_key), false));
    bench.health.set_stage(Stage::Leads);
    let new = "[+]ping ok\n[+]crds ok\n[-]first-lists failed: the controllers have not started\nreadyz check failed\n";
    assert_eq!((get("/readyz").await, leader()), (condition("503", new), true));
    let list = |namespace: &str| List { kind: Kind::Deployment.as_str(), namespace: Some(namespace.to_owned()) };
    for list in [list("shop"), list("yard")] {
        bench.lists.awaits(list);
    }
    let lists = "[+]ping ok\n[+]crds ok\n[-]first-lists failed: 2 lists are not complete\nreadyz check failed\n";
    assert_eq!(get("/readyz").await, condition("503", lists));
    bench.lists.listed(&list("shop"));
    bench.lists.refused(&list("yard"));
    let in_part = "[+]ping ok\n[+]crds ok\n[+]first-lists ok\n\
                   [!]first-lists: the API server refuses to list ConnectorDeployment in namespace yard\n\
                   readyz check passed\n";
    assert_eq!(get("/readyz").await, condition("200", in_part));
    bench.lists.listed(&list("yard"));
    let ready = "[+]ping ok\n[+]crds ok\n[+]first-lists ok\nreadyz check passed\n";
    assert_eq!(get("/readyz").await, condition("200", ready));
}

#[tokio::test]
async fn an_address_in_use_is_reported_with_its_flag() {
    let bench = Bench::new();
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = taken.local_addr().ok();
    for (addresses, flag) in [
        (Addresses { metrics: address, health: None }, "--metrics-listen"),
        (Addresses { metrics: None, health: address }, "--health-listen"),
    ] {
        let error = listen(addresses, &bench.metrics, &bench.health).expect_err("it is in use");
        assert!(error.starts_with(&format!("{flag} {}: Address already in use", address.unwrap())), "{error}");
    }
}

/// Slow clients occupy every connection; their connections end, and the next request is answered.
#[tokio::test]
async fn slow_clients_do_not_block_others_for_long() {
    let bench = Bench::new();
    let listening = bench.listen(Addresses { metrics: None, health: any() });
    let address = listening.addresses[0];
    let mut slow = Vec::new();
    for number in 0..64 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let beginning = if number % 2 == 0 { "GET /livez HTTP/1.1\r\nHost: loc" } else { "" };
        stream.write_all(beginning.as_bytes()).await.unwrap();
        slow.push(stream);
    }
    let answer = in_time(send(address, "GET /livez HTTP/1.1")).await.expect("a place becomes free");
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    for mut stream in slow {
        let mut rest = Vec::new();
        let closed = in_time(stream.read_to_end(&mut rest)).await;
        assert!(closed.is_ok(), "a slow client still has its connection");
    }
}
