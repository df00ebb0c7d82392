//! The metadata that the operator owns: the finalizer, and the annotation with the id of the record.

use std::sync::Arc;

use super::super::persisted::PersistedState;
use crate::controllers::kinds::managed_kind::has_finalizer;
use crate::controllers::reconcile::{self, Next, record};
use crate::controllers::reporting::event_reason::EventReason;
use crate::controllers::reporting::refusal;
use crate::crd::ManagementPolicy;

use super::Reconciler;

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

    /// Removes the finalizer, and reports in an Event what became of the record.
    pub(super) async fn remove_finalizer(&mut self, is_undeployed: bool) -> Result<Next, kube::Error> {
        if !has_finalizer(&*self.object) {
            return Ok(Next::Gone);
        }
        let ended = is_undeployed.then_some((EventReason::Undeployed, "The remote deployment is gone"));
        match record::release(self.context, &self.api, &*self.object, "remote object", ended).await {
            Ok(()) => Ok(Next::Gone),
            Err(error) => self.report_kubernetes_error(refusal::FINALIZERS, error).await,
        }
    }
}
