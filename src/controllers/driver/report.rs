//! Reports what is the case: the one patch of the status, its Event, and the metadata that the operator owns.

use std::sync::Arc;
use std::time::Duration;

use clock::between;
use connect_api::ApiError;
use kube::ResourceExt;
use kube::runtime::events::EventType;

use crate::controllers::kinds::managed_kind::has_finalizer;
use crate::controllers::kinds::remote_object::ClaimRequest;
use crate::controllers::reconcile::{self, Next};
use crate::controllers::reporting::conditions::{self, ConditionUpdate, ready_reason};
use crate::controllers::reporting::event_reason::EventReason;
use crate::controllers::reporting::problem;
use crate::controllers::reporting::reason::Reason;
use crate::controllers::reporting::refusal::{self, ANNOTATIONS, Access, FINALIZERS, STATUS};
use crate::names;

use super::{ObservedRecord, Reconciler, RemoteKind, StatusInputs};

/// Age of an object from which on its id is kept with any outcome.
const ANNOTATED_AT_AGE: Duration = Duration::from_mins(30);
/// Minimum age of an outcome before its id is kept in an annotation.
pub(in crate::controllers) const ANNOTATED_AFTER: Duration = Duration::from_mins(4);

impl<K: RemoteKind> Reconciler<'_, K> {
    /// Writes the status after an observation, if it differs from the one before.
    pub(in crate::controllers) async fn patch_status(
        &mut self,
        observed: &K::Observed,
        persisted: &K::Persisted,
        condition: ConditionUpdate,
        record: ObservedRecord<'_, K::Record>,
        details: K::Details,
    ) -> Result<(), kube::Error> {
        let status = self.summarize(observed, persisted, &condition, record, details);
        self.write(status, &condition).await?;
        self.cache.asked = None;
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
            handled_reconcile_request: self.cache.asked.as_ref().map(|(request, _)| request.clone()),
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
        loop {
            match self.patch_status(observed, persisted, condition.clone(), record, details.clone()).await {
                Err(kube::Error::Api(status)) if status.code == 409 && self.is_still_stored().await? => {}
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
    async fn is_still_stored(&mut self) -> Result<bool, kube::Error> {
        let Some(found) = self.api.get_opt(&self.object_ref.name).await? else { return Ok(false) };
        if found.meta().uid != self.object.meta().uid {
            return Ok(false);
        }
        let operation = self.object.status().and_then(K::operation).cloned();
        let object = Arc::make_mut(&mut self.object);
        object.meta_mut().resource_version.clone_from(&found.meta().resource_version);
        object.meta_mut().finalizers.clone_from(&found.meta().finalizers);
        object.set_status(found.status().cloned());
        self.take_unwritten();
        Ok(self.object.status().and_then(K::operation) == operation.as_ref())
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
        } else {
            self.remove_pending_create().await.map_err(|error| (ANNOTATIONS, error))?;
        }
        let before = self.stored_status();
        if let Some(id) = K::record_id(&before).filter(|_| K::record_id(&status).is_none()) {
            // Reads that were wrong about its absence may find the record again.
            self.keep_id(id).await.map_err(|error| (ANNOTATIONS, error))?;
        }
        let replaces = self.replaces(&before, &status);
        self.write_status(&before, status, condition).await.map_err(|error| (STATUS, error))?;
        self.report_replacement(replaces);
        Ok(())
    }

    /// Writes the status if it differs from `before`, the stored one, with the install that works on the object, and an Event
    /// for each new reason that the condition reports by one.
    ///
    /// # Errors
    /// Those of the API server; and that it pruned the operation: the served CRD is older than this version, and without a
    /// stored operation nothing may be sent (rule 1).
    async fn write_status(
        &mut self,
        before: &K::Status,
        mut after: K::Status,
        condition: &ConditionUpdate,
    ) -> Result<(), kube::Error> {
        K::set_controller(&mut after, self.context.foreign_installs.mine());
        let written = self.context.own_writes.write_status(&self.api, &*self.object, before, &after).await?;
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

    /// Returns the note of a status that names another record than the one before. If an annotation has the former id, the
    /// write of that annotation reports it.
    fn replaces(&self, before: &K::Status, status: &K::Status) -> Option<String> {
        if self.object.annotations().contains_key(names::REMOTE_ID) {
            return None;
        }
        let (before, id) = (K::record_id(before)?, K::record_id(status)?);
        (before != id).then(|| K::replacement_note(before, id)).flatten()
    }

    fn report_replacement(&self, note: Option<String>) {
        if let Some(note) = note {
            self.context.report(&*self.object, EventType::Normal, EventReason::Replaced, "Reconcile", &note);
        }
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
    async fn keep_id(&mut self, id: &str) -> Result<bool, kube::Error> {
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

    /// Whether the Ready condition is true.
    pub(in crate::controllers) fn is_ready(&self) -> bool {
        self.object.status().is_some_and(|status| conditions::is_ready(K::conditions(status)))
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
