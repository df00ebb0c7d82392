//! Who wants which key in which remote project, so that of several resources one has it (rule 4).
//!
//! Fed by the watches of what wants keys and of ConnectProjects before any run sees an object, and by each write of a
//! run, so that it is never older than what this process did. A run asks twice: [`KeyOwnership::claim_status`] before it does
//! anything, and [`KeyOwnership::begin`] before it creates or takes over. Looks nobody up and decides nothing else; who is the
//! stronger is in `claim`.

mod claim;
mod entry;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use kube::ResourceExt;
use tokio::sync::mpsc::UnboundedSender;

use self::claim::strongest;
pub use self::claim::{Claim, rival, rival_unseen};
pub use self::entry::ClaimRequest;
use self::entry::Entry;
use super::driver::RemoteKind;
use super::object_ref::{Kind, ObjectRef};
use crate::crd::ConnectProject;
use crate::crd::shared::RemoteIdentity;

/// A key in a remote project: what only one can have.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RemoteKey {
    /// Kind of those that want it: a deployment and a connector may have the same key.
    pub kind: Kind,
    /// The remote project.
    pub remote: RemoteIdentity,
    /// The key.
    pub key: String,
}

/// How a resource stands among those that want the same key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimStatus {
    /// Nobody is before it, or it wants no key.
    Owner,
    /// This one is. Whatever changes about that wakes the resource.
    HeldBy(ObjectRef),
    /// Not known: not everything was listed yet, which wakes the resource; or the run works with an old copy, and the
    /// new one is on its way.
    Unknown,
    /// Not known, since the API server refuses a list: what exists may belong to somebody whom it would show. The list wakes the
    /// resource when it comes.
    Unlisted,
}

/// What a resource is about to do at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimReason<'a> {
    /// Create, or go on with what it created.
    Create,
    /// Take over what exists, whoever made it: the remote record with this id.
    TakeOver(&'a str),
}

/// Who wants which key.
#[derive(Debug)]
pub struct KeyOwnership {
    enqueue: UnboundedSender<ObjectRef>,
    index: Mutex<Index>,
}

#[derive(Debug, Default)]
struct Index {
    /// Lists that were not complete yet since the start.
    missing_lists: usize,
    /// Lists that the API server refuses.
    refused_lists: usize,
    /// Who asked too early: before these lists, or before the remote answered for its project.
    early: BTreeSet<ObjectRef>,
    entries: BTreeMap<ObjectRef, Entry>,
    /// Who wants a place; nothing is kept for what nobody wants.
    places: BTreeMap<RemoteKey, BTreeSet<ObjectRef>>,
    projects: BTreeMap<ObjectRef, Named>,
    /// Who names a project.
    users: BTreeMap<ObjectRef, BTreeSet<ObjectRef>>,
}

/// The remote project that a `ConnectProject` names.
#[derive(Clone, Debug)]
struct Named {
    remote: RemoteIdentity,
    /// Whether it has answered with the credentials of the project.
    admits: bool,
}

impl KeyOwnership {
    /// Nobody wants anything yet. `lists`: how many first lists of the cluster there are to come, each ended by
    /// [`KeyOwnership::listed`]. `enqueue` takes those whose standing may have changed.
    #[must_use]
    pub fn new(lists: usize, enqueue: UnboundedSender<ObjectRef>) -> Self {
        Self { enqueue, index: Mutex::new(Index { missing_lists: lists, ..Index::default() }) }
    }

    /// A watch shows a resource.
    pub fn saw<K: RemoteKind>(&self, object: &K) {
        self.change(|index| index.put(object, true));
    }

    /// A run has a copy of a resource, or has written it. Whatever the watches know to be gone stays gone.
    pub fn wrote<K: RemoteKind>(&self, object: &K) {
        self.change(|index| index.put(object, false));
    }

    /// A watch shows a project. Its resources claim nothing yet: anybody can write down the key of any remote project.
    pub fn saw_project(&self, object: &ConnectProject) {
        let remote =
            RemoteIdentity { api_url: object.spec.effective_api_url(), project_key: object.spec.project_key.clone() };
        let project = ObjectRef::project(&object.namespace().unwrap_or_default(), &object.name_any());
        self.change(|index| match index.projects.get(&project) {
            Some(known) if known.remote == remote => BTreeSet::new(),
            _ => index.place_users(&project, Some(Named { remote, admits: false })),
        });
    }

    /// Whether `remote` has answered for this project with its own credentials. Only then its resources claim keys there;
    /// what one owns or has begun stays claimed. Of a project that names another remote by now this says nothing.
    pub fn admitted(&self, project: &ObjectRef, remote: &RemoteIdentity, admits: bool) {
        self.change(|index| match index.projects.get(project) {
            Some(known) if known.remote == *remote && known.admits != admits => {
                let remote = remote.clone();
                index.place_users(project, Some(Named { remote, admits }))
            }
            _ => BTreeSet::new(),
        });
    }

    /// A watch shows that a resource or a project is gone.
    pub fn gone(&self, object_ref: &ObjectRef) {
        self.change(|index| match object_ref.kind {
            Kind::Deployment | Kind::Staged => index.remove(object_ref),
            Kind::Project => index.place_users(object_ref, None),
            Kind::Check | Kind::Mirror => BTreeSet::new(),
        });
    }

    /// One of the first lists is complete.
    pub fn listed(&self) {
        self.change(Index::awaited_less);
    }

    /// The API server refuses one of the first lists.
    ///
    /// That frees the others: of what cannot be listed nothing can be read or written, so no reconcile of it runs, and none
    /// can create what another one creates too. What it has at the remote from earlier is found there under its key, as
    /// anybody's is, which is `KeyTaken`. It is not taken over meanwhile ([`ClaimStatus::Unlisted`]): who owns it cannot be
    /// seen. An API server that does not answer may still show who is stronger, so that frees nobody.
    pub fn refused(&self) {
        self.change(|index| {
            index.refused_lists += 1;
            index.awaited_less()
        });
    }

    /// A list that was refused is complete at last, and counts from now on as every other.
    pub fn listed_at_last(&self) {
        self.change(|index| {
            index.refused_lists = index.refused_lists.saturating_sub(1);
            if index.refused_lists == 0 { std::mem::take(&mut index.early) } else { BTreeSet::new() }
        });
    }

    /// Every resource or project that the watches have shown.
    #[must_use]
    pub fn object_refs(&self, kind: Kind) -> Vec<ObjectRef> {
        let index = self.lock();
        match kind {
            Kind::Deployment | Kind::Staged => {
                index.entries.keys().filter(|object_ref| object_ref.kind == kind).cloned().collect()
            }
            Kind::Project => index.projects.keys().cloned().collect(),
            Kind::Check | Kind::Mirror => Vec::new(),
        }
    }

    /// How a resource stands at the beginning of its run. What an earlier run of it announced with [`KeyOwnership::begin`] and
    /// did not write is taken back.
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

    /// Announces that a resource is about to create or to take over what is at `place`. If the answer is
    /// [`ClaimStatus::Owner`], nobody else gets that answer until the write that follows shows, or the next run began:
    /// asking and announcing are one step.
    #[must_use]
    pub fn begin<K: RemoteKind>(&self, object: &K, place: &RemoteKey, what: ClaimReason) -> ClaimStatus {
        let object_ref = object_ref(object);
        let mut claim_status = ClaimStatus::Unknown;
        self.change(|index| {
            let there = match what {
                ClaimReason::TakeOver(_) if index.refused_lists > 0 => {
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
            let rival = rival(&entry.claim, index.claims(place), there);
            claim_status = rival.map_or(ClaimStatus::Owner, |rival| ClaimStatus::HeldBy(rival.object_ref.clone()));
            if claim_status == ClaimStatus::Owner { index.announce(&object_ref, true) } else { BTreeSet::new() }
        });
        claim_status
    }

    fn change(&self, change: impl FnOnce(&mut Index) -> BTreeSet<ObjectRef>) {
        let enqueued = change(&mut self.lock());
        for object_ref in enqueued {
            // Nobody listens any more when the operator ends.
            let _ = self.enqueue.send(object_ref);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Each change returns those whose standing it may have changed.
impl Index {
    /// One list less is awaited.
    fn awaited_less(&mut self) -> BTreeSet<ObjectRef> {
        self.missing_lists = self.missing_lists.saturating_sub(1);
        if self.missing_lists == 0 { std::mem::take(&mut self.early) } else { BTreeSet::new() }
    }

    fn put<K: RemoteKind>(&mut self, object: &K, appears: bool) -> BTreeSet<ObjectRef> {
        let entry = Entry::of(object);
        let object_ref = entry.claim.object_ref.clone();
        match self.entries.get(&object_ref) {
            Some(before) if !entry.follows(before) => return BTreeSet::new(),
            None if !appears => return BTreeSet::new(),
            _ => {}
        }
        let entry = entry.naming(self.projects.get(&entry.project));
        self.replace(&object_ref, Some(entry))
    }

    fn remove(&mut self, object_ref: &ObjectRef) -> BTreeSet<ObjectRef> {
        self.early.remove(object_ref);
        self.replace(object_ref, None)
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

    /// A project names another remote than before, or none, or is admitted there.
    fn place_users(&mut self, project: &ObjectRef, named: Option<Named>) -> BTreeSet<ObjectRef> {
        let mut enqueued = BTreeSet::new();
        for user in self.users.get(project).cloned().unwrap_or_default() {
            let entry = self.entries.get(&user).map(|entry| entry.naming(named.as_ref()));
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

    fn replace(&mut self, object_ref: &ObjectRef, entry: Option<Entry>) -> BTreeSet<ObjectRef> {
        let before = self.entries.get(object_ref);
        let ids = |entry: Option<&Entry>| entry.and_then(|entry| entry.claim.id.clone());
        let other_id = ids(before) != ids(entry.as_ref());
        let left = before.and_then(Entry::place);
        let entered = entry.as_ref().and_then(Entry::place);
        let places: BTreeSet<RemoteKey> = left.iter().chain(&entered).cloned().collect();
        let first: Vec<_> = places.iter().map(|place| self.firsts(place)).collect();
        let stays = entry.is_some();
        self.unlink(object_ref, left.as_ref());
        if let Some(entry) = entry {
            self.users.entry(entry.project.clone()).or_default().insert(object_ref.clone());
            self.entries.insert(object_ref.clone(), entry);
        }
        if let Some(place) = entered {
            self.places.entry(place).or_default().insert(object_ref.clone());
        }
        if !other_id && places.iter().map(|place| self.firsts(place)).eq(first) {
            return BTreeSet::new();
        }
        let there = places.iter().filter_map(|place| self.places.get(place)).flatten();
        let mut enqueued: BTreeSet<ObjectRef> = there.filter(|other| *other != object_ref).cloned().collect();
        // Whoever is alone needs no run of its own for that.
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
        let there = self.places.get(place).into_iter().flatten();
        let entries = there.filter_map(|object_ref| self.entries.get(object_ref));
        entries.filter(|entry| entry.counts()).map(|entry| &entry.claim)
    }

    /// Who is first, if nothing is there and if any of the deployments is there that annotations name.
    fn firsts(&self, place: &RemoteKey) -> BTreeMap<Option<String>, Option<ObjectRef>> {
        let annotated = self.claims(place).map(|claim| claim.annotated.clone());
        let first = |there: Option<&str>| strongest(self.claims(place), there).map(|claim| claim.object_ref.clone());
        annotated.chain([None]).map(|there| (there.clone(), first(there.as_deref()))).collect()
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
