//! The metadata that the operator owns: the finalizer, and the annotation with the id of the record.

use std::sync::Arc;
use std::time::Duration;

use clock::between;
use kube::ResourceExt;
use kube::runtime::events::EventType;

use crate::controllers::kinds::managed_kind::has_finalizer;
use crate::controllers::kinds::remote_object::ClaimRequest;
use crate::controllers::reconcile::{self, Next};
use crate::controllers::reporting::conditions;
use crate::controllers::reporting::event_reason::EventReason;
use crate::controllers::reporting::refusal;
use crate::names;

use super::{Reconciler, RemoteKind};

/// Age of an object from which on its id is kept with any outcome.
const ANNOTATED_AT_AGE: Duration = Duration::from_mins(30);
/// Minimum age of an outcome before its id is kept in an annotation.
pub(in crate::controllers) const ANNOTATED_AFTER: Duration = Duration::from_mins(4);

impl<K: RemoteKind> Reconciler<'_, K> {
    /// Adds the finalizer, unless the object has it, needs none, or is being deleted without it.
    pub(super) async fn add_finalizer(&mut self) -> Result<(), kube::Error> {
        if has_finalizer(&*self.object) || !self.object.wants_finalizer() || self.is_deleting() {
            return Ok(());
        }
        let object = reconcile::add_finalizer(self.context, &self.api, &*self.object).await?;
        self.wrote(object);
        Ok(())
    }

    /// Rule 3: keeps the id where a restored backup has it, once the outcome is [`ANNOTATED_AFTER`] old. The first reconcile of
    /// a process leaves it to a later one: a restart writes nothing (rule 10). Returns whether it is there.
    pub(in crate::controllers) async fn annotate(&mut self, persisted: &K::Persisted) -> Result<bool, kube::Error> {
        let Some(id) = K::id(persisted) else { return Ok(true) };
        if self.has_kept(id) {
            return Ok(true);
        }
        let before = self.object.annotations().get(names::REMOTE_ID).cloned();
        let later = self.first || self.is_recent();
        if self.object.claim_request().operation || (later && before.is_none()) {
            return Ok(false);
        }
        if !self.keep_id(id).await? {
            return Ok(true);
        }
        self.report_replacement(
            before.filter(|before| before != id).and_then(|before| K::replacement_note(&before, id)),
        );
        Ok(true)
    }

    /// Writes the id into the annotation, unless it is there. Returns false if the API server refuses.
    pub(super) async fn keep_id(&mut self, id: &str) -> Result<bool, kube::Error> {
        if self.has_kept(id) {
            return Ok(true);
        }
        let stored = reconcile::annotate(self.context, &self.api, &*self.object, id).await?;
        let kept = stored.is_some();
        if let Some(object) = stored {
            self.wrote(object);
        }
        Ok(kept)
    }

    /// Whether the annotations are as [`reconcile::annotate`] leaves them.
    fn has_kept(&self, id: &str) -> bool {
        let annotations = self.object.annotations();
        annotations.get(names::REMOTE_ID).is_some_and(|known| known == id)
            && !annotations.contains_key(names::PENDING_CREATE)
    }

    /// Removes the finalizer, and reports in an Event what became of the record.
    pub(super) async fn remove_finalizer(&mut self, persisted: Option<&K::Persisted>) -> Result<Next, kube::Error> {
        if !has_finalizer(&*self.object) {
            return Ok(Next::Gone);
        }
        let deleted = persisted.and_then(K::deletion_event).map(|(reason, note)| (reason, note.to_owned()));
        let object = Arc::clone(&self.object);
        if let Err(error) = reconcile::remove_finalizer(self.context, &self.api, &*object).await {
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

    /// Whether the outcome is too new for its annotation: whatever else follows it comes first. An old object that changes
    /// again and again does not wait.
    fn is_recent(&self) -> bool {
        let now = self.context.clock.now();
        let since = self.object.status().and_then(|status| conditions::ready_since(K::conditions(status)));
        let created = self.object.creation_timestamp().map(|created| created.0);
        since.is_none_or(|since| between(since, now) < ANNOTATED_AFTER)
            && created.is_none_or(|created| between(created, now) < ANNOTATED_AT_AGE)
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
            is_pending: false,
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
