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
use http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderMap, StatusCode};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustix::io::Errno;
use rustix::net::sockopt::set_ipv6_v6only;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::Semaphore;
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

/// Error for an address that cannot be listened on.
#[derive(Debug, thiserror::Error)]
#[error("{flag} {address}: {source}: choose another address, or stop the process that listens there")]
pub struct ListenError {
    flag: &'static str,
    address: SocketAddr,
    source: io::Error,
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
pub fn listen(addresses: Addresses, metrics: &Arc<Metrics>, health: &Arc<Health>) -> Result<Listening, ListenError> {
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
        let failed = |source| ListenError { flag, address, source };
        let listener = bind(address).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        tracing::info!(%address, flag, "listening");
        listening.addresses.push(address);
        listening.tasks.spawn(serve(listener, router.fallback(nothing)));
    }
    Ok(listening)
}

/// Listens on an address; on `[::]` and `0.0.0.0` on all addresses of this machine, of IPv6 and of IPv4, and where IPv6
/// is switched off on those of IPv4.
///
/// # Errors
/// If the address cannot be listened on.
pub(in crate::cli) fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    first_of(of_both_families(address), open)
}

/// Returns `[::]` for `0.0.0.0`: who asks for all addresses means those of the other family, too.
fn of_both_families(address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() { (Ipv6Addr::UNSPECIFIED, address.port()).into() } else { address }
}

/// Opens an address; `0.0.0.0` instead of `[::]` if the kernel has no IPv6.
fn first_of<T>(address: SocketAddr, open: impl Fn(SocketAddr) -> io::Result<T>) -> io::Result<T> {
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
    if address.ip().is_unspecified() && address.is_ipv6() {
        // Otherwise `net.ipv6.bindv6only` decides whether connections over IPv4 arrive.
        set_ipv6_v6only(&socket, false)?;
    }
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

async fn serve(listener: TcpListener, router: Router) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        // It cannot fail: nothing closes the semaphore.
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let router = router.clone();
                connections.spawn(async move {
                    connection(stream, router).await;
                    drop(place);
                });
            }
            Err(error) => {
                tracing::debug!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_AGAIN).await;
            }
        }
        // Removes the finished tasks from the set.
        while connections.try_join_next().is_some() {}
    }
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

async fn nothing() -> Response {
    (StatusCode::NOT_FOUND, "nothing is served here\n").into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ipv4_replaces_all_addresses_where_ipv6_is_switched_off_and_nothing_else() {
        let of = |errno: Errno| Some(io::Error::from(errno));
        for (case, asked, error, tried) in [
            ("no socket of IPv6", "[::]:8081", of(Errno::AFNOSUPPORT), &["[::]:8081", "0.0.0.0:8081"][..]),
            ("no address of IPv6", "0.0.0.0:8081", of(Errno::ADDRNOTAVAIL), &["[::]:8081", "0.0.0.0:8081"]),
            ("both families", "0.0.0.0:8081", None, &["[::]:8081"]),
            ("the port is taken", "[::]:8081", of(Errno::ADDRINUSE), &["[::]:8081"]),
            ("an address of others", "192.0.2.1:8081", of(Errno::ADDRNOTAVAIL), &["192.0.2.1:8081"]),
            ("one address of IPv6", "[::1]:8081", of(Errno::AFNOSUPPORT), &["[::1]:8081"]),
        ] {
            let opened = std::cell::RefCell::new(Vec::new());
            let answered = first_of(of_both_families(asked.parse().expect(asked)), |address| {
                opened.borrow_mut().push(address.to_string());
                error
                    .as_ref()
                    .filter(|_| address.is_ipv6() || tried.len() == 1)
                    .map_or(Ok(()), |error| Err(io::Error::from_raw_os_error(error.raw_os_error().unwrap_or_default())))
            });
            assert_eq!(opened.into_inner(), tried, "{case}");
            assert_eq!(answered.is_err(), error.is_some() && tried.len() == 1, "{case}");
        }
    }
}
