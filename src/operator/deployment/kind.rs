//! What a `ConnectorDeployment` is to the watches and to the other resources: the key that it claims. Pure.

use super::cache::LocalCache;
use super::persisted::{OperationType, PersistedState};
use super::{intent, state};
use crate::crd::{ConnectorDeployment, ManagementPolicy};
use crate::operator::kinds::managed_kind::{ClaimRequest, ManagedKind};
use crate::operator::object_ref::Kind;

impl ManagedKind for ConnectorDeployment {
    const KIND: Kind = Kind::Deployment;
    type Memory = LocalCache;

    fn claim(&self) -> Option<ClaimRequest> {
        Some(claim(self))
    }
}

/// Returns the key that a deployment claims, and what it has begun.
pub(super) fn claim(object: &ConnectorDeployment) -> ClaimRequest {
    let status = object.status.as_ref();
    let state = status.map_or_else(|| Ok(PersistedState::default()), state::read);
    let begun = state.as_ref().ok().and_then(|state| state.operation.as_ref()).map(|operation| operation.kind);
    ClaimRequest {
        project: object.spec.project_ref.clone(),
        key: intent::key(object),
        remote: status.and_then(|status| status.remote.as_ref()).map(|remote| remote.project.clone()),
        id: status.and_then(|status| status.id.clone()),
        // A state that this version does not understand may have anything, so it counts as begun.
        operation: state.is_err() || begun.is_some(),
        // A resource that only observes claims nothing. But a create that it began earlier may still arrive, and
        // could be mistaken for a deployment of the resource that gets the key in the meantime.
        claims: object.spec.management_policy == ManagementPolicy::Full || begun == Some(OperationType::Create),
    }
}
