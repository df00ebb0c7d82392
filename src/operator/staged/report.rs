//! The writes to the cluster: status, finalizer and annotation.

use connect_api::model::ConnectorStaged as Record;

use super::reconcile::Reconciler;
use super::state::State;
use super::status::{self, StagedFacts};
use crate::crd::ConnectorStaged;
use crate::operator::cluster::references::Referenced;
use crate::operator::object_ref::Kind;
use crate::operator::reconcile::record::{self, Stop};
use crate::operator::reconcile::{self, Next, is_deleting};
use crate::operator::reporting::conditions::{self, ConditionUpdate, ready_reason};
use crate::operator::reporting::observed_record::ObservedRecord;
use crate::operator::reporting::refusal::{self, Access};
use crate::operator::reporting::remedy;

/// Attempts to record a response while others change the object: an edit must not make it a lost one.
const ATTEMPTS: u32 = 5;

impl Reconciler<'_> {
    /// Writes the status after an observation. `state`: what to remember from now on.
    pub(super) async fn write(
        &mut self,
        state: &State,
        condition: ConditionUpdate,
        record: ObservedRecord<'_, Record>,
    ) -> Result<(), Stop> {
        if state.has_begun() {
            self.add_finalizer().await?;
        }
        Ok(self.store(Some(state), condition, record).await?)
    }

    /// Writes the status if it differs from the one that was read, with an Event for each new reason. Without `state`, what
    /// is stored of it stays.
    ///
    /// # Errors
    /// Those of the API server; 409 if the object was changed meanwhile; and that it drops the state, without which
    /// nothing may be sent.
    async fn store(
        &mut self,
        state: Option<&State>,
        mut condition: ConditionUpdate,
        record: ObservedRecord<'_, Record>,
    ) -> Result<(), kube::Error> {
        if is_deleting(&self.object) {
            condition = remedy::of_deletion(condition, self.object_ref);
        }
        let before = self.object.status.clone().unwrap_or_default();
        let (object, remote) = (&self.object, self.identity.as_ref());
        let facts = StagedFacts { object, state, condition: &condition, remote, record };
        let after = status::summarize(&facts, self.context.clock.now());
        let has_state = |stored: &ConnectorStaged| stored_state(stored) == after.state;
        let (cluster, statuses) = ((self.context, &self.api), (&before, &after));
        let reason = ready_reason(&before.conditions);
        let written = record::write_status(cluster, object, statuses, &condition, reason, has_state).await;
        if let Some(stored) = written? {
            let is_same = stored.connector() == self.object.connector();
            self.object = stored;
            if !is_same {
                self.context.enqueue_users(
                    Referenced::Object(Kind::Staged),
                    &self.object_ref.namespace,
                    &self.object_ref.name,
                );
            }
        }
        Ok(())
    }

    /// Records what came of a call. An edit meanwhile does not make the response a lost one, as long as the status has
    /// what was sent. Returns false if the object is gone.
    pub(super) async fn record(
        &mut self,
        state: &State,
        condition: ConditionUpdate,
        record: ObservedRecord<'_, Record>,
    ) -> Result<bool, kube::Error> {
        let mut attempts = 1;
        loop {
            match self.store(Some(state), condition.clone(), record).await {
                Err(kube::Error::Api(status)) if status.code == 404 => return Ok(false),
                Err(kube::Error::Api(status)) if status.code == 409 && attempts < ATTEMPTS => {
                    attempts += 1;
                    let Some(found) = self.api.get_opt(&self.object_ref.name).await? else { return Ok(false) };
                    if !record::take_over(&mut self.object, &found, stored_state) {
                        return Err(kube::Error::Api(status));
                    }
                }
                answer => return answer.map(|()| true),
            }
        }
    }

    /// Reports why the reconcile ended before its decision was carried out.
    ///
    /// # Errors
    /// Those of the API server that pass by themselves, and that the condition cannot be written.
    pub(super) async fn stop(&mut self, stop: Stop) -> Result<Next, kube::Error> {
        let (condition, again) = match stop {
            Stop::End(next) => return Ok(next),
            Stop::Outage(_, again) if self.is_settled() => return Ok(Next::Again(again)),
            Stop::Report(condition, again) | Stop::Outage(condition, again) => (condition, again),
            Stop::Refused(request, error) => (refusal::condition(Access::Write, request, error)?, None),
            Stop::Leave(condition, again) => {
                self.context.remotes.forget(self.object_ref);
                (self.identity, self.memory.of_decision) = Default::default();
                (condition, again)
            }
        };
        self.store(None, condition, ObservedRecord::NotRead).await?;
        Ok(Next::Again(again))
    }

    /// Whether the resource is as its spec asks for, and no call is open.
    fn is_settled(&self) -> bool {
        let Some(status) = &self.object.status else { return false };
        Some(status.observed_generation) == self.object.metadata.generation
            && conditions::is_ready(&status.conditions)
            && !is_deleting(&self.object)
            && !self.object.remembered().is_ok_and(|state| state.is_call_open())
    }

    /// Adds the finalizer, unless the object has it, or is being deleted without it.
    pub(super) async fn add_finalizer(&mut self) -> Result<(), Stop> {
        let added = reconcile::ensure_finalizer(&self.api, &self.object).await;
        if let Some(stored) = added.map_err(|error| Stop::Refused(refusal::FINALIZERS, error))? {
            self.object = stored;
        }
        Ok(())
    }

    /// Rule 3: keeps the id where a restored backup has it.
    pub(super) async fn annotate(&mut self, state: &State) -> Result<(), kube::Error> {
        if let Some(id) = &state.id
            && let Some(stored) = record::annotate(self.context, &self.api, &self.object, id).await?
        {
            self.object = stored;
        }
        Ok(())
    }
}

/// The state in the status.
fn stored_state(object: &ConnectorStaged) -> Option<String> {
    object.status.as_ref()?.state.clone()
}
