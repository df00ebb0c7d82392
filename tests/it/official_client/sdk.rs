//! The official SDK, with its own client for tokens and retries, driven by `tests/clients/sdk.js`.

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::clients;
use crate::prelude::*;

/// The SDK in a separate process, which keeps its token between calls.
struct Sdk {
    server: DevServer,
    questions: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
    _process: Child,
}

impl Sdk {
    /// Starts the SDK with that client and those scopes; `None` if Node is missing.
    async fn new(options: Options, client: &str, scopes: &[&str]) -> Option<Self> {
        let folder = clients().await?;
        let _ = rustls::crypto::ring::default_provider().install_default();
        let server = DevServer::start(options, Clock::system()).await.expect("a port is free");
        let script = in_checkout("tests/clients/sdk.js");
        let settings = json!({"url": server.url(), "projectKey": "demo", "clientId": client, "clientSecret": "dev-secret",
            "scopes": scopes});
        let mut command = Command::new("node");
        command.arg(script).arg(settings.to_string()).env("NODE_PATH", folder.join("node_modules"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut process = command.spawn().expect("node starts");
        let questions = process.stdin.take().expect("it is piped");
        let answers = BufReader::new(process.stdout.take().expect("it is piped")).lines();
        Some(Self { server, questions, answers, _process: process })
    }

    /// Makes a call, given as the chain of the SDK's methods; returns its status, and its body or error.
    async fn call(&mut self, chain: Value) -> Value {
        self.questions.write_all(format!("{chain}\n").as_bytes()).await.expect("it reads");
        let line = in_time(self.answers.next_line()).await.expect("it answers in time");
        serde_json::from_str(&line.expect("it can be read").expect("the process continues")).expect("it is JSON")
    }

    async fn works(&mut self, chain: Value) -> Value {
        let mut answer = self.call(chain).await;
        assert!((200..300).contains(&answer["statusCode"].as_u64().expect("a status")), "{answer}");
        answer["body"].take()
    }

    async fn search(&mut self, query: Value) -> Value {
        self.works(json!([["connectors"], ["search"], ["get", {"queryArgs": query}]])).await
    }

    /// Returns names and statuses of the calls that arrived since then.
    fn arrived(&self, from: usize) -> Vec<(&'static str, u16)> {
        self.server.calls().iter().skip(from).map(|call| (call.operation, call.status)).collect()
    }
}

fn keys(page: &Value) -> Vec<&str> {
    page["results"].as_array().expect("a page").iter().filter_map(|found| found["key"].as_str()).collect()
}

#[tokio::test]
async fn the_sdk_reads_and_searches_connectors() {
    let many: Vec<_> =
        (0..30).map(|number| json!({"key": format!("many-{number:02}"), "name": "One of many"})).collect();
    let more = Catalogue::parse(&json!({"connectors": many}).to_string()).expect("it is a catalogue");
    let options = Options { catalogue: Catalogue::built_in().and(more), ..Options::default() };
    let Some(mut sdk) = Sdk::new(options, "dev-client", &["manage_project:demo"]).await else { return };

    let by_key = sdk.works(json!([["connectors"], ["withKey", {"key": "demo-connector"}], ["get"]])).await;
    let by_id = sdk.works(json!([["connectors"], ["withId", {"ID": by_key["id"]}], ["get"]])).await;
    assert_eq!((&by_id, &by_id["key"]), (&by_key, &json!("demo-connector")));
    let none = sdk.call(json!([["connectors"], ["withKey", {"key": "none"}], ["get"]])).await;
    assert_eq!((&none["statusCode"], &none["error"]), (&json!(404), &json!("NotFound")), "{none}");
    assert_eq!(none["body"]["errors"][0]["code"], "ResourceNotFound", "{none}");

    let found = sdk.search(json!({"text": "pipeline"})).await;
    assert_eq!((keys(&found), &found["total"]), (vec!["demo-pipeline"], &json!(1)));
    let found = sdk.search(json!({"integrationTypes": ["erp", "psp"], "creator.company": "Example"})).await;
    assert_eq!(keys(&found), ["demo-pipeline"]);
    let found = sdk.search(json!({"key": ["demo-connector", "many-07"], "sort": ["key desc"], "private": false})).await;
    assert_eq!(keys(&found), ["many-07", "demo-connector"]);

    let mut paged = Vec::new();
    for offset in (0..40).step_by(10) {
        let page = sdk.search(json!({"text": "many", "limit": 10, "offset": offset, "sort": "key asc"})).await;
        assert_eq!((&page["total"], &page["offset"], &page["limit"]), (&json!(30), &json!(offset), &json!(10)));
        paged.extend(keys(&page).into_iter().map(str::to_owned));
    }
    assert_eq!(paged, (0..30).map(|number| format!("many-{number:02}")).collect::<Vec<_>>());
    let refused = sdk.call(json!([["connectors"], ["search"], ["get", {"queryArgs": {"limit": 501}}]])).await;
    assert_eq!((&refused["statusCode"], &refused["error"]), (&json!(400), &json!("BadRequest")), "{refused}");
    assert_eq!(sdk.server.counts()["token"], 1, "one token served all calls");
}

#[tokio::test]
async fn the_sdk_prepares_a_connector_and_deploys_with_two_scopes() {
    let scopes = ["manage_project:demo", "manage_api_clients:demo"];
    let Some(mut sdk) = Sdk::new(Options::default(), "api-clients-client", &scopes).await else { return };
    let draft = json!({"key": "mine", "name": "Mine", "creator": {"email": "dev@example.com"},
        "repository": {"url": "https://github.com/example/demo-kit.git", "tag": "1.0.0"}});
    let created = sdk.works(json!([["connectors"], ["drafts"], ["post", {"body": draft}]])).await;
    assert_eq!(created["status"], "Draft");
    let update = json!({"version": created["version"], "actions": [{"action": "setName", "name": "Ours"}]});
    let mine = json!(["withKey", {"key": "mine"}]);
    let updated = sdk.works(json!([["connectors"], ["drafts"], mine, ["post", {"body": update}]])).await;
    assert_eq!(updated["name"], "Ours");

    // Its API client is generated, so both scopes must have arrived.
    let draft = json!({"key": "crm", "connector": {"key": "demo-api-client"}, "region": "europe-west1.gcp",
        "configurations": [{"applicationName": "service", "standardConfiguration": [], "securedConfiguration": []}]});
    let project = json!(["withProjectKey", {"projectKey": "demo"}]);
    let deployed = sdk.works(json!([project, ["deployments"], ["post", {"body": draft}]])).await;
    assert_eq!((&deployed["key"], &deployed["status"]), (&json!("crm"), &json!("Deploying")));
    let crm = json!(["withKey", {"key": "crm"}]);
    let logs = sdk.works(json!([project, ["deployments"], crm, ["logs"], ["get"]])).await;
    assert!(logs["data"].is_array());
    let leaving = sdk.works(json!([project, ["deployments"], crm, ["delete"]])).await;
    assert_eq!(leaving["id"], deployed["id"]);
}

#[tokio::test]
async fn the_sdk_fetches_another_token_once_when_its_own_is_revoked() {
    let options = Options { control: true, ..Options::default() };
    let Some(mut sdk) = Sdk::new(options, "dev-client", &["manage_project:demo"]).await else { return };
    let found = sdk.search(json!({})).await;
    assert_eq!(sdk.arrived(0), [("token", 200), ("searchConnectors", 200)]);

    let http = reqwest::Client::builder().no_proxy().build().expect("the settings are right");
    let revoked = http.delete(format!("{}/_dev/tokens", sdk.server.url())).send().await.expect("it answers");
    assert_eq!(revoked.status(), 200);
    assert_eq!(sdk.search(json!({})).await, found, "the caller does not notice");
    assert_eq!(sdk.arrived(2), [("searchConnectors", 401), ("token", 200), ("searchConnectors", 200)]);

    let refusing = Fault::of("searchConnectors", FaultAnswer::error(401, "invalid_token"));
    let body = serde_json::to_string(&refusing).expect("it is JSON");
    let set = http.post(format!("{}/_dev/faults", sdk.server.url())).body(body).send().await.expect("it answers");
    assert_eq!(set.status(), 201);
    let refused = sdk.call(json!([["connectors"], ["search"], ["get"]])).await;
    assert_eq!((&refused["statusCode"], &refused["error"]), (&json!(401), &json!("Unauthorized")), "{refused}");
    assert_eq!(sdk.arrived(5), [("searchConnectors", 401), ("token", 200), ("searchConnectors", 401)]);
}
