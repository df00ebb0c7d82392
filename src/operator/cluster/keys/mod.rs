//! Ownership of keys in remote projects: if several resources claim the same key, exactly one owns it (rule 4).
//!
//! The watches feed it before any reconcile sees an object. A reconcile asks before it does anything, and once more before
//! it sends anything; the question before a create or a takeover also announces it, because the watches show the write that
//! follows some time later. Projects are not kept here: the caller says which remote a project admits its resources to
//! ([`Admits`]).

mod claim;

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::sync::Arc;

use tokio::sync::mpsc::UnboundedSender;

use self::claim::Entry;
pub use self::claim::{Claim, owner_before};
use crate::crd::shared::RemoteIdentity;
use crate::mutex::Mutex;
use crate::operator::cluster::initial_lists::InitialLists;
use crate::operator::kinds::managed_kind::{self, ManagedKind};
use crate::operator::object_ref::{Kind, ObjectRef};

/// Returns the remote in which resources of a namespace claim keys through a project: none, unless the namespace may use
/// the project, and the remote has answered with its credentials. Any user can write the key of any remote project into a
/// spec, so without that a resource claims only what it owns or has begun.
pub type Admits<'a> = &'a dyn Fn(&ObjectRef, &str) -> Option<RemoteIdentity>;

/// Whether a resource owns its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimStatus {
    /// It may go on: no other claim is stronger.
    Owner,
    /// This resource has a stronger claim. Once it does not claim the key any more, the waiting resource is enqueued; it also
    /// has to look again after a while, because the project of the owner may have changed.
    HeldBy(ObjectRef),
    /// Not known yet: the initial lists are incomplete, and their completion enqueues the resource; or the resource or its
    /// project has changed since the reconcile began.
    Unknown,
    /// Not known, because the API server refuses a list, or this version cannot deserialize a resource: what exists at the
    /// remote may belong to a resource that is not known. The end of that enqueues the resource.
    Unlisted,
}

/// What a reconcile is about to begin under the key.
#[derive(Clone, Copy, Debug)]
pub struct Begin<'a> {
    /// The remote.
    pub remote: &'a RemoteIdentity,
    /// Whether it takes over a record that exists; otherwise it creates one, or continues with what it created.
    pub takes_over: bool,
}

/// The claims of all resources on keys.
#[derive(Debug)]
pub struct KeyOwnership {
    /// Which lists are complete.
    pub lists: Arc<InitialLists>,
    enqueue: UnboundedSender<ObjectRef>,
    index: Mutex<Index>,
}

#[derive(Debug, Default)]
struct Index {
    /// Resources that this version cannot deserialize, and whose keys are not known from before.
    unreadable: BTreeSet<ObjectRef>,
    /// Resources that asked too early.
    early: BTreeSet<ObjectRef>,
    entries: BTreeMap<ObjectRef, Entry>,
    /// The resources with each key, in whichever remote.
    by_key: BTreeMap<(Kind, String), BTreeSet<ObjectRef>>,
}

impl KeyOwnership {
    /// Creates an empty index. `lists`: which of them are complete ([`KeyOwnership::listed`]); `enqueue` gets the resources that
    /// need not wait any longer.
    pub fn new(lists: Arc<InitialLists>, enqueue: UnboundedSender<ObjectRef>) -> Self {
        Self { lists, enqueue, index: Mutex::default() }
    }

    /// Records an object from a watch. One that cannot be deserialized keeps its claim; after a restart its key is not
    /// known, so nothing is taken over.
    pub fn saw<K: ManagedKind>(&self, object: &K) {
        self.change(|index| {
            let object_ref = managed_kind::object_ref(object);
            let has_key = matches!(K::KIND, Kind::Deployment | Kind::Staged);
            if has_key && !object.is_readable() && !index.entries.contains_key(&object_ref) {
                index.unreadable.insert(object_ref);
            }
            index.put(object, true)
        });
    }

    /// Records from a watch that a resource is deleted.
    pub fn gone(&self, object_ref: &ObjectRef) {
        self.change(|index| {
            index.early.remove(object_ref);
            index.replace(object_ref, None)
        });
    }

    /// Enqueues the resources that asked too early, after a list was completed or refused.
    pub fn listed(&self) {
        self.change(|index| if self.lists.of_keys().0 { BTreeSet::new() } else { mem::take(&mut index.early) });
    }

    /// Returns whether a resource may go on, as its reconcile has just read or written it, which does not bring back what a
    /// watch showed as deleted. `begins`: what it is about to create or take over. If it may, no other resource may begin
    /// under the key until its status shows the operation or the id, or its next reconcile begins: the check and the
    /// announcement are atomic.
    pub fn claim<K: ManagedKind>(&self, object: &K, begins: Option<Begin<'_>>, admits: Admits<'_>) -> ClaimStatus {
        let object_ref = managed_kind::object_ref(object);
        let mut claim_status = ClaimStatus::Unknown;
        self.change(|index| {
            let enqueued = index.put(object, false);
            claim_status = index.claim(&object_ref, begins, admits, self.lists.of_keys());
            enqueued
        });
        claim_status
    }

    /// Returns whether a resource owns a remote record, or has begun an operation.
    pub fn holds(&self, object_ref: &ObjectRef) -> bool {
        self.index.lock().entries.get(object_ref).is_some_and(Entry::holds)
    }

    /// Returns every resource that the watches have shown, also one that cannot be deserialized.
    pub fn object_refs(&self) -> Vec<ObjectRef> {
        let index = self.index.lock();
        index.entries.keys().chain(&index.unreadable).cloned().collect()
    }

    fn change(&self, change: impl FnOnce(&mut Index) -> BTreeSet<ObjectRef>) {
        let enqueued = change(&mut self.index.lock());
        for object_ref in enqueued {
            // The receiver is gone only when the operator shuts down.
            let _ = self.enqueue.send(object_ref);
        }
    }
}

/// Each change returns the resources that may not have to wait any longer.
impl Index {
    fn put<K: ManagedKind>(&mut self, object: &K, appears: bool) -> BTreeSet<ObjectRef> {
        let Some(mut entry) = object.claim().map(|request| Entry::of(object, request)) else { return BTreeSet::new() };
        match self.entries.get(&entry.claim.object_ref) {
            Some(before) if entry.follows(before) => entry.succeed(before),
            None if appears => {}
            _ => return BTreeSet::new(),
        }
        self.replace(&entry.claim.object_ref.clone(), Some(entry))
    }

    /// Replaces an entry; `None`: the resource is gone.
    fn replace(&mut self, object_ref: &ObjectRef, after: Option<Entry>) -> BTreeSet<ObjectRef> {
        let mut enqueued = BTreeSet::new();
        if let Some(before) = self.entries.remove(object_ref) {
            if !after.as_ref().is_some_and(|after| after.claims_as(&before)) {
                let rivals = self.rivals(object_ref.kind, &before.key);
                enqueued.extend(rivals.map(|rival| rival.claim.object_ref.clone()));
            }
            let place = (object_ref.kind, before.key);
            if let Some(rivals) = self.by_key.get_mut(&place) {
                rivals.remove(object_ref);
                if rivals.is_empty() {
                    self.by_key.remove(&place);
                }
            }
        }
        if let Some(after) = after {
            self.by_key.entry((object_ref.kind, after.key.clone())).or_default().insert(object_ref.clone());
            self.entries.insert(object_ref.clone(), after);
        }
        if self.unreadable.remove(object_ref) {
            enqueued.append(&mut self.early);
        }
        enqueued
    }

    fn claim(
        &mut self,
        object_ref: &ObjectRef,
        begins: Option<Begin<'_>>,
        admits: Admits<'_>,
        (awaited, refused): (bool, bool),
    ) -> ClaimStatus {
        let is_known_in_part = refused || self.unreadable.iter().any(|other| other.kind == object_ref.kind);
        let takes_over = begins.is_some_and(|begins| begins.takes_over);
        if awaited || (takes_over && is_known_in_part) {
            self.early.insert(object_ref.clone());
            return if awaited { ClaimStatus::Unknown } else { ClaimStatus::Unlisted };
        }
        let Some(entry) = self.entries.get_mut(object_ref) else { return ClaimStatus::Unknown };
        // What an earlier reconcile announced and did not write is withdrawn.
        entry.announce(None);
        let (remote, mine, key) = (entry.remote(admits), entry.claim.clone(), entry.key.clone());
        if begins.is_some_and(|begins| remote.as_ref() != Some(begins.remote)) {
            return ClaimStatus::Unknown;
        }
        let others = self.rivals(object_ref.kind, &key).filter(|other| other.claim.object_ref != *object_ref);
        let stronger = others.filter(|other| remote.is_some() && other.claim.beats(&mine));
        let rivals = stronger.filter(|rival| rival.remote(admits) == remote);
        let owner = owner_before(&mine, rivals.map(|rival| &rival.claim)).map(|owner| owner.object_ref.clone());
        if let Some(entry) = self.entries.get_mut(object_ref) {
            entry.announce(begins.filter(|_| owner.is_none()).map(|begins| begins.remote));
        }
        owner.map_or(ClaimStatus::Owner, ClaimStatus::HeldBy)
    }

    /// Returns the resources with a key, in whichever remote.
    fn rivals(&self, kind: Kind, key: &str) -> impl Iterator<Item = &Entry> {
        let rivals = self.by_key.get(&(kind, key.to_owned())).into_iter().flatten();
        rivals.filter_map(|object_ref| self.entries.get(object_ref))
    }
}

#[cfg(test)]
mod tests;
