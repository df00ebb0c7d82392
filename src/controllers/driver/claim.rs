//! Rule 4: of several resources with one key, one owns it, and the others send nothing.

use super::operations::{Decision, Step};
use crate::controllers::key_ownership::{ClaimReason, ClaimStatus, RemoteKey};
use crate::controllers::reconcile::Next;
use crate::controllers::remote::Remote;
use crate::controllers::reporting::conditions::ConditionUpdate;
use crate::controllers::reporting::problem;

use super::{Reconciler, RemoteKind};

impl<K: RemoteKind> Reconciler<'_, K> {
    /// Whether the decision may be carried out. A create, and taking over what exists, are announced to the other resources
    /// first.
    pub(super) fn claim(
        &self,
        remote: &Remote,
        observed: &K::Observed,
        decision: &Decision<K::Persisted, K::Transient, K::CallKind, K::Outcome>,
    ) -> ClaimStatus {
        let before = self.object.claim_request();
        let creates = matches!(&decision.step, Step::Send(call) if K::creates(&call.kind));
        if !creates && K::id(&decision.persisted) == before.id.as_deref() {
            return ClaimStatus::Owner;
        }
        let identity = K::remote_identity(K::identity_of(observed));
        let remote_key = RemoteKey { kind: K::KIND, remote: identity.clone(), key: before.key };
        let taken_over = K::id(&decision.persisted).filter(|_| !creates && !before.operation);
        let reason = taken_over.map_or(ClaimReason::Create, ClaimReason::TakeOver);
        if remote.has_answered() {
            // Its project may not have been reconciled since, and would have to enqueue this resource.
            self.context.keys.admitted(&self.project(), identity, true);
        }
        self.context.keys.begin(&*self.object, &remote_key, reason)
    }

    /// Rule 29: leaves everything as it is. What allows the namespace enqueues this resource.
    pub(super) async fn report_not_allowed(&mut self, condition: ConditionUpdate) -> Result<Next, kube::Error> {
        self.context.remotes.forget(self.object_ref);
        // What was observed until now says nothing about the time after.
        self.cache.transient = K::Transient::default();
        self.report_and_wait(None, condition, None).await
    }

    /// Leaves the key to its owner. Whatever changes about that enqueues this resource, so nothing is polled meanwhile.
    pub(super) async fn report_key_conflict(&mut self, claim_status: ClaimStatus) -> Result<Next, kube::Error> {
        let key = self.object.claim_request().key;
        let owner = match claim_status {
            ClaimStatus::HeldBy(owner) => owner,
            ClaimStatus::Unlisted => return self.report_and_wait(None, problem::unlisted(&key), None).await,
            ClaimStatus::Owner | ClaimStatus::Unknown => return Ok(Next::Again(None)),
        };
        self.context.remotes.forget(self.object_ref);
        // What was observed until now says nothing about the time after.
        self.cache.transient = K::Transient::default();
        if self.is_deleting() {
            return self.remove_finalizer(None).await;
        }
        self.report_and_wait(None, problem::key_conflict(K::KIND.as_str(), &owner, &key), None).await
    }
}
