//! What is kept of a resource for rule 4. Pure: derived from the object.

use jiff::Timestamp;
use kube::ResourceExt;

use super::{Claim, RemoteKey};
use crate::controllers::kinds::managed_kind::{self, ClaimRequest, ManagedKind, has_finalizer};
use crate::controllers::object_ref::ObjectRef;
use crate::crd::shared::RemoteIdentity;
use crate::names;

/// The remote project that a project of the cluster names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) remote: RemoteIdentity,
    /// Whether the remote has answered with the credentials of the project.
    pub(super) admits: bool,
}

/// What is kept of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) uid: String,
    /// Resource version, if it is a number: of two copies, the one with the higher version is newer.
    version: Option<u64>,
    /// The project that it names.
    pub(super) project: ObjectRef,
    /// What is known of that project.
    named: Option<Named>,
    /// The remote of what it owns or has begun, whatever the project names now.
    held: Option<RemoteIdentity>,
    key: String,
    /// Whether it claims its key: a resource that only observes, or is already orphaned, does not.
    claims: bool,
    /// Whether its status has an operation.
    operation: bool,
    /// Whether a reconcile is about to write an operation.
    announced: bool,
    pub(super) claim: Claim,
}

impl Entry {
    pub(super) fn of<K: ManagedKind>(object: &K, request: ClaimRequest) -> Self {
        let namespace = object.namespace().unwrap_or_default();
        let ClaimRequest { project, key, remote, id, operation, claims } = request;
        let let_go = object.meta().deletion_timestamp.is_some() && !has_finalizer(object);
        Self {
            uid: object.uid().unwrap_or_default(),
            version: object.resource_version().and_then(|version| version.parse().ok()),
            project: ObjectRef::of_project(&namespace, &project),
            named: None,
            held: remote.filter(|_| id.is_some() || operation),
            key,
            claims: claims && !let_go,
            operation,
            announced: false,
            claim: Claim {
                object_ref: managed_kind::object_ref(object),
                id,
                operation,
                annotated: object.annotations().get(names::REMOTE_ID).cloned(),
                created: object.creation_timestamp().map_or(Timestamp::MAX, |time| time.0),
            },
        }
    }

    /// Returns the entry with what is known of its project.
    pub(super) fn naming(&self, named: Option<&Named>) -> Self {
        Self { named: named.cloned(), ..self.clone() }
    }

    /// Whether it owns a remote record, or has begun an operation.
    pub(super) fn holds(&self) -> bool {
        self.held.is_some()
    }

    /// Whether its claim counts against others.
    pub(super) fn counts(&self) -> bool {
        self.held.is_some() || self.named.as_ref().is_some_and(|named| named.admits)
    }

    /// Returns the entry with or without an announced operation.
    pub(super) fn announcing(&self, announced: bool) -> Self {
        let claim = Claim { operation: self.operation || announced, ..self.claim.clone() };
        Self { announced, claim, ..self.clone() }
    }

    pub(super) fn is_announced(&self) -> bool {
        self.announced
    }

    /// Whether this copy is newer than `before`. Resource versions grow with each write to a kind, so they also
    /// distinguish a resource from an earlier one of the same name (Kubernetes API concepts, resource versions).
    pub(super) fn follows(&self, before: &Self) -> bool {
        match (self.version, before.version) {
            (Some(version), Some(before)) => version > before,
            _ => true,
        }
    }

    /// Whether the two copies of a resource claim the same.
    pub(super) fn claims_as(&self, newer: &Self) -> bool {
        *self == Self { version: self.version, ..newer.clone() }
    }

    /// Returns the key that it claims, if any.
    pub(super) fn place(&self) -> Option<RemoteKey> {
        let named = self.named.as_ref().map(|named| &named.remote);
        let remote = self.held.as_ref().or(named).filter(|_| self.claims)?;
        Some(RemoteKey { kind: self.claim.object_ref.kind, remote: remote.clone(), key: self.key.clone() })
    }
}
