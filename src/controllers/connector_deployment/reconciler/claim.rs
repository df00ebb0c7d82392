//! Rule 4: of several resources with one key, one has it, and the others touch nothing.

use super::super::decide::{CallKind, Decision, Step, TransientState};
use super::super::intent;
use super::super::persisted::PersistedState;
use super::super::status::WantedIdentity;
use crate::controllers::keys::{ClaimReason, ClaimStatus, RemoteKey};
use crate::controllers::object::Next;
use crate::controllers::object_ref::{Kind, ObjectRef};
use crate::controllers::problem;
use crate::controllers::remote::Remote;

use super::Reconciler;

impl Reconciler<'_> {
    /// Whether what was decided may be done: a create, and taking over what exists, are announced to the others first.
    pub(super) fn begin(
        &self,
        remote: &Remote,
        wanted: &WantedIdentity,
        persisted: &PersistedState,
        decision: &Decision,
    ) -> ClaimStatus {
        let creates = matches!(&decision.step, Step::Send(call) if matches!(call.kind, CallKind::Create { .. }));
        if !creates && decision.persisted.id == persisted.id {
            return ClaimStatus::Owner;
        }
        let place = RemoteKey { kind: Kind::Deployment, remote: wanted.remote.clone(), key: wanted.key.clone() };
        let taken_over = decision.persisted.id.as_deref().filter(|_| !creates && persisted.operation.is_none());
        let what = taken_over.map_or(ClaimReason::Create, ClaimReason::TakeOver);
        if remote.has_answered() {
            // Its project may not have run since, and would have to wake us.
            let project = ObjectRef::project(&self.object_ref.namespace, &self.object.spec.project_ref.name);
            self.context.keys.admitted(&project, &wanted.remote, true);
        }
        self.context.keys.begin(&*self.object, &place, what)
    }

    /// Leaves the key to who is before us. Whatever changes about that wakes us, so nothing is looked at meanwhile; that the
    /// resource itself is gone does so too.
    pub(super) async fn report_key_conflict(&mut self, claim_status: ClaimStatus) -> Result<Next, kube::Error> {
        let winner = match claim_status {
            ClaimStatus::HeldBy(winner) => winner,
            ClaimStatus::Unlisted => {
                return self.report_and_wait(None, problem::unlisted(&intent::key(&self.object)), None).await;
            }
            ClaimStatus::Owner | ClaimStatus::Unknown => return Ok(Next::Again(None)),
        };
        self.context.remotes.forget(self.object_ref);
        // What was seen until now says nothing about the time after.
        self.cache.seen = TransientState::default();
        if intent::is_deleting(&self.object) {
            return self.remove_finalizer(None).await;
        }
        self.report_and_wait(
            None,
            problem::key_conflict("ConnectorDeployment", &winner, &intent::key(&self.object)),
            None,
        )
        .await
    }
}
