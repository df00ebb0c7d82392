//! Sends the one call of a reconcile, and evaluates its answer. Decides nothing.

use std::sync::Arc;
use std::time::Duration;

use clock::later;
use connect_api::action::{ActionAnswer, ActionApi, ActionRequest};
use connect_api::error::Failure;
use connect_api::mask::Masker;
use jiff::Timestamp;

use super::status::{AS_EXPECTED, Result, with_excerpt};
use super::{STACK, expect};
use crate::controllers::reporting::problem::sentence;
use crate::crd::{CheckOutcome, Expectation};
use crate::mutex::Mutex;

/// A call leaves within this time after its intent was written, or not at all.
const LIMIT: Duration = Duration::from_secs(30);
/// One check at a time compiles or evaluates assertions, or masks an excerpt, so that the memory for the largest answer
/// and the worst patterns is needed once.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A call that is ready to leave, and what its answer has to be.
pub(super) struct Prepared {
    pub(super) client: Arc<dyn ActionApi>,
    pub(super) request: ActionRequest,
    pub(super) masker: Masker,
    pub(super) expected: Expectation,
}

/// Sends the call, once, and returns its result. `started`: when the intent to send was written.
pub(super) async fn call(prepared: Prepared, started: Timestamp) -> Result {
    let Prepared { client, request, masker, expected } = prepared;
    let answer = match client.send(request, Some(later(started, LIMIT))).await {
        Ok(answer) => answer,
        Err(error) => {
            let outcome = if error.failure == Failure::NotSent { CheckOutcome::NotSent } else { CheckOutcome::Failed };
            return Result { outcome, http_status: None, duration: None, message: sentence(&error) };
        }
    };
    let (http_status, duration) = (Some(answer.status.as_u16()), Some(answer.duration));
    let (outcome, message) = match beside(move || evaluate(&expected, &answer, &masker)).await {
        Some(Ok(())) => (CheckOutcome::Passed, AS_EXPECTED.to_owned()),
        Some(Err(why)) => (CheckOutcome::Failed, why),
        None => (CheckOutcome::Failed, "expect cannot be evaluated: write it in another way".to_owned()),
    };
    Result { outcome, http_status, duration, message }
}

/// Evaluates an answer; the error has an excerpt of it.
fn evaluate(expected: &Expectation, answer: &ActionAnswer, masker: &Masker) -> std::result::Result<(), String> {
    let evaluated = expect::compile(expected).and_then(|compiled| compiled.evaluate(answer));
    evaluated.map_err(|why| with_excerpt(&why, &answer.body, masker))
}

/// Compiles the assertions on a separate thread, before anything is sent. They are compiled again with the answer:
/// keeping them until then would need memory for every check in progress.
pub(super) async fn check(expected: Expectation) -> std::result::Result<(), String> {
    let read = beside(move || expect::compile(&expected).map(drop)).await;
    read.unwrap_or_else(|| Err("expect cannot be read: write it in another way".to_owned()))
}

/// Runs `work` on a thread of its own, which has a large stack; `None` if it panicked. It continues if nobody awaits it
/// because the operator shuts down. To the runtime it is blocking work, so that a test that steps a paused clock waits for
/// it.
async fn beside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let run = move || {
        let _turn = ONE_AT_A_TIME.lock();
        let thread = std::thread::Builder::new().name("expect".to_owned()).stack_size(STACK);
        thread.spawn(work).ok()?.join().ok()
    };
    tokio::task::spawn_blocking(run).await.ok()?
}

#[cfg(test)]
mod tests {
    use connect_api::ApiError;
    use connect_api::api::Answer;
    use http::{HeaderMap, Method};

    use super::*;

    /// Fails each call in one way.
    struct Fails(Failure);

    impl ActionApi for Fails {
        fn send(&self, request: ActionRequest, _: Option<Timestamp>) -> Answer<'_, ActionAnswer> {
            Box::pin(std::future::ready(Err(ApiError {
                operation: request.operation,
                failure: self.0.clone(),
                message: "no connection".to_owned(),
                correlation_id: None,
                retry_after: None,
            })))
        }
    }

    #[tokio::test]
    async fn a_failed_call_is_reported_as_a_sentence() {
        for (failure, outcome, start) in [
            (Failure::NotSent, CheckOutcome::NotSent, "The request could not be sent"),
            (Failure::NoAnswer, CheckOutcome::Failed, "The request got no answer"),
        ] {
            let request = ActionRequest {
                operation: "callAction",
                method: Method::GET,
                url: "http://127.0.0.1:1".parse().expect("a URL"),
                headers: HeaderMap::new(),
                body: None,
                masker: Masker::new([]),
            };
            let client = Arc::new(Fails(failure));
            let prepared = Prepared { client, request, masker: Masker::new([]), expected: Expectation::default() };
            let result = call(prepared, Timestamp::UNIX_EPOCH).await;
            let message = format!("{start}: no connection (callAction)");
            assert_eq!((result.outcome, result.message), (outcome, message));
        }
    }
}
