//! The dev server over HTTP, against shapes that are written from the contract and not from our types.

use std::time::Duration;

use connect_operator::clock::Clock;
use connect_operator::dev_server::{DevServer, Options};
use jiff::Timestamp;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

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

/// Status and body, which must be JSON.
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

#[tokio::test]
async fn a_deployment_lives_over_http_from_create_to_gone() {
    let caller = Caller::new(Options::default()).await;
    let (status, created) = caller.post("/demo/deployments", &draft("tax")).await;
    assert_eq!(status, StatusCode::CREATED, "{created}");
    assert_eq!(created["status"], "Queued");
    assert!(!created.to_string().contains("canary-41"));
    let id = created["id"].as_str().expect("it is a string").to_owned();
    assert_eq!(uuid::Uuid::parse_str(&id).expect("it is a UUID").get_version_num(), 4);

    caller.step(2);
    let (_, read) = caller.get("/demo/deployments/key=tax").await;
    assert_eq!(read["status"], "Deploying");
    caller.step(3);
    let (_, read) = caller.get(&format!("/demo/deployments/{id}")).await;
    assert_eq!(read["status"], "Deployed");
    let (_, page) = caller.get("/demo/deployments?limit=20&offset=0&sort=createdAt+desc").await;
    assert_eq!((&page["total"], &page["results"][0]["id"]), (&json!(1), &json!(id)));

    let redeploy = json!({"version": read["version"], "actions": [{"action": "redeploy", "skipScripts": false}]});
    let (status, updated) = caller.post("/deployments/key=tax", &redeploy).await;
    assert_eq!(status, StatusCode::CREATED, "{updated}");
    caller.step(5);
    let (status, deleted) = caller.call(Method::DELETE, &format!("/demo/deployments/{id}"), None).await;
    assert_eq!((status, &deleted["status"]), (StatusCode::ACCEPTED, &json!("Undeploying")));
    caller.step(3);
    let (status, gone) = caller.get("/demo/deployments/key=tax").await;
    assert_eq!((status, &gone["errors"][0]["code"]), (StatusCode::NOT_FOUND, &json!("ResourceNotFound")));
}
