//! The annotation with the operation of a first create: the finalizer and the operation are one write, so that only one
//! comes before the call (rule 1). Pure.
//!
//! It counts from that write until a status has the operation or what came of it
//! ([`RemoteObject::pending_create`](crate::controllers::kinds::remote_object::RemoteObject::pending_create)).

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};

use crate::controllers::values::digest::DigestKey;
use crate::crd::shared::RemoteIdentity;
use crate::names;

/// What the annotation has: `{signature}:{JSON of this}`. Any user can write it, so it counts against other resources only
/// with a signature of this install.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PendingCreate<O> {
    /// Uid of the object: a copy or a restored backup of the object has not begun anything.
    uid: String,
    /// Where it creates the record.
    pub remote: RemoteIdentity,
    /// The operation, as a status has it.
    pub operation: O,
}

impl<O> PendingCreate<O> {
    /// Begins a create for the object with this metadata.
    pub(in crate::controllers) fn new(meta: &ObjectMeta, remote: RemoteIdentity, operation: O) -> Self {
        Self { uid: meta.uid.clone().unwrap_or_default(), remote, operation }
    }
}

impl<O: DeserializeOwned> PendingCreate<O> {
    /// Returns the create in the annotation; `None`: there is none, or it is not that of this object.
    pub(in crate::controllers) fn of(meta: &ObjectMeta) -> Option<Self> {
        let (_, text) = annotation(meta)?;
        let pending: Self = serde_json::from_str(text).ok()?;
        (meta.uid.as_deref() == Some(&*pending.uid)).then_some(pending)
    }
}

impl<O: Serialize> PendingCreate<O> {
    /// Returns the content of the annotation.
    ///
    /// # Errors
    /// If the operation cannot be serialized, which is a bug.
    pub(in crate::controllers) fn written(&self, key: &DigestKey) -> Result<String, serde_json::Error> {
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
    #[serde(rename = "operation")]
    _operation: IgnoredAny,
}

/// Whether the annotation of this object is its own.
#[must_use]
pub fn is_own(meta: &ObjectMeta) -> bool {
    let begun = annotation(meta).and_then(|(_, text)| serde_json::from_str::<Begun<'_>>(text).ok());
    begun.is_some_and(|begun| meta.uid.as_deref() == Some(&*begun.uid))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::controllers::kinds::remote_object::RemoteObject as _;
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
            let found = object(annotation, &status).pending_create();
            assert_eq!(found, counts.then(|| pending("1")), "{case}");
        }
    }

    #[test]
    fn an_annotation_is_of_its_object_whoever_signed_it() {
        for (case, uid, expected) in [("its own", "1", true), ("of another object", "2", false)] {
            let written = pending(uid).written(&key(1)).expect("JSON");
            assert_eq!(is_own(&object(Some(&written), &Value::Null).metadata), expected, "{case}");
        }
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
