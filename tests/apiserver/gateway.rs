//! A gateway before the API server: an HTTP proxy that fails on demand. The operator reaches it with its own client, so nothing
//! of that client is simulated.

use std::convert::Infallible;

use axum::body::Bytes;
use axum::extract::{Request, State};
use connect_operator::operator::clients::cluster_access::Access;
use connect_operator::operator::clients::kube_client::{self, Limits};
use http::{HeaderName, header};
use kube::Config;

use crate::prelude::*;
use crate::unreliable::{refusal, until_changed};

/// What becomes of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Failure {
    /// It is not passed on, and answered with this HTTP status, reason, and `Retry-After` in seconds.
    Instead(u16, &'static str, u32),
    /// It is not passed on, and nothing comes after the head of its response: no event of a watch, no answer to a write.
    Mute,
    /// It is not passed on, and its connection is closed.
    Closed,
}

type Fails = dyn Fn(&Method, &Uri) -> Option<Failure> + Send + Sync;

/// A running gateway; it ends with the runtime of the test.
#[derive(Clone)]
pub(crate) struct Gateway(Arc<Shared>);

struct Shared {
    url: String,
    upstream: Client,
    fails: Mutex<Box<Fails>>,
    /// Each request in its order, as `PATCH /path?query`.
    passed: watch::Sender<Vec<String>>,
    /// How many requests failed.
    failed: watch::Sender<usize>,
    /// Changes when open watches are to end.
    cut: watch::Sender<()>,
}

impl Gateway {
    /// Starts a gateway before this API server; returns it, and the operator's client through it.
    pub(crate) async fn before(upstream: &Client) -> (Self, Client) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let config = Config::new(url.parse().unwrap());
        let gateway = Self(Arc::new(Shared {
            url,
            upstream: upstream.clone(),
            fails: Mutex::new(Box::new(|_, _| None)),
            passed: watch::Sender::default(),
            failed: watch::Sender::default(),
            cut: watch::Sender::default(),
        }));
        let router = Router::new().fallback(answer).with_state(gateway.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        (gateway, kube_client::client(Access::direct(config), Limits::default()).unwrap())
    }

    /// A kubeconfig for a process that reaches the API server through it.
    pub(crate) fn kubeconfig(&self) -> Value {
        json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "gateway",
            "clusters": [{"name": "gateway", "cluster": {"server": self.0.url}}],
            "users": [{"name": "gateway", "user": {}}],
            "contexts": [{"name": "gateway", "context": {"cluster": "gateway", "user": "gateway"}}],
        })
    }

    /// From now on requests fail as this says.
    pub(crate) fn fail(&self, fails: impl Fn(&Method, &Uri) -> Option<Failure> + Send + Sync + 'static) {
        *self.0.fails.lock().unwrap() = Box::new(fails);
    }

    /// From now on every request is passed on.
    pub(crate) fn work(&self) {
        self.fail(|_, _| None);
    }

    /// Ends the watches that are open.
    pub(crate) fn cut_watches(&self) {
        self.0.cut.send_replace(());
    }

    /// Returns once this many requests have failed.
    pub(crate) async fn until_failed(&self, times: usize) {
        let mut failed = self.0.failed.subscribe();
        in_time(failed.wait_for(|failed| *failed >= times)).await.expect("this many requests fail").unwrap();
    }

    /// All requests so far, in their order, as `PATCH /path?query`.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.0.passed.borrow().clone()
    }

    async fn pass(&self, request: Request) -> Result<Response, kube::Error> {
        let (mut head, body) = request.into_parts();
        for name in [header::HOST, header::AUTHORIZATION, header::CONNECTION, HeaderName::from_static("keep-alive")] {
            head.headers.remove(name);
        }
        let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
        let response = self.0.upstream.send(http::Request::from_parts(head, body.to_vec().into())).await?;
        Ok(response.map(Body::new))
    }
}

/// Whether it is a watch.
pub(crate) fn is_watch(uri: &Uri) -> bool {
    uri.query().is_some_and(|query| query.contains("watch=true"))
}

async fn answer(State(gateway): State<Gateway>, request: Request) -> Response {
    let (method, uri) = (request.method().clone(), request.uri().clone());
    gateway.0.passed.send_modify(|passed| passed.push(format!("{method} {uri}")));
    let failure = (gateway.0.fails.lock().unwrap())(&method, &uri);
    let cut = gateway.0.cut.subscribe();
    let response = match failure {
        Some(Failure::Instead(code, reason, after)) => {
            let mut response = refusal(code, reason);
            response.headers_mut().insert(header::RETRY_AFTER, after.into());
            response
        }
        Some(Failure::Mute) => Response::new(Body::from_stream(stream::pending::<Result<Bytes, Infallible>>())),
        Some(Failure::Closed) => {
            Response::new(Body::from_stream(stream::iter([Err::<Bytes, _>("closed, as the test wants it")])))
        }
        None => match gateway.pass(request).await {
            Ok(response) => response,
            Err(error) => return (StatusCode::BAD_GATEWAY, error.to_string()).into_response(),
        },
    };
    if failure.is_some() {
        gateway.0.failed.send_modify(|failed| *failed += 1);
    }
    if is_watch(&uri) { until_changed(response, cut) } else { response }
}
