//! Who wants which key in which remote project, so that of several resources one has it (rule 4).
//!
//! Fed by the watches of what wants keys and of ConnectProjects before any run sees an object, and by each write of a
//! run, so that it is never older than what this process did. A run asks twice: [`Keys::standing`] before it does
//! anything, and [`Keys::begin`] before it creates or takes over. Looks nobody up and decides nothing else; who is the
//! stronger is in `claim`.

mod claim;
mod entry;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use kube::ResourceExt;
use tokio::sync::mpsc::UnboundedSender;

use self::claim::strongest;
pub use self::claim::{Claim, rival, rival_unseen};
use self::entry::Entry;
pub use self::entry::{Contender, Contention};
use super::subject::{Kind, Subject};
use crate::crd::ConnectProject;
use crate::crd::shared::RemoteIdentity;

/// A key in a remote project: what only one can have.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Kind of those that want it: a deployment and a connector may have the same key.
    pub kind: Kind,
    /// The remote project.
    pub remote: RemoteIdentity,
    /// The key.
    pub key: String,
}

/// How a resource stands among those that want the same key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nobody is before it, or it wants no key.
    First,
    /// This one is. Whatever changes about that wakes the resource.
    After(Subject),
    /// Not known: not everything was listed yet, which wakes the resource; or the run works with an old copy, and the
    /// new one is on its way.
    Unknown,
    /// Not known, since the API server refuses a list: what exists may belong to somebody whom it would show. The list wakes the
    /// resource when it comes.
    Unlisted,
}

/// What a resource is about to do at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beginning<'a> {
    /// Create, or go on with what it created.
    Create,
    /// Take over what exists, whoever made it: the remote record with this id.
    TakeOver(&'a str),
}

/// Who wants which key.
#[derive(Debug)]
pub struct Keys {
    wake: UnboundedSender<Subject>,
    index: Mutex<Index>,
}

#[derive(Debug, Default)]
struct Index {
    /// Lists that were not complete yet since the start.
    missing_lists: usize,
    /// Lists that the API server refuses.
    refused_lists: usize,
    /// Who asked too early: before these lists, or before the remote answered for its project.
    early: BTreeSet<Subject>,
    entries: BTreeMap<Subject, Entry>,
    /// Who wants a place; nothing is kept for what nobody wants.
    places: BTreeMap<Place, BTreeSet<Subject>>,
    projects: BTreeMap<Subject, Named>,
    /// Who names a project.
    users: BTreeMap<Subject, BTreeSet<Subject>>,
}

/// The remote project that a `ConnectProject` names.
#[derive(Clone, Debug)]
struct Named {
    remote: RemoteIdentity,
    /// Whether it has answered with the credentials of the project.
    admits: bool,
}

impl Keys {
    /// Nobody wants anything yet. `lists`: how many first lists of the cluster there are to come, each ended by
    /// [`Keys::listed`]. `wake` takes those whose standing may have changed.
    #[must_use]
    pub fn new(lists: usize, wake: UnboundedSender<Subject>) -> Self {
        Self { wake, index: Mutex::new(Index { missing_lists: lists, ..Index::default() }) }
    }

    /// A watch shows a resource.
    pub fn saw<K: Contender>(&self, object: &K) {
        self.change(|index| index.put(object, true));
    }

    /// A run has a copy of a resource, or has written it. Whatever the watches know to be gone stays gone.
    pub fn wrote<K: Contender>(&self, object: &K) {
        self.change(|index| index.put(object, false));
    }

    /// A watch shows a project. Its resources claim nothing yet: anybody can write down the key of any remote project.
    pub fn saw_project(&self, object: &ConnectProject) {
        let remote =
            RemoteIdentity { api_url: object.spec.effective_api_url(), project_key: object.spec.project_key.clone() };
        let project = Subject::project(&object.namespace().unwrap_or_default(), &object.name_any());
        self.change(|index| match index.projects.get(&project) {
            Some(known) if known.remote == remote => BTreeSet::new(),
            _ => index.place_users(&project, Some(Named { remote, admits: false })),
        });
    }

    /// Whether `remote` has answered for this project with its own credentials. Only then its resources claim keys there;
    /// what one owns or has begun stays claimed. Of a project that names another remote by now this says nothing.
    pub fn admitted(&self, project: &Subject, remote: &RemoteIdentity, admits: bool) {
        self.change(|index| match index.projects.get(project) {
            Some(known) if known.remote == *remote && known.admits != admits => {
                let remote = remote.clone();
                index.place_users(project, Some(Named { remote, admits }))
            }
            _ => BTreeSet::new(),
        });
    }

    /// A watch shows that a resource or a project is gone.
    pub fn gone(&self, subject: &Subject) {
        self.change(|index| match subject.kind {
            Kind::Deployment | Kind::Staged => index.remove(subject),
            Kind::Project => index.place_users(subject, None),
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
    /// anybody's is, which is `KeyTaken`. It is not taken over meanwhile ([`Standing::Unlisted`]): who owns it cannot be
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
    pub fn subjects(&self, kind: Kind) -> Vec<Subject> {
        let index = self.lock();
        match kind {
            Kind::Deployment | Kind::Staged => {
                index.entries.keys().filter(|subject| subject.kind == kind).cloned().collect()
            }
            Kind::Project => index.projects.keys().cloned().collect(),
            Kind::Check | Kind::Mirror => Vec::new(),
        }
    }

    /// How a resource stands at the beginning of its run. What an earlier run of it announced with [`Keys::begin`] and
    /// did not write is taken back.
    #[must_use]
    pub fn standing<K: Contender>(&self, object: &K) -> Standing {
        let subject = subject(object);
        self.wrote(object);
        self.change(|index| index.announce(&subject, false));
        let mut index = self.lock();
        if index.missing_lists > 0 {
            index.early.insert(subject);
            return Standing::Unknown;
        }
        match index.entries.get(&subject).filter(|entry| Some(&entry.uid) == object.meta().uid.as_ref()) {
            None => Standing::Unknown,
            Some(entry) => index.standing(entry),
        }
    }

    /// Announces that a resource is about to create or to take over what is at `place`. If the answer is
    /// [`Standing::First`], nobody else gets that answer until the write that follows shows, or the next run began:
    /// asking and announcing are one step.
    #[must_use]
    pub fn begin<K: Contender>(&self, object: &K, place: &Place, what: Beginning) -> Standing {
        let subject = subject(object);
        let mut standing = Standing::Unknown;
        self.change(|index| {
            let there = match what {
                Beginning::TakeOver(_) if index.refused_lists > 0 => {
                    index.early.insert(subject);
                    standing = Standing::Unlisted;
                    return BTreeSet::new();
                }
                Beginning::TakeOver(id) => Some(id),
                Beginning::Create => None,
            };
            let here = index.entries.get(&subject).filter(|entry| {
                Some(&entry.uid) == object.meta().uid.as_ref() && entry.place().as_ref() == Some(place)
            });
            let Some(entry) = here.filter(|entry| entry.counts()) else {
                index.early.insert(subject);
                return BTreeSet::new();
            };
            let rival = rival(&entry.claim, index.claims(place), there);
            standing = rival.map_or(Standing::First, |rival| Standing::After(rival.subject.clone()));
            if standing == Standing::First { index.announce(&subject, true) } else { BTreeSet::new() }
        });
        standing
    }

    fn change(&self, change: impl FnOnce(&mut Index) -> BTreeSet<Subject>) {
        let woken = change(&mut self.lock());
        for subject in woken {
            // Nobody listens any more when the operator ends.
            let _ = self.wake.send(subject);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Each change returns those whose standing it may have changed.
impl Index {
    /// One list less is awaited.
    fn awaited_less(&mut self) -> BTreeSet<Subject> {
        self.missing_lists = self.missing_lists.saturating_sub(1);
        if self.missing_lists == 0 { std::mem::take(&mut self.early) } else { BTreeSet::new() }
    }

    fn put<K: Contender>(&mut self, object: &K, appears: bool) -> BTreeSet<Subject> {
        let entry = Entry::of(object);
        let subject = entry.claim.subject.clone();
        match self.entries.get(&subject) {
            Some(before) if !entry.follows(before) => return BTreeSet::new(),
            None if !appears => return BTreeSet::new(),
            _ => {}
        }
        let entry = entry.naming(self.projects.get(&entry.project));
        self.replace(&subject, Some(entry))
    }

    fn remove(&mut self, subject: &Subject) -> BTreeSet<Subject> {
        self.early.remove(subject);
        self.replace(subject, None)
    }

    fn announce(&mut self, subject: &Subject, announced: bool) -> BTreeSet<Subject> {
        match self.entries.get(subject) {
            Some(entry) if entry.is_announced() != announced => {
                let entry = entry.announcing(announced);
                self.replace(subject, Some(entry))
            }
            _ => BTreeSet::new(),
        }
    }

    /// A project names another remote than before, or none, or is admitted there.
    fn place_users(&mut self, project: &Subject, named: Option<Named>) -> BTreeSet<Subject> {
        let mut woken = BTreeSet::new();
        for user in self.users.get(project).cloned().unwrap_or_default() {
            let entry = self.entries.get(&user).map(|entry| entry.naming(named.as_ref()));
            woken.extend(self.replace(&user, entry));
            if named.as_ref().is_some_and(|named| named.admits) && self.missing_lists == 0 && self.early.remove(&user) {
                woken.insert(user);
            }
        }
        match named {
            Some(named) => self.projects.insert(project.clone(), named),
            None => self.projects.remove(project),
        };
        woken
    }

    fn replace(&mut self, subject: &Subject, entry: Option<Entry>) -> BTreeSet<Subject> {
        let before = self.entries.get(subject);
        let ids = |entry: Option<&Entry>| entry.and_then(|entry| entry.claim.id.clone());
        let other_id = ids(before) != ids(entry.as_ref());
        let left = before.and_then(Entry::place);
        let entered = entry.as_ref().and_then(Entry::place);
        let places: BTreeSet<Place> = left.iter().chain(&entered).cloned().collect();
        let first: Vec<_> = places.iter().map(|place| self.firsts(place)).collect();
        let stays = entry.is_some();
        self.unlink(subject, left.as_ref());
        if let Some(entry) = entry {
            self.users.entry(entry.project.clone()).or_default().insert(subject.clone());
            self.entries.insert(subject.clone(), entry);
        }
        if let Some(place) = entered {
            self.places.entry(place).or_default().insert(subject.clone());
        }
        if !other_id && places.iter().map(|place| self.firsts(place)).eq(first) {
            return BTreeSet::new();
        }
        let there = places.iter().filter_map(|place| self.places.get(place)).flatten();
        let mut woken: BTreeSet<Subject> = there.filter(|other| *other != subject).cloned().collect();
        // Whoever is alone needs no run of its own for that.
        if stays && !woken.is_empty() {
            woken.insert(subject.clone());
        }
        woken
    }

    fn unlink(&mut self, subject: &Subject, place: Option<&Place>) {
        let Some(entry) = self.entries.remove(subject) else { return };
        take_out(&mut self.users, &entry.project, subject);
        if let Some(place) = place {
            take_out(&mut self.places, place, subject);
        }
    }

    fn claims(&self, place: &Place) -> impl Iterator<Item = &Claim> {
        let there = self.places.get(place).into_iter().flatten();
        let entries = there.filter_map(|subject| self.entries.get(subject));
        entries.filter(|entry| entry.counts()).map(|entry| &entry.claim)
    }

    /// Who is first, if nothing is there and if any of the deployments is there that annotations name.
    fn firsts(&self, place: &Place) -> BTreeMap<Option<String>, Option<Subject>> {
        let annotated = self.claims(place).map(|claim| claim.annotated.clone());
        let first = |there: Option<&str>| strongest(self.claims(place), there).map(|claim| claim.subject.clone());
        annotated.chain([None]).map(|there| (there.clone(), first(there.as_deref()))).collect()
    }

    fn standing(&self, entry: &Entry) -> Standing {
        let Some(place) = entry.place() else { return Standing::First };
        let claims: Vec<_> = self.claims(&place).collect();
        let rival = rival_unseen(&entry.claim, claims.iter().copied());
        rival.map_or(Standing::First, |rival| Standing::After(rival.subject.clone()))
    }
}

fn subject<K: Contender>(object: &K) -> Subject {
    Subject { kind: K::KIND, namespace: object.namespace().unwrap_or_default(), name: object.name_any() }
}

fn take_out<K: Ord>(sets: &mut BTreeMap<K, BTreeSet<Subject>>, key: &K, subject: &Subject) {
    if let Some(set) = sets.get_mut(key) {
        set.remove(subject);
        if set.is_empty() {
            sets.remove(key);
        }
    }
}

#[cfg(test)]
#[path = "keys_tests.rs"]
mod tests;
