//! Ownership of keys in remote projects: if several resources claim the same key, exactly one owns it (rule 4).
//!
//! The watches of ConnectProjects and of resources that claim keys feed it before any reconcile sees an object, and
//! each write of a reconcile does too, so it is never older than what this process did. A reconcile asks twice:
//! [`KeyOwnership::claim_status`] before it does anything, and [`KeyOwnership::begin`] before it creates or takes over.
//! It makes no calls and decides nothing else; `claim` ranks the claims.

mod claim;
mod entry;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use kube::ResourceExt;
use tokio::sync::mpsc::UnboundedSender;

pub use self::claim::{Claim, rival, rival_unseen};
pub use self::entry::ClaimRequest;
use self::entry::Entry;
use super::digest::DigestKey;
use super::driver::RemoteKind;
use super::managed_kind;
use super::object_ref::{Kind, ObjectRef};
use super::project_object::ProjectObject;
use crate::crd::shared::RemoteIdentity;

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
    /// Key of the signatures of pending creates; `None`: each of them counts.
    signatures: Option<DigestKey>,
    index: Mutex<Index>,
}

#[derive(Debug, Default)]
struct Index {
    /// Number of initial lists that are not complete yet.
    missing_lists: usize,
    /// Number of lists that the API server refuses.
    refused_lists: usize,
    /// Resources that this version cannot deserialize, and whose keys are not known from before.
    unreadable: BTreeSet<ObjectRef>,
    /// Resources that asked too early: before these lists, or before the remote answered for their project.
    early: BTreeSet<ObjectRef>,
    entries: BTreeMap<ObjectRef, Entry>,
    /// The resources that claim each key; a key without claims has no entry.
    places: BTreeMap<RemoteKey, BTreeSet<ObjectRef>>,
    projects: BTreeMap<ObjectRef, Named>,
    /// The namespaces that may use each `ClusterConnectProject`; resources of others claim no key through it (rule 29).
    allowed: BTreeMap<ObjectRef, BTreeSet<String>>,
    /// The resources that name each project.
    users: BTreeMap<ObjectRef, BTreeSet<ObjectRef>>,
}

/// The remote project that a project of the cluster names.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Named {
    remote: RemoteIdentity,
    /// Whether the remote has answered with the credentials of the project.
    admits: bool,
}

impl KeyOwnership {
    /// Creates an empty index. `lists`: the number of initial lists to wait for; [`KeyOwnership::listed`] completes
    /// each. `enqueue` gets the resources whose claim status may have changed. `signatures`: only pending creates with a
    /// signature of this key count; `None`: all do.
    #[must_use]
    pub fn new(lists: usize, enqueue: UnboundedSender<ObjectRef>, signatures: Option<DigestKey>) -> Self {
        Self { enqueue, signatures, index: Mutex::new(Index { missing_lists: lists, ..Index::default() }) }
    }

    /// Records a resource from a watch.
    pub fn saw<K: RemoteKind>(&self, object: &K) {
        self.change(|index| index.put(&Entry::of(object, self.signatures.as_ref()), true));
    }

    /// Records the copy of a resource that a reconcile has or has written. It does not bring back what a watch showed
    /// as deleted.
    pub fn wrote<K: RemoteKind>(&self, object: &K) {
        self.change(|index| index.put(&Entry::of(object, self.signatures.as_ref()), false));
    }

    /// Records a project from a watch. Its resources claim nothing yet, because any user can write the key of any
    /// remote project into a spec.
    pub fn saw_project<P: ProjectObject>(&self, object: &P) {
        let (project, remote) = (managed_kind::object_ref(object), object.project().identity());
        self.change(|index| match index.projects.get(&project) {
            Some(known) if known.remote == remote => BTreeSet::new(),
            _ => index.place_users(&project, Some(Named { remote, admits: false })),
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
        self.lock().entries.get(object_ref).is_some_and(Entry::holds)
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
            Kind::Check | Kind::Mirror => BTreeSet::new(),
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
    pub fn unreadable(&self, object_ref: &ObjectRef) {
        self.change(|index| {
            if matches!(object_ref.kind, Kind::Deployment | Kind::Staged) && !index.entries.contains_key(object_ref) {
                index.unreadable.insert(object_ref.clone());
            }
            BTreeSet::new()
        });
    }

    /// Returns every resource or project of the kind that the watches have shown.
    #[must_use]
    pub fn object_refs(&self, kind: Kind) -> Vec<ObjectRef> {
        let index = self.lock();
        match kind {
            Kind::Deployment | Kind::Staged => {
                index.entries.keys().filter(|object_ref| object_ref.kind == kind).cloned().collect()
            }
            Kind::Project | Kind::ClusterProject => {
                index.projects.keys().filter(|object_ref| object_ref.kind == kind).cloned().collect()
            }
            Kind::Check | Kind::Mirror => Vec::new(),
        }
    }

    /// Returns the claim status of a resource at the start of its reconcile, and withdraws what an earlier reconcile
    /// announced with [`KeyOwnership::begin`] and did not write.
    #[must_use]
    pub fn claim_status<K: RemoteKind>(&self, object: &K) -> ClaimStatus {
        let object_ref = object_ref(object);
        self.wrote(object);
        self.change(|index| index.announce(&object_ref, false));
        let mut index = self.lock();
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
    pub fn begin<K: RemoteKind>(&self, object: &K, place: &RemoteKey, what: ClaimReason) -> ClaimStatus {
        let object_ref = object_ref(object);
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
            let rival = rival(&entry.claim, index.claims(place), existing);
            claim_status = rival.map_or(ClaimStatus::Owner, |rival| ClaimStatus::HeldBy(rival.object_ref.clone()));
            if claim_status == ClaimStatus::Owner { index.announce(&object_ref, true) } else { BTreeSet::new() }
        });
        claim_status
    }

    fn change(&self, change: impl FnOnce(&mut Index) -> BTreeSet<ObjectRef>) {
        let enqueued = change(&mut self.lock());
        for object_ref in enqueued {
            // The receiver is gone only when the operator shuts down.
            let _ = self.enqueue.send(object_ref);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Each change returns the resources whose claim status it may have changed.
impl Index {
    /// Decrements the number of lists to wait for.
    fn awaited_less(&mut self) -> BTreeSet<ObjectRef> {
        self.missing_lists = self.missing_lists.saturating_sub(1);
        if self.missing_lists == 0 { std::mem::take(&mut self.early) } else { BTreeSet::new() }
    }

    /// Whether resources of the kind may exist whose keys are not known.
    fn is_known_in_part(&self, kind: Kind) -> bool {
        self.refused_lists > 0 || self.unreadable.iter().any(|object_ref| object_ref.kind == kind)
    }

    /// Records that a resource is readable, or gone.
    fn known_more(&mut self, object_ref: &ObjectRef) -> BTreeSet<ObjectRef> {
        if self.unreadable.remove(object_ref) { self.known_in_part_less() } else { BTreeSet::new() }
    }

    /// Returns who waited for resources that were not known, once all are.
    fn known_in_part_less(&mut self) -> BTreeSet<ObjectRef> {
        if self.refused_lists == 0 && self.unreadable.is_empty() {
            std::mem::take(&mut self.early)
        } else {
            BTreeSet::new()
        }
    }

    fn put(&mut self, entry: &Entry, appears: bool) -> BTreeSet<ObjectRef> {
        let object_ref = entry.claim.object_ref.clone();
        match self.entries.get(&object_ref) {
            Some(before) if !entry.follows(before) => return BTreeSet::new(),
            None if !appears => return BTreeSet::new(),
            _ => {}
        }
        let entry = entry.naming(self.projects.get(&entry.project).filter(|_| self.allows(entry)));
        if let Some(before) = self.entries.get_mut(&object_ref).filter(|before| before.claims_as(&entry)) {
            // Most writes concern only the status.
            *before = entry;
            return BTreeSet::new();
        }
        let mut enqueued = self.replace(&object_ref, Some(entry));
        enqueued.extend(self.known_more(&object_ref));
        enqueued
    }

    fn remove(&mut self, object_ref: &ObjectRef) -> BTreeSet<ObjectRef> {
        self.early.remove(object_ref);
        let mut enqueued = self.replace(object_ref, None);
        enqueued.extend(self.known_more(object_ref));
        enqueued
    }

    fn announce(&mut self, object_ref: &ObjectRef, announced: bool) -> BTreeSet<ObjectRef> {
        match self.entries.get(object_ref) {
            Some(entry) if entry.is_announced() != announced => {
                let entry = entry.announcing(announced);
                self.replace(object_ref, Some(entry))
            }
            _ => BTreeSet::new(),
        }
    }

    /// Records that a project names another remote than before, or none, or is admitted there.
    fn place_users(&mut self, project: &ObjectRef, named: Option<Named>) -> BTreeSet<ObjectRef> {
        let mut enqueued = BTreeSet::new();
        for user in self.users.get(project).cloned().unwrap_or_default() {
            let entry = self.entries.get(&user);
            let entry = entry.map(|entry| entry.naming(named.as_ref().filter(|_| self.allows(entry))));
            enqueued.extend(self.replace(&user, entry));
            if named.as_ref().is_some_and(|named| named.admits) && self.missing_lists == 0 && self.early.remove(&user) {
                enqueued.insert(user);
            }
        }
        match named {
            Some(named) => self.projects.insert(project.clone(), named),
            None => self.projects.remove(project),
        };
        enqueued
    }

    /// Whether the namespace of a resource may use the project that the resource names.
    fn allows(&self, entry: &Entry) -> bool {
        let namespaces = self.allowed.get(&entry.project);
        !entry.project.kind.is_cluster_scoped()
            || namespaces.is_some_and(|namespaces| namespaces.contains(&entry.claim.object_ref.namespace))
    }

    fn replace(&mut self, object_ref: &ObjectRef, entry: Option<Entry>) -> BTreeSet<ObjectRef> {
        let before = self.entries.get(object_ref);
        let ids = |entry: Option<&Entry>| entry.and_then(|entry| entry.claim.id.clone());
        let other_id = ids(before) != ids(entry.as_ref());
        let left = before.and_then(Entry::place);
        let entered = entry.as_ref().and_then(Entry::place);
        let places: BTreeSet<RemoteKey> = left.iter().chain(&entered).cloned().collect();
        let first: Vec<_> = places.iter().map(|place| self.owners(place)).collect();
        let stays = entry.is_some();
        self.unlink(object_ref, left.as_ref());
        if let Some(entry) = entry {
            self.users.entry(entry.project.clone()).or_default().insert(object_ref.clone());
            self.entries.insert(object_ref.clone(), entry);
        }
        if let Some(place) = entered {
            self.places.entry(place).or_default().insert(object_ref.clone());
        }
        if !other_id && places.iter().map(|place| self.owners(place)).eq(first) {
            return BTreeSet::new();
        }
        let existing = places.iter().filter_map(|place| self.places.get(place)).flatten();
        let mut enqueued: BTreeSet<ObjectRef> = existing.filter(|other| *other != object_ref).cloned().collect();
        // A resource without competing claims needs no reconcile for this.
        if stays && !enqueued.is_empty() {
            enqueued.insert(object_ref.clone());
        }
        enqueued
    }

    fn unlink(&mut self, object_ref: &ObjectRef, place: Option<&RemoteKey>) {
        let Some(entry) = self.entries.remove(object_ref) else { return };
        take_out(&mut self.users, &entry.project, object_ref);
        if let Some(place) = place {
            take_out(&mut self.places, place, object_ref);
        }
    }

    fn claims(&self, place: &RemoteKey) -> impl Iterator<Item = &Claim> {
        let existing = self.places.get(place).into_iter().flatten();
        let entries = existing.filter_map(|object_ref| self.entries.get(object_ref));
        entries.filter(|entry| entry.counts()).map(|entry| &entry.claim)
    }

    /// Returns the owners of a key, for each remote record that may have it.
    fn owners(&self, place: &RemoteKey) -> BTreeMap<Option<String>, ObjectRef> {
        let owners = claim::owners(self.claims(place));
        owners.into_iter().map(|(record, owner)| (record.map(str::to_owned), owner.clone())).collect()
    }

    fn claim_status(&self, entry: &Entry) -> ClaimStatus {
        let Some(place) = entry.place() else { return ClaimStatus::Owner };
        let claims: Vec<_> = self.claims(&place).collect();
        let rival = rival_unseen(&entry.claim, claims.iter().copied());
        rival.map_or(ClaimStatus::Owner, |rival| ClaimStatus::HeldBy(rival.object_ref.clone()))
    }
}

fn object_ref<K: RemoteKind>(object: &K) -> ObjectRef {
    ObjectRef { kind: K::KIND, namespace: object.namespace().unwrap_or_default(), name: object.name_any() }
}

fn take_out<K: Ord>(sets: &mut BTreeMap<K, BTreeSet<ObjectRef>>, key: &K, object_ref: &ObjectRef) {
    if let Some(set) = sets.get_mut(key) {
        set.remove(object_ref);
        if set.is_empty() {
            sets.remove(key);
        }
    }
}

#[cfg(test)]
#[path = "keys_tests.rs"]
mod tests;
