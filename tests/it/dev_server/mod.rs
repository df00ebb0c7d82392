//! The dev server over HTTP, compared with shapes that are written from the contract and not from our types.

mod access;
mod actions;
mod applications;
mod console;
mod faults;
mod foreign;
mod private_files;
mod registry;
mod repositories;
mod resources;
mod wrong_input;

use crate::prelude::*;

/// A dev server on a stepped clock, and a caller with a token.
struct Caller {
    server: DevServer,
    http: reqwest::Client,
    token: String,
}

impl Caller {
    async fn new(options: Options) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let start: Timestamp = "2026-03-01T12:00:00Z".parse().expect("it is a date");
        let server = DevServer::start(options, Clock::stepped(start)).await.expect("a port is free");
        let http = reqwest::Client::builder().no_proxy().build().expect("the settings are right");
        let mut caller = Self { server, http, token: String::new() };
        caller.token = caller.token_for("dev-client", "").await;
        caller
    }

    async fn token_for(&self, client: &str, scope: &str) -> String {
        let (status, body) =
            self.ask_token(client, "dev-secret", &[("grant_type", "client_credentials"), ("scope", scope)]).await;
        assert_eq!(status, StatusCode::OK, "{body}");
        body["access_token"].as_str().expect("RFC 6749 requires it").to_owned()
    }

    async fn ask_token(&self, client: &str, secret: &str, form: &[(&str, &str)]) -> (StatusCode, Value) {
        let url = format!("{}/oauth/token", self.server.url());
        let answer = self.http.post(url).basic_auth(client, Some(secret)).form(form).send().await.expect("it answers");
        whole(answer).await
    }

    async fn call(&self, method: Method, path: &str, body: Option<&Value>) -> (StatusCode, Value) {
        let answer = self.send(method, path, body).await;
        whole(answer).await
    }

    async fn send(&self, method: Method, path: &str, body: Option<&Value>) -> reqwest::Response {
        let url = format!("{}{path}", self.server.url());
        let mut request = self.http.request(method, url).bearer_auth(&self.token);
        request = request.header("Content-Type", "application/json");
        if let Some(body) = body {
            request = request.body(body.to_string());
        }
        request.send().await.expect("it answers")
    }

    async fn get(&self, path: &str) -> (StatusCode, Value) {
        self.call(Method::GET, path, None).await
    }

    async fn post(&self, path: &str, body: &Value) -> (StatusCode, Value) {
        self.call(Method::POST, path, Some(body)).await
    }

    fn step(&self, seconds: u64) {
        self.server.clock().step(Duration::from_secs(seconds));
    }
}

/// Returns status and body, which must be JSON.
async fn whole(answer: reqwest::Response) -> (StatusCode, Value) {
    let status = answer.status();
    let bytes = answer.bytes().await.expect("the body is whole");
    (status, serde_json::from_slice(&bytes).expect("it is JSON"))
}

fn draft(key: &str) -> Value {
    json!({
        "key": key,
        "connector": {"key": "demo-connector", "version": 1, "staged": false},
        "configurations": [{
            "applicationName": "service",
            "standardConfiguration": [{"key": "LOG_LEVEL", "value": "debug"}],
            "securedConfiguration": [{"key": "API_TOKEN", "value": "canary-41"}],
        }],
        "globalConfiguration": {"standardConfiguration": [], "securedConfiguration": []},
        "region": "europe-west1.gcp",
    })
}

/// Returns a draft of the demo pipeline, with an application of each kind.
fn pipeline(key: &str) -> Value {
    let application = |name: &str, standard: Value| json!({"applicationName": name, "standardConfiguration": standard, "securedConfiguration": []});
    json!({
        "key": key, "connector": {"key": "demo-pipeline"}, "region": "europe-west1.gcp",
        "globalConfiguration": {"standardConfiguration": [{"key": "SHOP_NAME", "value": "Shop"}],
            "securedConfiguration": [{"key": "WEBHOOK_SECRET", "value": "canary"}]},
        "configurations": [application("intake", json!([])), application("order-events", json!([])),
            application("nightly-export", json!([{"key": "TARGET", "value": "x"}]))],
    })
}

/// Returns the members of an object, sorted.
fn members(value: &Value) -> Vec<&str> {
    let mut names: Vec<_> = value.as_object().expect("it is an object").keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

#[tokio::test]
async fn every_answer_has_a_correlation_id_and_calls_are_counted() {
    let caller = Caller::new(Options::default()).await;
    let made = caller.send(Method::GET, "/nowhere/at/all", None).await;
    let made = made.headers()["x-correlation-id"].to_str().expect("it is text").to_owned();
    assert!(!made.is_empty());
    let url = format!("{}/demo/deployments", caller.server.url());
    let own = "commercetools-cli-00112233445566778899aabbccddeeff";
    let answer = caller.http.get(url).bearer_auth(&caller.token).header("X-Correlation-ID", own).send().await;
    assert_eq!(answer.expect("it answers").headers()["x-correlation-id"], own);
    let calls = caller.server.calls();
    let seen: Vec<_> = calls.iter().map(|call| (call.operation, call.status)).collect();
    assert_eq!(seen, [("token", 200), ("none", 404), ("queryDeployments", 200)]);
    assert_eq!((&calls[1].correlation_id, calls[2].correlation_id.as_str()), (&made, own));
}

#[tokio::test]
async fn a_stopped_server_frees_its_port_for_the_next() {
    let mut caller = Caller::new(Options::default()).await;
    let address = caller.server.address();
    caller.server.stop().await.expect("the server stops");
    assert!(tokio::net::TcpStream::connect(address).await.is_err(), "nobody listens");
    let listener = tokio::net::TcpListener::bind(address).await.expect("the port is free");
    caller.server = DevServer::start_on(listener, Options::default(), Clock::system()).await.expect("it starts");
    assert_eq!(caller.get("/demo/deployments").await.0, StatusCode::UNAUTHORIZED, "tokens end with the server");
}

#[tokio::test]
async fn a_state_file_keeps_deployments_and_staged_connectors_over_a_restart() {
    let folder = tempfile::tempdir().expect("there is room");
    let file = folder.path().join("state.json");
    let options = Options { state_file: Some(file.clone()), ..Options::default() };
    let caller = Caller::new(options.clone()).await;
    caller.post("/demo/deployments", &draft("tax")).await;
    caller.post("/connectors/drafts", &registry::staged("mine")).await;
    let publish = json!({"version": 1, "actions": [{"action": "publish", "certification": false}]});
    let (_, before) = caller.post("/connectors/drafts/key=mine", &publish).await;
    caller.delete("/connectors/drafts/key=demo-staged").await;
    caller.server.stop().await.expect("the file can be written");
    let kept = std::fs::read_to_string(&file).expect("it was written");
    assert!(!kept.contains("canary-41"));
    let caller = Caller::new(options).await;
    assert_eq!(caller.get("/connectors/drafts/key=mine").await.1, before);
    assert_eq!(caller.get("/connectors/drafts/key=demo-staged").await.0, StatusCode::NOT_FOUND);
    caller.step(5);
    assert_eq!(caller.get("/connectors/key=mine").await.1["version"], 1, "publishing continued");
    assert_eq!(caller.get("/demo/deployments/key=tax").await.1["status"], "Deployed");

    std::fs::write(&file, "{}").expect("it can be written");
    let options = Options { state_file: Some(file), ..Options::default() };
    let error = DevServer::start(options, Clock::system()).await.expect_err("the file has another format");
    assert!(error.to_string().contains("remove it"), "{error}");
}
