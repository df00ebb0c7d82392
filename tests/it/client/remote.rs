//! A server that answers as a test defines and records its requests, and the clients that call it.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::response::{IntoResponse as _, Response};
use connect_api::action::{Action, ExtraHeader};
use connect_api::hosts::Endpoint;
use connect_api::http::{ActionClient, Credentials, Limits};
use dev_server::{self, Asked};
use futures::future::BoxFuture;
use http::request::Parts;
use http::{HeaderMap, StatusCode, header};

use crate::described::{check_request, prepare};
use crate::prelude::*;

pub(super) const CLIENT_SECRET: &str = "dev-secret";

/// A request as it arrived.
#[derive(Clone, Debug)]
pub(super) struct ReceivedRequest {
    /// `METHOD /path?query`.
    pub(super) line: String,
    pub(super) headers: HeaderMap,
    pub(super) body: String,
    /// Number of earlier requests of the same kind, token or not.
    pub(super) before: usize,
}

impl ReceivedRequest {
    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("headers of this test are text"))
    }

    /// Returns the number of the token that it carries, from 1.
    pub(super) fn token(&self) -> usize {
        self.header("authorization").strip_prefix("Bearer token-").expect("a bearer token").parse().expect("its number")
    }
}

type Answer = Arc<dyn Fn(ReceivedRequest) -> BoxFuture<'static, Response> + Send + Sync>;

/// A running server; its tasks end with the runtime of the test.
#[derive(Clone)]
pub(super) struct Remote {
    pub(super) address: SocketAddr,
    api: Arc<Mutex<Vec<ReceivedRequest>>>,
    tokens: Arc<Mutex<Vec<ReceivedRequest>>>,
    /// Requests of the operator's client that the description of the API does not have.
    problems: Arc<Mutex<Vec<String>>>,
}

impl Drop for Remote {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let problems = self.problems.lock().expect("the lock is not poisoned").clone();
            assert!(problems.is_empty(), "requests that the description does not have:\n{}", problems.join("\n"));
        }
    }
}

/// Returns what is wrong with a request of the operator's client, by the description of the API.
fn undescribed(parts: &Parts, body: &[u8]) -> Option<String> {
    let text = |name| parts.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let asked =
        Asked { user_agent: text(header::USER_AGENT), content_type: text(header::CONTENT_TYPE), body: body.to_vec() };
    check_request(&dev_server::Answer {
        operation: "none",
        method: parts.method.to_string(),
        target: parts.uri.path_and_query().map(ToString::to_string).unwrap_or_default(),
        asked,
        status: 200,
        content_type: None,
        body: Vec::new(),
    })
    .err()
}

impl Remote {
    /// Answers every call of the API with `answer`, every request for a token with `token-1`, `token-2` and so on.
    pub(super) async fn start(answer: impl Fn(ReceivedRequest) -> Response + Send + Sync + 'static) -> Self {
        Self::start_slow(later(answer), later(|seen| token(seen.before + 1))).await
    }

    /// Answers with futures: calls of the API and requests for a token.
    pub(super) async fn start_slow(api: Answer, token: Answer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound address");
        let remote = Self::on(address);
        let router = remote.router(api, token);
        tokio::spawn(async move { axum::serve(listener, router).await });
        remote
    }

    pub(super) fn on(address: SocketAddr) -> Self {
        prepare();
        Self { address, api: Arc::default(), tokens: Arc::default(), problems: Arc::default() }
    }

    pub(super) fn router(&self, api: Answer, token: Answer) -> Router {
        let (api_seen, tokens_seen) = (Arc::clone(&self.api), Arc::clone(&self.tokens));
        let problems = Arc::clone(&self.problems);
        Router::new().fallback(move |request: Request| {
            let (answer, list) = match request.uri().path() {
                "/oauth/token" => (Arc::clone(&token), Arc::clone(&tokens_seen)),
                _ => (Arc::clone(&api), Arc::clone(&api_seen)),
            };
            let problems = Arc::clone(&problems);
            async move {
                let (parts, body) = request.into_parts();
                let body = to_bytes(body, usize::MAX).await.expect("a whole body");
                let wrong = undescribed(&parts, &body);
                problems.lock().expect("the lock is not poisoned").extend(wrong);
                let seen = {
                    let mut list = list.lock().expect("the lock is not poisoned");
                    let target = parts.uri.path_and_query().map_or("", |target| target.as_str());
                    let before = list.len();
                    list.push(ReceivedRequest {
                        line: format!("{} {target}", parts.method),
                        headers: parts.headers,
                        body: String::from_utf8(body.to_vec()).expect("a body of text"),
                        before,
                    });
                    list.last().expect("just pushed").clone()
                };
                answer(seen).await
            }
        })
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the calls of the API so far.
    pub(super) fn seen(&self) -> Vec<ReceivedRequest> {
        self.api.lock().expect("the lock is not poisoned").clone()
    }

    /// Returns the requests for tokens so far.
    pub(super) fn tokens(&self) -> Vec<ReceivedRequest> {
        self.tokens.lock().expect("the lock is not poisoned").clone()
    }

    pub(super) fn settings(&self) -> Settings {
        settings(&self.url(), &self.url())
    }

    pub(super) fn client(&self) -> HttpConnect {
        self.client_with(Clock::system(), |_| {})
    }

    pub(super) fn client_with(&self, clock: Clock, change: impl FnOnce(&mut Settings)) -> HttpConnect {
        let mut settings = self.settings();
        change(&mut settings);
        HttpConnect::new(settings, ClientContext::plain(clock)).expect("a client for plain HTTP")
    }
}

/// Names the deployment and the staged connector of the tests.
pub(super) fn id() -> Selector {
    Selector::Id("42".to_owned())
}

/// Returns an answer without delay.
pub(super) fn later(answer: impl Fn(ReceivedRequest) -> Response + Send + Sync + 'static) -> Answer {
    Arc::new(move |seen| {
        let answer = answer(seen);
        Box::pin(async move { answer })
    })
}

pub(super) fn endpoint(url: &str) -> Endpoint {
    let hosts = AllowedHosts::parse(["http://127.0.0.1:*", "127.0.0.1:*", "http://localhost:*", "localhost:*"])
        .expect("patterns");
    hosts.endpoint(url).expect("an allowed URL")
}

/// Returns a client that may call the hosts of these patterns, and calls `url`.
pub(super) fn allowed(patterns: &[&str], url: &str) -> HttpConnect {
    let endpoint =
        AllowedHosts::parse(patterns.iter().copied()).expect("patterns").endpoint(url).expect("it is allowed");
    let settings = Settings {
        api_url: endpoint.clone(),
        auth_url: endpoint,
        ..settings("http://127.0.0.1:1", "http://127.0.0.1:1")
    };
    HttpConnect::new(settings, ClientContext::plain(Clock::system())).expect("a client")
}

/// Settings of a client whose calls are hardly limited.
pub(crate) fn settings(api_url: &str, auth_url: &str) -> Settings {
    Settings {
        api_url: endpoint(api_url),
        auth_url: endpoint(auth_url),
        project_key: "demo".to_owned(),
        credentials: Credentials {
            client_id: "dev-client".to_owned(),
            client_secret: CLIENT_SECRET.into(),
            scopes: None,
        },
        requests_per_second: Rate::per_second(10_000),
        limits: Limits::default(),
        authorities: Authorities::default(),
    }
}

/// Returns a clock that a test steps, and its current time.
pub(super) fn stepped() -> (Clock, Timestamp) {
    let now = "2026-01-01T00:00:00Z".parse().expect("a time");
    (Clock::stepped(now), now)
}

/// Returns a time that is later than the end of the test.
pub(crate) fn no_hurry() -> Timestamp {
    Timestamp::now() + Duration::from_hours(1)
}

pub(super) fn answer(status: u16, body: impl Into<Body>) -> Response {
    (StatusCode::from_u16(status).expect("a status"), body.into()).into_response()
}

pub(super) fn json_answer(status: u16, body: &Value) -> Response {
    let mut response = answer(status, body.to_string());
    response.headers_mut().insert(header::CONTENT_TYPE, "application/json".parse().expect("a value"));
    response
}

pub(super) fn with_header(mut response: Response, name: &'static str, value: &str) -> Response {
    response.headers_mut().insert(name, value.parse().expect("a value"));
    response
}

/// Returns the token with that number, for an hour.
pub(super) fn token(number: usize) -> Response {
    json_answer(
        200,
        &json!({"access_token": format!("token-{number}"), "token_type": "Bearer", "expires_in": 3600, "scope": "manage_project:demo view_x"}),
    )
}

pub(super) fn error_answer(status: u16, code: &str, message: &str) -> Response {
    json_answer(
        status,
        &json!({"statusCode": status, "message": message, "errors": [{"code": code, "message": message}]}),
    )
}

pub(super) fn deployment(id: &str) -> Value {
    json!({
        "id": id, "key": "tax", "version": 3, "type": "sandbox",
        "connector": {"id": "c", "version": 1, "name": "n", "integrationTypes": [], "creator": {"email": "e"},
            "repository": {"url": "u.git", "tag": "t"}, "certified": false},
        "details": {"build": {"id": "b"}}, "deployedRegion": "europe-west1.gcp", "applications": [],
        "preview": false, "status": "Queued"
    })
}

pub(super) fn draft(secured: &str) -> DeploymentDraft {
    serde_json::from_value(json!({
        "key": "tax", "connector": {"key": "demo-connector"}, "region": "europe-west1.gcp",
        "configurations": [{"applicationName": "service", "standardConfiguration": [{"key": "A", "value": "b"}],
            "securedConfiguration": [{"key": "S", "value": secured}]}]
    }))
    .expect("a draft")
}

/// Returns a call of an action that has these further headers.
pub(super) fn action(method: ActionMethod, headers: &[(&str, &str)]) -> Action {
    let header = |(name, value): &(&str, &str)| ExtraHeader {
        name: (*name).to_owned(),
        value: (*value).into(),
        is_masked: true,
    };
    Action {
        namespace: "cart".into(),
        name: "addToCart".into(),
        method,
        query: vec![("list[0]".into(), "a b".into())],
        locale: "en-GB".into(),
        extension_version: "1.4.0".into(),
        page_path: None,
        headers: headers.iter().map(header).collect(),
    }
}

/// Returns a client for the actions of a frontend.
pub(super) fn action_client(url: &str, authorities: &Authorities, around: ClientContext) -> ActionClient {
    ActionClient::new(endpoint(url), Limits::default(), authorities, around).expect("a client")
}
