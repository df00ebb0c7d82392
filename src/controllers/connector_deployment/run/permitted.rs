//! Holds what is about to be sent against the scopes of the token, and reports what it lacks.

use std::sync::Arc;

use super::super::decide::{CallKind, Decision};
use super::super::observe::Looked;
use super::super::status::{Comparison, Sight};
use crate::controllers::conditions::Told;
use crate::controllers::object::Next;
use crate::controllers::problem;
use crate::controllers::remote::{Pace, Remote};

use super::{Known, Run};

impl Run<'_> {
    /// Why the service would refuse this call: the token names its scopes, and lacks one. A token with other scopes wakes us.
    pub(super) fn unpermitted(&self, remote: &Remote, known: &Known, call: &CallKind) -> Option<Told> {
        let missing = remote.lacking(self.subject, &known.registered.rights(call));
        (!missing.is_empty()).then(|| problem::unpermitted(&missing, &known.wanted.remote.project_key))
    }

    /// Sends nothing, although the decision stays the same without any values: an undeploy carries none.
    pub(super) async fn withhold(
        &mut self,
        remote: &Arc<Remote>,
        known: &Known,
        looked: &Looked,
        decision: &Decision,
        told: Told,
    ) -> Result<Next, kube::Error> {
        let ledger = self.ledger();
        let reason = told.reason;
        let sight = looked.record.as_deref().map_or(Sight::Nothing, Sight::Record);
        self.say(known, &ledger, told, sight, None, Comparison::None).await?;
        self.context.work.settled(self.subject, reason);
        let again = decision.again.unwrap_or_else(|| self.object.spec.effective_interval());
        if let Some(id) = &ledger.id {
            let pace = Pace::Settled(self.object.spec.effective_interval());
            remote.watch(self.subject, id, pace);
        }
        Ok(Next::Again(Some(again)))
    }
}
