//! An object from a watch, without what no reconcile needs, and without failing if this version cannot deserialize it.
//!
//! `managedFields` and foreign annotations are dropped while the response is parsed: the schema of a kind bounds neither,
//! and the former grow with the spec, so that a page of large objects would not fit into memory. kube's
//! `DeserializeGuard` keeps both, and two copies of the object.

use std::borrow::Cow;
use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::core::error_boundary::InvalidObject;
use serde::de::{DeserializeOwned, DeserializeSeed, Error, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::crd::AllowedNamespaces;
use crate::names;
use crate::operator::kinds::managed_kind::{ClaimRequest, ManagedKind};
use crate::operator::object_ref::Kind;

/// An object from the API server: deserialized, or the error. Of its annotations, it has only those of the operator.
#[derive(Clone, Debug)]
pub struct Guarded<K>(pub Result<K, InvalidObject>);

impl<'de, K: DeserializeOwned> Deserialize<'de> for Guarded<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = deserializer.deserialize_map(Keeping(Part::Object))?;
        let metadata = object.get("metadata").cloned().unwrap_or_default();
        match K::deserialize(Value::Object(object)) {
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

/// The JSON objects of which not everything is kept.
#[derive(Clone, Copy)]
enum Part {
    Object,
    Metadata,
    Annotations,
}

/// Parses a JSON object, and skips what is not kept.
#[derive(Clone, Copy)]
struct Keeping(Part);

impl<'de> Visitor<'de> for Keeping {
    type Value = Map<String, Value>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut kept = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            let value = match (self.0, name.as_str()) {
                (Part::Object, "metadata") => members.next_value_seed(Keeping(Part::Metadata))?,
                (Part::Metadata, "annotations") => members.next_value_seed(Keeping(Part::Annotations))?,
                (Part::Metadata, "managedFields") => {
                    members.next_value::<IgnoredAny>()?;
                    continue;
                }
                (Part::Annotations, name) if !name.starts_with(names::PREFIX) => {
                    members.next_value::<IgnoredAny>()?;
                    continue;
                }
                _ => members.next_value()?,
            };
            kept.insert(name, value);
        }
        Ok(kept)
    }
}

impl<'de> DeserializeSeed<'de> for Keeping {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_map(self).map(Value::Object)
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

    /// A page has 25 objects. One with 64 applications of 100 values each has half a megabyte of managed fields.
    #[test]
    fn managed_fields_take_no_memory() {
        let mut large = manifest("Pinned");
        let fields = (0..10_000).map(|number| (format!("f:{number}"), json!({"f:value": {}}))).collect();
        large["metadata"]["managedFields"][0]["fieldsV1"] = Value::Object(fields);
        let (small, large) = (manifest("Pinned").to_string(), large.to_string());
        let peak = |text: &str| {
            let measured = allocation_counter::measure(|| {
                serde_json::from_str::<Guarded<ConnectorDeployment>>(text).expect("an object");
            });
            measured.bytes_max
        };
        let (small, large) = (peak(&small), peak(&large));
        assert!(large < small + 4096, "{large} bytes, {small} without");
    }
}
