//! The dev server against the description that it serves: each answer that a test of this binary receives, random
//! requests for each operation, and the description itself.
//!
//! Tests start their dev servers here ([`DevServer`]). Next: `description.rs` for the checks of an answer, `random.rs`
//! for the random requests, `requests.rs` for the checks of requests that the operator's own client sends, `page.rs`
//! for the checks of the description.

mod description;
mod dice;
mod page;
mod random;
mod requests;

use std::ops::Deref;
use std::sync::OnceLock;

use dev_server::{self, Answer, DESCRIPTION, DevServerError};
use tokio::sync::mpsc::UnboundedReceiver;

use self::description::Description;

use crate::prelude::*;

pub(crate) use self::requests::check as check_request;

/// Returns the description that the dev server serves.
fn description() -> &'static Description {
    static READ: OnceLock<Description> = OnceLock::new();
    READ.get_or_init(|| Description::parse(DESCRIPTION))
}

/// Parses the description, which takes a while, before a call with a time limit depends on it.
pub(crate) fn prepare() {
    description();
}

/// A dev server whose every answer must match the description; otherwise the test fails when it drops the server.
#[derive(Debug)]
pub(crate) struct DevServer {
    server: Option<dev_server::DevServer>,
    answers: Mutex<UnboundedReceiver<Answer>>,
    invented: Mutex<Vec<&'static str>>,
}

impl DevServer {
    pub(crate) async fn start(options: Options, clock: Clock) -> Result<Self, DevServerError> {
        dev_server::DevServer::start(options, clock).await.map(Self::of)
    }

    pub(crate) async fn start_on(
        listener: TcpListener,
        options: Options,
        clock: Clock,
    ) -> Result<Self, DevServerError> {
        dev_server::DevServer::start_on(listener, options, clock).await.map(Self::of)
    }

    /// Starts one with the usual options.
    pub(crate) async fn usual() -> Self {
        Self::start(Options::default(), Clock::system()).await.expect("a dev server")
    }

    /// Deploys the demo connector with these plain values and this secret one; returns the id.
    pub(crate) fn deploy(&self, key: &str, plain: &Value, token: &str) -> String {
        let draft: DeploymentDraft = serde_json::from_value(json!({
            "key": key, "type": "sandbox", "connector": {"key": "demo-connector"}, "region": "europe-west1.gcp",
            "configurations": [{"applicationName": "service", "standardConfiguration": plain,
                "securedConfiguration": [{"key": "API_TOKEN", "value": token}]}],
        }))
        .unwrap();
        let now = self.now();
        let id = self.world().create("demo", &draft, true, now).unwrap().id;
        self.world().finish(&id, now).unwrap();
        id
    }

    fn of(server: dev_server::DevServer) -> Self {
        let answers = Mutex::new(server.listen());
        Self { server: Some(server), answers, invented: Mutex::default() }
    }

    /// Permits a value that the API does not have, such as a future status, which this test makes it answer.
    pub(crate) fn may_answer(&self, value: &'static str) {
        self.invented.lock().unwrap().push(value);
    }

    /// Returns the answers since the last call.
    fn heard(&self) -> Vec<Answer> {
        let mut answers = self.answers.lock().unwrap();
        std::iter::from_fn(|| answers.try_recv().ok()).collect()
    }

    pub(crate) async fn stop(mut self) -> Result<(), DevServerError> {
        match self.server.take() {
            Some(server) => server.stop().await,
            None => Ok(()),
        }
    }
}

impl Deref for DevServer {
    type Target = dev_server::DevServer;

    fn deref(&self) -> &Self::Target {
        self.server.as_ref().expect("only `stop` takes it, and consumes `self`")
    }
}

impl Drop for DevServer {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        let invented = self.invented.lock().unwrap().clone();
        let heard = self.heard();
        let wrong: Vec<_> = heard.iter().filter_map(|answer| description().check(answer, &invented).err()).collect();
        assert!(wrong.is_empty(), "answers that do not match the description:\n{}", wrong.join("\n"));
        let wrong: Vec<_> = heard.iter().filter_map(|answer| requests::check(answer).err()).collect();
        assert!(wrong.is_empty(), "requests that do not match the description:\n{}", wrong.join("\n"));
    }
}
