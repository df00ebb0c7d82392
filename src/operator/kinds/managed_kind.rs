//! The kinds that are watched: what the operator records of an object, and what every object has. Pure.

use std::fmt::Debug;

use kube::{Resource, ResourceExt as _};
use serde::de::DeserializeOwned;

use crate::crd::shared::RemoteIdentity;
use crate::crd::{ActionCheck, AllowedNamespaces, ClusterConnectProject, ConnectProject, ProjectRef};
use crate::names;
use crate::operator::object_ref::{Kind, ObjectRef};

/// A kind that can be watched and written, and is known at compile time.
pub trait Object: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static {}

impl<K> Object for K where K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static {}

/// What a resource claims, and what it has begun (rule 4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimRequest {
    /// The project that it names.
    pub project: ProjectRef,
    /// The key.
    pub key: String,
    /// The remote in its status.
    pub remote: Option<RemoteIdentity>,
    /// Id of the remote record that it owns.
    pub id: Option<String>,
    /// Whether its status has an operation.
    pub operation: bool,
    /// Whether it claims the key at all.
    pub claims: bool,
}

/// A kind that is watched and reconciled. A kind with a remote record implements it in its own folder.
pub trait ManagedKind: Object {
    /// The kind.
    const KIND: Kind;

    /// What this process remembers of an object between its reconciles. Losing it costs time, never a call.
    type Memory: Send + Sync + 'static;

    /// Whether it could be deserialized.
    fn is_readable(&self) -> bool {
        true
    }

    /// Returns the key that it claims (rule 4); `None` for a kind without remote records.
    fn claim(&self) -> Option<ClaimRequest> {
        None
    }

    /// Returns whether the status records an operation or a remote record, or that of a project what uses it, which only the
    /// finalizer protects.
    fn has_begun(&self) -> bool {
        self.claim().is_some_and(|claim| claim.operation || claim.id.is_some())
    }

    /// Returns the namespaces whose resources may use a cluster-scoped project (rule 29); `None` for every other kind.
    fn allowed_namespaces(&self) -> Option<AllowedNamespaces> {
        None
    }
}

impl ManagedKind for ConnectProject {
    const KIND: Kind = Kind::Project;
    type Memory = ();

    fn has_begun(&self) -> bool {
        self.status.is_some()
    }
}

impl ManagedKind for ClusterConnectProject {
    const KIND: Kind = Kind::ClusterProject;
    type Memory = ();

    fn allowed_namespaces(&self) -> Option<AllowedNamespaces> {
        Some(self.spec.allowed_namespaces.clone().unwrap_or_default())
    }

    fn has_begun(&self) -> bool {
        self.status.is_some()
    }
}

impl ManagedKind for ActionCheck {
    const KIND: Kind = Kind::Check;
    type Memory = ();
}

/// Returns a hash of what users can change of an object, and of its uid, so that another object of the same name has
/// another hash. The operator's own writes change the status or its annotation, and do not change the hash; somebody
/// else's removal of our finalizer changes it, with or without the annotation: a PUT of the manifest removes both.
pub fn user_changes<K: ManagedKind>(object: &K) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let meta = object.meta();
    let mut hasher = DefaultHasher::new();
    meta.uid.hash(&mut hasher);
    (meta.generation, meta.deletion_timestamp.as_ref().map(|at| at.0.as_second())).hash(&mut hasher);
    // Adding the finalizer comes before there is a remote record to protect, or a status of a project, and needs no reconcile
    // of its own.
    let needs_it = object.has_begun() || object.annotations().contains_key(names::REMOTE_ID);
    (needs_it && !has_finalizer(object)).hash(&mut hasher);
    // Every install watches all projects; its labels say which one manages a project.
    K::KIND.is_project().then(|| object.labels()).hash(&mut hasher);
    for name in names::REQUESTS {
        meta.annotations.as_ref().and_then(|annotations| annotations.get(name)).hash(&mut hasher);
    }
    hasher.finish()
}

/// Whether it has the finalizer of its kind.
pub fn has_finalizer<K: ManagedKind>(object: &K) -> bool {
    object.finalizers().iter().any(|name| name == K::KIND.finalizer())
}

/// Returns the finalizers of the object, and that of its kind.
pub fn with_finalizer<K: ManagedKind>(object: &K) -> Vec<String> {
    object.finalizers().iter().cloned().chain([K::KIND.finalizer().to_owned()]).collect()
}

/// Returns the reference to an object.
pub fn object_ref<K: ManagedKind>(object: &K) -> ObjectRef {
    ObjectRef::new(K::KIND, object.meta().namespace.as_deref().unwrap_or_default(), &object.name_any())
}
