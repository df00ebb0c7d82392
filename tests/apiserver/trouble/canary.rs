//! Recognisable secrets are found nowhere they should not be, in a lifecycle with many failures at log level trace.
//!
//! The operator is the real program, so that all of its output is read.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

use crate::collector::{Collector, HEADERS};
use crate::prelude::*;
use crate::seen::get;

const CLIENT_SECRET: &str = "canary-of-the-client/\"secret\"";
const TOKEN: &str = "canary-of-the-token";
const FIRST: &str = "canary of the first, \"secured\" value";
const SECOND: &str = "canary of the second value";
const COOKIE: &str = "session=canary-of-the-cookie";

/// Returns the text around a canary: as it is, escaped with `\u` or percent signs, or in base64 at any offset.
fn trace(text: &str) -> Option<String> {
    // Escaped once or several times, with digits of either case.
    let lowercase = text.to_lowercase().replace('\\', "");
    let all = |prefix: &str| "canary".bytes().map(|byte| format!("{prefix}{byte:02x}")).collect::<Vec<_>>().concat();
    let escaped = ["canary".to_owned(), all("u00"), all("%")].map(|trace| (lowercase.as_str(), trace));
    let encoded = (0..3).flat_map(|before| {
        let bytes = format!("{}canary", "-".repeat(before));
        // Digits that hold only bits of the canary.
        let digits = [0, 2, 3][before]..bytes.len() * 8 / 6;
        [STANDARD_NO_PAD.encode(&bytes), URL_SAFE_NO_PAD.encode(&bytes)].map(|text| text[digits.clone()].to_owned())
    });
    let mut traces = escaped.into_iter().chain(encoded.map(|trace| (text, trace)));
    traces.find_map(|(text, trace)| {
        let at = text.find(&trace)?;
        Some(text[text.floor_char_boundary(at.saturating_sub(200))..text.ceil_char_boundary(at + 60)].to_owned())
    })
}

/// The forms in which a remote may repeat what it was sent.
fn forms(sent: &str) -> Vec<String> {
    let escaped = |escape: fn(u8) -> String| sent.bytes().map(escape).collect::<String>();
    vec![
        sent.to_owned(),
        json!(sent).to_string(),
        json!(json!(sent).to_string()).to_string(),
        STANDARD_NO_PAD.encode(sent),
        URL_SAFE_NO_PAD.encode(format!("~~{sent}")),
        form_urlencoded::byte_serialize(sent.as_bytes()).collect(),
        escaped(|byte| format!("%{byte:02X}")),
        escaped(|byte| format!("\\u{byte:04x}")),
    ]
}

#[test]
fn a_canary_is_found_in_every_form() {
    for sent in [CLIENT_SECRET, TOKEN, FIRST, SECOND, COOKIE] {
        for form in forms(sent) {
            assert!(trace(&format!("<{form}>")).is_some(), "{form}");
            assert!(trace(&json!({"text": form}).to_string()).is_some(), "{form} in JSON");
        }
    }
    assert_eq!(trace("You sent *** or %63%61 or Y2Fu"), None);
}

/// Everything that could contain the secrets, in all its versions.
#[derive(Clone, Default)]
struct Captured(Arc<Mutex<Vec<(String, String)>>>);

impl Captured {
    fn add(&self, place: &str, text: impl Into<String>) {
        self.0.lock().unwrap().push((place.to_owned(), text.into()));
    }

    /// Records every version of every object of a kind.
    fn watch<K>(&self, place: &'static str, api: Api<K>)
    where
        K: kube::Resource + Clone + std::fmt::Debug + serde::de::DeserializeOwned + serde::Serialize + Send + 'static,
    {
        let seen = self.clone();
        tokio::spawn(async move {
            let objects = watcher(api, watcher::Config::default()).default_backoff().applied_objects();
            let mut objects = std::pin::pin!(objects);
            while let Some(object) = objects.next().await {
                // The watch retries after an error.
                let Ok(object) = object else { continue };
                seen.add(place, serde_json::to_string(&object).unwrap());
            }
        });
    }
}

/// A remote that echoes everything that it was sent.
fn echo(status: u16, sent: &[&str]) -> FaultAnswer {
    let sent: Vec<_> = sent.iter().flat_map(|sent| forms(sent)).collect();
    let code = if status == 401 { "invalid_token" } else { "InvalidJsonInput" };
    let text = format!("You sent {}", sent.join(" or "));
    FaultAnswer {
        status: Some(status),
        body: Some(json!({"statusCode": status, "message": text,
            "errors": [{"code": code, "message": text, "detailedErrorMessage": text, "value": text}]})),
        ..FaultAnswer::default()
    }
}

fn html(status: u16, sent: &[&str]) -> FaultAnswer {
    FaultAnswer::text(status, &format!("<html>{}</html>", sent.join(" ")))
}

/// kubectl keeps a copy of the whole manifest in an annotation.
async fn apply(shop: &Shop, manifest: &Value) {
    shop.sandbox.kubectl_apply(manifest).await;
}

/// The project, which logs in again when its scopes change.
fn project(shop: &Shop, scopes: &[&str]) -> Value {
    with_spec(shop.project(), &json!({"scopes": scopes}))
}

/// The output goes to a file: a pipe that is not read would block the process.
fn start(shop: &Shop, collector: &Collector, metrics: SocketAddr, output: &File) -> Child {
    operators::process(&shop.sandbox, &shop.sandbox.namespace)
        .args(["--allowed-action-hosts", "http://127.0.0.1:*"])
        .args(["--log-format", "text", "--metrics-listen", &metrics.to_string()])
        .env("RUST_LOG", "trace")
        .envs([("OTEL_EXPORTER_OTLP_ENDPOINT", &*collector.url), HEADERS])
        .stdout(output.try_clone().unwrap())
        .stderr(output.try_clone().unwrap())
        .spawn()
        .expect("the operator starts")
}

/// A check and a staged connector whose calls are refused with everything that was sent.
async fn refused_elsewhere(shop: &Shop) {
    shop.dev.fault(Fault::of("writeFrontasticActionPost", echo(400, &[COOKIE]))).unwrap();
    apply(shop, &secret("session", &json!({"cookie": COOKIE}))).await;
    let from = json!([{"name": "Cookie", "valueFrom": {"secretKeyRef": {"name": "session", "key": "cookie"}}}]);
    apply(shop, &with_spec(check(shop), &json!({"headers": from}))).await;
    shop.dev.fault(Fault::of("createConnectorStaged", echo(400, &[CLIENT_SECRET])).times(1)).unwrap();
    apply(shop, &kit()).await;
    shop.until_object(CHECK, "failed", |check: &ActionCheck| reason(check) == "CheckFailed").await;
    shop.until_object(KIT, "refused", |kit: &ConnectorStaged| reason(kit) == "RequestRejected").await;
}

async fn trouble(shop: &Shop) {
    let dev = &shop.dev;
    let token =
        json!({"access_token": TOKEN, "token_type": "Bearer", "expires_in": 3600, "scope": "manage_project:demo"});
    dev.fault(Fault::of("token", FaultAnswer { status: Some(200), body: Some(token), ..FaultAnswer::default() }))
        .unwrap();
    dev.fault(Fault::of("queryDeployments", echo(401, &[CLIENT_SECRET, TOKEN]))).unwrap();
    dev.fault(Fault::of("getDeploymentByKey", echo(401, &[CLIENT_SECRET, TOKEN]))).unwrap();
    apply(shop, &secret(CREDENTIALS, &json!({"clientId": "dev-client", "clientSecret": CLIENT_SECRET}))).await;
    apply(shop, &project(shop, &["manage_project:demo"])).await;
    apply(shop, &secret(SECRET, &json!({"token": FIRST}))).await;
    apply(shop, &shop.deployment()).await;
    shop.until_reason("CredentialsRejected").await;

    dev.clear_faults();
    let described = json!({"error": "invalid_client", "error_description": format!("{CLIENT_SECRET} is wrong")});
    let described = FaultAnswer { status: Some(401), body: Some(described), ..FaultAnswer::default() };
    dev.fault(Fault::of("token", described).times(1)).unwrap();
    dev.fault(Fault::of("createDeployment", echo(400, &[CLIENT_SECRET, FIRST])).times(1)).unwrap();
    let failure = format!("The service refused {FIRST} or {}", STANDARD_NO_PAD.encode(FIRST));
    let tokens = shop.calls("token");
    apply(shop, &project(shop, &[])).await;
    until_called(shop, "token", tokens + 1).await;
    apply(shop, &project(shop, &["manage_project:demo"])).await;
    shop.until_reason("RequestRejected").await;

    shop.change(&json!({"spec": {"interval": "6m"}})).await;
    let id = shop.until("created", |object| object.status.as_ref().is_some_and(|status| status.id.is_some())).await;
    let id = id.status.and_then(|status| status.id).unwrap();
    dev.world().plan_outcome(&id, PlannedOutcome::failure("service", "It did not start", &failure), dev.now()).unwrap();
    let failed = meanwhile(&shop.clock, FINE, shop.until_reason("DeploymentFailed")).await;
    assert!(!failed.status.unwrap().report.is_empty(), "the report is in the status, without the value");

    dev.fault(Fault::of("updateDeploymentById", html(500, &[CLIENT_SECRET, SECOND])).times(1)).unwrap();
    dev.fault(Fault::of("getDeploymentById", html(200, &[CLIENT_SECRET, SECOND])).times(1)).unwrap();
    dev.fault(Fault::of("queryDeployments", echo(502, &[CLIENT_SECRET])).times(1)).unwrap();
    apply(shop, &secret(SECRET, &json!({"token": SECOND}))).await;
    meanwhile(&shop.clock, FINE, shop.until_reason("Deployed")).await;

    refused_elsewhere(shop).await;
    dev.fault(Fault::of("deleteDeploymentById", echo(500, &[CLIENT_SECRET])).times(1)).unwrap();
    shop.delete().await;
    meanwhile(&shop.clock, FINE, shop.until_gone()).await;
}

#[tokio::test]
async fn canaries_are_found_nowhere() {
    let client = json!({"clients": [{"id": "dev-client", "secret": CLIENT_SECRET, "scopes": ["manage_project:demo"]}]});
    let catalogue = Catalogue::built_in().and(Catalogue::parse(&client.to_string()).unwrap());
    let options = Options { catalogue, deploy_duration: Duration::from_secs(1), ..Options::default() };
    // The remote's time stands still until an outcome is planned. The operator is a process, with the time of the machine.
    let shop = Shop::without_operator(options, Clock::stepped(Timestamp::now())).await;
    let seen = Captured::default();
    seen.watch("ConnectorDeployment", shop.api::<ConnectorDeployment>());
    seen.watch("ConnectProject", shop.api::<ConnectProject>());
    seen.watch("ActionCheck", shop.api::<ActionCheck>());
    seen.watch("ConnectorStaged", shop.api::<ConnectorStaged>());
    let output = tempfile::NamedTempFile::new().unwrap();
    let collector = Collector::start().await;
    let metrics = addresses::free();
    let mut operator = start(&shop, &collector, metrics, output.as_file());
    trouble(&shop).await;
    seen.add("metrics", get(metrics, "/metrics").await);

    for event in shop.api::<Event>().list(&ListParams::default()).await.unwrap() {
        seen.add("Event", serde_json::to_string(&event).unwrap());
    }
    for map in shop.api::<ConfigMap>().list(&ListParams::default()).await.unwrap() {
        seen.add("ConfigMap", serde_json::to_string(&map).unwrap());
    }
    let id = operator.id().and_then(|id| rustix::process::Pid::from_raw(id.cast_signed())).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    assert!(operator.wait().await.unwrap().success(), "it ends successfully on SIGTERM");
    let written = std::fs::read_to_string(output.path()).unwrap();
    assert!(written.contains("TRACE"), "the log level is trace");
    seen.add("output", written);
    assert!(collector.spans().iter().any(|span| span.is_error), "failed calls were exported");
    collector.bytes().iter().for_each(|body| seen.add("traces", String::from_utf8_lossy(body)));

    let seen = seen.0.lock().unwrap();
    for kind in [
        "ConnectorDeployment",
        "ConnectProject",
        "ActionCheck",
        "ConnectorStaged",
        "Event",
        "metrics",
        "output",
        "traces",
    ] {
        assert!(seen.iter().any(|(place, text)| place == kind && !text.is_empty()), "{kind} was checked");
    }
    for (place, text) in &*seen {
        if let Some(around) = trace(text) {
            panic!("{place} of {NAME} shows a canary: {around}");
        }
    }
}
