//! What an observer of requests is notified of: each request once, with its result.

use connect_api::observer::{Observer, RequestEnd, TokenEnd};

use super::remote::{Remote, answer, endpoint, json_answer, with_header};
use crate::patience::brief;
use crate::prelude::*;

#[derive(Debug)]
struct Recorder {
    recorded: Mutex<Vec<String>>,
    /// Measures since when the recorder exists: no request may have taken longer.
    clock: Clock,
}

impl Default for Recorder {
    fn default() -> Self {
        Self { recorded: Mutex::default(), clock: Clock::system() }
    }
}

impl Recorder {
    fn note(&self, what: String) {
        self.recorded.lock().expect("the lock is not poisoned").push(what);
    }

    fn recorded(&self) -> Vec<String> {
        std::mem::take(&mut self.recorded.lock().expect("the lock is not poisoned"))
    }
}

impl Observer for Recorder {
    fn request(&self, operation: &'static str, end: RequestEnd, duration: Duration) {
        assert!(duration <= self.clock.elapsed(), "{duration:?}");
        self.note(format!("{operation} {end:?}"));
    }

    fn waited(&self, _: Duration) {
        self.note("waited".to_owned());
    }

    fn throttled(&self) {
        self.note("throttled".to_owned());
    }

    fn token(&self, end: TokenEnd) {
        self.note(format!("token {end:?}"));
    }
}

fn client(settings: Settings, recorder: &Arc<Recorder>) -> HttpConnect {
    let around = ClientContext { observer: recorder.clone(), ..ClientContext::plain(Clock::system()) };
    HttpConnect::new(settings, around).expect("a client for plain HTTP")
}

async fn read(api: &HttpConnect) {
    let _ = api.connector(&Selector::Key("tax".to_owned())).await;
}

#[tokio::test]
async fn each_request_is_observed_once_with_its_result() {
    let recorder = Arc::new(Recorder::default());
    let ended = |end: &str| vec!["waited".to_owned(), format!("getConnectorByKey {end}")];
    for (case, reply, expected) in [
        ("absent", answer(404, r#"{"statusCode": 404}"#), ended("Status(404)")),
        ("broken", answer(500, "oh"), ended("Status(500)")),
        ("no record", answer(200, "[]"), ended("Undecodable")),
        (
            "too many",
            answer(429, ""),
            vec!["waited".into(), "throttled".into(), "getConnectorByKey Status(429)".into()],
        ),
        (
            "unavailable for a while",
            with_header(answer(503, ""), "Retry-After", "1"),
            vec!["waited".into(), "throttled".into(), "getConnectorByKey Status(503)".into()],
        ),
    ] {
        let reply = Mutex::new(Some(reply));
        let remote = Remote::start(move |_| reply.lock().expect("not poisoned").take().expect("one request")).await;
        let api = client(remote.settings(), &recorder);
        read(&api).await;
        let mut events = recorder.recorded();
        assert_eq!(events.remove(0), "token Issued", "{case}");
        assert_eq!(events, expected, "{case}");
    }
    let remote = Remote::start(|_| {
        json_answer(200, &serde_json::json!({"results": [], "total": 0, "limit": 1, "offset": 0, "count": 0}))
    })
    .await;
    client(remote.settings(), &recorder).deployments(PageRequest { limit: 1, offset: 0 }).await.expect("a page");
    assert_eq!(recorder.recorded(), ["token Issued", "waited", "queryDeployments Status(200)"]);
}

#[tokio::test]
async fn requests_without_an_answer_are_observed_too() {
    let recorder = Arc::new(Recorder::default());
    let remote = Remote::start(|_| answer(500, "")).await;
    let silent = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let (closed, _held) = crate::addresses::closed();
    for (url, expected) in [
        (format!("http://{}", silent.local_addr().expect("bound")), "getConnectorByKey Timeout"),
        (format!("http://{closed}"), "getConnectorByKey Connection"),
    ] {
        let mut settings = remote.settings();
        settings.api_url = endpoint(&url);
        settings.limits.call = brief();
        read(&client(settings, &recorder)).await;
        assert_eq!(recorder.recorded(), ["token Issued", "waited", expected]);
    }
    let mut settings = remote.settings();
    settings.auth_url = endpoint(&format!("http://{closed}"));
    read(&client(settings, &recorder)).await;
    assert_eq!(recorder.recorded(), ["token Failed"], "nothing was sent to the API");
}

/// The service received it, so a count without it would be wrong.
#[tokio::test]
async fn a_request_whose_caller_stops_waiting_is_observed() {
    let recorder = Arc::new(Recorder::default());
    let remote = Remote::start(|_| answer(500, "")).await;
    let silent = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let mut settings = remote.settings();
    settings.api_url = endpoint(&format!("http://{}", silent.local_addr().expect("bound")));
    let api = client(settings, &recorder);
    tokio::select! {
        () = read(&api) => panic!("nobody answered"),
        connected = silent.accept() => drop(connected.expect("a connection")),
    }
    assert_eq!(recorder.recorded(), ["token Issued", "waited", "getConnectorByKey Canceled"]);
}
