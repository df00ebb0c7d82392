//! What a `ConnectorStaged` is to the watches and to the other resources: the key that it claims. Pure.

use super::state::State;
use crate::controllers::context::StagedMemory;
use crate::controllers::kinds::managed_kind::{ClaimRequest, ManagedKind};
use crate::controllers::object_ref::Kind;
use crate::crd::ConnectorStaged;

impl ManagedKind for ConnectorStaged {
    const KIND: Kind = Kind::Staged;
    type Memory = StagedMemory;

    fn claim(&self) -> Option<ClaimRequest> {
        let (status, state) = (self.status.clone().unwrap_or_default(), self.remembered());
        Some(ClaimRequest {
            project: self.spec.project_ref.clone(),
            key: self.spec.key.clone(),
            remote: status.remote,
            // A state that this version does not understand may have anything, so it counts as begun.
            operation: state.as_ref().map_or(true, State::is_call_open),
            id: state.map_or(status.id, |state| state.id),
            claims: true,
        })
    }

    fn has_begun(&self) -> bool {
        self.status.as_ref().is_some_and(|status| status.state.is_some())
    }
}
