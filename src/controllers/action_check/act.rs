//! Sends the one call of a reconcile, and evaluates its answer. Decides nothing.

use std::sync::Arc;
use std::time::Duration;

use clock::later;
use connect_api::action::{ActionAnswer, ActionApi, ActionRequest};
use connect_api::error::Failure;
use connect_api::mask::Masker;
use jiff::Timestamp;
use tokio::sync::Semaphore;

use super::status::{AS_EXPECTED, Result, with_excerpt};
use super::{STACK, expect};
use crate::crd::{CheckOutcome, Expectation};

/// A call leaves within this time of its intent being written, or not at all.
const LIMIT: Duration = Duration::from_secs(30);
/// Assertions are read and evaluated for one check at a time, so that what the largest answer and the worst patterns need is
/// needed once.
static ONE_AT_A_TIME: Semaphore = Semaphore::const_new(1);

/// A call that is ready to leave, and what its answer has to be.
pub(super) struct Prepared {
    pub(super) client: Arc<dyn ActionApi>,
    pub(super) request: ActionRequest,
    pub(super) masker: Masker,
    pub(super) expected: Expectation,
}

/// Sends the call, once, and says what came of it. `started`: when it was written that it would be sent.
pub(super) async fn call(prepared: Prepared, started: Timestamp) -> Result {
    let Prepared { client, request, masker, expected } = prepared;
    let answer = match client.send(request, Some(later(started, LIMIT))).await {
        Ok(answer) => answer,
        Err(error) => {
            let outcome = if error.failure == Failure::NotSent { CheckOutcome::NotSent } else { CheckOutcome::Failed };
            return Result { outcome, http_status: None, duration: None, message: error.to_string() };
        }
    };
    let (http_status, duration) = (Some(answer.status.as_u16()), Some(answer.duration));
    let (answer, evaluated) = evaluate(expected, answer).await;
    let (outcome, message) = match evaluated {
        Ok(()) => (CheckOutcome::Passed, AS_EXPECTED.to_owned()),
        Err(why) => (CheckOutcome::Failed, with_excerpt(&why, &answer.body, &masker)),
    };
    Result { outcome, http_status, duration, message }
}

/// Evaluates beside the runtime.
async fn evaluate(expected: Expectation, answer: ActionAnswer) -> (Arc<ActionAnswer>, std::result::Result<(), String>) {
    let answer = Arc::new(answer);
    let evaluated = Arc::clone(&answer);
    let work = move || expect::compile(&expected).and_then(|compiled| compiled.evaluate(&evaluated));
    let result = beside(work).await;
    (answer, result.unwrap_or_else(|| Err("expect cannot be evaluated: write it in another way".to_owned())))
}

/// Reads the assertions beside the runtime, before anything is sent. They are read again with the answer: kept until then they
/// would need memory for every check that is under way.
pub(super) async fn check(expected: Expectation) -> std::result::Result<(), String> {
    let read = beside(move || expect::compile(&expected).map(drop)).await;
    read.unwrap_or_else(|| Err("expect cannot be read: write it in another way".to_owned()))
}

/// Does it on a thread of its own; `None` if that panicked.
async fn beside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    // It is never closed.
    let turn = ONE_AT_A_TIME.acquire().await.ok()?;
    let (done, result) = tokio::sync::oneshot::channel();
    let thread = std::thread::Builder::new().name("expect".to_owned()).stack_size(STACK);
    let work = move || {
        // Held for as long as it runs, also if nobody waits for it any more because the operator ends.
        let _turn = turn;
        drop(done.send(work()));
    };
    thread.spawn(work).ok()?;
    result.await.ok()
}
