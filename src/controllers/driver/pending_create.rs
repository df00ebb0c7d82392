//! The operation of a first create, in an annotation of the object: the finalizer and the operation are one write, so that
//! only one comes before the call (rule 1).
//!
//! It counts from that write until a status has the operation or what came of it. So a status without operation and
//! without id is written only after the annotation is removed ([`Reconciler::remove_pending_create`]).

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::controllers::digest::DigestKey;
use crate::controllers::object::{has_finalizer, with_finalizer};
use crate::controllers::patch;
use crate::crd::shared::RemoteIdentity;
use crate::names;

use super::{Reconciler, RemoteKind};

/// What the annotation has: `{signature}:{JSON of this}`. Any user can write it, so it counts against other resources only
/// with a signature of this install.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PendingCreate<O> {
    /// Uid of the object: a copy or a restored backup of the object has not begun anything.
    uid: String,
    /// The install that sends the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller: Option<String>,
    /// Where it creates the record.
    pub remote: RemoteIdentity,
    /// The operation, as a status has it.
    pub operation: O,
}

impl<O: DeserializeOwned> PendingCreate<O> {
    /// Returns the create of this object; `None`: its status already has an operation or a record, or the annotation is not
    /// its own.
    pub fn of<K: RemoteKind<Operation = O>>(object: &K) -> Option<Self> {
        if object.status().is_some_and(has_begun::<K>) {
            return None;
        }
        let (_, text) = annotation(object.meta())?;
        let pending: Self = serde_json::from_str(text).ok()?;
        (object.meta().uid.as_deref() == Some(&*pending.uid)).then_some(pending)
    }
}

impl<O: Serialize> PendingCreate<O> {
    /// Returns the content of the annotation.
    fn written(&self, key: &DigestKey) -> Result<String, serde_json::Error> {
        let text = serde_json::to_string(self)?;
        Ok(format!("{}:{text}", key.sign(&text)))
    }
}

/// Splits the annotation into signature and JSON.
fn annotation(meta: &ObjectMeta) -> Option<(&str, &str)> {
    meta.annotations.as_ref()?.get(names::PENDING_CREATE)?.split_once(':')
}

/// Whether an install with this key wrote the annotation.
#[must_use]
pub fn is_signed(meta: &ObjectMeta, key: &DigestKey) -> bool {
    annotation(meta).is_some_and(|(signature, text)| key.sign(text) == signature)
}

/// What everybody has to know of a create.
#[derive(Deserialize)]
struct Begun<'a> {
    #[serde(borrow)]
    uid: Cow<'a, str>,
    #[serde(borrow)]
    controller: Option<Cow<'a, str>>,
    #[serde(rename = "operation")]
    _operation: IgnoredAny,
}

/// Whether the annotation of this object is its own.
#[must_use]
pub fn is_own(meta: &ObjectMeta) -> bool {
    begun(meta).is_some()
}

/// Returns the install that wrote the annotation of this object.
#[must_use]
pub fn controller(meta: &ObjectMeta) -> Option<Cow<'_, str>> {
    begun(meta)?.controller
}

/// Whether a status has an operation or a record.
pub(super) fn has_begun<K: RemoteKind>(status: &K::Status) -> bool {
    K::operation(status).is_some() || K::record_id(status).is_some()
}

fn begun(meta: &ObjectMeta) -> Option<Begun<'_>> {
    let begun: Begun<'_> = serde_json::from_str(annotation(meta)?.1).ok()?;
    (meta.uid.as_deref() == Some(&*begun.uid)).then_some(begun)
}

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
        let reported = self.object.status().is_some_and(has_begun::<K>);
        let remembered = self.cache.pending_create.take().filter(|_| !reported).map(|pending| *pending);
        let remembered = remembered.filter(|_| self.cache.is_create_own);
        let annotated = PendingCreate::of(&*self.object);
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
        let uid = self.object.uid().unwrap_or_default();
        let pending = PendingCreate { uid, controller: self.context.foreign_installs.mine(), remote, operation };
        let text = pending.written(&self.context.digest_key).map_err(kube::Error::SerdeError)?;
        let finalizers = with_finalizer(&*self.object);
        let metadata = json!({ "finalizers": finalizers, "annotations": { names::PENDING_CREATE: text } });
        let stored = self.context.own_writes.patch_metadata(&self.api, &*self.object, metadata).await?;
        if PendingCreate::of(&stored).as_ref() != Some(&pending) || !has_finalizer(&stored) {
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
    use serde_json::Value;

    use super::*;
    use crate::crd::ConnectorDeployment;
    use crate::crd::connector_deployment_status::Operation;

    fn key(byte: u8) -> DigestKey {
        DigestKey::new([byte; 32])
    }

    fn pending(uid: &str) -> PendingCreate<Operation> {
        let operation = json!({
            "type": "Create", "state": "Planned", "attempt": 1, "generation": 1, "startedAt": "2026-01-01T00:00:01Z",
            "values": [{"standard": {"A:B": "1a2b3c4d"}}],
        });
        PendingCreate {
            uid: uid.into(),
            controller: Some("shop/connect-operator".into()),
            remote: RemoteIdentity { api_url: "https://api".into(), project_key: "demo".into() },
            operation: serde_json::from_value(operation).expect("an operation"),
        }
    }

    fn object(annotation: Option<&str>, status: &Value) -> ConnectorDeployment {
        let annotations = annotation.map(|text| json!({ names::PENDING_CREATE: text }));
        serde_json::from_value(json!({
            "apiVersion": "connect-operator.io/v1alpha1",
            "kind": "ConnectorDeployment",
            "metadata": {"name": "tax", "namespace": "shop", "uid": "1", "annotations": annotations},
            "spec": {"projectRef": {"name": "shop"}, "connector": {"key": "demo"}},
            "status": status,
        }))
        .expect("an object")
    }

    #[test]
    fn rule_1_a_pending_create_counts_until_the_status_has_what_became_of_it() {
        let own = pending("1").written(&key(1)).expect("JSON");
        let other = pending("2").written(&key(1)).expect("JSON");
        let unseen = json!({"observedGeneration": -1});
        let begun = json!({"observedGeneration": 1, "operation": pending("1").operation});
        for (case, annotation, status, counts) in [
            ("without a status", Some(own.as_str()), Value::Null, true),
            ("with a status that only waits", Some(&own), unseen.clone(), true),
            ("the status has the operation", Some(&own), begun, false),
            ("the status has the record", Some(&own), json!({"observedGeneration": 1, "id": "7"}), false),
            ("another object of the same name, or a copy", Some(&other), Value::Null, false),
            ("none", None, unseen, false),
            ("no signature", Some("{}"), Value::Null, false),
            ("not JSON", Some("ab:cd"), Value::Null, false),
            ("no operation", Some(r#"ab:{"uid":"1","remote":{"apiUrl":"a","projectKey":"b"}}"#), Value::Null, false),
        ] {
            let found = PendingCreate::of(&object(annotation, &status));
            assert_eq!(found, counts.then(|| pending("1")), "{case}");
        }
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

    #[test]
    fn rule_26_the_annotation_names_its_install_whoever_signed_it() {
        let own = pending("1").written(&key(1)).expect("JSON");
        let metadata = object(Some(&own), &Value::Null).metadata;
        assert!(is_own(&metadata));
        assert_eq!(controller(&metadata).as_deref(), Some("shop/connect-operator"));
        let metadata = object(Some(&pending("2").written(&key(1)).expect("JSON")), &Value::Null).metadata;
        assert!(!is_own(&metadata), "another object");
        assert_eq!(controller(&metadata), None);
    }

    #[test]
    fn a_signature_covers_the_whole_text_and_belongs_to_one_key() {
        let written = pending("1").written(&key(1)).expect("JSON");
        let signed = |text: &str, by| is_signed(&object(Some(text), &Value::Null).metadata, &key(by));
        assert!(signed(&written, 1));
        assert!(!signed(&written, 2), "the key of another install");
        assert!(!signed(&written.replace("demo", "mine"), 1));
        assert!(!signed(&written.replace("Create", "create"), 1));
    }
}
