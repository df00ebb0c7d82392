//! Sends the one call of a run, and judges its answer. Decides nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jiff::Timestamp;

use super::expect::{self, Compiled};
use super::status::{Result, with_excerpt};
use crate::clock::{Clock, later};
use crate::connect::action::{ActionAnswer, ActionApi, ActionRequest};
use crate::connect::error::Failure;
use crate::connect::mask::Masker;
use crate::crd::{CheckOutcome, Expectation};

/// A call leaves within this time of its intent being written, or not at all.
const LIMIT: Duration = Duration::from_secs(30);
/// Stack of a thread that reads or evaluates an expression, in bytes: many times what the longest one was seen to need.
/// Of what is not used, the system gives nothing.
const STACK: usize = 64 << 20;
/// Time that an expression may take.
const PATIENCE: Duration = Duration::from_secs(1);

/// A call that is ready to leave, and what its answer has to be.
pub(super) struct Prepared {
    pub(super) client: Arc<dyn ActionApi>,
    pub(super) request: ActionRequest,
    pub(super) masker: Masker,
    pub(super) expected: Expectation,
    pub(super) compiled: Option<Compiled>,
}

/// Sends the call, once, and says what came of it. `started`: when it was written that it would be sent.
pub(super) async fn call(prepared: Prepared, clock: &Clock, started: Timestamp) -> Result {
    let Prepared { client, request, masker, expected, compiled } = prepared;
    let answer = match client.send(request, Some(later(started, LIMIT))).await {
        Ok(answer) => answer,
        Err(error) => {
            let outcome = if error.failure == Failure::NotSent { CheckOutcome::NotSent } else { CheckOutcome::Failed };
            return Result { outcome, http_status: None, duration: None, message: error.to_string() };
        }
    };
    let (http_status, duration) = (Some(answer.status.as_u16()), Some(answer.duration));
    let (answer, judged) = judge(expected, compiled, answer, clock).await;
    let (outcome, message) = match judged {
        Ok(()) => (CheckOutcome::Passed, "The action answered as expected".to_owned()),
        Err(why) => (CheckOutcome::Failed, with_excerpt(&why, &answer.body, &masker)),
    };
    Result { outcome, http_status, duration, message }
}

/// Evaluates beside the runtime. What takes too long is stopped, and is over at its next round.
async fn judge(
    expected: Expectation,
    compiled: Option<Compiled>,
    answer: ActionAnswer,
    clock: &Clock,
) -> (Arc<ActionAnswer>, std::result::Result<(), String>) {
    let (answer, stop) = (Arc::new(answer), Arc::new(AtomicBool::new(false)));
    let (judged, stopped) = (Arc::clone(&answer), Arc::clone(&stop));
    let mut task = std::pin::pin!(beside(move || expect::judge(&expected, compiled.as_ref(), &judged, &stopped)));
    let result = tokio::select! {
        result = &mut task => result,
        () = clock.sleep(PATIENCE) => {
            stop.store(true, Ordering::Relaxed);
            task.await
        }
    };
    (answer, result.unwrap_or_else(|| Err("expect.body cannot be evaluated: write it in another way".to_owned())))
}

/// Compiles an expression beside the runtime.
pub(super) async fn compile(text: Option<String>) -> std::result::Result<Option<Compiled>, String> {
    let Some(text) = text else { return Ok(None) };
    let compiled = beside(move || expect::compile(&text)).await;
    compiled.unwrap_or_else(|| Err("it cannot be read: write it in another way".to_owned())).map(Some)
}

/// Does it on a thread of its own; `None` if that panicked.
async fn beside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (done, result) = tokio::sync::oneshot::channel();
    let thread = std::thread::Builder::new().name("expression".to_owned()).stack_size(STACK);
    // Nobody waits for it any more if the operator ends.
    thread.spawn(move || drop(done.send(work()))).ok()?;
    result.await.ok()
}
