//! The resource is being deleted: rules 22 and 23, and the rows *Undeploy* of the table.
//!
//! Needs no desired values, so that a resource that could never be deployed can still be deleted.

use std::time::Duration;

use super::super::persisted::{
    DeletionPolicy, Observation, ObservedDeployment, Operation, OperationState, OperationType, PersistedState,
};
use super::taking_down;
use super::timing::left;
use super::{Decision, Input, LAG, LIMIT, Outcome, QUIET_PERIOD};

pub(super) fn decide(input: &Input<'_>, deletion: DeletionPolicy) -> Decision {
    if deletion == DeletionPolicy::Orphan || input.intent.observe_only {
        return input.remove_finalizer();
    }
    match (&input.persisted.id, &input.persisted.operation, input.observation) {
        (_, Some(operation), _)
            if operation.kind == OperationType::Create && operation.state == OperationState::Planned =>
        {
            outstanding_create(input, operation)
        }
        (None, _, Observation::Present(observed)) if restored(input, observed) => claim(input, observed),
        (None, _, _) => input.remove_finalizer(),
        // One 404 is enough after the service accepted a DELETE.
        (Some(_), Some(operation), Observation::Absent { .. }) if is_accepted(operation) => input.remove_finalizer(),
        (Some(_), _, Observation::Absent { .. }) => absent(input),
        (Some(_), _, Observation::Present(observed)) => {
            taking_down::present(input, observed, OperationType::Undeploy, input.cause_of_undeploy())
        }
    }
}

/// Sends a DELETE, for the first time or again.
fn undeploy(input: &Input<'_>, persisted: PersistedState) -> Decision {
    taking_down::send(input, persisted, OperationType::Undeploy, input.cause_of_undeploy())
}

/// The answer to a DELETE tells whether the deployment is gone. While the service refuses one, or none may be sent, the
/// reads do (rule 5).
fn absent(input: &Input<'_>) -> Decision {
    if !input.intent.suspended && input.refused_until(&input.cause_of_undeploy()).is_none() {
        return undeploy(input, input.persisted.clone());
    }
    input.missing(LAG + LIMIT).unwrap_or_else(|| {
        let mut decision = input.remove_finalizer();
        // What the Event reports as ended.
        decision.persisted.operation = Some(input.operation(OperationType::Undeploy, None));
        decision
    })
}

/// Rule 3: the status was lost with a restored backup, and the annotation names this deployment.
fn restored(input: &Input<'_>, observed: &ObservedDeployment) -> bool {
    input.intent.remote_id.as_ref() == Some(&observed.id) && input.intent.identity.fits(observed)
}

fn is_accepted(operation: &Operation) -> bool {
    operation.kind == OperationType::Undeploy && operation.state == OperationState::Accepted
}

/// A create of this resource may still arrive: absence, or another client's deployment, counts only after the quiet
/// period.
fn outstanding_create(input: &Input<'_>, operation: &Operation) -> Decision {
    if let Observation::Present(observed) = input.observation
        && input.persisted.id.as_ref() != Some(&observed.id)
        && input.sent(operation).is_some_and(|sent| observed.is_what_was_sent(sent, input.digests))
        && input.intent.identity.fits(observed)
    {
        return claim(input, observed);
    }
    let age = input.age(operation);
    if age >= QUIET_PERIOD {
        return input.remove_finalizer();
    }
    input.no_op(Outcome::Running(OperationType::Undeploy), Some(left(age, QUIET_PERIOD).min(Duration::from_secs(10))))
}

/// Notes the id of a deployment that this resource created and whose id was not known.
fn claim(input: &Input<'_>, observed: &ObservedDeployment) -> Decision {
    undeploy(input, PersistedState { id: Some(observed.id.clone()), ..input.persisted.clone() })
}
