//! The writes to the cluster: status, finalizer, annotation and Events.

use std::time::Duration;

use connect_api::model::ConnectorStaged as Record;

use super::reconcile::Reconciler;
use super::state::State;
use super::status::{self, StagedFacts};
use crate::controllers::context::StagedConnector;
use crate::controllers::key_ownership::ClaimStatus;
use crate::controllers::kinds::managed_kind::{ManagedKind as _, has_finalizer};
use crate::controllers::reconcile::{self, KEY_AGAIN, Next, is_deleting, record};
use crate::controllers::reporting::conditions::{self, ConditionUpdate, ready_reason};
use crate::controllers::reporting::event_reason::EventReason;
use crate::controllers::reporting::observed_record::ObservedRecord;
use crate::controllers::reporting::problem;
use crate::controllers::reporting::reason::Reason;
use crate::controllers::reporting::refusal::{self, Access};
use crate::controllers::reporting::remedy;
use crate::crd::shared::RemoteIdentity;
use crate::crd::{ConnectorStaged, ConnectorStagedStatus};
use crate::names;

/// Attempts to record a response while others change the object: an edit must not make it a lost one.
const ATTEMPTS: u32 = 5;

impl Reconciler<'_> {
    /// Writes the status if it differs from the one that was read, with an Event for each new reason. `state`: what to
    /// remember from now on, after an observation; `None`: what is stored stays.
    ///
    /// # Errors
    /// Those of the API server; 409 if the object was changed meanwhile; and that it drops the state, without which
    /// nothing may be sent.
    pub(super) async fn write(
        &mut self,
        state: Option<&State>,
        condition: ConditionUpdate,
        identity: Option<&RemoteIdentity>,
        record: ObservedRecord<'_, Record>,
    ) -> Result<(), kube::Error> {
        if state.is_some_and(State::has_begun) {
            self.add_finalizer().await?;
        }
        let condition =
            if is_deleting(&self.object) { remedy::of_deletion(condition, self.object_ref) } else { condition };
        let before = self.status();
        let request = || reconcile::request(&self.object, names::RECONCILE_REQUESTED_AT);
        let facts = StagedFacts {
            generation: self.object.metadata.generation.unwrap_or_default(),
            state,
            condition: condition.clone(),
            suspended: self.object.spec.suspend,
            key: &self.object.spec.key,
            remote: identity.cloned(),
            record,
            handled_reconcile: state.and_then(|_| request()),
        };
        let after = status::summarize(&before, &facts, self.now()).map_err(kube::Error::SerdeError)?;
        let has_state = |stored: &ConnectorStaged| stored_state(stored) == after.state;
        let (cluster, statuses) = ((self.context, &self.api), (&before, &after));
        let reason = ready_reason(&before.conditions);
        let written = record::write_status(cluster, &self.object, statuses, &condition, reason, has_state).await;
        if let Some(stored) = written.inspect_err(|error| self.unwritten.note(refusal::STATUS, &condition, error))? {
            self.object = stored;
        }
        Ok(())
    }

    /// Records what came of a call. An edit meanwhile does not make the response a lost one, as long as the status has
    /// what was sent. Returns false if the object is gone.
    pub(super) async fn record(
        &mut self,
        state: &State,
        condition: ConditionUpdate,
        identity: &RemoteIdentity,
        record: ObservedRecord<'_, Record>,
    ) -> Result<bool, kube::Error> {
        let mut attempts = 1;
        loop {
            match self.write(Some(state), condition.clone(), Some(identity), record).await {
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

    fn status(&self) -> ConnectorStagedStatus {
        self.object.status.clone().unwrap_or_default()
    }

    /// Reports why nothing can be done, without an observation.
    pub(super) async fn report_and_wait(
        &mut self,
        identity: Option<&RemoteIdentity>,
        condition: ConditionUpdate,
        again: Option<Duration>,
    ) -> Result<Next, kube::Error> {
        let message = condition.message.clone();
        self.write(None, condition, identity, ObservedRecord::NotRead).await?;
        if self.memory.result.as_ref().is_none_or(|result| result.id.is_none()) {
            self.note(StagedConnector { id: self.status().id, deployable: Err(message) });
        }
        Ok(Next::Again(again))
    }

    /// Reports that the API server refused a request.
    ///
    /// # Errors
    /// The same error, if it passes by itself, or if the condition cannot be written.
    pub(super) async fn report_kubernetes_error(
        &mut self,
        request: &str,
        error: kube::Error,
    ) -> Result<Next, kube::Error> {
        let condition = refusal::condition(Access::Write, request, error)?;
        let again = self.memory.kubernetes_error_backoff.again(condition.reason, None);
        // Boxed: it is rare.
        Box::pin(self.report_and_wait(None, condition, again)).await
    }

    /// Returns how long to wait after an error of the API server.
    pub(super) fn pause_after(&self, error: &kube::Error) -> Duration {
        let is_reported = self.unwritten.report(self.context, &self.object, "Reconcile", error);
        if is_reported { self.memory.kubernetes_error_backoff.pause() } else { reconcile::AFTER_CLUSTER_ERROR }
    }

    /// Rule 20: the remote cannot be reached. What is settled keeps its status; the project reports the outage.
    pub(super) async fn report_outage(
        &mut self,
        identity: &RemoteIdentity,
        state: &State,
        condition: ConditionUpdate,
    ) -> Result<Next, kube::Error> {
        let is_settled = self.object.status.as_ref().is_some_and(|status| {
            Some(status.observed_generation) == self.object.metadata.generation
                && conditions::is_ready(&status.conditions)
        });
        if is_settled && !is_deleting(&self.object) && !state.is_call_open() {
            return Ok(Next::Again(None));
        }
        self.report_and_wait(Some(identity), condition, None).await
    }

    /// Rule 29: leaves everything as it is. What allows the namespace enqueues this resource.
    pub(super) async fn report_not_allowed(&mut self, condition: ConditionUpdate) -> Result<Next, kube::Error> {
        self.leave();
        self.report_and_wait(None, condition, None).await
    }

    /// Leaves the key to its owner. Nothing is read meanwhile.
    pub(super) async fn report_key_conflict(&mut self, claim_status: ClaimStatus) -> Result<Next, kube::Error> {
        let key = self.object.spec.key.clone();
        let owner = match claim_status {
            ClaimStatus::HeldBy(owner) => owner,
            ClaimStatus::Unlisted => return self.report_and_wait(None, problem::unlisted(&key), None).await,
            ClaimStatus::Owner | ClaimStatus::Unknown => return Ok(Next::Again(Some(KEY_AGAIN))),
        };
        self.leave();
        if is_deleting(&self.object) {
            return self.remove_finalizer(false).await;
        }
        let condition = problem::key_conflict(ConnectorStaged::KIND.as_str(), &owner, &key);
        self.report_and_wait(None, condition, Some(KEY_AGAIN)).await
    }

    /// What was observed until now says nothing about the time after.
    fn leave(&mut self) {
        self.context.remotes.forget(self.object_ref);
        self.memory.of_decision = super::decide::Memory::default();
    }

    /// Adds the finalizer, unless the object has it, or is being deleted without it.
    pub(super) async fn add_finalizer(&mut self) -> Result<(), kube::Error> {
        if let Some(object) = reconcile::ensure_finalizer(&self.api, &self.object).await? {
            self.object = object;
        }
        Ok(())
    }

    /// Rule 3: keeps the id where a restored backup has it.
    pub(super) async fn annotate(&mut self, state: &State) -> Result<(), kube::Error> {
        if let Some(id) = &state.id
            && let Some(object) = record::annotate(self.context, &self.api, &self.object, id).await?
        {
            self.object = object;
        }
        Ok(())
    }

    /// Removes the finalizer, and reports in an Event what became of the record.
    pub(super) async fn remove_finalizer(&mut self, is_deleted: bool) -> Result<Next, kube::Error> {
        if !has_finalizer(&self.object) {
            return Ok(Next::Gone);
        }
        let ended = is_deleted.then_some((EventReason::Deleted, "The staged connector is gone"));
        match record::release(self.context, &self.api, &self.object, "staged connector", ended).await {
            Ok(()) => Ok(Next::Gone),
            Err(error) => self.report_kubernetes_error(refusal::FINALIZERS, error).await,
        }
    }

    /// The reason of the Ready condition.
    pub(super) fn reason(&self) -> Option<Reason> {
        ready_reason(&self.object.status.as_ref()?.conditions).and_then(Reason::parse)
    }
}

/// The state in the status.
fn stored_state(object: &ConnectorStaged) -> Option<String> {
    object.status.as_ref()?.state.clone()
}
