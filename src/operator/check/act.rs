//! Sends the one call of a reconcile, and evaluates its answer. Decides nothing.

use std::sync::Arc;
use std::time::Duration;

use clock::later;
use connect_api::action::{ActionApi, ActionRequest};
use connect_api::error::Failure;
use connect_api::mask::Masker;
use jiff::Timestamp;

use super::expect::Expected;
use super::status::{AS_EXPECTED, Result};
use crate::crd::CheckOutcome;
use crate::operator::reporting::problem::sentence;

/// A call leaves within this time after its intent was written, or not at all.
const LIMIT: Duration = Duration::from_secs(30);

/// A call that is ready to leave, and what its answer has to be.
pub(super) struct Prepared {
    pub(super) client: Arc<dyn ActionApi>,
    pub(super) request: ActionRequest,
    pub(super) masker: Masker,
    pub(super) expected: Expected,
}

/// Sends the call, once, and returns its result. `started`: when the intent to send was written.
pub(super) async fn call(prepared: Prepared, started: Timestamp) -> Result {
    let Prepared { client, request, masker, expected } = prepared;
    let answer = match client.send(request, Some(later(started, LIMIT))).await {
        Ok(answer) => answer,
        Err(error) => {
            let outcome = if error.failure == Failure::NotSent { CheckOutcome::NotSent } else { CheckOutcome::Failed };
            return Result { outcome, http_status: None, message: sentence(&error) };
        }
    };
    let http_status = Some(answer.status.as_u16());
    // It costs some milliseconds at most: the size of both is bounded.
    let (outcome, message) = match expected.evaluate(&answer, &masker) {
        Ok(()) => (CheckOutcome::Passed, AS_EXPECTED.to_owned()),
        Err(why) => (CheckOutcome::Failed, why),
    };
    Result { outcome, http_status, message }
}
