//! The HTTP endpoints of the process: `/metrics`, `/livez` and `/readyz`.
//!
//! Each request has its own connection, which ends after [`LONGEST`] whatever the client does, and the number of open
//! connections is limited, so neither slow clients nor many clients block this server or the controllers. No handler
//! waits for anything. Next: `health.rs` for the probes, `metrics/` for the metrics.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures::stream::{self, StreamExt as _};
use http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderMap, StatusCode};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustix::io::Errno;
use rustix::net::sockopt::set_ipv6_v6only;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinSet;

use super::health::{Health, Report};
use crate::metrics::Metrics;

/// Maximum life of a connection, from its start to the end of the response.
const LONGEST: Duration = Duration::from_secs(10);
/// Maximum time from the start of a connection to the end of the head of its request. Who sends nothing must not hold the
/// places that a probe needs.
const LONGEST_HEAD: Duration = Duration::from_secs(2);
/// Maximum open connections of one listener; further clients wait.
const CONNECTIONS: usize = 64;
/// Pause after a connection could not be accepted, for example because the process has no file descriptors left.
const ACCEPT_AGAIN: Duration = Duration::from_secs(1);
/// Connections that the system completes before they are accepted: the usual value of other servers.
const BACKLOG: u32 = 1024;

const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The addresses to listen on. If both are the same, one listener serves all paths.
#[derive(Clone, Copy, Debug, Default)]
pub struct Addresses {
    /// `/metrics`; `None`: not served.
    pub metrics: Option<SocketAddr>,
    /// `/livez` and `/readyz`; `None`: not served.
    pub health: Option<SocketAddr>,
}

/// Running listeners. Dropping it stops them.
#[derive(Debug)]
pub struct Listening {
    /// The bound addresses, in ascending order of the requested ones.
    pub addresses: Vec<SocketAddr>,
    tasks: JoinSet<()>,
}

/// Listens on the addresses and serves their paths in the background, in the runtime that it is called in.
///
/// # Errors
/// If an address cannot be listened on.
pub fn listen(addresses: Addresses, metrics: &Arc<Metrics>, health: &Arc<Health>) -> Result<Listening, String> {
    let mut routers: BTreeMap<SocketAddr, (&'static str, Router)> = BTreeMap::new();
    if let Some(address) = addresses.metrics {
        let router = Router::new().route("/metrics", get(scrape)).with_state(Arc::clone(metrics));
        routers.insert(of_both_families(address), ("--metrics-listen", router));
    }
    if let Some(address) = addresses.health {
        let probes = Router::new()
            .route("/livez", get(async || "ok"))
            .route("/readyz", get(async |State(health): State<Arc<Health>>| answer(health.readyz())))
            .with_state(Arc::clone(health));
        let (_, router) =
            routers.entry(of_both_families(address)).or_insert_with(|| ("--health-listen", Router::new()));
        *router = std::mem::take(router).merge(probes);
    }
    let mut listening = Listening { addresses: Vec::new(), tasks: JoinSet::new() };
    for (address, (flag, router)) in routers {
        let remedy = "choose another address, or stop the process that listens there";
        let failed = |error: io::Error| format!("{flag} {address}: {error}: {remedy}");
        let listener = bind(address).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        tracing::info!(%address, flag, "listening");
        listening.addresses.push(address);
        listening.tasks.spawn(serve(listener, router));
    }
    Ok(listening)
}

/// Listens on an address; on `[::]` and `0.0.0.0` on all addresses of this machine, of IPv6 and of IPv4, and where IPv6
/// is switched off on those of IPv4.
///
/// # Errors
/// If the address cannot be listened on.
pub(in crate::cli) fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let address = of_both_families(address);
    match open(address) {
        Err(error) if address.ip().is_unspecified() && is_without_ipv6(&error) => {
            tracing::info!(%address, %error, "IPv6 is switched off, so this listens on addresses of IPv4 only");
            open((Ipv4Addr::UNSPECIFIED, address.port()).into())
        }
        opened => opened,
    }
}

fn is_without_ipv6(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::AFNOSUPPORT | Errno::ADDRNOTAVAIL))
}

fn open(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv6() { TcpSocket::new_v6()? } else { TcpSocket::new_v4()? };
    socket.set_reuseaddr(true)?;
    if address.is_ipv6() && address.ip().is_unspecified() {
        // Otherwise `net.ipv6.bindv6only` decides whether connections over IPv4 arrive.
        set_ipv6_v6only(&socket, false)?;
    }
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Returns `[::]` for `0.0.0.0`: who asks for all addresses means those of the other family, too.
fn of_both_families(address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() { (Ipv6Addr::UNSPECIFIED, address.port()).into() } else { address }
}

async fn serve(listener: TcpListener, router: Router) {
    let accepted = stream::unfold(listener, async |listener| {
        let accepted = listener.accept().await;
        if let Err(error) = &accepted {
            tracing::debug!(%error, "a connection could not be accepted");
            tokio::time::sleep(ACCEPT_AGAIN).await;
        }
        Some((accepted, listener))
    });
    let connections = accepted.filter_map(async |accepted| accepted.ok());
    let served = |(stream, _)| {
        // A task of its own, so that a panic ends one connection only.
        let connection = tokio::spawn(connection(stream, router.clone()));
        async move { drop(connection.await) }
    };
    connections.for_each_concurrent(CONNECTIONS, served).await;
}

/// Serves one request. Errors are ignored: they concern only the client, which observes them.
async fn connection(stream: TcpStream, router: Router) {
    let service = TowerToHyperService::new(router);
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(LONGEST_HEAD).keep_alive(false);
    let answered = server.serve_connection(TokioIo::new(stream), service);
    let _ = tokio::time::timeout(LONGEST, answered).await;
}

async fn scrape(State(metrics): State<Arc<Metrics>>, headers: HeaderMap) -> Response {
    let asked = headers.get(ACCEPT).and_then(|asked| asked.to_str().ok()).unwrap_or_default();
    let form = if asked.contains("application/openmetrics-text") { OPENMETRICS } else { PROMETHEUS };
    ([(CONTENT_TYPE, form)], metrics.encode()).into_response()
}

fn answer(report: Report) -> Response {
    let status = if report.passed { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let headers = [(CONTENT_TYPE, "text/plain; charset=utf-8"), (CACHE_CONTROL, "no-store")];
    (status, headers, report.text).into_response()
}
