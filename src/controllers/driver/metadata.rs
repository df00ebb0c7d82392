//! The metadata that the operator owns: the finalizer, and the annotation with the id of the record.

use std::sync::Arc;

use kube::ResourceExt;
use kube::runtime::events::EventType;

use crate::controllers::kinds::managed_kind::has_finalizer;
use crate::controllers::kinds::remote_object::ClaimRequest;
use crate::controllers::reconcile::{self, Next};
use crate::controllers::reporting::event_reason::EventReason;
use crate::controllers::reporting::refusal;
use crate::names;

use super::{Reconciler, RemoteKind};

impl<K: RemoteKind> Reconciler<'_, K> {
    /// Adds the finalizer, unless the object has it, needs none, or is being deleted without it.
    pub(super) async fn add_finalizer(&mut self) -> Result<(), kube::Error> {
        if has_finalizer(&*self.object) || !self.object.wants_finalizer() || self.is_deleting() {
            return Ok(());
        }
        let object = reconcile::add_finalizer(&self.api, &*self.object).await?;
        self.wrote(object);
        Ok(())
    }

    /// Rule 3: keeps the id where a restored backup has it, once no operation runs.
    pub(in crate::controllers) async fn annotate(&mut self, persisted: &K::Persisted) -> Result<(), kube::Error> {
        match K::id(persisted).filter(|_| !self.object.claim_request().operation) {
            Some(id) => self.keep_id(id).await,
            None => Ok(()),
        }
    }

    /// Writes the id into the annotation, unless it is there, or the API server refuses.
    pub(super) async fn keep_id(&mut self, id: &str) -> Result<(), kube::Error> {
        if self.object.annotations().get(names::REMOTE_ID).is_some_and(|known| known == id) {
            return Ok(());
        }
        if let Some(object) = reconcile::annotate(self.context, &self.api, &*self.object, id).await? {
            self.wrote(object);
        }
        Ok(())
    }

    /// Removes the finalizer, and reports in an Event what became of the record.
    pub(super) async fn remove_finalizer(&mut self, persisted: Option<&K::Persisted>) -> Result<Next, kube::Error> {
        if !has_finalizer(&*self.object) {
            return Ok(Next::Gone);
        }
        let deleted = persisted.and_then(K::deletion_event).map(|(reason, note)| (reason, note.to_owned()));
        let object = Arc::clone(&self.object);
        if let Err(error) = reconcile::remove_finalizer(&self.api, &*object).await {
            return self.report_kubernetes_error(refusal::FINALIZERS, error).await;
        }
        let (reason, note) = deleted.unwrap_or_else(|| {
            let annotated = object.annotations().get(names::REMOTE_ID);
            (EventReason::Orphaned, orphaned(&object.claim_request(), annotated.map(String::as_str)))
        });
        tracing::info!(reason = reason.as_str(), "{note}");
        self.context.report(&*object, EventType::Normal, reason, "Reconcile", &note);
        Ok(Next::Gone)
    }
}

/// Describes what stays at the remote when an object is deleted and its record is not. `annotated`: the id in the
/// annotation of the object.
fn orphaned(claim: &ClaimRequest, annotated: Option<&str>) -> String {
    let key = &claim.key;
    let place = claim.remote.as_ref().map(|remote| format!(" in project {}", remote.project_key)).unwrap_or_default();
    match claim.id.as_deref().or(annotated) {
        Some(id) => format!(
            "The remote object with key {key} and id {id} stays{place}: delete it there, or manage it again with a \
             resource that has adoptionPolicy: Adopt"
        ),
        None if claim.operation => format!(
            "A create was in progress, so a remote object with key {key} may exist{place}: delete it there, or manage \
             it again with a resource that has adoptionPolicy: Adopt"
        ),
        None => format!("This object created nothing with key {key}, so nothing of it stays{place}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crd::shared::{ProjectKind, ProjectRef, RemoteIdentity};

    #[test]
    fn an_orphaned_object_is_named_by_key_id_and_project() {
        let claim = |id: Option<&str>, operation| ClaimRequest {
            project: ProjectRef { kind: ProjectKind::ConnectProject, name: "shop".to_owned() },
            key: "shop_tax".to_owned(),
            remote: Some(RemoteIdentity { api_url: "https://api".into(), project_key: "demo".into() }),
            id: id.map(ToOwned::to_owned),
            operation,
            claims: true,
        };
        for (case, claim, annotated, expected) in [
            ("known", claim(Some("one"), false), None, "key shop_tax and id one stays in project demo"),
            ("by its annotation", claim(None, false), Some("two"), "key shop_tax and id two stays in project demo"),
            ("during its create", claim(None, true), None, "key shop_tax may exist in project demo"),
            ("never created", claim(None, false), None, "created nothing with key shop_tax"),
            (
                "no project",
                ClaimRequest { remote: None, ..claim(Some("one"), false) },
                None,
                "key shop_tax and id one stays: delete it",
            ),
        ] {
            let note = orphaned(&claim, annotated);
            assert!(note.contains(expected), "{case}: {note}");
        }
    }
}
