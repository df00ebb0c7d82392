//! What a decision leads to: the results of the rows, and the names of those that many rows share.

use super::build::{Fixture, NOW};
use crate::operator::deployment::decide::{Decision, Outcome, Step};
use crate::operator::deployment::persisted::{OperationState, OperationType, PersistedState, Phase};

/// What a decision does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Does {
    Rest,
    Send(OperationType),
    SendAgain(OperationType),
    Release,
}

/// What is persisted after a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stored {
    Nothing,
    Planned,
    Accepted,
}

pub(super) fn does(decision: &Decision) -> Does {
    match (&decision.step, &decision.persisted.operation) {
        (Step::NoOp, _) => Does::Rest,
        (Step::RemoveFinalizer, _) => Does::Release,
        (Step::Send(_), Some(operation)) if operation.is_first() => Does::Send(operation.kind),
        (Step::Send(_), Some(operation)) => Does::SendAgain(operation.kind),
        (Step::Send(_), None) => panic!("a call without an operation"),
    }
}

pub(super) fn stored(persisted: &PersistedState) -> Stored {
    match persisted.operation.as_ref().map(|operation| operation.state) {
        None => Stored::Nothing,
        Some(OperationState::Planned) => Stored::Planned,
        Some(OperationState::Accepted) => Stored::Accepted,
    }
}

/// The result of a decision.
pub(super) type Expected = (Does, Stored, Outcome);

pub(super) fn result(decision: &Decision) -> Expected {
    (does(decision), stored(&decision.persisted), decision.outcome)
}

/// No operation runs, and nothing is sent.
pub(super) const fn idle(outcome: Outcome) -> Expected {
    (Does::Rest, Stored::Nothing, outcome)
}

/// The first call of an operation is sent.
pub(super) const fn sends(kind: OperationType) -> Expected {
    (Does::Send(kind), Stored::Planned, Outcome::Running(kind))
}

/// The call of an operation is repeated.
pub(super) const fn again(kind: OperationType) -> Expected {
    (Does::SendAgain(kind), Stored::Planned, Outcome::Running(kind))
}

/// The call was not answered, and is not repeated yet.
pub(super) const fn waits(kind: OperationType) -> Expected {
    (Does::Rest, Stored::Planned, Outcome::Running(kind))
}

/// The call was accepted, and the operation has not ended.
pub(super) const fn runs(kind: OperationType) -> Expected {
    (Does::Rest, Stored::Accepted, Outcome::Running(kind))
}

/// No operation runs, and the deployment is as desired.
pub(super) const SETTLED: Expected = idle(Outcome::Settled { phase: Phase::Deployed, drifted: false });
pub(super) const FAILED: Expected = idle(Outcome::Settled { phase: Phase::Failed, drifted: false });

/// A row: its name, what is decided from, and the result.
pub(super) type Row = (&'static str, Fixture, Expected);

pub(super) fn check(rows: Vec<Row>) {
    for (name, fixture, expected) in rows {
        let decision = fixture.decide();
        assert_eq!(result(&decision), expected, "{name}: {decision:#?}");
        if matches!(decision.step, Step::Send(_)) {
            let operation = decision.persisted.operation.as_ref().expect("the operation is persisted before its call");
            assert_eq!((operation.state, operation.started_at), (OperationState::Planned, NOW), "{name}");
            assert_ne!(decision.persisted, fixture.persisted, "{name}: the write before a call changes the status");
        }
    }
}
