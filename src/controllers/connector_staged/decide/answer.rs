//! What follows from the response to the one call of a reconcile.

use jiff::Timestamp;

use super::super::persisted::{ObservedConnector, OperationType, PersistedState};
use super::input::note_taken;
use super::{Call, Cause, Refused, TransientState};
use crate::controllers::driver::operations::{self, Pause};

/// What the response to a call means; an accepted one shows the connector.
pub type Response = operations::Response<ObservedConnector>;

/// What a response comes to.
pub type AppliedResponse = operations::AppliedResponse<PersistedState, TransientState>;

/// Applies the response to `call`, for which `persisted` was written; `cause` is what the call was sent for.
#[must_use]
pub fn apply_response(
    persisted: &PersistedState,
    transient: &TransientState,
    call: &Call,
    cause: Option<Cause>,
    answer: &Response,
    now: Timestamp,
) -> AppliedResponse {
    let mut applied = AppliedResponse {
        persisted: persisted.clone(),
        transient: transient.clone(),
        remove_finalizer: false,
        key_taken: false,
    };
    let Some(operation) = &persisted.operation else { return applied };
    let kind = operation.kind;
    match answer {
        Response::Accepted(observed) => {
            applied.transient.refused = None;
            applied.transient.pause = None;
            if kind == OperationType::Delete {
                // Lost with this process, it costs another DELETE.
                applied.transient.deleted = Some(operation.attempt);
            }
            accepted(&mut applied.persisted, observed, now);
        }
        Response::NotFound if kind == OperationType::Delete => applied.remove_finalizer = true,
        Response::Unknown => {}
        Response::Duplicate if kind == OperationType::Create => {
            if call.first {
                applied.persisted.operation = None;
                applied.key_taken = true;
            }
        }
        Response::Retryable | Response::NotFound => {
            settle(&mut applied, call);
            if call.first {
                applied.transient.pause = Some(Pause::after(transient.pause, now));
            }
        }
        Response::Refused | Response::Duplicate => {
            settle(&mut applied, call);
            applied.transient.refused = Some(Refused::after(transient.refused.as_ref(), cause, now));
        }
    }
    applied
}

/// Notes an accepted call. The response shows what a create or an update has changed; other operations continue.
fn accepted(persisted: &mut PersistedState, observed: &ObservedConnector, now: Timestamp) {
    let Some(operation) = persisted.operation.clone() else { return };
    match operation.kind {
        OperationType::Create | OperationType::Update => {
            persisted.id = Some(observed.id.clone());
            note_taken(persisted, &operation, operation.digest.clone(), &observed.digest, now);
        }
        // The acceptance of a DELETE stays in memory.
        OperationType::Delete => {}
        OperationType::Preview | OperationType::Publish => {
            if let Some(operation) = &mut persisted.operation {
                operation.accepted = true;
                operation.seen_busy |= observed.is_busy();
            }
        }
    }
}

/// Removes the operation, because nothing happened. The refusal of a repeated call proves nothing about the first one.
fn settle(applied: &mut AppliedResponse, call: &Call) {
    if call.first {
        applied.persisted.operation = None;
    }
}
