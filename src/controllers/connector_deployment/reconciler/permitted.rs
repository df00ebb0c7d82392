//! Compares the rights that a call needs with the scopes of the token, and reports missing ones.

use std::sync::Arc;

use super::super::decide::{CallKind, Decision};
use crate::controllers::conditions::ConditionUpdate;
use crate::controllers::driver::ObservedRecord;
use crate::controllers::object::Next;
use crate::controllers::problem;
use crate::controllers::remote::{PollRate, Remote};

use super::{Deployment, Details, Inputs};

impl Deployment<'_> {
    /// Returns why the service would refuse this call: the token names its scopes, and one is missing. A token with
    /// other scopes enqueues the resource.
    pub(super) fn unpermitted(&self, remote: &Remote, inputs: &Inputs, call: &CallKind) -> Option<ConditionUpdate> {
        let missing = remote.lacking(self.object_ref, &inputs.registered.rights(call));
        (!missing.is_empty()).then(|| problem::unpermitted(&missing, &inputs.wanted.remote.project_key))
    }

    /// Reports the condition and sends nothing. Used if the decision sends a call even without values, as an undeploy
    /// does.
    pub(super) async fn withhold(
        &mut self,
        remote: &Arc<Remote>,
        inputs: &Inputs,
        decision: &Decision,
        condition: ConditionUpdate,
    ) -> Result<Next, kube::Error> {
        let persisted = self.persisted();
        let reason = condition.reason;
        let record = ObservedRecord::of(inputs.record());
        self.patch_status(inputs, &persisted, condition, record, Details::default()).await?;
        self.context.tracker.settled(self.object_ref, reason);
        let again = decision.again.unwrap_or_else(|| self.object.spec.effective_interval());
        if let Some(id) = &persisted.id {
            let pace = PollRate::Settled(self.object.spec.effective_interval());
            remote.watch(self.object_ref, id, pace);
        }
        Ok(Next::Again(Some(again)))
    }
}
