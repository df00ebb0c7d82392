//! Rule 4: of several resources with one key, one has it, and the others touch nothing.

use super::super::decide::{CallKind, Decision, Memory, Step};
use super::super::intent;
use super::super::ledger::Ledger;
use super::super::status::WantedIdentity;
use crate::controllers::keys::{Beginning, Place, Standing};
use crate::controllers::object::Next;
use crate::controllers::problem;
use crate::controllers::remote::Remote;
use crate::controllers::subject::{Kind, Subject};

use super::Run;

impl Run<'_> {
    /// Whether what was decided may be done: a create, and taking over what exists, are announced to the others first.
    pub(super) fn begin(
        &self,
        remote: &Remote,
        wanted: &WantedIdentity,
        ledger: &Ledger,
        decision: &Decision,
    ) -> Standing {
        let creates = matches!(&decision.step, Step::Send(call) if matches!(call.kind, CallKind::Create { .. }));
        if !creates && decision.ledger.id == ledger.id {
            return Standing::First;
        }
        let place = Place { kind: Kind::Deployment, remote: wanted.remote.clone(), key: wanted.key.clone() };
        let taken_over = decision.ledger.id.as_deref().filter(|_| !creates && ledger.operation.is_none());
        let what = taken_over.map_or(Beginning::Create, Beginning::TakeOver);
        if remote.has_answered() {
            // Its project may not have run since, and would have to wake us.
            let project = Subject::project(&self.subject.namespace, &self.object.spec.project_ref.name);
            self.context.keys.admitted(&project, &wanted.remote, true);
        }
        self.context.keys.begin(&*self.object, &place, what)
    }

    /// Leaves the key to who is before us. Whatever changes about that wakes us, so nothing is looked at meanwhile; that the
    /// resource itself is gone does so too.
    pub(super) async fn step_aside(&mut self, standing: Standing) -> Result<Next, kube::Error> {
        let winner = match standing {
            Standing::After(winner) => winner,
            Standing::Unlisted => return self.halt(None, problem::unlisted(&intent::key(&self.object)), None).await,
            Standing::First | Standing::Unknown => return Ok(Next::Again(None)),
        };
        self.context.remotes.forget(self.subject);
        // What was seen until now says nothing about the time after.
        self.remembered.seen = Memory::default();
        if intent::is_deleting(&self.object) {
            return self.release(None).await;
        }
        self.halt(None, problem::key_conflict("ConnectorDeployment", &winner, &intent::key(&self.object)), None).await
    }
}
