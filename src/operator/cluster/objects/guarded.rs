//! An object from a watch, without what no reconcile needs, and without failing if this version cannot deserialize it.
//!
//! `managedFields` and foreign annotations are dropped as each object of a response is parsed: the schema of a kind bounds
//! neither, and the former grow with the spec, so that a page of large objects would not fit into memory. kube's
//! `DeserializeGuard` keeps both, and two copies of the object.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::core::error_boundary::InvalidObject;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::crd::AllowedNamespaces;
use crate::names;
use crate::operator::kinds::managed_kind::{ClaimRequest, ManagedKind};
use crate::operator::object_ref::Kind;

/// An object from the API server: deserialized, or the error. Of its annotations, it has only those of the operator.
#[derive(Clone, Debug)]
pub struct Guarded<K>(pub Result<K, InvalidObject>);

impl<'de, K: DeserializeOwned> Deserialize<'de> for Guarded<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut object = Value::deserialize(deserializer)?;
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
            if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
                annotations.retain(|name, _| name.starts_with(names::PREFIX));
            }
        }
        let metadata = object.get("metadata").cloned().unwrap_or_default();
        match K::deserialize(object) {
            Ok(object) => Ok(Self(Ok(object))),
            Err(error) => {
                let metadata = ObjectMeta::deserialize(metadata).map_err(D::Error::custom)?;
                Ok(Self(Err(InvalidObject { error: error.to_string(), metadata })))
            }
        }
    }
}

impl<K: Resource> Resource for Guarded<K> {
    type DynamicType = K::DynamicType;
    type Scope = K::Scope;

    fn kind(of: &Self::DynamicType) -> Cow<'_, str> {
        K::kind(of)
    }

    fn group(of: &Self::DynamicType) -> Cow<'_, str> {
        K::group(of)
    }

    fn version(of: &Self::DynamicType) -> Cow<'_, str> {
        K::version(of)
    }

    fn plural(of: &Self::DynamicType) -> Cow<'_, str> {
        K::plural(of)
    }

    fn meta(&self) -> &ObjectMeta {
        self.0.as_ref().map_or_else(|error| &error.metadata, K::meta)
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        self.0.as_mut().map_or_else(|error| &mut error.metadata, K::meta_mut)
    }
}

impl<K: ManagedKind> ManagedKind for Guarded<K>
where
    Self: Resource<DynamicType = ()>,
{
    const KIND: Kind = K::KIND;
    type Memory = K::Memory;

    fn is_readable(&self) -> bool {
        self.0.is_ok()
    }

    fn claim(&self) -> Option<ClaimRequest> {
        self.0.as_ref().ok()?.claim()
    }

    fn has_begun(&self) -> bool {
        self.0.as_ref().is_ok_and(ManagedKind::has_begun)
    }

    /// A project that cannot be deserialized keeps the permissions that it had.
    fn allowed_namespaces(&self) -> Option<AllowedNamespaces> {
        self.0.as_ref().ok()?.allowed_namespaces()
    }
}

#[cfg(test)]
mod tests {
    use kube::ResourceExt;
    use kube::core::WatchEvent;
    use serde_json::json;

    use super::*;
    use crate::crd::ConnectorDeployment;

    fn manifest(policy: &str) -> Value {
        json!({
            "apiVersion": "connect-operator.io/v1alpha1",
            "kind": "ConnectorDeployment",
            "metadata": {
                "name": "tax", "namespace": "shop", "uid": "1", "resourceVersion": "7", "generation": 3,
                "labels": {"team": "tax"}, "finalizers": [names::FINALIZER],
                "annotations": {names::REMOTE_ID: "one", "kubectl.kubernetes.io/last-applied-configuration": "{}"},
                "managedFields": [{"manager": "kubectl", "operation": "Apply", "fieldsV1": {"f:spec": {"f:key": {}}}}],
            },
            "spec": {"projectRef": {"name": "shop"}, "connector": {"key": "demo", "updatePolicy": policy}},
            "status": {"observedGeneration": 2},
        })
    }

    #[test]
    fn an_object_arrives_without_managed_fields_and_foreign_annotations() {
        let event = json!({"type": "ADDED", "object": manifest("Pinned")}).to_string();
        let event: WatchEvent<Guarded<ConnectorDeployment>> = serde_json::from_str(&event).expect("an event");
        let WatchEvent::Added(Guarded(Ok(object))) = event else { panic!("{event:?}") };
        let mut expected: ConnectorDeployment = serde_json::from_value(manifest("Pinned")).expect("an object");
        expected.metadata.managed_fields = None;
        expected.annotations_mut().remove("kubectl.kubernetes.io/last-applied-configuration");
        assert_eq!(object.metadata, expected.metadata);
        assert_eq!(serde_json::to_value(&object).expect("JSON"), serde_json::to_value(&expected).expect("JSON"));
    }

    #[test]
    fn an_object_that_this_version_does_not_understand_keeps_its_name() {
        let object: Guarded<ConnectorDeployment> = serde_json::from_value(manifest("Weekly")).expect("its metadata");
        assert_eq!((object.name_any(), object.namespace().as_deref()), ("tax".into(), Some("shop")));
        assert_eq!(object.meta().managed_fields, None);
        let error = object.0.expect_err("an unknown policy").error;
        assert!(error.contains("Weekly"), "{error}");
        for not_an_object in [json!([]), json!("tax"), json!({"metadata": []}), json!({"metadata": {"name": 7}})] {
            let parsed = serde_json::from_value::<Guarded<ConnectorDeployment>>(not_an_object.clone());
            assert!(parsed.is_err(), "{not_an_object}: {parsed:?}");
        }
    }
}
