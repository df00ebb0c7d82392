//! Ownership of keys in remote projects: if several resources claim the same key, exactly one owns it (rule 4).
//!
//! The watches of ConnectProjects and of resources that claim keys feed it before any reconcile sees an object, and
//! each write of a reconcile does too, so it is never older than what this process did. A reconcile asks twice:
//! [`KeyOwnership::claim_status`] before it does anything, and [`KeyOwnership::begin`] before it creates or takes over.
//! It makes no calls and decides nothing else; `claim` ranks the claims.

mod claim;
mod entry;
mod index;

use std::collections::BTreeSet;

use tokio::sync::mpsc::UnboundedSender;

pub use self::claim::{Claim, prior_claim, prior_claim_unseen};
use self::entry::{Entry, Named};
use self::index::Index;
use crate::controllers::kinds::managed_kind::{self, ClaimRequest, ManagedKind};
use crate::controllers::object_ref::{Kind, ObjectRef};
use crate::crd::shared::RemoteIdentity;
use crate::mutex::Mutex;

/// A key in a remote project, which only one resource can own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RemoteKey {
    /// Kind of the claimants: a deployment and a connector may have the same key.
    pub kind: Kind,
    /// The remote project.
    pub remote: RemoteIdentity,
    /// The key.
    pub key: String,
}

/// The status of a resource's claim on its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimStatus {
    /// No other claim is stronger, or the resource claims no key.
    Owner,
    /// This resource has a stronger claim. Each change of that enqueues the waiting resource.
    HeldBy(ObjectRef),
    /// Unknown: the initial lists are incomplete, and their completion enqueues the resource; or the reconcile has an
    /// outdated copy, and the watch delivers the new one.
    Unknown,
    /// Unknown, because the API server refuses a list, or this version cannot deserialize a resource: what exists at the
    /// remote may belong to a resource that is not known. The end of that enqueues the resource.
    Unlisted,
}

/// What a resource is about to do with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimReason<'a> {
    /// Create, or continue with what it created.
    Create,
    /// Take over the existing record with this id, whoever created it.
    TakeOver(&'a str),
}

/// The claims of all resources on keys.
#[derive(Debug)]
pub struct KeyOwnership {
    enqueue: UnboundedSender<ObjectRef>,
    index: Mutex<Index>,
}

impl KeyOwnership {
    /// Creates an empty index. `lists`: the number of initial lists to wait for; [`KeyOwnership::listed`] completes
    /// each. `enqueue` gets the resources whose claim status may have changed.
    #[must_use]
    pub fn new(lists: usize, enqueue: UnboundedSender<ObjectRef>) -> Self {
        Self { enqueue, index: Mutex::new(Index { missing_lists: lists, ..Index::default() }) }
    }

    /// Records an object from a watch: the claim of a resource, or the remote of a project. One that cannot be deserialized
    /// keeps its claim; after a restart its key is not known, so nothing is taken over.
    pub fn saw<K: ManagedKind>(&self, object: &K) {
        if !object.is_readable() {
            self.unreadable(&managed_kind::object_ref(object));
        } else if let Some((spec, _)) = object.as_project() {
            self.saw_project(&managed_kind::object_ref(object), &spec.identity());
        } else if let Some(request) = object.claim() {
            self.put(object, request, true);
        }
    }

    /// Records the copy of a resource that a reconcile has or has written. It does not bring back what a watch showed
    /// as deleted.
    pub fn wrote<K: ManagedKind>(&self, object: &K) {
        if let Some(request) = object.claim() {
            self.put(object, request, false);
        }
    }

    fn put<K: ManagedKind>(&self, object: &K, request: ClaimRequest, appears: bool) {
        self.change(|index| index.put(&Entry::of(object, request), appears));
    }

    /// Records the remote that a project names. The resources of the project claim nothing yet, because any user can write the
    /// key of any remote project into a spec.
    fn saw_project(&self, project: &ObjectRef, remote: &RemoteIdentity) {
        self.change(|index| match index.projects.get(project) {
            Some(known) if known.remote == *remote => BTreeSet::new(),
            _ => index.place_users(project, Some(Named { remote: remote.clone(), admits: false })),
        });
    }

    /// Records whether `remote` has answered for this project with its own credentials. Only then its resources claim
    /// keys there; what a resource owns or has begun stays claimed. Ignored if the project names another remote by now.
    pub fn admitted(&self, project: &ObjectRef, remote: &RemoteIdentity, admits: bool) {
        self.change(|index| match index.projects.get(project) {
            Some(known) if known.remote == *remote && known.admits != admits => {
                let remote = remote.clone();
                index.place_users(project, Some(Named { remote, admits }))
            }
            _ => BTreeSet::new(),
        });
    }

    /// Records the namespaces that may use a `ClusterConnectProject`. What a resource of another namespace owns or has
    /// begun stays claimed.
    pub fn allow(&self, project: &ObjectRef, namespaces: BTreeSet<String>) {
        self.change(|index| {
            index.allowed.insert(project.clone(), namespaces);
            let named = index.projects.get(project).cloned();
            index.place_users(project, named)
        });
    }

    /// Returns whether a resource owns a remote record, or has begun an operation.
    #[must_use]
    pub fn holds(&self, object_ref: &ObjectRef) -> bool {
        self.index.lock().entries.get(object_ref).is_some_and(|entry| entry.holds())
    }

    /// Records from a watch that a resource or project is deleted.
    pub fn gone(&self, object_ref: &ObjectRef) {
        self.change(|index| match object_ref.kind {
            Kind::Deployment | Kind::Staged => index.remove(object_ref),
            Kind::Project => index.place_users(object_ref, None),
            Kind::ClusterProject => {
                index.allowed.remove(object_ref);
                index.place_users(object_ref, None)
            }
            Kind::Check => BTreeSet::new(),
        });
    }

    /// Records that one of the initial lists is complete.
    pub fn listed(&self) {
        self.change(Index::awaited_less);
    }

    /// Records that the API server refuses one of the initial lists.
    ///
    /// The other resources no longer wait for it: what cannot be listed cannot be read or written either, so it is not
    /// reconciled and cannot create what another resource creates too. What it created earlier is found at the remote
    /// under its key, which is `KeyTaken`, and is not taken over meanwhile ([`ClaimStatus::Unlisted`]), because its
    /// owner is unknown. An API server that does not answer is different: it may still show a stronger claim, so the
    /// others wait.
    pub fn refused(&self) {
        self.change(|index| {
            index.refused_lists += 1;
            index.awaited_less()
        });
    }

    /// Records that a refused list is complete after all; it counts like any other from now on.
    pub fn listed_at_last(&self) {
        self.change(|index| {
            index.refused_lists = index.refused_lists.saturating_sub(1);
            index.known_in_part_less()
        });
    }

    /// Records a resource from a watch that this version cannot deserialize. If an earlier version of it was recorded, it
    /// keeps that claim; otherwise nothing is taken over ([`ClaimStatus::Unlisted`]), because it may be the owner.
    fn unreadable(&self, object_ref: &ObjectRef) {
        self.change(|index| {
            if matches!(object_ref.kind, Kind::Deployment | Kind::Staged) && !index.entries.contains_key(object_ref) {
                index.unreadable.insert(object_ref.clone());
            }
            BTreeSet::new()
        });
    }

    /// Returns every resource or project of the kind that the watches have shown, also one that cannot be deserialized.
    #[must_use]
    pub fn object_refs(&self, kind: Kind) -> Vec<ObjectRef> {
        let index = self.index.lock();
        match kind {
            Kind::Deployment | Kind::Staged => {
                let all = index.entries.keys().chain(&index.unreadable);
                all.filter(|object_ref| object_ref.kind == kind).cloned().collect()
            }
            Kind::Project | Kind::ClusterProject => {
                index.projects.keys().filter(|object_ref| object_ref.kind == kind).cloned().collect()
            }
            Kind::Check => Vec::new(),
        }
    }

    /// Returns whether a watch has shown this project, and not its deletion.
    #[must_use]
    pub fn has_project(&self, project: &ObjectRef) -> bool {
        self.index.lock().projects.contains_key(project)
    }

    /// Returns the claim status of a resource at the start of its reconcile, and withdraws what an earlier reconcile
    /// announced with [`KeyOwnership::begin`] and did not write.
    #[must_use]
    pub fn claim_status<K: ManagedKind>(&self, object: &K) -> ClaimStatus {
        let object_ref = managed_kind::object_ref(object);
        self.wrote(object);
        self.change(|index| index.announce(&object_ref, false));
        let mut index = self.index.lock();
        if index.missing_lists > 0 {
            index.early.insert(object_ref);
            return ClaimStatus::Unknown;
        }
        match index.entries.get(&object_ref).filter(|entry| Some(&entry.uid) == object.meta().uid.as_ref()) {
            None => ClaimStatus::Unknown,
            Some(entry) => index.claim_status(entry),
        }
    }

    /// Announces that a resource is about to create, or to take over, what is at `place`. If the result is
    /// [`ClaimStatus::Owner`], no other resource gets this result until the following write is recorded or the next
    /// reconcile begins: the check and the announcement are atomic.
    #[must_use]
    pub fn begin<K: ManagedKind>(&self, object: &K, place: &RemoteKey, what: ClaimReason) -> ClaimStatus {
        let object_ref = managed_kind::object_ref(object);
        let mut claim_status = ClaimStatus::Unknown;
        self.change(|index| {
            let existing = match what {
                ClaimReason::TakeOver(_) if index.is_known_in_part(place.kind) => {
                    index.early.insert(object_ref);
                    claim_status = ClaimStatus::Unlisted;
                    return BTreeSet::new();
                }
                ClaimReason::TakeOver(id) => Some(id),
                ClaimReason::Create => None,
            };
            let here = index.entries.get(&object_ref).filter(|entry| {
                Some(&entry.uid) == object.meta().uid.as_ref() && entry.place().as_ref() == Some(place)
            });
            let Some(entry) = here.filter(|entry| entry.counts()) else {
                index.early.insert(object_ref);
                return BTreeSet::new();
            };
            let prior = prior_claim(&entry.claim, index.claims(place), existing);
            claim_status = prior.map_or(ClaimStatus::Owner, |prior| ClaimStatus::HeldBy(prior.object_ref.clone()));
            if claim_status == ClaimStatus::Owner { index.announce(&object_ref, true) } else { BTreeSet::new() }
        });
        claim_status
    }

    fn change(&self, change: impl FnOnce(&mut Index) -> BTreeSet<ObjectRef>) {
        let enqueued = change(&mut self.index.lock());
        for object_ref in enqueued {
            // The receiver is gone only when the operator shuts down.
            let _ = self.enqueue.send(object_ref);
        }
    }
}

#[cfg(test)]
mod tests;
