//! The state of the operator in a status: `status.state`, one string of JSON that is not part of the API, because only this
//! operator reads it. Nothing in it is ever cut: a decision reads all of it. Pure.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::{Deserialize, Serialize};

use super::persisted::PersistedState;
use crate::controllers::reporting::conditions::{ConditionUpdate, whole_seconds};
use crate::controllers::reporting::reason::Reason;
use crate::crd::connector_deployment_status::ConnectorDeploymentStatus;

/// The version of the format.
const VERSION: u32 = 1;

#[derive(Deserialize)]
struct Version {
    v: u32,
}

#[derive(Serialize)]
struct Versioned<'s> {
    v: u32,
    #[serde(flatten)]
    state: &'s PersistedState,
}

/// Reads the persisted state from a status; that of a status without state is empty.
///
/// # Errors
/// The condition that says what to do, if somebody else has edited the state, or a newer version has written it. Nothing may
/// be concluded from such a resource, and nothing sent.
pub fn read(status: &ConnectorDeploymentStatus) -> Result<PersistedState, ConditionUpdate> {
    let state = match &status.state {
        None => PersistedState::default(),
        Some(text) => parse(text)?,
    };
    let (id, handled_redeploy) = (status.id.clone(), status.handled_redeploy_request.clone());
    Ok(PersistedState { id, handled_redeploy, ..state })
}

/// Reads the persisted state from a status for people, and for whoever waits for what was applied; one that cannot be read is
/// empty. No decision about the deployment is made from it.
#[must_use]
pub fn shown(status: &ConnectorDeploymentStatus) -> PersistedState {
    read(status).unwrap_or_default()
}

/// Digest of what was applied last, and when, as long as no operation runs.
#[must_use]
pub fn applied(status: &ConnectorDeploymentStatus) -> Option<(Option<String>, Time)> {
    let state = shown(status);
    let applied = state.applied.filter(|_| state.operation.is_none())?;
    Some((applied.digest.as_ref().map(ToString::to_string), Time(whole_seconds(applied.at))))
}

fn parse(text: &str) -> Result<PersistedState, ConditionUpdate> {
    let unreadable = |why: String| {
        let message = format!(
            "status.state cannot be read: {why}. Nothing is sent for this resource: run the version of the operator that wrote \
             it, or delete the resource with deletionPolicy: Orphan and create it again with adoptionPolicy: Adopt"
        );
        ConditionUpdate::new(Reason::InternalError, message)
    };
    let Version { v } = serde_json::from_str(text).map_err(|error| unreadable(error.to_string()))?;
    if v != VERSION {
        return Err(unreadable(format!("it has version {v}, and this operator knows version {VERSION}")));
    }
    serde_json::from_str(text).map_err(|error| unreadable(error.to_string()))
}

/// Writes the persisted state to a status.
pub fn write(status: &mut ConnectorDeploymentStatus, state: &PersistedState) {
    status.id.clone_from(&state.id);
    status.handled_redeploy_request.clone_from(&state.handled_redeploy);
    let is_empty = PersistedState { id: None, handled_redeploy: None, ..state.clone() } == PersistedState::default();
    let text = || serde_json::to_string(&Versioned { v: VERSION, state }).ok();
    status.state = if is_empty { None } else { text() };
}
