//! What the answer to the one call of a run says.

use jiff::Timestamp;

use super::super::ledger::{Ledger, OperationKind, Seen};
use super::case::note_taken;
use super::{Call, Cause, Memory, Refused};
use crate::controllers::operations::{self, Pause};

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Accepted; the connector as the answer shows it.
    Accepted(Seen),
    /// Nothing happened, and the input has to change; of an update with several actions some may have been taken
    /// (contract section 6).
    Refused,
    /// Nothing happened, and the same may work soon: busy, another version, throttled, not sent.
    NotNow,
    /// The key exists.
    Duplicate,
    /// There is no such connector.
    NotFound,
    /// It may have happened.
    Unknown,
}

/// What an answer comes to.
pub type Outcome = operations::Outcome<Ledger, Memory>;

/// Takes in the answer to `call`, which `ledger` was written for; `cause` is what was asked for.
#[must_use]
pub fn answered(
    ledger: &Ledger,
    memory: &Memory,
    call: &Call,
    cause: Option<Cause>,
    answer: &Answer,
    now: Timestamp,
) -> Outcome {
    let mut outcome = Outcome { ledger: ledger.clone(), memory: memory.clone(), release: false, key_taken: false };
    let Some(operation) = &ledger.operation else { return outcome };
    let kind = operation.kind;
    match answer {
        Answer::Accepted(seen) => {
            outcome.memory.refused = None;
            outcome.memory.pause = None;
            accepted(&mut outcome.ledger, seen, now);
        }
        Answer::NotFound if kind == OperationKind::Delete => outcome.release = true,
        Answer::Unknown => {}
        Answer::Duplicate if kind == OperationKind::Create => {
            if call.first {
                outcome.ledger.operation = None;
                outcome.key_taken = true;
            }
        }
        Answer::NotNow | Answer::NotFound => {
            settle(&mut outcome, call);
            if call.first {
                outcome.memory.pause = Some(Pause::after(memory.pause, now));
            }
        }
        Answer::Refused | Answer::Duplicate => {
            settle(&mut outcome, call);
            outcome.memory.refused = Some(Refused::after(memory.refused.as_ref(), cause, now));
        }
    }
    outcome
}

/// What a create or an update has changed shows in its answer; what it began goes on.
fn accepted(ledger: &mut Ledger, seen: &Seen, now: Timestamp) {
    let Some(operation) = ledger.operation.clone() else { return };
    match operation.kind {
        OperationKind::Create | OperationKind::Update => {
            ledger.id = Some(seen.id.clone());
            note_taken(ledger, &operation, operation.digest.clone(), &seen.digest, now);
        }
        OperationKind::Preview | OperationKind::Publish | OperationKind::Delete => {
            if let Some(operation) = &mut ledger.operation {
                operation.accepted = true;
                operation.seen_busy |= seen.is_busy();
            }
        }
    }
}

/// Nothing happened, so the operation never was. The refusal of a repeated call says nothing of the first one.
fn settle(outcome: &mut Outcome, call: &Call) {
    if call.first {
        outcome.ledger.operation = None;
    }
}
