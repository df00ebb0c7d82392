//! Secrets that answers repeat appear neither in errors nor in logs, at any level.

use std::io;
use std::sync::OnceLock;

use axum::response::Response;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;

use super::remote::{
    ReceivedRequest, Remote, action, action_client, answer, draft, endpoint, error_answer, json_answer, later,
    no_hurry, with_header,
};
use super::tls::{authorities, tls_client, tls_remote};
use crate::prelude::*;

const SECURED: &str = "canary \"value\"/1";
const SECRET: &str = "canary-secret";
const TOKEN: &str = "canary-token";

/// Traces of every spelling: plain, in Base64 of the pair, in Base64 by itself.
const TRACES: [&str; 4] = ["canary", "Y2FuYXJ5", "ZGV2LWNsaWVudDpj", "value\\\"/1"];

/// Collects everything that is logged, through either of the two facades.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("not poisoned").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// reqwest and rustls log through `log`, which has one logger for the whole process.
struct Facade;

static FACADE: OnceLock<Log> = OnceLock::new();

impl log::Log for Facade {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        use io::Write as _;
        let mut log = FACADE.get_or_init(Log::default).clone();
        writeln!(log, "{} {}", record.target(), record.args()).expect("memory");
    }

    fn flush(&self) {}
}

impl Log {
    /// Logs at level trace, on this thread, until the guard is dropped.
    fn listen() -> (Self, tracing::subscriber::DefaultGuard) {
        if log::set_logger(&Facade).is_ok() {
            log::set_max_level(log::LevelFilter::Trace);
        }
        let log = Self::default();
        let layer = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(log.clone());
        (log, super::listen(tracing_subscriber::registry().with(layer)))
    }

    fn text(&self) -> String {
        let bytes = self.0.lock().expect("not poisoned").clone();
        let facade = FACADE.get().map(|log| log.0.lock().expect("not poisoned").clone()).unwrap_or_default();
        String::from_utf8([bytes, facade].concat()).expect("logs are text")
    }
}

fn is_clean(text: &str) -> bool {
    !TRACES.iter().any(|trace| text.contains(trace))
}

/// Repeats everything that it received, wherever it can.
fn echo(seen: &ReceivedRequest) -> String {
    format!("{} {} {} {SECRET} {SECURED}", seen.line, seen.header("authorization"), seen.body)
}

type Echo = fn(&ReceivedRequest) -> Response;

fn echoes() -> Vec<(&'static str, Echo)> {
    vec![
        ("in the texts of an error", |seen| error_answer(400, "InvalidJsonInput", &echo(seen))),
        ("as code", |seen| error_answer(400, TOKEN, &echo(seen))),
        ("as correlation id", |_| with_header(answer(500, ""), "x-correlation-id", TOKEN)),
        ("as details", |seen| {
            json_answer(
                400,
                &json!({"errors": [{"code": "General", "detailedErrorMessage": echo(seen)}], "x": SECURED}),
            )
        }),
        ("in HTML", |seen| answer(502, format!("<html>{}</html>", echo(seen)))),
        ("in a success", |seen| answer(200, echo(seen))),
        ("in a record", |seen| json_answer(200, &json!({"id": echo(seen), "version": TOKEN, "status": SECRET}))),
        ("in a redirect", |_| with_header(answer(302, ""), "location", &format!("http://h/?{TOKEN}"))),
        ("in a refused token", |seen| error_answer(401, "invalid_token", &echo(seen))),
    ]
}

async fn errors_of(api: &dyn ConnectApi, case: &str) -> Vec<ApiError> {
    let id = Selector::Id("42".to_owned());
    let draft = draft(SECURED);
    let action =
        RedeployAction { configuration_values: Some(draft.configurations.clone()), ..RedeployAction::default() };
    vec![
        api.create(&draft, no_hurry()).await.map(drop).expect_err(case),
        api.redeploy(&id, 1, &action, no_hurry()).await.map(drop).expect_err(case),
    ]
}

#[tokio::test]
async fn secrets_that_servers_repeat_are_nowhere_in_errors_and_logs() {
    let (log, _guard) = Log::listen();
    for (case, api_answer) in echoes() {
        let remote = Remote::start_slow(
            later(move |seen| api_answer(&seen)),
            later(|_| json_answer(200, &json!({"access_token": TOKEN, "expires_in": 3600}))),
        )
        .await;
        let api = remote.client_with(Clock::system(), |settings| settings.credentials.client_secret = SECRET.into());
        for error in errors_of(&api, case).await {
            let shown = format!("{error} {error:?} {error:#?}");
            assert!(is_clean(&shown), "{case}: {shown}");
        }
        assert!(is_clean(&format!("{api:?}")), "{case}");
        assert!(remote.seen()[0].body.contains("canary"), "the value was sent");
    }
    let text = log.text();
    for heard in ["a request ended", "hyper", "reqwest::connect starting new connection"] {
        assert!(text.contains(heard), "{heard}");
    }
    let leak = text.lines().find(|line| !is_clean(line));
    assert_eq!(leak, None);
}

#[tokio::test]
async fn secrets_that_the_token_endpoint_repeats_are_nowhere_either() {
    let (log, _guard) = Log::listen();
    for (case, status) in [("refused", 401), ("broken", 500), ("a success without a token", 200)] {
        let remote = Remote::start_slow(
            later(|_| answer(500, "")),
            later(move |seen| {
                let text = echo(&seen);
                json_answer(status, &json!({"error": "invalid_client", "error_description": text, "token_type": TOKEN}))
            }),
        )
        .await;
        let api = remote.client_with(Clock::system(), |settings| settings.credentials.client_secret = SECRET.into());
        let error = api.deployments(PageRequest { limit: 1, offset: 0 }).await.expect_err(case);
        let shown = format!("{error} {error:?}");
        // The echo contains a foreign secured value; what this client sent is hidden.
        assert!(!shown.contains(SECRET) && !shown.contains("ZGV2LWNsaWVudDpj"), "{case}: {shown}");
    }
    assert!(!log.text().contains(SECRET));
}

#[tokio::test]
async fn neither_tls_nor_http_2_logs_what_is_sent() {
    let (log, _guard) = Log::listen();
    let (remote, pem) = tls_remote().await;
    let (_file, trusted) = authorities(&pem);
    let api = tls_client(&remote, &trusted.expect("certificates"));
    api.create(&draft(SECURED), no_hurry()).await.expect("created");
    let (text, seen) = (log.text(), remote.seen());
    assert!(text.contains("h2::"), "HTTP/2 was spoken");
    assert!(seen[0].body.contains("canary") && seen[0].token() == 1);
    for secret in ["canary", "token-1", "dev-secret", "ZGV2LWNsaWVudDpkZXYtc2VjcmV0"] {
        let leak = text.lines().find(|line| line.contains(secret));
        assert_eq!(leak, None);
    }
}

#[tokio::test]
async fn extra_headers_of_an_action_are_nowhere_in_errors_and_logs() {
    let (log, _guard) = Log::listen();
    let (tls, pem) = tls_remote().await;
    let broken = Remote::start(|seen| with_header(answer(200, echo(&seen)), "content-length", "999999")).await;
    let (_file, trusted) = authorities(&pem);
    let trusted = trusted.expect("certificates");
    for (case, url, trusted) in
        [("HTTP/2", format!("https://{}", tls.address), trusted), ("lost", broken.url(), Authorities::default())]
    {
        let endpoint = endpoint(&url);
        let action = action(ActionMethod::Get, &["Cookie", "Authorization", "X-Key"].map(|name| (name, SECRET)));
        let client = action_client(&url, &trusted, ClientContext::plain(Clock::system()));
        let request = action.request(&Preset::SERVICE, &endpoint).expect("the request is valid");
        let shown = format!("{request:?} {client:?} {action:?}");
        let outcome = client.send(request, Some(no_hurry())).await;
        assert_eq!(outcome.is_ok(), case == "HTTP/2", "{case}: {outcome:?}");
        let shown = format!("{shown} {outcome:?}");
        assert!(is_clean(&shown), "{case}: {shown}");
    }
    let text = log.text();
    assert!(text.contains("h2::") && text.contains("a request ended"), "something was logged");
    assert_eq!(tls.seen()[0].header("cookie"), SECRET, "it was sent");
    assert_eq!(text.lines().find(|line| !is_clean(line)), None);
}
