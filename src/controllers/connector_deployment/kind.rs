//! What a `ConnectorDeployment` is to the watches and to the other resources: the key that it claims. Pure.

use super::cache::LocalCache;
use super::persisted::OperationType;
use super::{intent, state};
use crate::controllers::kinds::managed_kind::{ClaimRequest, ManagedKind};
use crate::controllers::object_ref::Kind;
use crate::crd::{ConnectorDeployment, ManagementPolicy};

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
    // A state that cannot be read is reported by the reconcile.
    let begun = status.and_then(|status| state::read(status).ok()?.operation).map(|operation| operation.kind);
    ClaimRequest {
        project: object.spec.project_ref.clone(),
        key: intent::key(object),
        remote: status.and_then(|status| status.remote.clone()),
        id: status.and_then(|status| status.id.clone()),
        operation: begun.is_some(),
        // A resource that only observes claims nothing. But a create that it began earlier may still arrive, and
        // could be mistaken for a deployment of the resource that gets the key in the meantime.
        claims: object.spec.management_policy == ManagementPolicy::Full || begun == Some(OperationType::Create),
    }
}
