//! What the answer to the one call of a run says: the rows *definite refusal* of the table.

use jiff::Timestamp;

use super::super::ledger::{Ledger, OperationKind, OperationState, Phase};
use super::{Call, Cause, Memory, Pause, Refused};
use crate::controllers::operations;

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Accepted; the deployment as the answer shows it.
    Accepted {
        /// Its id.
        id: String,
        /// Where it is in its life.
        phase: Phase,
    },
    /// Nothing happened, and the input has to change.
    Refused,
    /// Nothing happened, and the same may work soon: busy, another version, throttled, not sent.
    NotNow,
    /// The key exists.
    Duplicate,
    /// There is no such deployment.
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
    let Some(operation) = &mut outcome.ledger.operation else { return outcome };
    let kind = operation.kind;
    let takes_down = matches!(kind, OperationKind::Undeploy | OperationKind::Recreate);
    let cause = cause.filter(|_| kind != OperationKind::Undeploy);
    match answer {
        Answer::Accepted { id, phase } => {
            operation.state = OperationState::Accepted;
            operation.seen_busy |= phase.is_busy();
            if kind == OperationKind::Create {
                outcome.ledger.id = Some(id.clone());
            }
            outcome.ledger.unverified &= takes_down;
            outcome.memory.refused = None;
            outcome.memory.pause = None;
        }
        Answer::NotFound if kind == OperationKind::Undeploy => outcome.release = true,
        // Gone already: what follows is to create it.
        Answer::NotFound if kind == OperationKind::Recreate => operation.state = OperationState::Accepted,
        Answer::Unknown => {}
        Answer::Duplicate if kind == OperationKind::Create => {
            if call.first {
                settle(&mut outcome, call);
                outcome.key_taken = true;
            }
        }
        Answer::NotFound if kind == OperationKind::Redeploy => passing(&mut outcome, call, now),
        Answer::NotNow => passing(&mut outcome, call, now),
        Answer::Refused | Answer::Duplicate | Answer::NotFound => {
            settle(&mut outcome, call);
            outcome.memory.refused = Some(Refused::after(memory.refused.as_ref(), cause, now));
        }
    }
    outcome
}

/// Nothing happened, so the operation never was. The refusal of a repeated call says nothing of the first one.
fn settle(outcome: &mut Outcome, call: &Call) {
    if call.first {
        let begun = outcome.ledger.operation.take();
        // Rule 15: nothing was moved to the latest version either.
        outcome.memory.followed = None;
        // It was to take the place of one that is gone, so nothing is ours any more.
        if begun.is_some_and(|operation| operation.kind == OperationKind::Create) {
            outcome.ledger.id = None;
            outcome.ledger.applied = None;
        }
    }
}

/// A repeated call waits longer with each attempt anyway.
fn passing(outcome: &mut Outcome, call: &Call, now: Timestamp) {
    settle(outcome, call);
    if call.first {
        outcome.memory.pause = Some(Pause::after(outcome.memory.pause, now));
    }
}
