//! The resource is being deleted: rules 22 and 23.

use std::time::Duration;

use clock::later;
use jiff::Timestamp;

use super::super::persisted::{
    DeletionPolicy, Observation, ObservedConnector, Operation, OperationType, PersistedState, Phase,
};
use super::{CallKind, Decision, Input, Outcome};
use crate::controllers::driver::operations::{QUIET_PERIOD, TOO_LONG, left, repeat_after};

pub(super) fn decide(input: &Input<'_>, deletion: DeletionPolicy) -> Decision {
    if deletion == DeletionPolicy::Orphan {
        return input.remove_finalizer();
    }
    let operation = input.persisted.operation.as_ref();
    match (&input.persisted.id, operation, input.observation) {
        (None, Some(operation), _) if operation.kind == OperationType::Create => outstanding_create(input, operation),
        // Rule 3: the status was lost with a restored backup, and the annotation names this connector.
        (None, _, Observation::Present(observed)) if input.intent.remote_id.as_ref() == Some(&observed.id) => {
            claim(input, observed)
        }
        (None, _, _) => input.remove_finalizer(),
        // One 404 is enough after the service accepted a DELETE.
        (Some(_), Some(operation), Observation::Absent)
            if operation.kind == OperationType::Delete && operation.accepted =>
        {
            input.remove_finalizer()
        }
        (Some(id), _, Observation::Absent) => delete(input, input.persisted.clone(), id),
        (Some(id), _, Observation::Present(observed)) => present(input, id, observed),
    }
}

/// A create of this resource may still arrive: absence, or another client's connector, counts only after the quiet
/// period.
fn outstanding_create(input: &Input<'_>, operation: &Operation) -> Decision {
    if let Observation::Present(observed) = input.observation
        && operation.digest.as_ref() == Some(&observed.digest)
    {
        return claim(input, observed);
    }
    let age = input.age(operation);
    if age >= QUIET_PERIOD {
        return input.remove_finalizer();
    }
    wait(input, left(age, QUIET_PERIOD).min(Duration::from_secs(10)))
}

fn present(input: &Input<'_>, id: &str, observed: &ObservedConnector) -> Decision {
    if matches!(observed.phase, Phase::Processing | Phase::Other) {
        // The service accepts nothing meanwhile.
        let busy = input.busy();
        let outcome = if busy.outcome == Outcome::TakesTooLong {
            Outcome::TakesTooLong
        } else {
            Outcome::Running(OperationType::Delete)
        };
        return Decision { outcome, ..busy };
    }
    let taken =
        input.persisted.operation.as_ref().filter(|before| before.kind == OperationType::Delete && before.accepted);
    if let Some(before) = taken {
        // The DELETE was accepted, but the connector still exists: repeat it with growing pauses.
        let (age, pause) = (input.age(before), repeat_after(before.attempt.saturating_add(1)));
        if age < pause {
            let mut decision = wait(input, left(age, pause).min(Duration::from_secs(15)));
            if age >= TOO_LONG {
                decision.outcome = Outcome::TakesTooLong;
            }
            return decision;
        }
    }
    delete(input, input.persisted.clone(), id)
}

fn wait(input: &Input<'_>, again: Duration) -> Decision {
    input.no_op(Outcome::Running(OperationType::Delete), Some(again))
}

/// Notes the id of a connector that this resource created and whose id was not known.
fn claim(input: &Input<'_>, observed: &ObservedConnector) -> Decision {
    delete(input, PersistedState { id: Some(observed.id.clone()), ..input.persisted.clone() }, &observed.id)
}

/// Returns until when no observation leads to a call or to the end of an operation; `None`: the next one may. A DELETE
/// whose response was lost is sent again, also if the connector is gone.
#[must_use]
pub fn needless_until(operation: &Operation) -> Option<Timestamp> {
    let lost = operation.kind == OperationType::Delete && !operation.accepted;
    lost.then(|| later(operation.started_at, repeat_after(operation.attempt)))
}

/// Sends a DELETE, for the first time or again.
fn delete(input: &Input<'_>, mut persisted: PersistedState, id: &str) -> Decision {
    if let Some(held) = input.held(OperationType::Delete) {
        return held;
    }
    let mut operation = input.operation(OperationType::Delete, None);
    operation.request = None;
    if let Some(before) = persisted.operation.take().filter(|before| before.kind == OperationType::Delete) {
        let (age, pause) = (input.age(&before), repeat_after(before.attempt));
        if !before.accepted && age < pause {
            return wait(input, left(age, pause));
        }
        operation.attempt = before.attempt.saturating_add(1);
    }
    let first = operation.attempt == 1;
    input.send(persisted, operation, CallKind::Delete { id: id.to_owned() }, first)
}
