//! The rows *Recreate* of the table: deletes the deployment and creates it without the removed values, because a
//! redeploy does not remove values (contract section 6.1). Only for `removedValuesPolicy: Recreate`, since the URLs change.
//!
//! The operation stays persisted until the create that follows takes its place, so that a restart continues it.

use std::time::Duration;

use super::super::persisted::{
    Observation, ObservedDeployment, Operation, OperationState, OperationType, PersistedState,
};
use super::taking_down;
use super::timing::{left, pace};
use super::{Decision, DesiredPayload, Input, LAG, LIMIT, Outcome, QUIET_PERIOD, creating, debounce};

/// Begins to remove values that the deployment has and that are no longer desired.
pub(super) fn begin(input: &Input<'_>, wanted: &DesiredPayload) -> Decision {
    if let Some(waits) = debounce::gather(input, wanted) {
        return waits;
    }
    taking_down::send(input, input.persisted.clone(), OperationType::Recreate, input.cause(wanted))
}

pub(super) fn decide(input: &Input<'_>, operation: &Operation) -> Decision {
    // Nothing is deleted, and nothing is created, before the values for the create are known.
    let Some(wanted) = input.wanted else { return input.no_op(Outcome::ValuesUnknown, None) };
    match input.observation {
        // Another deployment has the key now.
        Observation::Absent { key_held_by: Some(_) } => input.no_op(Outcome::KeyTaken, None),
        Observation::Present(observed) if !input.intent.recreate => withdrawn(input, observed, operation),
        Observation::Present(observed) => taking_down::present(input, observed, operation.kind, input.cause(wanted)),
        // One 404 is enough after the service accepted a DELETE.
        Observation::Absent { .. } if operation.state == OperationState::Accepted => creating::create(input),
        Observation::Absent { .. } => input.missing(LAG + LIMIT).unwrap_or_else(|| creating::create(input)),
    }
}

/// `removedValuesPolicy` was set back, and the deployment exists: nothing more is deleted. Once no DELETE can arrive any more, the
/// deployment stays as it is.
fn withdrawn(input: &Input<'_>, observed: &ObservedDeployment, operation: &Operation) -> Decision {
    let age = input.age(operation);
    let running = |again| input.no_op(Outcome::Running(OperationType::Recreate), Some(again));
    if observed.phase.is_busy() {
        return running(pace(age));
    }
    if age < QUIET_PERIOD {
        return running(left(age, QUIET_PERIOD).min(Duration::from_secs(10)));
    }
    input.re_evaluate(PersistedState { operation: None, ..input.persisted.clone() })
}
