//! Says what is the case: the one patch of the status, its Event, the metadata that we own, and what deployments of this
//! connector have to know.

use std::sync::Arc;

use connect_api::model::ConnectorStaged as Record;
use kube::ResourceExt;
use kube::runtime::events::EventType;

use super::super::persisted::{OperationKind, PersistedState};
use super::super::status::{self, Facts, ObservedRecord};
use super::super::{intent, observe};
use crate::controllers::conditions::{self, ConditionUpdate};
use crate::controllers::context::Context;
use crate::controllers::object::{self, Next};
use crate::controllers::references::Named;
use crate::controllers::refusal::{self, Access};
use crate::controllers::staged_connectors::StagedConnector;
use crate::crd::ConnectorStagedStatus;
use crate::crd::shared::RemoteIdentity;
use crate::names;

use super::Reconciler;

impl Reconciler<'_> {
    /// Writes the status, if it says something else than before.
    pub(super) async fn patch_status(
        &mut self,
        identity: &RemoteIdentity,
        persisted: &PersistedState,
        condition: ConditionUpdate,
        seen: ObservedRecord<'_>,
    ) -> Result<(), kube::Error> {
        let served = self.cache.asked.clone();
        self.write(Some(identity.clone()), persisted, &condition, seen, served).await?;
        self.cache.asked = None;
        Ok(())
    }

    /// Says what an answer came to. That somebody changed the resource during the call does not make it a lost answer, as
    /// long as the operation that is stored is the one that was sent: then nobody has concluded anything from it yet.
    pub(super) async fn patch_response(
        &mut self,
        identity: &RemoteIdentity,
        persisted: &PersistedState,
        condition: &ConditionUpdate,
        seen: Option<&Record>,
    ) -> Result<(), kube::Error> {
        loop {
            let sight = seen.map_or(ObservedRecord::NotRead, ObservedRecord::Present);
            match self.patch_status(identity, persisted, condition.clone(), sight).await {
                Err(kube::Error::Api(status))
                    if status.code == 409 && object::is_still_stored(&self.api, &mut self.object).await? => {}
                answer => return answer,
            }
        }
    }

    /// Says why nothing can be done, without having looked.
    pub(super) async fn report_and_wait(
        &mut self,
        identity: Option<RemoteIdentity>,
        condition: ConditionUpdate,
        again: Option<std::time::Duration>,
    ) -> Result<Next, kube::Error> {
        let persisted = self.persisted();
        self.write(identity, &persisted, &condition, ObservedRecord::NotRead, None).await?;
        self.note_trouble(&condition);
        Ok(Next::Again(again))
    }

    /// The API server refused a request. What can be told of that is told; if that cannot be written either, the log has it.
    ///
    /// # Errors
    /// The same, if there is nothing to tell, or it cannot be written.
    pub(in super::super) async fn report_kubernetes_error(
        &mut self,
        request: &str,
        error: kube::Error,
    ) -> Result<Next, kube::Error> {
        let condition = refusal::condition(Access::Write, request, error)?;
        let again = self.cache.kubernetes_error_backoff.again(condition.reason, None);
        // In a box of its own: it is rare, and its room is needed by no other run.
        Box::pin(self.report_and_wait(None, condition, again)).await
    }

    /// Rule 20: the remote cannot be reached. What is settled keeps its status; the project tells.
    pub(super) async fn report_outage(
        &mut self,
        identity: RemoteIdentity,
        condition: ConditionUpdate,
    ) -> Result<Next, kube::Error> {
        let status = self.status();
        let seen = Some(status.observed_generation) == self.object.metadata.generation;
        let settled = seen && status.operation.is_none() && conditions::is_ready(&status.conditions);
        if settled && intent::deletion(&self.object).is_none() {
            return Ok(Next::Again(None));
        }
        self.report_and_wait(Some(identity), condition, None).await
    }

    async fn write(
        &mut self,
        remote: Option<RemoteIdentity>,
        persisted: &PersistedState,
        condition: &ConditionUpdate,
        seen: ObservedRecord<'_>,
        handled_reconcile: Option<String>,
    ) -> Result<(), kube::Error> {
        let facts = Facts {
            generation: self.object.metadata.generation.unwrap_or_default(),
            persisted,
            condition: condition.clone(),
            suspended: self.object.spec.suspend,
            key: &self.object.spec.key,
            remote,
            seen,
            handled_reconcile,
        };
        let after: ConnectorStagedStatus = status::summarize(&self.status(), &facts, self.context.clock.now());
        let written = object::write(self.context, &self.api, &*self.object, after, condition).await?;
        written.hand_to(|object| self.wrote(object))
    }

    /// Rule 3: the id where a restored backup keeps it.
    pub(super) async fn annotate(&mut self, persisted: &PersistedState) -> Result<(), kube::Error> {
        let Some(id) = &persisted.id else { return Ok(()) };
        if self.object.annotations().get(names::REMOTE_ID) == Some(id) {
            return Ok(());
        }
        let annotated = object::annotate(self.context, &self.api, &*self.object, id).await?;
        let Some(object) = annotated else { return Ok(()) };
        self.wrote(object);
        Ok(())
    }

    /// Tells those who deploy this connector what it has come to.
    pub(super) fn note_state(&self, persisted: &PersistedState, record: Option<&Record>) {
        let seen = record.map(|record| observe::held_against(&self.object.spec, record));
        let deployable = status::deployable(persisted, seen.as_ref(), &self.object.spec);
        note(self.context, self.object_ref, &StagedConnector { id: persisted.id.clone(), deployable });
    }

    fn note_trouble(&self, condition: &ConditionUpdate) {
        let before = self.context.staged.get(self.object_ref);
        if before.is_none_or(|before| before.id.is_none()) {
            let state = StagedConnector { id: self.persisted().id, deployable: Err(condition.message.clone()) };
            note(self.context, self.object_ref, &state);
        }
    }

    /// Lets the resource go.
    pub(super) async fn remove_finalizer(&mut self, persisted: Option<&PersistedState>) -> Result<Next, kube::Error> {
        if !object::has_finalizer(&*self.object) {
            return Ok(Next::Gone);
        }
        let deleted = persisted.is_some_and(|persisted| {
            persisted.operation.as_ref().is_some_and(|operation| operation.kind == OperationKind::Delete)
        });
        let object = Arc::clone(&self.object);
        if let Err(error) = object::remove_finalizer(&self.api, &*object).await {
            return self.report_kubernetes_error(refusal::FINALIZERS, error).await;
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

fn note(context: &Context, object_ref: &crate::controllers::object_ref::ObjectRef, state: &StagedConnector) {
    if context.staged.set(object_ref, state) {
        context.enqueue_users(Named::Staged, &object_ref.namespace, &object_ref.name);
    }
}
