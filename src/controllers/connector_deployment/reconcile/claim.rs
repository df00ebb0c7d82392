//! Rule 4: of several resources with one key, one owns it, and the others send nothing.

use super::super::decide::{CallKind, Decision, Step, TransientState};
use super::super::kind;
use crate::controllers::key_ownership::{Begin, ClaimStatus};
use crate::controllers::object_ref::Kind;
use crate::controllers::reconcile::{KEY_AGAIN, Next};
use crate::controllers::reporting::conditions::ConditionUpdate;
use crate::controllers::reporting::problem;

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

    /// Rule 29: leaves everything as it is. What allows the namespace enqueues this resource.
    pub(super) async fn report_not_allowed(&mut self, condition: ConditionUpdate) -> Result<Next, kube::Error> {
        self.context.remotes.forget(self.object_ref);
        // What was observed until now says nothing about the time after.
        self.cache.transient = TransientState::default();
        self.report_and_wait(None, condition, None).await
    }

    /// Leaves the key to its owner. Nothing is polled meanwhile.
    pub(super) async fn report_key_conflict(&mut self, claim_status: ClaimStatus) -> Result<Next, kube::Error> {
        let key = kind::claim(&self.object).key;
        let owner = match claim_status {
            ClaimStatus::HeldBy(owner) => owner,
            ClaimStatus::Unlisted => return self.report_and_wait(None, problem::unlisted(&key), None).await,
            ClaimStatus::Owner | ClaimStatus::Unknown => return Ok(Next::Again(Some(KEY_AGAIN))),
        };
        self.context.remotes.forget(self.object_ref);
        // What was observed until now says nothing about the time after.
        self.cache.transient = TransientState::default();
        if self.is_deleting() {
            return self.remove_finalizer(false).await;
        }
        let condition = problem::key_conflict(Kind::Deployment.as_str(), &owner, &key);
        self.report_and_wait(None, condition, Some(KEY_AGAIN)).await
    }
}
