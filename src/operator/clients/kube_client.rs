//! The client of the cluster, with time limits for every request, also when packets are lost silently.
//!
//! The library's own clients wait for an answer without a limit: a connection whose peer has disappeared silently would
//! block the reconcile that uses it, and a watch would receive no more events. They also open a connection for each
//! request that is under way and for each watch. Here requests share one connection, by HTTP/2, as those of kubectl do;
//! a gateway that speaks HTTP/1.1 only gets one for each.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use http::{Request, Response, Uri, Version};
use hyper::rt::{Read, Write};
use hyper_rustls::{FixedServerNameResolver, HttpsConnectorBuilder};
use hyper_timeout::TimeoutConnector;
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::legacy::connect::{Connection, HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::retry::RetryPolicy;
use kube::client::{Body, ConfigExt as _};
use kube::{Client, Config, Error};
use rustls::pki_types::ServerName;
use tower::retry::RetryLayer;
use tower::util::option_layer;
use tower::{BoxError, Layer as _, Service, ServiceExt as _};
use tracing::Instrument as _;

use super::cluster_access::Access;
use crate::operator::spans;

/// Watches of one namespace: of the managed kinds, and of Secrets and `ConfigMap`s.
const WATCHES_OF_A_NAMESPACE: usize = 6;
/// Watches that share a connection. The API server allows 100 requests at once on each, and further ones would wait until a
/// watch ends. Half of them, because watches that begin again are not spread evenly.
const WATCHES_OF_A_CONNECTION: usize = 50;

/// Limits of a client: real time, and connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Time until the head of an answer arrives, except for a watch. Default: 65 s; the API server itself gives up
    /// after 60 s (`--request-timeout` of kube-apiserver).
    pub answer: Duration,
    /// Time until the next part of any answer arrives on a connection. Default: 295 s, longer than a watch can be silent,
    /// because the API server is asked to end a watch before that.
    pub silence: Duration,
    /// Time without a sign of the API server after which it is asked for one, by a ping of HTTP/2; without an answer within half of it,
    /// the connection is closed. Default: 30 s.
    pub ping: Duration,
    /// Number of namespaces that are watched one by one, for which connections are provided. Default: 1.
    pub namespaces: usize,
    /// Whether a request is sent again that the API server is too busy for, as those of kubectl are. For commands: in the operator
    /// it would be a write that nothing was decided for, and a watch would begin as late as a `Retry-After` says. Default: no.
    pub repeats: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            answer: Duration::from_secs(65),
            silence: Duration::from_secs(295),
            ping: Duration::from_secs(30),
            namespaces: 1,
            repeats: false,
        }
    }
}

/// Creates a client of the cluster with these limits.
///
/// # Errors
/// When `access` is not usable: certificates or tokens that cannot be read, or a proxy of an unknown kind.
pub fn client(access: Access, limits: Limits) -> Result<Client, Error> {
    let Access { mut config, proxy } = access;
    config.read_timeout = Some(limits.silence);
    // The limit starts with a request.
    config.reset_reader_on_write = true;
    let namespace = config.default_namespace.clone();
    let mut http = HttpConnector::new();
    http.enforce_http(false);
    let inner = match proxy {
        None => layered(&config, http, limits)?,
        Some(proxy) => {
            let url = proxy.uri().clone();
            let authorization = proxy.basic_auth().cloned();
            match url.scheme_str() {
                Some("socks5" | "socks5h") => {
                    let mut socks = SocksV5::new(url, http);
                    if let Some((user, password)) = proxy.raw_auth() {
                        socks = socks.with_auth(user.to_owned(), password.to_owned());
                    }
                    layered(&config, socks, limits)?
                }
                Some("https") => {
                    let tunnel = Tunnel::new(url, config.rustls_https_connector_with_connector(http)?);
                    layered(&config, authorized(tunnel, authorization), limits)?
                }
                Some("http") => layered(&config, authorized(Tunnel::new(url, http), authorization), limits)?,
                _ => return Err(Error::ProxyProtocolUnsupported { proxy_url: Box::new(url) }),
            }
        }
    };
    let service = tower::service_fn(move |request: Request<Body>| {
        let inner = inner.clone();
        async move {
            if is_watch(&request) {
                return inner.send(request).await.map_err(BoxError::from);
            }
            let span = spans::cluster_request(request.method());
            let answer = tokio::time::timeout(limits.answer, inner.send(request)).instrument(span.clone()).await;
            let answer = match answer {
                Ok(answer) => answer.map_err(BoxError::from),
                // The reconcile is retried; a write may have happened.
                Err(_) => Err(format!("the API server did not answer within {:?}", limits.answer).into()),
            };
            spans::cluster_answered(&span, answer.as_ref().ok().map(Response::status));
            answer
        }
    });
    Ok(Client::new(service, namespace))
}

fn authorized<C>(tunnel: Tunnel<C>, authorization: Option<http::HeaderValue>) -> Tunnel<C> {
    match authorization {
        Some(authorization) => tunnel.with_auth(authorization),
        None => tunnel,
    }
}

/// Creates the client of the library, except for its connections, and that it logs nothing: each caller reports its errors.
fn layered<C>(config: &Config, connector: C, limits: Limits) -> Result<Client, Error>
where
    C: Service<Uri> + Clone + Send + Sync + 'static,
    C::Response: Connection + Read + Write + Send + Unpin + 'static,
    C::Future: Send + 'static,
    C::Error: Into<BoxError> + Send + Sync + 'static,
{
    let mut tls = HttpsConnectorBuilder::new().with_tls_config(config.rustls_client_config()?).https_or_http();
    if let Some(name) = &config.tls_server_name {
        let name = ServerName::try_from(name.clone()).map_err(|error| Error::Service(error.into()))?;
        tls = tls.with_server_name_resolver(FixedServerNameResolver::new(name));
    }
    let mut connector = TimeoutConnector::new(tls.enable_http1().enable_http2().wrap_connector(connector));
    connector.set_connect_timeout(config.connect_timeout);
    connector.set_read_timeout(config.read_timeout);
    connector.set_write_timeout(config.write_timeout);
    connector.set_reset_reader_on_write(config.reset_reader_on_write);
    let mut pool = legacy::Client::builder(TokioExecutor::new());
    pool.timer(TokioTimer::new()).pool_timer(TokioTimer::new());
    pool.http2_keep_alive_interval(limits.ping).http2_keep_alive_timeout(limits.ping / 2);
    let either = pool.build::<_, Body>(connector.clone());
    pool.http2_only(true);
    let connections = 1 + (limits.namespaces.max(1) * WATCHES_OF_A_NAMESPACE).div_ceil(WATCHES_OF_A_CONNECTION);
    let shared: Arc<[_]> = (0..connections).map(|_| pool.build::<_, Body>(connector.clone())).collect();
    let (next, speaks_http2) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let service = tower::service_fn(move |request: Request<Body>| {
        let speaks_http2 = Arc::clone(&speaks_http2);
        // A pool that does not know the protocol yet opens a connection for each request that waits for the first one.
        let sent = if !speaks_http2.load(Ordering::Relaxed) {
            either.request(request)
        } else if is_watch(&request) {
            // Watches have connections of their own: a long list that is read slowly must not hold up others.
            shared[1 + next.fetch_add(1, Ordering::Relaxed) % (shared.len() - 1)].request(request)
        } else {
            shared[0].request(request)
        };
        async move {
            let answer = sent.await;
            let http2 = answer.as_ref().is_ok_and(|answer| answer.version() == Version::HTTP_2);
            speaks_http2.store(http2, Ordering::Relaxed);
            answer
        }
    });
    let service = config.extra_headers_layer()?.layer(service.map_err(BoxError::from));
    let service = option_layer(config.auth_layer()?).layer(service);
    let retries = limits.repeats.then(|| RetryLayer::new(RetryPolicy::server_retry()));
    let service = config.base_uri_layer().layer(option_layer(retries).layer(service));
    Ok(Client::new(service, config.default_namespace.clone()))
}

/// Returns whether this is a watch. A watch lasts for minutes, so only the limit for silence applies to it.
fn is_watch(request: &Request<Body>) -> bool {
    request.uri().query().is_some_and(|query| query.split('&').any(|pair| pair == "watch=true"))
}
