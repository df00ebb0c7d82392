//! The index of claims: which resources claim which key, through which project. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::claim::{self, Claim, prior_claim_unseen};
use super::entry::{Entry, Named};
use super::{ClaimStatus, RemoteKey};
use crate::controllers::object_ref::{Kind, ObjectRef};

#[derive(Debug, Default)]
pub(super) struct Index {
    /// Number of initial lists that are not complete yet.
    pub(super) missing_lists: usize,
    /// Number of lists that the API server refuses.
    pub(super) refused_lists: usize,
    /// Resources that this version cannot deserialize, and whose keys are not known from before.
    pub(super) unreadable: BTreeSet<ObjectRef>,
    /// Resources that asked too early: before these lists, or before the remote answered for their project.
    pub(super) early: BTreeSet<ObjectRef>,
    /// Boxed, because nodes of the map have free places.
    pub(super) entries: BTreeMap<ObjectRef, Box<Entry>>,
    /// The resources that claim each key; a key without claims has no entry.
    pub(super) places: BTreeMap<RemoteKey, BTreeSet<ObjectRef>>,
    pub(super) projects: BTreeMap<ObjectRef, Named>,
    /// The namespaces that may use each `ClusterConnectProject`; resources of others claim no key through it (rule 29).
    pub(super) allowed: BTreeMap<ObjectRef, BTreeSet<String>>,
    /// The resources that name each project.
    pub(super) users: BTreeMap<ObjectRef, BTreeSet<ObjectRef>>,
}

/// A resource whose claim changes.
struct Move {
    /// The keys that it claimed before and claims now.
    places: BTreeSet<RemoteKey>,
    /// Whether it has another remote record.
    other_id: bool,
    /// Whether it still exists.
    stays: bool,
}

/// Each change returns the resources whose claim status it may have changed.
impl Index {
    /// Decrements the number of lists to wait for.
    pub(super) fn awaited_less(&mut self) -> BTreeSet<ObjectRef> {
        self.missing_lists = self.missing_lists.saturating_sub(1);
        if self.missing_lists == 0 { std::mem::take(&mut self.early) } else { BTreeSet::new() }
    }

    /// Whether resources of the kind may exist whose keys are not known.
    pub(super) fn is_known_in_part(&self, kind: Kind) -> bool {
        self.refused_lists > 0 || self.unreadable.iter().any(|object_ref| object_ref.kind == kind)
    }

    /// Records that a resource is readable, or gone.
    pub(super) fn known_more(&mut self, object_ref: &ObjectRef) -> BTreeSet<ObjectRef> {
        if self.unreadable.remove(object_ref) { self.known_in_part_less() } else { BTreeSet::new() }
    }

    /// Returns who waited for resources that were not known, once all of their kind are.
    pub(super) fn known_in_part_less(&mut self) -> BTreeSet<ObjectRef> {
        let early = std::mem::take(&mut self.early);
        let (early, known) = early.into_iter().partition(|early| self.is_known_in_part(early.kind));
        self.early = early;
        known
    }

    pub(super) fn put(&mut self, entry: &Entry, appears: bool) -> BTreeSet<ObjectRef> {
        let object_ref = entry.claim.object_ref.clone();
        match self.entries.get(&object_ref) {
            Some(before) if !entry.follows(before) => return BTreeSet::new(),
            None if !appears => return BTreeSet::new(),
            _ => {}
        }
        let entry = entry.naming(self.projects.get(&entry.project).filter(|_| self.allows(entry)));
        if let Some(before) = self.entries.get_mut(&object_ref).filter(|before| before.claims_as(&entry)) {
            // Most writes concern only the status.
            **before = entry;
            return BTreeSet::new();
        }
        let mut enqueued = self.replace(BTreeMap::from([(object_ref.clone(), Some(entry))]));
        enqueued.extend(self.known_more(&object_ref));
        enqueued
    }

    pub(super) fn remove(&mut self, object_ref: &ObjectRef) -> BTreeSet<ObjectRef> {
        self.early.remove(object_ref);
        let mut enqueued = self.replace(BTreeMap::from([(object_ref.clone(), None)]));
        enqueued.extend(self.known_more(object_ref));
        enqueued
    }

    pub(super) fn announce(&mut self, object_ref: &ObjectRef, announced: bool) -> BTreeSet<ObjectRef> {
        match self.entries.get(object_ref) {
            Some(entry) if entry.is_announced() != announced => {
                let entry = entry.announcing(announced);
                self.replace(BTreeMap::from([(object_ref.clone(), Some(entry))]))
            }
            _ => BTreeSet::new(),
        }
    }

    /// Records that a project names another remote than before, or none, or is admitted there.
    pub(super) fn place_users(&mut self, project: &ObjectRef, named: Option<Named>) -> BTreeSet<ObjectRef> {
        let users = self.users.get(project).cloned().unwrap_or_default();
        let changed = users.iter().filter_map(|user| {
            let before = self.entries.get(user)?;
            let entry = before.naming(named.as_ref().filter(|_| self.allows(before)));
            (!before.claims_as(&entry)).then(|| (user.clone(), Some(entry)))
        });
        let changed = changed.collect();
        let mut enqueued = self.replace(changed);
        if named.as_ref().is_some_and(|named| named.admits) && self.missing_lists == 0 {
            enqueued.extend(users.into_iter().filter(|user| self.early.remove(user)));
        }
        match named {
            Some(named) => self.projects.insert(project.clone(), named),
            None => self.projects.remove(project),
        };
        enqueued
    }

    /// Whether the namespace of a resource may use the project that the resource names.
    pub(super) fn allows(&self, entry: &Entry) -> bool {
        let namespaces = self.allowed.get(&entry.project);
        !entry.project.kind.is_cluster_scoped()
            || namespaces.is_some_and(|namespaces| namespaces.contains(&entry.claim.object_ref.namespace))
    }

    /// Replaces entries; `None`: the resource is gone. The owners of each key are determined twice, however many entries of
    /// it are replaced: a project may have thousands of resources, and any user can give all of them one key.
    fn replace(&mut self, changes: BTreeMap<ObjectRef, Option<Entry>>) -> BTreeSet<ObjectRef> {
        let moves = changes.iter().map(|(object_ref, entry)| {
            let (before, after) = (self.entries.get(object_ref).map(|entry| &**entry), entry.as_ref());
            let id = |entry: Option<&Entry>| entry.and_then(|entry| entry.claim.id.clone());
            let places = before.and_then(Entry::place).into_iter().chain(after.and_then(Entry::place)).collect();
            (object_ref.clone(), Move { places, other_id: id(before) != id(after), stays: after.is_some() })
        });
        let moves: BTreeMap<ObjectRef, Move> = moves.collect();
        let places: BTreeSet<_> = moves.values().flat_map(|it| &it.places).collect();
        let owners = |index: &Self| -> BTreeMap<&RemoteKey, _> {
            places.iter().map(|place| (*place, index.owners(place))).collect()
        };
        let before = owners(self);
        for (object_ref, entry) in changes {
            self.unlink(&object_ref);
            if let Some(entry) = entry {
                self.link(object_ref, entry);
            }
        }
        let after = owners(self);
        self.affected(&moves, |place| before.get(place) != after.get(place))
    }

    /// Returns the resources whose claim status may have changed. `is_changed`: whether a key has other owners now.
    fn affected(
        &self,
        moves: &BTreeMap<ObjectRef, Move>,
        is_changed: impl Fn(&RemoteKey) -> bool,
    ) -> BTreeSet<ObjectRef> {
        let is_concerned = |it: &Move| it.other_id || it.places.iter().any(&is_changed);
        let concerned: BTreeMap<_, _> = moves.iter().filter(|(_, it)| is_concerned(it)).collect();
        let places: BTreeSet<_> = concerned.values().flat_map(|it| &it.places).collect();
        let existing = places.into_iter().filter_map(|place| self.places.get(place)).flatten();
        // A resource without competing claims needs no reconcile for this.
        let competes = |object_ref: &ObjectRef, its: &Move| {
            let mut claims = its.places.iter().filter_map(|place| self.places.get(place)).flatten();
            its.stays && claims.any(|other| other != object_ref)
        };
        let is_waiting =
            |object_ref: &&ObjectRef| concerned.get(*object_ref).is_none_or(|its| competes(object_ref, its));
        existing.chain(concerned.keys().copied()).filter(is_waiting).cloned().collect()
    }

    fn link(&mut self, object_ref: ObjectRef, entry: Entry) {
        self.users.entry(entry.project.clone()).or_default().insert(object_ref.clone());
        if let Some(place) = entry.place() {
            self.places.entry(place).or_default().insert(object_ref.clone());
        }
        self.entries.insert(object_ref, Box::new(entry));
    }

    fn unlink(&mut self, object_ref: &ObjectRef) {
        let Some(entry) = self.entries.remove(object_ref) else { return };
        take_out(&mut self.users, &entry.project, object_ref);
        if let Some(place) = entry.place() {
            take_out(&mut self.places, &place, object_ref);
        }
    }

    pub(super) fn claims(&self, place: &RemoteKey) -> impl Iterator<Item = &Claim> {
        let existing = self.places.get(place).into_iter().flatten();
        let entries = existing.filter_map(|object_ref| self.entries.get(object_ref));
        entries.filter(|entry| entry.counts()).map(|entry| &entry.claim)
    }

    /// Returns the owners of a key, for each remote record that may have it.
    pub(super) fn owners(&self, place: &RemoteKey) -> BTreeMap<Option<String>, ObjectRef> {
        let owners = claim::owners(self.claims(place));
        owners.into_iter().map(|(record, owner)| (record.map(str::to_owned), owner.clone())).collect()
    }

    pub(super) fn claim_status(&self, entry: &Entry) -> ClaimStatus {
        let Some(place) = entry.place() else { return ClaimStatus::Owner };
        let claims: Vec<_> = self.claims(&place).collect();
        let prior = prior_claim_unseen(&entry.claim, claims.iter().copied());
        prior.map_or(ClaimStatus::Owner, |prior| ClaimStatus::HeldBy(prior.object_ref.clone()))
    }
}

fn take_out<K: Ord>(sets: &mut BTreeMap<K, BTreeSet<ObjectRef>>, key: &K, object_ref: &ObjectRef) {
    if let Some(set) = sets.get_mut(key) {
        set.remove(object_ref);
        if set.is_empty() {
            sets.remove(key);
        }
    }
}
