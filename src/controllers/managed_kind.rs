//! The kinds that are watched: what is noted of an object, and what every object has. Pure.

use jiff::Timestamp;
use kube::core::object::HasStatus;
use kube::{Resource, ResourceExt as _};

use super::connector::project::MirroredProject;
use super::inventory::ReportedState;
use super::keys::KeyOwnership;
use super::object_ref::{Kind, ObjectRef};
use crate::crd::{ActionCheck, ConnectProject, ConnectorDeployment, ConnectorStaged};
use crate::names;

/// A kind that is watched and reconciled.
pub trait ManagedKind: Resource<DynamicType = ()> {
    /// Which one.
    const KIND: Kind;

    /// Notes an object that was seen, for those that claim keys (rule 4).
    fn note(&self, keys: &KeyOwnership);

    /// What the status reports, to be counted; `None`: there is nothing to count.
    fn reported_state(&self) -> Option<ReportedState>;

    /// The install that works on the object, if one has claimed it (rule 26).
    fn controller(&self) -> Option<&str>;
}

/// A kind with conditions of its own. `$note`: what it notes; `$started_at`: when the operation in its status began.
macro_rules! managed_kind {
    ($kind:ident, $variant:ident, $note:expr, $started_at:expr) => {
        impl ManagedKind for $kind {
            const KIND: Kind = Kind::$variant;

            fn note(&self, keys: &KeyOwnership) {
                let note: fn(&Self, &KeyOwnership) = $note;
                note(self, keys);
            }

            fn reported_state(&self) -> Option<ReportedState> {
                let Some(status) = &self.status else { return Some(ReportedState::default()) };
                let started_at: fn(&<Self as HasStatus>::Status) -> Option<Timestamp> = $started_at;
                Some(ReportedState::of(&status.conditions, names::READY, started_at(status)))
            }

            fn controller(&self) -> Option<&str> {
                self.status.as_ref()?.controller.as_deref()
            }
        }
    };
}

managed_kind!(ConnectorDeployment, Deployment, |deployment, keys| keys.saw(deployment), |status| {
    status.operation.as_ref().map(|operation| operation.started_at.0)
});
managed_kind!(ConnectorStaged, Staged, |staged, keys| keys.saw(staged), |status| {
    status.operation.as_ref().map(|operation| operation.started_at.0)
});
managed_kind!(ConnectProject, Project, |project, keys| keys.saw_project(project), |_| None);
// A check claims no key.
managed_kind!(ActionCheck, Check, |_, _| {}, |_| None);

impl ManagedKind for MirroredProject {
    const KIND: Kind = Kind::Mirror;

    /// A mirror claims no key.
    fn note(&self, _: &KeyOwnership) {}

    /// Only what is mirrored, or was.
    fn reported_state(&self) -> Option<ReportedState> {
        let status = self.status.as_ref().filter(|_| self.spec.registry.is_some() || self.may_have_objects())?;
        Some(ReportedState::of(&status.conditions, names::REGISTRY_MIRRORED, None))
    }

    fn controller(&self) -> Option<&str> {
        self.status.as_ref()?.controller.as_deref()
    }
}

/// Removes what no run needs from what is kept: who wrote which field, and kubectl's copy of the manifest.
pub fn strip<K: Resource>(object: &mut K) {
    object.managed_fields_mut().clear();
    object.annotations_mut().remove("kubectl.kubernetes.io/last-applied-configuration");
}

/// A number for what people change of an object, and for the object itself: another one of the same name has another. A
/// write of ours changes the status or our own annotation, and leaves it as it is; that somebody took our finalizer away
/// changes it.
#[must_use]
pub fn user_changes<K: Resource>(object: &K) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let meta = object.meta();
    let mut hasher = DefaultHasher::new();
    meta.uid.hash(&mut hasher);
    (meta.generation, meta.deletion_timestamp.as_ref().map(|at| at.0.as_second())).hash(&mut hasher);
    let held = object.finalizers().iter().any(|name| name == names::FINALIZER);
    // That we set it ourselves, before there is anything to hold, needs no run of its own.
    (!held && object.annotations().contains_key(names::REMOTE_ID)).hash(&mut hasher);
    for name in [names::REDEPLOY_REQUESTED_AT, names::RECONCILE_REQUESTED_AT, names::RERUN_REQUESTED_AT] {
        meta.annotations.as_ref().and_then(|annotations| annotations.get(name)).hash(&mut hasher);
    }
    hasher.finish()
}

/// When the API server stored it first; every object that it shows says so.
#[must_use]
pub fn created<K: Resource>(object: &K) -> Timestamp {
    object.meta().creation_timestamp.as_ref().map_or(Timestamp::MAX, |at| at.0)
}

/// The resource that an object is.
pub fn object_ref<K: ManagedKind>(object: &K) -> ObjectRef {
    ObjectRef { kind: K::KIND, namespace: object.namespace().unwrap_or_default(), name: object.name_any() }
}
