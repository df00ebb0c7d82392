//! Reports what is the case: the one patch of the status, and its Event.

use std::sync::Arc;
use std::time::Duration;

use connect_api::ApiError;
use kube::runtime::events::EventType;

use crate::controllers::objects::patch;
use crate::controllers::reconcile::{self, Next};
use crate::controllers::reporting::conditions::{ConditionUpdate, ready_reason};
use crate::controllers::reporting::event_reason::EventReason;
use crate::controllers::reporting::problem;
use crate::controllers::reporting::reason::Reason;
use crate::controllers::reporting::refusal::{self, ANNOTATIONS, Access, FINALIZERS, STATUS};
use crate::controllers::reporting::remedy;

use super::{ObservedRecord, Reconciler, RemoteKind, StatusInputs};

/// Attempts to write a response while others change the object: a refusal must not count as a lost response
/// (rule 1), but who writes without end must not be answered without end.
const ATTEMPTS: u32 = 20;

impl<K: RemoteKind> Reconciler<'_, K> {
    /// Returns how long to wait after an error of the API server.
    pub(super) fn pause_after(&mut self, error: &kube::Error) -> Duration {
        let is_reported = self.unwritten.report(self.context, &*self.object, "Reconcile", error);
        if is_reported { self.cache.kubernetes_error_backoff.pause() } else { reconcile::AFTER_CLUSTER_ERROR }
    }

    /// Writes the status after an observation, if it differs from the one before.
    pub(in crate::controllers) async fn patch_status(
        &mut self,
        observed: &K::Observed,
        persisted: &K::Persisted,
        condition: ConditionUpdate,
        record: ObservedRecord<'_, K::Record>,
        details: K::Details,
    ) -> Result<(), kube::Error> {
        let condition = self.with_way_out(condition);
        let status = self.summarize(observed, persisted, &condition, record, details);
        self.write(status, &condition).await?;
        self.cache.reconcile_request = None;
        Ok(())
    }

    /// Returns the status after an observation. It serves the reconcile request that came before.
    pub(super) fn summarize(
        &self,
        observed: &K::Observed,
        persisted: &K::Persisted,
        condition: &ConditionUpdate,
        record: ObservedRecord<'_, K::Record>,
        details: K::Details,
    ) -> K::Status {
        let inputs = StatusInputs {
            identity: Some(K::identity_of(observed)),
            observed: Some(observed),
            persisted,
            condition,
            record,
            details,
            handled_reconcile_request: self.cache.reconcile_request.as_ref().map(|(request, _)| request.clone()),
        };
        K::summarize(self, inputs)
    }

    /// Writes what a response came to. A resource that somebody changed during the call does not make it a lost response, as
    /// long as the operation in its status is the one that was sent: then nobody has concluded anything from it yet.
    pub(in crate::controllers) async fn patch_response(
        &mut self,
        observed: &K::Observed,
        persisted: &K::Persisted,
        condition: &ConditionUpdate,
        record: ObservedRecord<'_, K::Record>,
        details: K::Details,
    ) -> Result<(), kube::Error> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            match self.patch_status(observed, persisted, condition.clone(), record, details.clone()).await {
                Err(kube::Error::Api(status))
                    if status.code == 409 && attempts < ATTEMPTS && self.is_still_stored().await? => {}
                answer => return answer,
            }
        }
    }

    /// Reports why nothing can be done, without an observation.
    pub(super) async fn report_and_wait(
        &mut self,
        identity: Option<&K::Identity>,
        condition: ConditionUpdate,
        again: Option<Duration>,
    ) -> Result<Next, kube::Error> {
        let condition = self.with_way_out(condition);
        let persisted = self.persisted();
        let inputs = StatusInputs {
            identity,
            observed: None,
            persisted: &persisted,
            condition: &condition,
            record: ObservedRecord::NotRead,
            details: K::Details::default(),
            handled_reconcile_request: None,
        };
        let status = K::summarize(self, inputs);
        self.write(status, &condition).await?;
        K::note_reported(self, &condition);
        Ok(Next::Again(again))
    }

    /// Returns the condition, with what helps if it keeps the resource from being deleted.
    fn with_way_out(&self, condition: ConditionUpdate) -> ConditionUpdate {
        if self.is_deleting() { remedy::of_deletion(condition, self.object_ref) } else { condition }
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
        let again = self.cache.kubernetes_error_backoff.again(condition.reason, None);
        // Boxed: it is rare.
        Box::pin(self.report_and_wait(None, condition, again)).await
    }

    /// Rule 20: the remote cannot be reached. What is settled keeps its status; the project reports the outage.
    pub(super) async fn report_outage(
        &mut self,
        identity: &K::Identity,
        condition: ConditionUpdate,
    ) -> Result<Next, kube::Error> {
        let claim = self.object.claim_request();
        if !self.is_deleting() && !claim.operation && K::is_settled(self).await? {
            return Ok(Next::Again(None));
        }
        self.report_and_wait(Some(identity), condition, None).await
    }

    /// The same for the record of this resource alone.
    pub(super) async fn report_failed_read(
        &mut self,
        identity: &K::Identity,
        error: &ApiError,
    ) -> Result<Next, kube::Error> {
        let condition = problem::condition(error, &K::remote_identity(identity).project_key);
        self.report_outage(identity, condition).await
    }

    /// Reads the resource again. If it still has the operation that this reconcile wrote, takes over what the operator owns
    /// of it, and returns true. The spec stays the one that the call was planned for; the next reconcile sees the new one.
    pub(super) async fn is_still_stored(&mut self) -> Result<bool, kube::Error> {
        let Some(found) = self.api.get_opt(&self.object_ref.name).await? else { return Ok(false) };
        if found.meta().uid != self.object.meta().uid {
            return Ok(false);
        }
        let operation = self.object.status().and_then(K::operation);
        let object = Arc::make_mut(&mut self.object);
        object.meta_mut().resource_version.clone_from(&found.meta().resource_version);
        object.meta_mut().finalizers.clone_from(&found.meta().finalizers);
        object.meta_mut().deletion_timestamp.clone_from(&found.meta().deletion_timestamp);
        object.set_status(found.status().cloned());
        Ok(self.object.status().and_then(K::operation) == operation)
    }

    pub(super) async fn write(&mut self, status: K::Status, condition: &ConditionUpdate) -> Result<(), kube::Error> {
        self.store(status, condition).await.map_err(|(request, error)| {
            self.unwritten.note(request, condition, &error);
            error
        })
    }

    /// Writes the status, and before it the metadata that must not lack beside it. An error comes with its request.
    async fn store(
        &mut self,
        status: K::Status,
        condition: &ConditionUpdate,
    ) -> Result<(), (&'static str, kube::Error)> {
        if K::is_begun(&status) {
            self.add_finalizer().await.map_err(|error| (FINALIZERS, error))?;
        }
        let before = self.status();
        if let Some(id) = K::record_id(&before).filter(|_| K::record_id(&status).is_none()) {
            // Reads that were wrong about its absence may find the record again.
            self.keep_id(id).await.map_err(|error| (ANNOTATIONS, error))?;
        }
        let ids = (K::record_id(&before), K::record_id(&status));
        let replaced = if let (Some(before), Some(id)) = ids
            && before != id
        {
            K::replacement_note(before, id)
        } else {
            None
        };
        self.write_status(&before, status, condition).await.map_err(|error| (STATUS, error))?;
        if let Some(note) = replaced {
            self.context.report(&*self.object, EventType::Normal, EventReason::Replaced, "Reconcile", &note);
        }
        Ok(())
    }

    /// Writes the status if it differs from `before`, the stored one, with an Event
    /// for each new reason that the condition reports by one.
    ///
    /// # Errors
    /// Those of the API server; and that it pruned the operation: the served CRD is older than this version, and without a
    /// stored operation nothing may be sent (rule 1).
    async fn write_status(
        &mut self,
        before: &K::Status,
        after: K::Status,
        condition: &ConditionUpdate,
    ) -> Result<(), kube::Error> {
        let written = patch::write_status(&self.api, &*self.object, before, &after).await?;
        let Some(stored) = written else { return Ok(()) };
        let is_pruned = stored.status().and_then(K::operation) != K::operation(&after);
        self.wrote(stored);
        if is_pruned {
            let message =
                "the served CustomResourceDefinition drops fields of the status: apply the CRDs of this version";
            return Err(kube::Error::Service(message.into()));
        }
        let earlier = ready_reason(K::conditions(before));
        if condition.event && earlier != Some(condition.reason.as_str()) && condition.reason != Reason::Queued {
            self.context.event(&*self.object, "Reconcile", condition);
        }
        Ok(())
    }
}
