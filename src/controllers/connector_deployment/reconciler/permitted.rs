//! Holds what is about to be sent against the scopes of the token, and reports what it lacks.

use std::sync::Arc;

use super::super::decide::{CallKind, Decision};
use super::super::observe::RecordRead;
use super::super::status::{Comparison, ObservedRecord};
use crate::controllers::conditions::ConditionUpdate;
use crate::controllers::object::Next;
use crate::controllers::problem;
use crate::controllers::remote::{PollRate, Remote};

use super::{Inputs, Reconciler};

impl Reconciler<'_> {
    /// Why the service would refuse this call: the token names its scopes, and lacks one. A token with other scopes wakes us.
    pub(super) fn unpermitted(&self, remote: &Remote, inputs: &Inputs, call: &CallKind) -> Option<ConditionUpdate> {
        let missing = remote.lacking(self.object_ref, &inputs.registered.rights(call));
        (!missing.is_empty()).then(|| problem::unpermitted(&missing, &inputs.wanted.remote.project_key))
    }

    /// Sends nothing, although the decision stays the same without any values: an undeploy carries none.
    pub(super) async fn withhold(
        &mut self,
        remote: &Arc<Remote>,
        inputs: &Inputs,
        read: &RecordRead,
        decision: &Decision,
        condition: ConditionUpdate,
    ) -> Result<Next, kube::Error> {
        let persisted = self.persisted();
        let reason = condition.reason;
        let sight = read.record.as_deref().map_or(ObservedRecord::Absent, ObservedRecord::Present);
        self.patch_status(inputs, &persisted, condition, sight, None, Comparison::None).await?;
        self.context.work.settled(self.object_ref, reason);
        let again = decision.again.unwrap_or_else(|| self.object.spec.effective_interval());
        if let Some(id) = &persisted.id {
            let pace = PollRate::Settled(self.object.spec.effective_interval());
            remote.watch(self.object_ref, id, pace);
        }
        Ok(Next::Again(Some(again)))
    }
}
