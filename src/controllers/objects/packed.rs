//! An object as the store of a watch keeps it: as compressed JSON, because most objects are settled and wait.
//! Deserialized, each takes about three times as much memory as its JSON, in dozens of small pieces.
//!
//! Next: `manager/controllers.rs`, which unpacks an object for each reconcile.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};

use super::compressed::{Compressed, Compressor};
use crate::controllers::kinds::managed_kind::{ManagedKind, Stored, user_changes};
use crate::controllers::object_ref::ObjectRef;

/// An object as compressed JSON, with what is read of it without a reconcile.
pub struct Packed<K> {
    /// Name, namespace, uid and resource version; nothing else.
    metadata: ObjectMeta,
    user_changes: u64,
    json: Compressed,
    kind: PhantomData<fn() -> K>,
}

impl<K: ManagedKind + Serialize> Packed<K> {
    /// Packs an object. `compressor`: that of the store, so that similar objects share what they have in common.
    ///
    /// # Errors
    /// If it has no form as JSON. Every kind has one.
    pub fn of(object: &K, compressor: &mut Compressor) -> Result<Self, serde_json::Error> {
        let meta = object.meta();
        let metadata = ObjectMeta {
            name: meta.name.clone(),
            namespace: meta.namespace.clone(),
            uid: meta.uid.clone(),
            resource_version: meta.resource_version.clone(),
            ..ObjectMeta::default()
        };
        let json = compressor.compress(serde_json::to_vec(object)?);
        Ok(Self { metadata, user_changes: user_changes(object), json, kind: PhantomData })
    }
}

impl<K: DeserializeOwned> Packed<K> {
    /// Returns the object.
    ///
    /// # Errors
    /// If its JSON is not that of its kind. Each object is packed as what was deserialized, so this is a bug.
    pub fn unpack(&self) -> Result<K, serde_json::Error> {
        serde_json::from_slice(&self.json.decompress().map_err(serde::de::Error::custom)?)
    }
}

impl<K: ManagedKind> Stored for Packed<K> {
    fn reference(&self) -> ObjectRef {
        let Self { metadata, .. } = self;
        let (namespace, name) = (metadata.namespace.as_deref(), metadata.name.as_deref());
        ObjectRef::new(K::KIND, namespace.unwrap_or_default(), name.unwrap_or_default())
    }

    fn user_changes(&self) -> u64 {
        self.user_changes
    }
}

impl<K> Clone for Packed<K> {
    fn clone(&self) -> Self {
        let Self { metadata, user_changes, json, kind } = self;
        Self { metadata: metadata.clone(), user_changes: *user_changes, json: json.clone(), kind: *kind }
    }
}

impl<K> fmt::Debug for Packed<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Packed").field("metadata", &self.metadata).finish_non_exhaustive()
    }
}

/// kube's controller can also read objects by itself, and needs this for it.
impl<'de, K: ManagedKind + Serialize> Deserialize<'de> for Packed<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::of(&K::deserialize(deserializer)?, &mut Compressor::default()).map_err(serde::de::Error::custom)
    }
}

impl<K: Resource<DynamicType = ()>> Resource for Packed<K> {
    type DynamicType = ();
    type Scope = K::Scope;

    fn kind(of: &()) -> Cow<'_, str> {
        K::kind(of)
    }

    fn group(of: &()) -> Cow<'_, str> {
        K::group(of)
    }

    fn version(of: &()) -> Cow<'_, str> {
        K::version(of)
    }

    fn plural(of: &()) -> Cow<'_, str> {
        K::plural(of)
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

#[cfg(test)]
mod tests {
    use kube::ResourceExt as _;
    use kube::runtime::reflector;
    use kube::runtime::watcher::Event;
    use serde_json::{Value, json};

    use super::*;
    use crate::crd::{ActionCheck, ClusterConnectProject, ConnectProject, ConnectorDeployment, ConnectorStaged};

    fn check<K: ManagedKind + Serialize + DeserializeOwned + 'static>(object: &Value) {
        let object: K = serde_json::from_value(object.clone()).expect("an object");
        let packed = Packed::of(&object, &mut Compressor::default()).expect("it has a form as JSON");
        let unpacked = packed.unpack().expect("it is what was packed");
        let kind = K::KIND;
        let json = |object: &K| serde_json::to_value(object).expect("JSON");
        assert_eq!(json(&unpacked), json(&object), "{kind:?}");
        assert_eq!(packed.reference(), object.reference(), "{kind:?}");
        assert_eq!(packed.user_changes(), object.user_changes(), "{kind:?}");
        assert_eq!(packed.resource_version(), object.resource_version(), "{kind:?}");
        // kube finds it under the same name.
        let (store, mut writer) = reflector::store();
        writer.apply_watcher_event(&Event::Apply(packed));
        let named = reflector::ObjectRef::<Packed<K>>::new("a");
        let named = if kind.is_cluster_scoped() { named } else { named.within("shop") };
        assert!(store.get(&named).is_some(), "{kind:?}");
    }

    #[test]
    fn an_object_of_each_kind_is_the_same_after_it_was_packed() {
        let object = |namespace: Option<&str>, spec: Value, status: Value| {
            json!({
                "metadata": {
                    "name": "a", "namespace": namespace, "uid": "1", "resourceVersion": "7", "generation": 3,
                    "creationTimestamp": "2026-11-25T10:00:00Z", "deletionTimestamp": "2026-11-25T11:00:00Z",
                    "annotations": {"connect-operator.io/redeploy-requested-at": "now"},
                    "finalizers": ["connect-operator.io/undeploy"], "labels": {"team": "tax"},
                },
                "spec": spec, "status": status,
            })
        };
        let shop = Some("shop");
        let ready = json!({"type": "Ready", "status": "True", "reason": "Deployed", "message": "\u{1f6d2} \"", "lastTransitionTime": "2026-11-25T10:00:00Z"});
        let project = json!({"projectKey": "demo", "region": "europe-west1.gcp", "credentialsSecretRef": {"name": "c"}, "frontend": {"url": "https://shop.example.com"}});
        let status = json!({"observedGeneration": 3, "conditions": [ready]});
        check::<ConnectProject>(&object(shop, project.clone(), status.clone()));
        let mut shared = project;
        shared["allowedNamespaces"] = json!({"names": ["shop"]});
        check::<ClusterConnectProject>(&object(None, shared, status.clone()));
        let mut deployed = status.clone();
        deployed["applied"] = json!({"generation": 3, "digest": "d", "at": "2026-11-25T10:00:00Z", "serves": true,
            "values": [{"application": "service", "secured": {"TOKEN": "0"}, "retryPolicy": {"strategy": "1"}}]});
        deployed["operation"] = json!({"type": "Redeploy", "state": "Planned", "attempt": 2, "generation": 3,
            "startedAt": "2026-11-25T10:00:00Z", "values": [{"standard": {"A": "1"}}]});
        let spec = json!({"projectRef": {"name": "shop"}, "connector": {"key": "tax"}, "configurations": [
            {"applicationName": "service", "schedule": "0 3 * * *", "standardConfiguration": [{"key": "A", "value": ""}]}]});
        check::<ConnectorDeployment>(&object(shop, spec, deployed));
        let staged = json!({"projectRef": {"name": "shop"}, "key": "kit", "name": "Kit", "creator": {"email": "a@example.com"},
            "repository": {"url": "https://example.com/kit.git", "tag": "1"}, "integrationTypes": ["tax"]});
        check::<ConnectorStaged>(&object(shop, staged, status.clone()));
        let action = json!({"frontend": {"url": "https://example.com"}, "method": "POST", "body": "{}", "locale": "en", "extensionVersion": "1",
            "action": {"namespace": "cart", "name": "add"}});
        check::<ActionCheck>(&object(shop, action, status));
    }
}
