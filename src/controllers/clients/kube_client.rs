//! The client of the cluster, with time limits for every request, also when packets are lost silently.
//!
//! The library's own clients wait for an answer without a limit. A connection whose peer has disappeared silently would
//! block the reconcile that uses it, and a watch would receive no more events. They also keep every idle connection until
//! the API server closes it: a thousand resources leave more than a hundred, and each takes 45 KB here, and memory there.

use std::time::Duration;

use http::{Request, Response};
use hyper_timeout::TimeoutConnector;
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::retry::RetryPolicy;
use kube::client::{Body, ConfigExt as _};
use kube::{Client, Config};
use tower::retry::RetryLayer;
use tower::util::option_layer;
use tower::{BoxError, Layer as _, ServiceExt as _};
use tracing::Instrument as _;

use crate::controllers::tracking::spans;

/// Time limits, in real time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Time until the head of an answer arrives, except for a watch. Default: 65 s; the API server itself gives up
    /// after 60 s (`--request-timeout` of kube-apiserver).
    pub answer: Duration,
    /// Time until the next part of any answer arrives. Default: 295 s, longer than a watch can be silent, because the
    /// API server is asked to end a watch before that.
    pub silence: Duration,
    /// Time from which on an idle connection is closed, within as long again. Default: 15 s; an operator that leads renews its
    /// Lease more often, so one stays open.
    pub idle: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { answer: Duration::from_secs(65), silence: Duration::from_secs(295), idle: Duration::from_secs(15) }
    }
}

/// The error for a request without an answer. The reconcile is retried; a write may have happened.
#[derive(Debug, thiserror::Error)]
#[error("the API server did not answer within {0:?}")]
struct NoAnswer(Duration);

/// Creates a client of the cluster with these limits.
///
/// # Errors
/// When `config` is not usable: certificates or tokens that cannot be read.
pub fn client(mut config: Config, limits: Limits) -> Result<Client, kube::Error> {
    config.read_timeout = Some(limits.silence);
    // The limit starts with a request.
    config.reset_reader_on_write = true;
    let namespace = config.default_namespace.clone();
    let inner = pooled(config, limits.idle)?;
    let service = tower::service_fn(move |request: Request<Body>| {
        let inner = inner.clone();
        async move {
            if is_watch(&request) {
                return inner.send(request).await.map_err(BoxError::from);
            }
            let span = spans::cluster_request(&request);
            let answer = tokio::time::timeout(limits.answer, inner.send(request)).instrument(span.clone()).await;
            let answer = match answer {
                Ok(answer) => answer.map_err(BoxError::from),
                Err(_) => Err(NoAnswer(limits.answer).into()),
            };
            spans::cluster_answered(&span, answer.as_ref().ok().map(Response::status));
            answer
        }
    });
    Ok(Client::new(service, namespace))
}

/// Creates the client of the library, except that idle connections are closed, for which its own builder has no setting, and
/// that it logs nothing: each caller reports its errors.
fn pooled(config: Config, idle: Duration) -> Result<Client, kube::Error> {
    if config.proxy_url.is_some() {
        // An error of the library: it is built without proxies.
        return Client::try_from(config);
    }
    let mut http = HttpConnector::new();
    http.enforce_http(false);
    let mut connector = TimeoutConnector::new(config.rustls_https_connector_with_connector(http)?);
    connector.set_connect_timeout(config.connect_timeout);
    connector.set_read_timeout(config.read_timeout);
    connector.set_write_timeout(config.write_timeout);
    connector.set_reset_reader_on_write(config.reset_reader_on_write);
    let mut pool = legacy::Client::builder(TokioExecutor::new());
    pool.pool_timer(TokioTimer::new()).pool_idle_timeout(idle);
    let service = config.extra_headers_layer()?.layer(pool.build::<_, Body>(connector).map_err(BoxError::from));
    let service = option_layer(config.auth_layer()?).layer(service);
    let retries = config.default_retry.then(|| RetryLayer::new(RetryPolicy::server_retry()));
    let service = config.base_uri_layer().layer(option_layer(retries).layer(service));
    Ok(Client::new(service, config.default_namespace))
}

/// Returns whether this is a watch. A watch lasts for minutes, so only the limit for silence applies to it.
fn is_watch(request: &Request<Body>) -> bool {
    request.uri().query().is_some_and(|query| query.split('&').any(|pair| pair == "watch=true"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controllers::tracking::tracker::LONGEST_SILENCE;

    #[test]
    fn the_default_limits_are_those_that_are_documented() {
        let page = include_str!("../../../docs/decisions/2026-11-21-liveness-by-progress.md").replace('\n', " ");
        let Limits { answer, silence, .. } = Limits::default();
        assert!(page.contains(&format!("{} s for a response", answer.as_secs())), "{answer:?}");
        assert!(page.contains(&format!("{} s for the silence of a watch", silence.as_secs())), "{silence:?}");
        // Each wait ends by itself long before a reconcile counts as hung.
        assert!(answer < silence && silence * 3 <= LONGEST_SILENCE);
    }
}
