//! A remote and a frontend whose responses are as large as the operator accepts: every deployment fails with a report of
//! thousands of findings.

use std::fmt::Write as _;

use axum::extract::{Request, State};
use connect_operator::operator::check::expect::LARGEST_ANSWER;

use crate::prelude::*;

/// Applications and values of each that its connector declares.
pub(super) const APPLICATIONS: usize = 50;
pub(super) const VALUES: usize = 100;
/// Findings of each report, of which the operator keeps the first thousand.
const FINDINGS: usize = 5_000;
/// Size of an answer of its frontend, as large as the operator evaluates, in bytes.
const ANSWER: usize = LARGEST_ANSWER;

/// A running remote; it ends with the runtime of the test.
pub(super) struct HostileRemote {
    pub(super) url: String,
    shared: Arc<Shared>,
}

struct Shared {
    /// The keys of the deployments by id.
    deployments: Mutex<BTreeMap<String, String>>,
    /// Number of answered requests by what they are about.
    asked: watch::Sender<BTreeMap<&'static str, usize>>,
    connector: String,
    report: String,
    answer: String,
}

impl HostileRemote {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("bound"));
        let shared = Arc::new(Shared {
            deployments: Mutex::default(),
            asked: watch::Sender::default(),
            connector: connector(),
            report: format!(r"[{}{{}}]", r#"{"type":"Error","title":"no","message":"no"},{},"#.repeat(FINDINGS / 2)),
            answer: filled(r#"{"cartId":["#, r#"{"a":{"a":{"a":0}}}"#, "]}", ANSWER),
        });
        let router = Router::new().fallback(answer).with_state(Arc::clone(&shared));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, shared }
    }

    /// Returns once it has answered this many requests about this.
    pub(super) async fn until_asked(&self, what: &str, times: usize) {
        let mut asked = self.shared.asked.subscribe();
        let enough = in_time(asked.wait_for(|asked| asked.get(what).is_some_and(|count| *count >= times))).await;
        assert!(enough.is_ok(), "{what} was to be requested {times} times: {:?}", self.counts());
    }

    pub(super) fn counts(&self) -> BTreeMap<&'static str, usize> {
        self.shared.asked.borrow().clone()
    }
}

/// Returns JSON of at most `size` bytes: as many copies of `item` as fit between `open` and `close`.
fn filled(open: &str, item: &str, close: &str, size: usize) -> String {
    let count = (size - open.len() - close.len()) / (item.len() + 1);
    [open, &vec![item; count].join(","), close].concat()
}

/// The record of the connector, which declares what the largest manifests configure.
fn connector() -> String {
    let keys: Vec<Value> = (0..VALUES).map(|key| json!({"key": key_of(key), "description": "d".repeat(200)})).collect();
    let applications: Vec<Value> = (0..APPLICATIONS)
        .map(|application| {
            json!({"applicationName": application_of(application), "applicationType": "service",
                "standardConfiguration": keys, "securedConfiguration": []})
        })
        .collect();
    json!({"id": "large", "key": "demo-connector", "version": 1, "name": "Large", "integrationTypes": ["tax"],
        "creator": {"email": "dev@example.com"}, "repository": {"url": "https://example.com/x.git", "tag": "v1"},
        "supportedRegions": [], "configurations": applications})
    .to_string()
}

pub(super) fn application_of(number: usize) -> String {
    format!("application-{number}")
}

pub(super) fn key_of(number: usize) -> String {
    format!("SETTING_NUMBER_{number}")
}

async fn answer(State(shared): State<Arc<Shared>>, request: Request<Body>) -> Response {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let body = to_bytes(request.into_body(), usize::MAX).await.unwrap_or_default();
    let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
    let (what, response) = match (&method, segments.as_slice()) {
        (&Method::POST, ["oauth", "token"]) => {
            let scope = "manage_project:demo";
            (
                "token",
                json!({"access_token": "token", "token_type": "Bearer", "expires_in": 3600, "scope": scope})
                    .to_string(),
            )
        }
        (&Method::GET, ["connectors", _]) => ("connector", shared.connector.clone()),
        (&Method::GET, ["demo", "deployments"]) => ("list", shared.list()),
        (&Method::POST, ["demo", "deployments"]) => ("create", shared.create(&body)),
        (&Method::GET, ["demo", "deployments", selector]) => match shared.find(selector) {
            Some(record) => ("read", record),
            None => return refusal(),
        },
        (&Method::POST, [_, "action", ..]) => ("action", shared.answer.clone()),
        _ => return refusal(),
    };
    shared.asked.send_modify(|asked| *asked.entry(what).or_default() += 1);
    ([("content-type", "application/json")], response).into_response()
}

fn refusal() -> Response {
    let error = json!({"code": "ResourceNotFound", "message": "no"});
    let body = json!({"statusCode": 404, "message": "no", "errors": [error]}).to_string();
    (StatusCode::NOT_FOUND, [("content-type", "application/json")], body).into_response()
}

impl Shared {
    fn record(&self, id: &str, key: &str, status: &str) -> String {
        let report = &self.report;
        format!(
            r#"{{"id":"{id}","key":"{key}","version":1,"type":"sandbox","status":"{status}","deployedRegion":"europe-west1.gcp",
            "connector":{{"id":"large","key":"demo-connector","version":1}},"applications":[{{"applicationName":"application-0"}}],
            "details":{{"build":{{"id":"build-{id}","report":{{"entries":{report}}}}}}}}}"#
        )
    }

    fn create(&self, body: &[u8]) -> String {
        let draft: Value = serde_json::from_slice(body).expect("a draft");
        let key = draft["key"].as_str().expect("the operator sends a key").to_owned();
        let id = format!("id-of-{key}");
        let record = self.record(&id, &key, "Deploying");
        self.deployments.lock().unwrap().insert(id, key);
        record
    }

    fn find(&self, selector: &str) -> Option<String> {
        let deployments = self.deployments.lock().unwrap();
        let id = selector.strip_prefix("key=").map_or_else(|| selector.to_owned(), |key| format!("id-of-{key}"));
        deployments.get(&id).map(|key| self.record(&id, key, "Failed"))
    }

    fn list(&self) -> String {
        let deployments = self.deployments.lock().unwrap();
        let (mut results, total) = (String::new(), deployments.len());
        for (id, key) in &*deployments {
            let comma = if results.is_empty() { "" } else { "," };
            let _ = write!(results, "{comma}{}", self.record(id, key, "Failed"));
        }
        format!(r#"{{"limit":500,"offset":0,"count":{total},"total":{total},"results":[{results}]}}"#)
    }
}
