//! An object as the store of a watch keeps it: only what says which object it is, and whether users have changed it. Each
//! reconcile reads the object itself.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::{Deserialize, Deserializer};

use crate::controllers::kinds::managed_kind::{ManagedKind, Stored, user_changes};
use crate::controllers::object_ref::ObjectRef;

/// What is kept of an object.
pub struct Seen<K> {
    /// Name, namespace, uid and resource version; nothing else.
    metadata: ObjectMeta,
    user_changes: u64,
    kind: PhantomData<fn() -> K>,
}

impl<K: ManagedKind> Seen<K> {
    /// Returns what is kept of this object.
    pub fn of(object: &K) -> Self {
        let meta = object.meta();
        let metadata = ObjectMeta {
            name: meta.name.clone(),
            namespace: meta.namespace.clone(),
            uid: meta.uid.clone(),
            resource_version: meta.resource_version.clone(),
            ..ObjectMeta::default()
        };
        Self { metadata, user_changes: user_changes(object), kind: PhantomData }
    }
}

impl<K: ManagedKind> Stored for Seen<K> {
    fn reference(&self) -> ObjectRef {
        let Self { metadata, .. } = self;
        let (namespace, name) = (metadata.namespace.as_deref(), metadata.name.as_deref());
        ObjectRef::new(K::KIND, namespace.unwrap_or_default(), name.unwrap_or_default())
    }

    fn user_changes(&self) -> u64 {
        self.user_changes
    }
}

impl<K> Clone for Seen<K> {
    fn clone(&self) -> Self {
        let Self { metadata, user_changes, kind } = self;
        Self { metadata: metadata.clone(), user_changes: *user_changes, kind: *kind }
    }
}

impl<K> fmt::Debug for Seen<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Seen").field("metadata", &self.metadata).finish_non_exhaustive()
    }
}

/// kube's controller can also read objects by itself, and needs this for it.
impl<'de, K: ManagedKind> Deserialize<'de> for Seen<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        K::deserialize(deserializer).map(|object| Self::of(&object))
    }
}

impl<K: Resource<DynamicType = ()>> Resource for Seen<K> {
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
