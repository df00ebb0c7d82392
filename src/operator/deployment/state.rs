//! What is remembered of a deployment, in its status: `status.state`, and the fields that users look at. Pure.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::persisted::PersistedState;
use crate::crd::connector_deployment_status::{ConnectorDeploymentStatus, OperationInProgress};
use crate::crd::state;
use crate::operator::reporting::conditions::{ConditionUpdate, whole_seconds};
use crate::operator::reporting::reason::Reason;

/// Reads the persisted state from a status; that of a status without state is empty.
///
/// # Errors
/// The condition for a state that this version does not understand.
pub fn read(status: &ConnectorDeploymentStatus) -> Result<PersistedState, ConditionUpdate> {
    let read = status.state.as_deref().map(|text| state::read(text, state::ADOPT)).transpose();
    let state = read.map_err(|why| ConditionUpdate::new(Reason::InternalError, why))?.unwrap_or_default();
    let (id, handled_redeploy) = (status.id.clone(), status.handled_redeploy_request.clone());
    Ok(PersistedState { id, handled_redeploy, ..state })
}

/// Reads the persisted state from a status for people, and for whoever waits for what was applied; one that cannot be read is
/// empty. No decision about the deployment is made from it.
pub fn shown(status: &ConnectorDeploymentStatus) -> PersistedState {
    read(status).unwrap_or_default()
}

/// Digest of what was applied last, and when, as long as no operation runs.
pub fn applied(status: &ConnectorDeploymentStatus) -> Option<(Option<String>, Time)> {
    let state = shown(status);
    let applied = state.applied.filter(|_| state.operation.is_none())?;
    Some((applied.digest.as_ref().map(ToString::to_string), Time(whole_seconds(applied.at))))
}

/// Writes the persisted state to a status.
pub fn write(status: &mut ConnectorDeploymentStatus, state: &PersistedState) {
    status.id.clone_from(&state.id);
    status.handled_redeploy_request.clone_from(&state.handled_redeploy);
    status.operation = state.operation.as_ref().map(|operation| OperationInProgress {
        operation_type: operation.kind,
        started_at: Time(whole_seconds(operation.started_at)),
    });
    let is_empty = PersistedState { id: None, handled_redeploy: None, ..state.clone() } == PersistedState::default();
    status.state = if is_empty { None } else { state::text(state) };
}
