//! The frontend whose actions are checked: what it answers now, and the calls that operators made.

use std::cell::RefCell;

use connect_api::ApiError;
use connect_api::action::{ActionAnswer, ActionApi, ActionRequest};
use connect_api::error::Failure as Failed;
use connect_api::hosts::{AllowedHosts, Endpoint, UrlRefused};
use connect_operator::names::DEFAULT_ACTION_HOSTS;
use connect_operator::operator::clients::action_factory::ActionFactory;
use http::{Method, StatusCode};

use crate::prelude::*;
use crate::remote::error;

tokio::task_local! {
    /// The reconcile of a check that calls.
    pub(crate) static CHECKING: RefCell<Checking>;
}

/// A reconcile of a check.
#[derive(Clone, Debug)]
pub(crate) struct Checking {
    pub(crate) namespace: String,
    pub(crate) uid: String,
    /// Resource version of the check that it was given, or has read since, before it wrote.
    pub(crate) version: u64,
    /// Whether it has tried to write the check.
    pub(crate) wrote: bool,
    pub(crate) began: Timestamp,
}

/// An answer: status and body.
pub(crate) type Reply = (u16, &'static str);

/// The answers that a history may choose.
pub(crate) const REPLIES: [Reply; 4] =
    [(200, r#"{"ok": true}"#), (200, r#"{"ok": false}"#), (500, r#"{"ok": true}"#), (200, "<html>")];
/// The answer of something in front of the frontend, which does not pass the call on.
const NOT_PASSED_ON: Reply = (500, "");

/// A call that has an answer.
#[derive(Clone, Debug)]
pub(crate) struct Called {
    pub(crate) by: Checking,
    pub(crate) scheme: String,
    pub(crate) host: String,
    pub(crate) writes: bool,
    /// Whether the action was executed.
    pub(crate) executed: bool,
    pub(crate) reply: Reply,
}

/// The frontend.
#[derive(Default)]
pub(crate) struct Frontend {
    /// Index in [`REPLIES`] of what it answers now.
    pub(crate) now: u8,
    pub(crate) calls: Vec<Called>,
}

impl Frontend {
    /// Returns what it answers now.
    pub(crate) fn reply(&self) -> Reply {
        REPLIES[usize::from(self.now) % REPLIES.len()]
    }
}

/// The frontend as one operator reaches it.
#[derive(Clone)]
pub(crate) struct ActionLine {
    pub(crate) operator: usize,
    pub(crate) interceptor: Interceptor,
    pub(crate) frontend: Arc<Mutex<Frontend>>,
    pub(crate) clock: Clock,
}

impl ActionFactory for ActionLine {
    fn endpoint(&self, url: &str) -> Result<Endpoint, UrlRefused> {
        AllowedHosts::parse(DEFAULT_ACTION_HOSTS.split(',')).expect("the default is valid").endpoint(url)
    }

    fn client(&self, _: Endpoint, _: Duration, _: usize) -> Result<Arc<dyn ActionApi>, String> {
        Ok(Arc::new(self.clone()))
    }
}

impl ActionApi for ActionLine {
    fn send(&self, request: ActionRequest, send_before: Option<Timestamp>) -> Answer<'_, ActionAnswer> {
        let ActionRequest { operation, method, url, .. } = request;
        let what = What {
            place: Callee::Frontend,
            name: format!("{method} {url}"),
            changes: method != Method::GET,
            send_before,
        };
        let by = CHECKING.with(|checking| checking.borrow().clone());
        let called = move |executed, reply| Called {
            by: by.clone(),
            scheme: url.scheme().to_owned(),
            host: url.host_str().unwrap_or_default().to_owned(),
            writes: method != Method::GET,
            executed,
            reply,
        };
        let (frontend, in_front) = (Arc::clone(&self.frontend), Arc::clone(&self.frontend));
        let not_passed_on = called.clone();
        let effect = move || -> Result<ActionAnswer, ApiError> {
            let mut frontend = lock(&frontend);
            let reply = frontend.reply();
            frontend.calls.push(called(true, reply));
            Ok(answer(reply))
        };
        let fail = move |failure| match failure {
            Failure::Lost => Err(error(operation, Failed::NoAnswer)),
            // Nothing listens at the address.
            Failure::NotSent | Failure::Refused(503, _) => Err(error(operation, Failed::NotSent)),
            Failure::Refused(..) => {
                lock(&in_front).calls.push(not_passed_on(false, NOT_PASSED_ON));
                Ok(answer(NOT_PASSED_ON))
            }
        };
        Box::pin(self.interceptor.call(self.operator, what, self.clock.now(), effect, fail))
    }
}

fn answer((status, body): Reply) -> ActionAnswer {
    ActionAnswer {
        status: StatusCode::from_u16(status).expect("a status"),
        body: body.as_bytes().to_vec(),
        whole: true,
        duration: Duration::from_millis(5),
    }
}
