//! What the answer to the one call of a run says: the rows *definite refusal* of the table.

use std::time::Duration;

use jiff::Timestamp;

use super::super::ledger::{Ledger, OperationKind, OperationState, Phase};
use super::{Call, Cause, Memory, Refused};
use crate::clock::later;

/// First pause before a refused write is repeated, if nothing changes before; doubles.
const REFUSED_AGAIN: Duration = Duration::from_mins(10);
/// Longest such pause.
const REFUSED_AGAIN_AT_MOST: Duration = Duration::from_hours(1);
/// Pause after a refusal that passes by itself: the deployment is busy, or the version was an old one.
const PASSING: Duration = Duration::from_secs(5);

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// What is to be remembered now.
    pub ledger: Ledger,
    /// What this process has seen.
    pub memory: Memory,
    /// Whether the resource may go.
    pub release: bool,
    /// Whether the key turned out to be somebody else's.
    pub key_taken: bool,
}

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
    match answer {
        Answer::Accepted { id, phase } => {
            operation.state = OperationState::Accepted;
            operation.seen_busy |= phase.is_busy();
            if kind == OperationKind::Create {
                outcome.ledger.id = Some(id.clone());
            }
            outcome.ledger.unverified &= kind == OperationKind::Undeploy;
            outcome.memory.refused = None;
        }
        Answer::NotFound if kind == OperationKind::Undeploy => outcome.release = true,
        Answer::Unknown => {}
        // The refusal of a repeated call says nothing of the first one.
        _ if !call.first => {}
        Answer::Duplicate if kind == OperationKind::Create => {
            outcome.ledger.operation = None;
            outcome.key_taken = true;
        }
        Answer::Refused | Answer::Duplicate => {
            outcome.ledger.operation = None;
            outcome.memory.refused = Some(refused(memory, cause, now));
        }
        Answer::NotNow | Answer::NotFound => {
            outcome.ledger.operation = None;
            if kind == OperationKind::Undeploy {
                outcome.memory.refused = Some(Refused { cause: None, until: later(now, PASSING), times: 1 });
            }
        }
    }
    outcome
}

fn refused(memory: &Memory, cause: Option<Cause>, now: Timestamp) -> Refused {
    let times = memory
        .refused
        .as_ref()
        .filter(|before| before.cause == cause)
        .map_or(1, |before| before.times.saturating_add(1));
    let pause = REFUSED_AGAIN.saturating_mul(1 << times.saturating_sub(1).min(6)).min(REFUSED_AGAIN_AT_MOST);
    Refused { cause, until: later(now, pause), times }
}
