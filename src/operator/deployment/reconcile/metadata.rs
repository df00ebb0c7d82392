//! The metadata that the operator owns: the finalizer, and the annotation with the id of the record.

use std::sync::Arc;

use super::super::persisted::PersistedState;
use crate::crd::ManagementPolicy;
use crate::operator::reconcile::{self, record};

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
}
