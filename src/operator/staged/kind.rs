//! What a `ConnectorStaged` is to the watches and to the other resources: the key that it claims. Pure.

use crate::crd::ConnectorStaged;
use crate::operator::context::StagedMemory;
use crate::operator::kinds::managed_kind::{ClaimRequest, ManagedKind};
use crate::operator::object_ref::Kind;

impl ManagedKind for ConnectorStaged {
    const KIND: Kind = Kind::Staged;
    type Memory = StagedMemory;

    fn claim(&self) -> Option<ClaimRequest> {
        let status = self.status.clone().unwrap_or_default();
        Some(ClaimRequest {
            project: self.spec.project_ref.clone(),
            key: self.spec.key.clone(),
            // A state that this version does not understand may have anything, so it counts as begun.
            operation: status.remembered().map_or(true, |state| state.is_call_open()),
            remote: status.remote.map(|remote| remote.project),
            id: status.id,
            claims: true,
        })
    }
}
