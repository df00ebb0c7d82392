//! Random requests for every operation, valid and invalid ones: each answer matches the description, and none is a
//! failure of the server.

use dev_server::{Answer, VARIANTS, Variant};

use super::description::Operation;
use super::dice::Dice;
use super::{DevServer, description};
use crate::prelude::*;

/// Number of requests for each operation. Another seed: `DESCRIBED_SEED=7 cargo test --test it described`.
const REQUESTS: usize = 250;
/// Limit of the requests if some described status has not been met by then.
const MOST_REQUESTS: usize = 1_500;
const SEED: u64 = 20_260_301;

/// Keys of created and requested records.
const KEYS: [&str; 8] = ["tax-1", "tax-2", "tax-3", "tax-4", "demo-connector", "demo-staged", "mine-1", "mine-2"];
/// Path segments that name nothing, or are invalid.
const NOWHERE: [&str; 14] = [
    "key=a",
    "key=",
    "key=a.b",
    "key=none",
    "%FF",
    "%4",
    "%2e%2e%2f",
    "a%20b",
    "search",
    "drafts",
    "0",
    "ae4b0e53-c6b0-4d5d-9ba7-3e60496c17a1",
    "key%3Dtax-1",
    "%00",
];
/// Bodies that are not JSON, or no object.
const BODIES: [&[u8]; 8] = [b"", b"{", b"null", b"[]", b"\xff\xfe", b"7", b"{\"version\": 1e999}", b"\"text\""];
const TAGS: [&str; 6] = ["1.0.0", "1.1.0", "1.2.0-not-previewable", "1.2.0-not-published", "0.1.0-empty", "none"];
/// Described statuses that the dev server never has; another server may.
const ELSEWHERE: [(&str, &str); 2] = [("deleteDeploymentById", "200"), ("deleteDeploymentByKey", "200")];

/// Choices that omit what the API always has, show null for missing values, or answer like a failed server.
const UNDESCRIBED: [&str; 4] = ["build-ids=end", "new-details=empty", "absent=null", "logs=500"];
/// A choice that is made more often than others, since a described status depends on it.
const OFTEN: &str = "logs=410";

/// Key of the deployment that creates resources.
const CREATES: &str = "creates";

/// What answers have shown of a resource.
#[derive(Clone, Default)]
struct KnownResource {
    id: String,
    key: String,
    version: i64,
}

/// A request, ready to be sent.
struct Planned {
    method: Method,
    target: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

struct Player {
    dice: Dice,
    server: DevServer,
    http: reqwest::Client,
    /// By their rights: all, none here, read only, all in another project; then an invalid token.
    tokens: Vec<String>,
    /// By the first literal of their paths.
    seen: BTreeMap<&'static str, Vec<KnownResource>>,
}

fn kind(operation: &Operation) -> &'static str {
    ["/connectors/drafts", "/connectors", "deployments"]
        .into_iter()
        .find(|part| operation.path.contains(part))
        .unwrap_or("")
}

fn reads_resources(operation: &Operation) -> bool {
    operation.path.contains("/extensions/") || operation.path.contains("/subscriptions/")
}

impl Player {
    async fn new(seed: u64) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        // A deployment that creates resources, whatever the others do: no request here names it.
        let creates = json!([{"type": "Extension", "key": "seen", "applicationName": "service"},
            {"type": "Subscription", "key": "orders", "applicationName": "events"}]);
        let creator = json!({"key": "creator", "name": "Creator", "creates": creates, "integrationTypes": ["other"],
            "creator": {"email": "dev@example.com"},
            "repository": {"url": "https://github.com/example/creator.git", "tag": "1.0.0"},
            "configurations": [
                {"applicationName": "service", "applicationType": "service"},
                {"applicationName": "events", "applicationType": "event"}]});
        let clients = json!({"connectors": [creator], "clients": [
            {"id": "elsewhere", "secret": "dev-secret", "scopes": ["manage_api_clients:demo"]},
            {"id": "looks", "secret": "dev-secret", "scopes": ["view_connectors:demo", "view_connectors_deployments:demo"]},
        ]});
        let catalogue = Catalogue::built_in().and(Catalogue::parse(&clients.to_string()).expect("it is a catalogue"));
        let start: Timestamp = "2026-03-01T12:00:00Z".parse().expect("it is a date");
        let options = Options { catalogue, seed: Some(seed), ..Options::default() };
        let server = DevServer::start(options, Clock::stepped(start)).await.expect("a port is free");
        let draft = json!({"key": CREATES, "type": "sandbox", "connector": {"key": "creator"},
            "region": "europe-west1.gcp",
            "configurations": [{"applicationName": "service"}, {"applicationName": "events"}]});
        let draft = serde_json::from_value(draft).expect("it is a draft");
        let deployment = server.world().create("demo-production", &draft, true, start).expect("it can be deployed");
        server.world().finish(&deployment.id, start).expect("the deployment exists");
        let http = reqwest::Client::builder().no_proxy().build().expect("the settings are right");
        let mut tokens = Vec::new();
        for client in ["dev-client", "elsewhere", "looks", "production-client"] {
            let request = http.post(format!("{}/oauth/token", server.url())).basic_auth(client, Some("dev-secret"));
            let answer = request.form(&[("grant_type", "client_credentials")]).send().await.expect("it answers");
            let body: Value = serde_json::from_slice(&answer.bytes().await.expect("whole")).expect("it is JSON");
            tokens.push(body["access_token"].as_str().expect("a token").to_owned());
        }
        tokens.push("does-not-count".to_owned());
        Self { dice: Dice::new(seed), server, http, tokens, seen: BTreeMap::new() }
    }

    fn plan(&mut self, operation: &Operation) -> Planned {
        let of_kind = self.seen.get(kind(operation)).map(Vec::as_slice).unwrap_or_default();
        let known = if of_kind.is_empty() { KnownResource::default() } else { self.dice.pick(of_kind) };
        let method = if self.dice.percent(3) { self.dice.pick(&["PUT", "PATCH", "GET"]) } else { &operation.method };
        let method = method.parse().expect("it is a method");
        let mut target = self.path(operation, &known);
        target.push_str(&self.query(operation));
        let mut headers = self.headers(operation);
        let body = self.body(operation, &known);
        if operation.name == "token" {
            headers.push(("Content-Type".into(), "application/x-www-form-urlencoded".into()));
        }
        Planned { method, target, headers, body }
    }

    fn path(&mut self, operation: &Operation, known: &KnownResource) -> String {
        let mut path = operation.path.clone();
        if self.dice.percent(10) && path.contains('{') {
            let (before, _) = path.rsplit_once('/').expect("paths begin with one");
            return format!("{before}/{}", self.dice.pick(&NOWHERE));
        }
        for parameter in operation.parameters.iter().filter(|parameter| parameter["in"] == "path") {
            let name = parameter["name"].as_str().expect("a name");
            let likely = match name {
                "projectKey" if reads_resources(operation) => self.dice.pick(&["demo-production", "demo", "d"]),
                "projectKey" => self.dice.pick(&["demo", "demo", "demo", "demo", "demo-production", "d", "%FF"]),
                "key" if operation.path.contains("/extensions/") => self.dice.pick(&["seen", "seen", "none"]),
                "key" if operation.path.contains("/subscriptions/") => self.dice.pick(&["orders", "orders", "none"]),
                "key" if self.dice.percent(30) => self.dice.pick(&KEYS),
                "key" => &known.key,
                "id" if self.dice.percent(10) => self.dice.pick(&NOWHERE),
                "id" => &known.id,
                "namespace" => self.dice.pick(&["cart", "cart", "cart", "tax", "a%2Fb"]),
                _ => self.dice.pick(&["addToCart", "addToCart", "getCart", "getCart", "none"]),
            };
            let value = if likely.is_empty() { "none" } else { likely };
            path = path.replace(&format!("{{{name}}}"), value);
        }
        path
    }

    fn query(&mut self, operation: &Operation) -> String {
        let mut pairs = form_urlencoded::Serializer::new(String::new());
        let wanted = operation.parameters.iter().filter(|parameter| parameter["in"] == "query");
        for parameter in wanted {
            if !self.dice.percent(20) {
                continue;
            }
            let value = self.dice.value(description(), &parameter["schema"], 0);
            let values = if let Value::Array(values) = value { values } else { vec![value] };
            for value in values {
                let value = if self.dice.percent(20) { self.dice.odd() } else { value };
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                pairs.append_pair(parameter["name"].as_str().expect("a name"), &text);
            }
        }
        if operation.path.contains("/action/") && self.dice.percent(60) {
            pairs.append_pair(self.dice.pick(&["cartId", "cartId", "list[0]", "a[b"]), self.dice.word());
        }
        let text = pairs.finish();
        if text.is_empty() { text } else { format!("?{text}") }
    }

    fn headers(&mut self, operation: &Operation) -> Vec<(String, String)> {
        let mut headers = Vec::new();
        if operation.path.contains("/action/") {
            headers
                .push(("Accept".into(), if self.dice.percent(95) { "application/json" } else { "text/html" }.into()));
            for parameter in operation.parameters.iter().filter(|parameter| parameter["in"] == "header") {
                let name = parameter["name"].as_str().expect("a name");
                let value = match name {
                    "Frontastic-Path" => self.dice.pick(&["/", "/cart", "cart"]),
                    _ => self.dice.pick(&["en-GB", "en_US", "en_US@EUR", "en", "en-GB", "not a locale"]),
                };
                if self.dice.percent(95) && (parameter["required"] == true || self.dice.percent(20)) {
                    headers.push((name.to_owned(), value.into()));
                }
            }
        } else if operation.name == "token" {
            let basic = ["Basic ZGV2LWNsaWVudDpkZXYtc2VjcmV0", "Basic ZGV2LWNsaWVudDp4", "Basic !", "Bearer x", ""];
            let chosen = if self.dice.percent(70) { basic[0] } else { self.dice.pick(&basic) };
            headers.push(("Authorization".into(), chosen.into()));
        } else {
            let usual = if reads_resources(operation) { 3 } else { 0 };
            let which = if self.dice.percent(75) { usual } else { self.dice.below(self.tokens.len()) };
            headers.push(("Authorization".into(), format!("Bearer {}", self.tokens[which])));
        }
        headers
    }

    fn body(&mut self, operation: &Operation, known: &KnownResource) -> Vec<u8> {
        let Some(body) = &operation.request_body else {
            return if self.dice.percent(5) { self.dice.pick(&BODIES).to_vec() } else { Vec::new() };
        };
        if self.dice.percent(6) {
            return self.dice.pick(&BODIES).to_vec();
        }
        if operation.name == "token" {
            let scope = self.dice.pick(&["", "manage_project:demo", "manage_project:demo manage_project:demo", "no"]);
            let grant = self.dice.pick(&["client_credentials", "client_credentials", "password", ""]);
            // The official client does not percent-encode anything here.
            return format!("grant_type={grant}&scope={scope}").into_bytes();
        }
        let schema = &body["content"]["application/json"]["schema"];
        if self.dice.percent(20) {
            return self.dice.value(description(), schema, 0).to_string().into_bytes();
        }
        let mut body = self.likely(operation, known);
        if self.dice.percent(30) {
            self.dice.spoil(&mut body);
        }
        body.to_string().into_bytes()
    }

    /// Returns a body that the dev server could accept.
    fn likely(&mut self, operation: &Operation, known: &KnownResource) -> Value {
        let version = if self.dice.percent(20) { 77 } else { known.version };
        let application = json!({"applicationName": "service",
            "standardConfiguration": [{"key": "LOG_LEVEL", "value": self.dice.word()}],
            "securedConfiguration": [{"key": "API_TOKEN", "value": "canary-41"}]});
        match operation.name.as_str() {
            "createDeployment" | "createDeploymentUnscoped" => {
                let connector = self.dice.pick(&["demo-connector", "demo-connector", "demo-failing", "mine-1", "none"]);
                json!({"key": self.dice.pick(&KEYS), "connector": {"key": connector}, "region": "europe-west1.gcp",
                    "configurations": [application]})
            }
            "createConnectorStaged" => json!({"key": self.dice.pick(&["mine-1", "mine-2", "mine-3"]), "name": "Mine",
                "creator": {"email": "dev@example.com"}, "privateProjects": ["europe-west1.gcp:demo"],
                "repository": {"url": "https://github.com/example/demo-kit.git", "tag": self.dice.pick(&TAGS)}}),
            name if name.starts_with("updateConnector") => {
                if self.dice.percent(10) {
                    let url = "https://github.com/example/demo-kit.git";
                    let action = json!({"action": "setRepository", "url": url, "tag": "none"});
                    return json!({"version": known.version, "actions": [action]});
                }
                let action = json!({"$ref": "#/components/schemas/ConnectorUpdateAction"});
                let count = 1 + self.dice.below(2);
                let actions: Vec<_> = (0..count).map(|_| self.dice.value(description(), &action, 0)).collect();
                json!({"version": version, "actions": actions})
            }
            name if name.starts_with("updateDeployment") => {
                let new = self.dice.percent(50).then(|| json!([application]));
                let redeploy = json!({"action": "redeploy", "configurationValues": new,
                    "updateConnector": self.dice.percent(30)});
                json!({"version": version, "actions": [redeploy]})
            }
            _ => json!({"variant": {"sku": self.dice.word(), "count": self.dice.below(4)}}),
        }
    }

    /// Makes one of the choices that the API leaves open, or resets all choices.
    fn choose(&mut self) {
        let mut variant = Variant::default();
        let variants: Vec<_> = VARIANTS.split(", ").filter_map(|choice| choice.split_once('=')).collect();
        let (name, values) = self.dice.pick(&variants);
        let value = self.dice.pick(&values.split('|').collect::<Vec<_>>());
        let value = if value == "DURATION" { self.dice.pick(&["0s", "4s"]) } else { value };
        let choice = if self.dice.percent(40) { OFTEN.to_owned() } else { format!("{name}={value}") };
        if !UNDESCRIBED.contains(&choice.as_str()) && self.dice.percent(50) {
            variant.set(&choice).expect("it is a choice");
        }
        self.server.world().variant = variant;
    }

    /// Sends a request; returns the answer as the dev server reports it, which must be the one that arrived.
    async fn send(&mut self, planned: &Planned) -> Answer {
        let mut request = self.http.request(planned.method.clone(), format!("{}{}", self.server.url(), planned.target));
        for (name, value) in &planned.headers {
            request = request.header(name, value);
        }
        let arrived = request.body(planned.body.clone()).send().await.expect("it answers");
        let status = arrived.status().as_u16();
        let content_type = arrived.headers().get("content-type").map(|value| value.to_str().expect("text").to_owned());
        let body = arrived.bytes().await.expect("the body is complete");
        let mut heard = self.server.heard();
        let answer = heard.pop().expect("each answer is reported");
        assert_eq!((status, content_type, &body[..]), (answer.status, answer.content_type.clone(), &answer.body[..]));
        answer
    }

    /// Records what the answer shows of a resource.
    fn remember(&mut self, operation: &Operation, answer: &Answer) {
        let Ok(body) = serde_json::from_slice::<Value>(&answer.body) else { return };
        let single = std::slice::from_ref(&body);
        let shown = body["results"].as_array().map_or(single, Vec::as_slice);
        let of_kind = self.seen.entry(kind(operation)).or_default();
        for one in shown {
            let (Some(id), Some(version)) = (one["id"].as_str(), one["version"].as_i64()) else { continue };
            let key = one["key"].as_str().unwrap_or_default().to_owned();
            if key == CREATES {
                continue;
            }
            of_kind.retain(|seen| seen.id != id);
            of_kind.push(KnownResource { id: id.to_owned(), key, version });
        }
        // Keeps the newest few: others may not exist any more.
        let surplus = of_kind.len().saturating_sub(6);
        of_kind.drain(..surplus);
    }
}

#[tokio::test]
async fn answers_to_random_requests_match_the_description() {
    let seed = std::env::var("DESCRIBED_SEED").map_or(SEED, |text| text.parse().expect("DESCRIBED_SEED is a number"));
    let mut player = Player::new(seed).await;
    player.server.heard();
    let mut met: BTreeMap<&str, BTreeSet<u16>> = BTreeMap::new();
    for round in 0..MOST_REQUESTS {
        if round >= REQUESTS && unmet(&met).is_empty() {
            break;
        }
        if player.dice.percent(30) {
            player.choose();
        }
        for operation in &description().operations {
            if player.dice.percent(10) {
                player.server.clock().step(Duration::from_secs(3));
            }
            let planned = player.plan(operation);
            let answer = player.send(&planned).await;
            let fits = description().check(&answer, &[]);
            let body = String::from_utf8_lossy(&planned.body);
            assert!(
                fits.is_ok() && answer.status < 500,
                "DESCRIBED_SEED={seed}, round {round}: {body}\n{}: {fits:?}",
                answer.status
            );
            if let Some(asked) = description().operation_of(&answer) {
                met.entry(&asked.name).or_default().insert(answer.status);
                player.remember(asked, &answer);
            }
        }
    }
    assert_eq!(unmet(&met), Vec::<String>::new(), "DESCRIBED_SEED={seed}");
    for (operation, status) in ELSEWHERE {
        let found = met[operation].iter().any(|met| is_described(*met, status));
        assert!(!found, "DESCRIBED_SEED={seed}: {operation} answers {status}, which is listed as impossible here");
    }
}

fn is_described(met: u16, described: &str) -> bool {
    met.to_string() == described || format!("{}XX", met / 100) == described
}

/// Returns described answers that were not met, except for those that no request here can cause.
fn unmet(met: &BTreeMap<&str, BTreeSet<u16>>) -> Vec<String> {
    let mut unmet = Vec::new();
    for operation in &description().operations {
        for status in operation.responses.keys().filter(|status| *status != "default") {
            let there = met.get(operation.name.as_str()).into_iter().flatten().any(|met| is_described(*met, status));
            if !there && !ELSEWHERE.contains(&(operation.name.as_str(), status)) {
                unmet.push(format!("{} {status}", operation.name));
            }
        }
    }
    unmet
}
