//! Rule 4: of several resources with one key, one owns it, and the others send nothing.

use super::super::decide::{CallKind, Decision, Step};
use super::super::kind;
use super::super::persisted::OperationType;
use crate::operator::cluster::keys::{Begin, ClaimStatus};

use super::Reconciler;

impl Reconciler<'_> {
    /// Whether the decision may be carried out. A create, and taking over what exists, are announced to the other resources
    /// first.
    pub(super) fn claim(&self, decision: &Decision) -> ClaimStatus {
        let before = kind::claim(&self.object);
        let creates = matches!(&decision.step, Step::Send(call) if call.kind == CallKind::Create);
        let gets = decision.persisted.id.is_some() && decision.persisted.id != before.id;
        let create = decision.persisted.operation.as_ref().filter(|operation| operation.kind == OperationType::Create);
        // What a create of its own has left is not taken over.
        let takes_over = create.is_none() && !(before.operation && self.is_deleting());
        let remote = self.identity.as_ref().map(|identity| &identity.remote).filter(|_| creates || gets);
        self.context.claim(&*self.object, remote.map(|remote| Begin { remote, takes_over }))
    }
}
