//! Failures of the API server on demand: requests of the operator's client are refused, lost, late, or not sent.

use std::hash::{BuildHasher as _, RandomState};

use futures::future;
use http::{Response, header};
use kube::core::Status;

use crate::prelude::*;

/// Watches of an operator in one namespace.
pub(crate) const WATCHES: u64 = 6;

/// What the status of a resource has, if the response to its call is stored and its operation has not ended.
const ACCEPTED: &[u8] = br#"\"state\":\"Accepted\""#;

/// Which requests fail.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Which {
    /// All requests.
    All,
    /// All requests that do not read.
    Writes,
    /// Writes of a status, except that of a project, which every operator writes after its start.
    StatusWrites,
    /// Writes of a status that store the response to a call.
    Responses,
    /// Watches.
    Watches,
}

/// How a request fails.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wrong {
    /// It is not sent.
    Away,
    /// It is neither sent nor answered, as on a connection whose other end is gone.
    Silent,
    /// It is answered with this HTTP status and reason, and has no effect.
    Refused(u16, &'static str),
    /// Its operation is removed on the way, as by a webhook with an older schema.
    Stripped,
    /// It has its effect, and its response is lost.
    Lost,
    /// It has its effect, and its response arrives this much later.
    Late(Duration),
    /// A watch is accepted, and ends at once because its resource version has expired (410 `Expired`).
    Expired,
}

/// Makes requests fail.
#[derive(Clone)]
pub(crate) struct Unreliable {
    clock: Clock,
    wrong: Arc<Mutex<Option<(Which, Wrong)>>>,
    /// Number of those requests that succeed first.
    spared: Arc<AtomicU64>,
    /// Number of requests that failed.
    met: watch::Sender<u64>,
    /// Changes when watches are to end.
    cut: watch::Sender<u64>,
    /// Requests that wait until they may be sent.
    held: Arc<Held>,
}

/// Which requests wait, and how many.
struct Held {
    which: watch::Sender<Option<Hold>>,
    waiting: watch::Sender<u64>,
    /// Maximum number that waited at once.
    most: AtomicU64,
}

impl Default for Held {
    fn default() -> Self {
        let (which, waiting) = (watch::Sender::default(), watch::Sender::default());
        Self { which, waiting, most: AtomicU64::default() }
    }
}

/// Requests that can be held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    /// Reads of the Secrets whose names begin with this.
    Secrets(&'static str),
    /// Writes of the status of a deployment.
    DeploymentStatuses,
}

impl Hold {
    fn is_about(self, method: &Method, uri: &Uri) -> bool {
        match self {
            Self::Secrets(prefix) => method == Method::GET && uri.path().contains(&format!("/secrets/{prefix}")),
            Self::DeploymentStatuses => {
                method == Method::PATCH
                    && uri.path().contains("/connectordeployments/")
                    && uri.path().ends_with("/status")
            }
        }
    }
}

impl Unreliable {
    /// Returns the control of a client that fails on demand, and the client.
    pub(crate) fn client(client: &Client, clock: &Clock) -> (Self, Client) {
        let (met, cut) = (watch::Sender::new(0), watch::Sender::new(0));
        let unreliable = Self {
            clock: clock.clone(),
            wrong: Arc::default(),
            spared: Arc::default(),
            met,
            cut,
            held: Arc::default(),
        };
        let (inner, outer) = (client.clone(), unreliable.clone());
        let service = tower::service_fn(move |request| {
            let (inner, outer) = (inner.clone(), outer.clone());
            async move { outer.pass(&inner, request).await }
        });
        (unreliable, Client::new(service, client.default_namespace()))
    }

    /// Makes these requests fail from now on.
    pub(crate) fn begin(&self, which: Which, wrong: Wrong) {
        self.begin_after(0, which, wrong);
    }

    /// Makes these requests fail once `spared` of them have succeeded, so that a test need not act between two of them.
    pub(crate) fn begin_after(&self, spared: u64, which: Which, wrong: Wrong) {
        self.met.send_replace(0);
        self.spared.store(spared, Ordering::SeqCst);
        *self.wrong.lock().unwrap() = Some((which, wrong));
    }

    /// Makes everything work again.
    pub(crate) fn end(&self) {
        *self.wrong.lock().unwrap() = None;
    }

    /// Ends the watches that are open.
    pub(crate) fn cut_watches(&self) {
        self.cut.send_modify(|times| *times += 1);
    }

    /// Makes these requests wait from now on.
    pub(crate) fn hold(&self, which: Hold) {
        self.held.which.send_replace(Some(which));
    }

    /// Sends the waiting requests.
    pub(crate) fn release(&self) {
        self.held.which.send_replace(None);
    }

    /// Maximum number of requests that waited at once.
    pub(crate) fn most_held(&self) -> u64 {
        self.held.most.load(Ordering::SeqCst)
    }

    /// Returns once this many requests wait.
    pub(crate) async fn until_held(&self, requests: u64) {
        let mut waiting = self.held.waiting.subscribe();
        in_time(waiting.wait_for(|waiting| *waiting >= requests)).await.expect("this many requests wait").unwrap();
    }

    async fn wait_if_held(&self, method: &Method, uri: &Uri) {
        let mut which = self.held.which.subscribe();
        if which.borrow().is_some_and(|which| which.is_about(method, uri)) {
            self.held.waiting.send_modify(|waiting| *waiting += 1);
            self.held.most.fetch_max(*self.held.waiting.borrow(), Ordering::SeqCst);
            let _ = which.wait_for(Option::is_none).await;
            self.held.waiting.send_modify(|waiting| *waiting -= 1);
        }
    }

    /// Returns once this many requests failed.
    pub(crate) async fn until_met(&self, times: u64) {
        let mut met = self.met.subscribe();
        in_time(met.wait_for(|met| *met >= times)).await.expect("this many requests fail").unwrap();
    }

    async fn pass(&self, inner: &Client, request: Request<kube::client::Body>) -> Result<Response<Body>, BoxError> {
        let (method, uri) = (request.method().clone(), request.uri().clone());
        self.wait_if_held(&method, &uri).await;
        let watches = request.uri().query().is_some_and(|query| query.contains("watch=true"));
        let path = uri.path();
        let writes_status = method == Method::PATCH && path.ends_with("/status") && !path.contains("connectprojects/");
        let (head, body) = request.into_parts();
        let body = body.collect_bytes().await?;
        let stores_response = writes_status && body.windows(ACCEPTED.len()).any(|part| part == ACCEPTED);
        let mut request = Request::from_parts(head, kube::client::Body::from(body.clone()));
        let wrong = self.wrong.lock().unwrap().filter(|(which, _)| match which {
            Which::All => true,
            Which::Responses => stores_response,
            Which::Writes => request.method() != Method::GET,
            Which::StatusWrites => writes_status,
            Which::Watches => watches,
        });
        let wrong = wrong.filter(|_| {
            let spared = |left: u64| left.checked_sub(1);
            self.spared.fetch_update(Ordering::SeqCst, Ordering::SeqCst, spared).is_err()
        });
        if wrong.is_some() {
            self.met.send_modify(|met| *met += 1);
        }
        match wrong.map(|(_, wrong)| wrong) {
            Some(Wrong::Away) => return Err("no connection, as the test wants it".into()),
            Some(Wrong::Silent) => future::pending().await,
            Some(Wrong::Refused(code, reason)) => return Ok(refusal(code, reason)),
            Some(Wrong::Expired) => return Ok(expired()),
            Some(Wrong::Lost) => {
                inner.send(request).await?;
                return Err("the answer is lost, as the test wants it".into());
            }
            Some(Wrong::Stripped) => *request.body_mut() = stripped(&body).into(),
            Some(Wrong::Late(_)) | None => {}
        }
        let cut = self.cut.subscribe();
        let response = inner.send(request).await?.map(Body::new);
        if let Some((_, Wrong::Late(time))) = wrong {
            self.clock.sleep(time).await;
        }
        if !watches {
            return Ok(response);
        }
        Ok(until_changed(response, cut))
    }
}

/// A write of a status without the state of the operator.
fn stripped(body: &[u8]) -> Vec<u8> {
    let Ok(mut patch) = serde_json::from_slice::<serde_json::Value>(body) else { return body.to_vec() };
    if let Some(status) = patch["status"].as_object_mut() {
        status.remove("state");
    }
    patch.to_string().into_bytes()
}

/// Returns the response to a watch, which ends once `cut` changes.
pub(crate) fn until_changed<T: Send + Sync + 'static>(
    response: Response<Body>,
    mut cut: watch::Receiver<T>,
) -> Response<Body> {
    let ends = async move {
        let _ = cut.changed().await;
    };
    response.map(|body| Body::from_stream(body.into_data_stream().take_until(Box::pin(ends))))
}

/// Returns what the API server answers with this HTTP status and reason.
pub(crate) fn refusal(code: u16, reason: &str) -> Response<Body> {
    let status = Status::failure("refused, as the test wants it", reason).with_code(code);
    let mut response = Response::new(Body::from(serde_json::to_vec(&status).unwrap()));
    *response.status_mut() = StatusCode::from_u16(code).unwrap();
    response.headers_mut().insert(header::CONTENT_TYPE, "application/json".parse().unwrap());
    response
}

/// The response of the API server to a watch from a resource version that has expired.
fn expired() -> Response<Body> {
    let status = Status::failure("too old resource version, as the test wants it", "Expired").with_code(410);
    let event = serde_json::json!({"type": "ERROR", "object": status});
    let mut response = Response::new(Body::from(format!("{event}\n")));
    response.headers_mut().insert(header::CONTENT_TYPE, "application/json".parse().unwrap());
    response
}

/// With `SLOW_CLUSTER=N` in the environment, every request of an operator is sent up to N milliseconds late and
/// answered up to N milliseconds late, which exposes tests that read between two writes.
pub(crate) fn as_slow_as_asked_for(client: Client) -> Client {
    let Some(most) = std::env::var("SLOW_CLUSTER").ok().and_then(|most| most.parse::<u64>().ok()) else {
        return client;
    };
    let namespace = client.default_namespace().to_owned();
    let service = tower::service_fn(move |request: Request<kube::client::Body>| {
        let client = client.clone();
        async move {
            tokio::time::sleep(any_time(most)).await;
            let response = client.send(request).await?;
            tokio::time::sleep(any_time(most)).await;
            Ok::<_, BoxError>(response)
        }
    });
    Client::new(service, namespace)
}

fn any_time(most: u64) -> Duration {
    Duration::from_millis(RandomState::new().hash_one(()) % (most + 1))
}
