//! A first create until a status has it: its operation, in an annotation.
//!
//! A status without operation and without id is written only after the annotation is removed
//! ([`Reconciler::remove_pending_create`]).

use kube::ResourceExt;
use serde_json::json;

use crate::controllers::kinds::managed_kind::{has_finalizer, with_finalizer};
use crate::controllers::kinds::pending_create::{PendingCreate, is_signed};
use crate::controllers::objects::patch;
use crate::crd::shared::RemoteIdentity;
use crate::names;

use super::{Reconciler, RemoteKind};

/// Returns the create that counts, and whether this process wrote it. `remembered`: what this process wrote. An annotation
/// that another process wrote counts only as long as it is there: that process removes it once its call was refused.
fn counted<O: PartialEq>(
    annotated: Option<PendingCreate<O>>,
    remembered: Option<PendingCreate<O>>,
) -> (Option<PendingCreate<O>>, bool) {
    let own = remembered.is_some() && (annotated.is_none() || annotated == remembered);
    (annotated.or(remembered), own)
}

impl<K: RemoteKind> Reconciler<'_, K> {
    /// Takes the status of the object as if it had the operation of the annotation. A PUT that dropped the annotation while
    /// this process was creating changes nothing.
    pub(super) fn take_pending_create(&mut self) {
        let reported = self.object.status().is_some_and(K::is_begun);
        let remembered = self.cache.pending_create.take().filter(|_| !reported).map(|pending| *pending);
        let remembered = remembered.filter(|_| self.cache.is_create_own);
        let annotated = self.object.pending_create();
        if annotated.is_some() {
            self.cache.is_create_signed = is_signed(self.object.meta(), &self.context.digest_key);
        }
        let (pending, own) = counted(annotated, remembered);
        (self.cache.pending_create, self.cache.is_create_own) = (pending.map(Box::new), own);
        if let Some(pending) = &self.cache.pending_create {
            let mut status = self.object.status().cloned().unwrap_or_default();
            K::set_begun(&mut status, pending);
            self.stand_in(status);
        }
    }

    /// Writes the finalizer and the operation of a first create, on the version of the object that was read.
    ///
    /// # Errors
    /// Those of the API server; 409 if the object was changed meanwhile; and that the stored object lacks the annotation.
    pub(super) async fn write_pending_create(
        &mut self,
        remote: RemoteIdentity,
        operation: K::Operation,
    ) -> Result<(), kube::Error> {
        let pending = PendingCreate::new(self.object.meta(), remote, operation);
        let text = pending.written(&self.context.digest_key).map_err(kube::Error::SerdeError)?;
        let finalizers = with_finalizer(&*self.object);
        let metadata = json!({ "finalizers": finalizers, "annotations": { names::PENDING_CREATE: text } });
        let stored = self.context.own_writes.patch_metadata(&self.api, &*self.object, metadata).await?;
        if stored.pending_create().as_ref() != Some(&pending) || !has_finalizer(&stored) {
            let message = "the stored object lacks the finalizer or the annotation: a webhook drops them";
            return Err(kube::Error::Service(message.into()));
        }
        (self.cache.pending_create, self.cache.is_create_own) = (Some(Box::new(pending)), true);
        self.wrote(stored);
        Ok(())
    }

    /// Removes the annotation, before a status is written that has neither operation nor id: from then on nothing has begun.
    ///
    /// # Errors
    /// Those of the API server; 409 if the object was changed meanwhile.
    pub(super) async fn remove_pending_create(&mut self) -> Result<(), kube::Error> {
        let annotated = self.object.annotations().contains_key(names::PENDING_CREATE);
        if !annotated && self.cache.pending_create.is_none() {
            return Ok(());
        }
        let metadata = json!({ "annotations": { names::PENDING_CREATE: null } });
        let stored = self.context.own_writes.patch_metadata(&self.api, &*self.object, metadata).await;
        if stored.as_ref().map_or_else(patch::may_be_stored, |_| true) {
            // Also without a response: if the annotation is gone, its operation must not come back from memory.
            self.cache.pending_create = None;
        }
        self.wrote(stored?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

    use super::*;

    fn pending(uid: &str) -> PendingCreate<String> {
        let meta = ObjectMeta { uid: Some(uid.to_owned()), ..ObjectMeta::default() };
        let remote = RemoteIdentity { api_url: "https://api".into(), project_key: "demo".into() };
        PendingCreate::new(&meta, remote, "Create".into())
    }

    #[test]
    fn rule_1_without_its_annotation_only_a_create_of_this_process_counts() {
        let (ours, theirs) = (|| Some(pending("1")), || Some(pending("2")));
        for (case, annotated, remembered, expected) in [
            ("nothing", None, None, (None, false)),
            ("another process is creating", theirs(), None, (theirs(), false)),
            ("this process is creating", ours(), ours(), (ours(), true)),
            ("a PUT dropped the annotation meanwhile", None, ours(), (ours(), true)),
            ("another process has begun since", theirs(), ours(), (theirs(), false)),
        ] {
            assert_eq!(counted(annotated, remembered), expected, "{case}");
        }
    }
}
