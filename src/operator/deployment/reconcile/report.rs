//! What is written to the resource: its finalizer, the annotation with the id, and the one patch of the status with its Event.

use std::sync::Arc;

use connect_api::model::Deployment as Record;
use kube::runtime::events::EventType;

use super::super::persisted::{Operation, PersistedState};
use super::super::state;
use super::super::status::Comparison;
use crate::crd::connector_deployment_status::ConnectorDeploymentStatus;
use crate::crd::{ConnectorDeployment, ManagementPolicy};
use crate::operator::reconcile::record::{self, Stop, take_over, write_status};
use crate::operator::reconcile::{self, Next};
use crate::operator::reporting::conditions::{ConditionUpdate, ready_reason};
use crate::operator::reporting::event_reason::EventReason;
use crate::operator::reporting::observed_record::ObservedRecord;
use crate::operator::reporting::refusal::{self, Access};
use crate::operator::reporting::remedy;

use super::summary::reports_an_end;
use super::{Inputs, Reconciler};

/// Attempts to write a response while others change the object: a refusal must not count as a lost response
/// (rule 1), but who writes without end must not be answered without end.
const ATTEMPTS: u32 = 20;

impl Reconciler<'_> {
    /// Adds the finalizer, unless the object has it, needs none, or is being deleted without it.
    pub(super) async fn add_finalizer(&mut self) -> Result<(), kube::Error> {
        if self.object.spec.management_policy == ManagementPolicy::Full
            && let Some(object) = reconcile::ensure_finalizer(&self.api, &*self.object).await?
        {
            self.object = Arc::new(object);
        }
        Ok(())
    }

    /// Rule 3: keeps the id where a restored backup has it, once no operation runs.
    pub(super) async fn annotate(&mut self, persisted: &PersistedState) -> Result<(), kube::Error> {
        match persisted.id.as_ref().filter(|_| self.persisted().operation.is_none()) {
            Some(id) => self.keep_id(id).await,
            None => Ok(()),
        }
    }

    /// Writes the id into the annotation, unless it is there, or the API server refuses.
    pub(super) async fn keep_id(&mut self, id: &str) -> Result<(), kube::Error> {
        if let Some(object) = record::annotate(self.context, &self.api, &*self.object, id).await? {
            self.object = Arc::new(object);
        }
        Ok(())
    }

    /// Writes the status after an observation, if it differs from the one before. It serves the reconcile request that came
    /// before.
    pub(super) async fn patch_status(
        &mut self,
        inputs: &Inputs,
        persisted: &PersistedState,
        condition: ConditionUpdate,
        record: ObservedRecord<'_, Record>,
        comparison: Comparison,
    ) -> Result<(), kube::Error> {
        let condition = self.with_way_out(condition);
        let status = self.summarize(Some(inputs), persisted, &condition, record, comparison);
        self.write(status, &condition).await?;
        self.cache.reconcile_request = None;
        Ok(())
    }

    /// Writes what a response came to. A resource that somebody changed during the call does not make it a lost response, as
    /// long as the operation in its status is the one that was sent: then nobody has concluded anything from it yet.
    pub(super) async fn patch_response(
        &mut self,
        inputs: &Inputs,
        persisted: &PersistedState,
        condition: &ConditionUpdate,
        record: ObservedRecord<'_, Record>,
    ) -> Result<(), kube::Error> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            match self.patch_status(inputs, persisted, condition.clone(), record, Comparison::None).await {
                Err(kube::Error::Api(status))
                    if status.code == 409 && attempts < ATTEMPTS && self.is_still_stored().await? => {}
                answer => return answer,
            }
        }
    }

    /// Returns the condition, with what helps if it keeps the resource from being deleted.
    fn with_way_out(&self, condition: ConditionUpdate) -> ConditionUpdate {
        if self.is_deleting() { remedy::of_deletion(condition, self.object_ref) } else { condition }
    }

    /// Reports why the reconcile ended before its decision was carried out.
    ///
    /// # Errors
    /// Those of the API server that pass by themselves, and that the condition cannot be written.
    pub(super) async fn stop(&mut self, stop: Stop) -> Result<Next, kube::Error> {
        // No call of the remote follows.
        self.permit = None;
        let (condition, again) = match stop {
            Stop::End(next) => return Ok(next),
            Stop::Outage(_, again) if self.is_settled().await? => return Ok(Next::Again(again)),
            Stop::Report(condition, again) | Stop::Outage(condition, again) => (condition, again),
            Stop::Refused(request, error) => (refusal::condition(Access::Write, request, error)?, None),
            Stop::Leave(condition, again) => {
                self.context.remotes.forget(self.object_ref);
                (self.identity, self.cache.transient) = Default::default();
                (condition, again)
            }
        };
        let condition = self.with_way_out(condition);
        let status = self.summarize(None, &self.persisted(), &condition, ObservedRecord::NotRead, Comparison::None);
        self.write(status, &condition).await?;
        Ok(Next::Again(again))
    }

    /// Whether the status reports the end of an operation, and what is desired now was applied.
    async fn is_settled(&self) -> Result<bool, kube::Error> {
        let status = self.status();
        let reports = status.observed_generation == self.generation() && reports_an_end(&status);
        Ok(reports && !self.is_deleting() && self.persisted().operation.is_none() && self.is_applied().await?)
    }

    /// Reads the resource again. Returns whether it still has the operation that this reconcile wrote.
    async fn is_still_stored(&mut self) -> Result<bool, kube::Error> {
        let Some(found) = self.api.get_opt(&self.object_ref.name).await? else { return Ok(false) };
        Ok(take_over(Arc::make_mut(&mut self.object), &found, operation))
    }

    /// Writes the status with an Event for each new reason, and before it the metadata that must not lack beside it.
    async fn write(
        &mut self,
        status: ConnectorDeploymentStatus,
        condition: &ConditionUpdate,
    ) -> Result<(), kube::Error> {
        let begun = state::shown(&status).operation;
        if begun.is_some() || status.id.is_some() {
            self.add_finalizer().await?;
        }
        let before = self.status();
        if let Some(id) = before.id.as_ref().filter(|_| status.id.is_none()) {
            // Reads that were wrong about its absence may find the record again.
            self.keep_id(id).await?;
        }
        let has_state = |stored: &ConnectorDeployment| operation(stored) == begun;
        let (cluster, statuses) = ((self.context, &self.api), (&before, &status));
        let reason = ready_reason(&before.conditions);
        let written = write_status(cluster, &*self.object, statuses, condition, reason, has_state).await?;
        if let Some(stored) = written {
            self.object = Arc::new(stored);
        }
        if let (Some(before), Some(id)) = (&before.id, &status.id)
            && before != id
        {
            let note = format!("The remote deployment is {id} now, in place of {before}: its URLs have changed");
            self.context.report(&*self.object, EventType::Normal, EventReason::Replaced, "Reconcile", &note);
        }
        Ok(())
    }
}

/// The operation in the status.
fn operation(object: &ConnectorDeployment) -> Option<Operation> {
    object.status.as_ref().and_then(|status| state::shown(status).operation)
}
