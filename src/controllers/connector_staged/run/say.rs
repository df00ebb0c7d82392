//! Says what is the case: the one patch of the status, its Event, the metadata that we own, and what deployments of this
//! connector have to know.

use std::sync::Arc;

use connect_api::model::ConnectorStaged as Record;
use kube::ResourceExt;
use kube::runtime::events::EventType;

use super::super::ledger::{Ledger, OperationKind};
use super::super::status::{self, Facts, Sight};
use super::super::{intent, observe};
use crate::controllers::conditions::{self, Told};
use crate::controllers::context::Context;
use crate::controllers::object::{self, Next};
use crate::controllers::references::Named;
use crate::controllers::refusal::{self, Access};
use crate::controllers::staged_connectors::StagedConnector;
use crate::crd::ConnectorStagedStatus;
use crate::crd::shared::RemoteIdentity;
use crate::names;

use super::Run;

impl Run<'_> {
    /// Writes the status, if it says something else than before.
    pub(super) async fn say(
        &mut self,
        identity: &RemoteIdentity,
        ledger: &Ledger,
        told: Told,
        seen: Sight<'_>,
    ) -> Result<(), kube::Error> {
        let served = self.remembered.asked.clone();
        self.write(Some(identity.clone()), ledger, &told, seen, served).await?;
        self.remembered.asked = None;
        Ok(())
    }

    /// Says what an answer came to. That somebody changed the resource during the call does not make it a lost answer, as
    /// long as the operation that is stored is the one that was sent: then nobody has concluded anything from it yet.
    pub(super) async fn say_answer(
        &mut self,
        identity: &RemoteIdentity,
        ledger: &Ledger,
        told: &Told,
        seen: Option<&Record>,
    ) -> Result<(), kube::Error> {
        loop {
            let sight = seen.map_or(Sight::NotLooked, Sight::Record);
            match self.say(identity, ledger, told.clone(), sight).await {
                Err(kube::Error::Api(status))
                    if status.code == 409 && object::is_still_stored(&self.api, &mut self.object).await? => {}
                answer => return answer,
            }
        }
    }

    /// Says why nothing can be done, without having looked.
    pub(super) async fn halt(
        &mut self,
        identity: Option<RemoteIdentity>,
        told: Told,
        again: Option<std::time::Duration>,
    ) -> Result<Next, kube::Error> {
        let ledger = self.ledger();
        self.write(identity, &ledger, &told, Sight::NotLooked, None).await?;
        self.note_trouble(&told);
        Ok(Next::Again(again))
    }

    /// The API server refused a request. What can be told of that is told; if that cannot be written either, the log has it.
    ///
    /// # Errors
    /// The same, if there is nothing to tell, or it cannot be written.
    pub(in super::super) async fn refused(&mut self, request: &str, error: kube::Error) -> Result<Next, kube::Error> {
        let told = refusal::told(Access::Write, request, error)?;
        let again = self.remembered.refusals.again(told.reason, None);
        // In a box of its own: it is rare, and its room is needed by no other run.
        Box::pin(self.halt(None, told, again)).await
    }

    /// Rule 20: the remote cannot be reached. What is settled keeps its status; the project tells.
    pub(super) async fn without_remote(&mut self, identity: RemoteIdentity, told: Told) -> Result<Next, kube::Error> {
        let status = self.status();
        let seen = Some(status.observed_generation) == self.object.metadata.generation;
        let settled = seen && status.operation.is_none() && conditions::is_ready(&status.conditions);
        if settled && intent::deletion(&self.object).is_none() {
            return Ok(Next::Again(None));
        }
        self.halt(Some(identity), told, None).await
    }

    async fn write(
        &mut self,
        remote: Option<RemoteIdentity>,
        ledger: &Ledger,
        told: &Told,
        seen: Sight<'_>,
        handled_reconcile: Option<String>,
    ) -> Result<(), kube::Error> {
        let facts = Facts {
            generation: self.object.metadata.generation.unwrap_or_default(),
            ledger,
            told: told.clone(),
            suspended: self.object.spec.suspend,
            key: &self.object.spec.key,
            remote,
            seen,
            handled_reconcile,
        };
        let after: ConnectorStagedStatus = status::summarize(&self.status(), &facts, self.context.clock.now());
        let written = object::write(self.context, &self.api, &*self.object, after, told).await?;
        written.hand_to(|object| self.wrote(object))
    }

    /// Rule 3: the id where a restored backup keeps it.
    pub(super) async fn annotate(&mut self, ledger: &Ledger) -> Result<(), kube::Error> {
        let Some(id) = &ledger.id else { return Ok(()) };
        if self.object.annotations().get(names::REMOTE_ID) == Some(id) {
            return Ok(());
        }
        let annotated = object::annotate(self.context, &self.api, &*self.object, id).await?;
        let Some(object) = annotated else { return Ok(()) };
        self.wrote(object);
        Ok(())
    }

    /// Tells those who deploy this connector what it has come to.
    pub(super) fn note_state(&self, ledger: &Ledger, record: Option<&Record>) {
        let seen = record.map(|record| observe::held_against(&self.object.spec, record));
        let deployable = status::deployable(ledger, seen.as_ref(), &self.object.spec);
        note(self.context, self.subject, &StagedConnector { id: ledger.id.clone(), deployable });
    }

    fn note_trouble(&self, told: &Told) {
        let before = self.context.staged.get(self.subject);
        if before.is_none_or(|before| before.id.is_none()) {
            let state = StagedConnector { id: self.ledger().id, deployable: Err(told.message.clone()) };
            note(self.context, self.subject, &state);
        }
    }

    /// Lets the resource go.
    pub(super) async fn release(&mut self, ledger: Option<&Ledger>) -> Result<Next, kube::Error> {
        if !object::is_held(&*self.object) {
            return Ok(Next::Gone);
        }
        let deleted = ledger.is_some_and(|ledger| {
            ledger.operation.as_ref().is_some_and(|operation| operation.kind == OperationKind::Delete)
        });
        let object = Arc::clone(&self.object);
        if let Err(error) = object::release(&self.api, &*object).await {
            return self.refused(refusal::FINALIZERS, error).await;
        }
        let (reason, note) = if deleted {
            ("Deleted", "The staged connector is gone")
        } else {
            ("LetGo", "The remote, if there is one, was left as it is")
        };
        self.context.report(&*object, EventType::Normal, reason, "Reconcile", note).await;
        Ok(Next::Gone)
    }
}

fn note(context: &Context, subject: &crate::controllers::subject::Subject, state: &StagedConnector) {
    if context.staged.set(subject, state) {
        context.wake_users(Named::Staged, &subject.namespace, &subject.name);
    }
}
