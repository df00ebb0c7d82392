//! Rule 4: of several resources with one key, one owns it, and the others send nothing.

use super::super::decide::{CallKind, Decision, Step};
use super::super::kind;
use crate::controllers::key_ownership::{Begin, ClaimStatus};

use super::{Inputs, Reconciler};

impl Reconciler<'_> {
    /// Whether the decision may be carried out. A create, and taking over what exists, are announced to the other resources
    /// first.
    pub(super) fn claim(&self, inputs: &Inputs, decision: &Decision) -> ClaimStatus {
        let before = kind::claim(&self.object);
        let creates = matches!(&decision.step, Step::Send(call) if matches!(call.kind, CallKind::Create { .. }));
        let gets = decision.persisted.id.is_some() && decision.persisted.id != before.id;
        let begin = Begin { remote: &inputs.wanted.remote, takes_over: !creates && !before.operation };
        self.context.claim(&*self.object, (creates || gets).then_some(begin))
    }
}
