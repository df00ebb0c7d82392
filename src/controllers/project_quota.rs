//! Which `ConnectProject`s the operator works with: each costs a client, a rate limiter, a circuit breaker and a poller, so there
//! is a bound for each namespace and one for all.
//!
//! The oldest are in, by `creationTimestamp`, then namespace, then name. So one that is new never displaces one that works, and
//! the same are in after a restart. Fed by the watch before any reconcile sees a project; whoever comes in or falls out is
//! enqueued. What is not selected by this install's labels counts only while something of this install uses it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use tokio::sync::mpsc::UnboundedSender;

use super::conditions::ConditionUpdate;
use super::object_ref::ObjectRef;
use super::reason::Reason;

/// How many `ConnectProject`s the operator works with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProjectLimits {
    /// In each namespace, 1 or more.
    pub per_namespace: u32,
    /// In all of them together, 1 or more.
    pub total: u32,
}

impl ProjectLimits {
    /// A team has a project for each environment and region, which is far below the bound for a namespace; ten namespaces that
    /// use theirs up fill the whole, which takes a quarter of the memory that the chart allows (`docs/operations/sizing.md`).
    pub const DEFAULT: Self = Self { per_namespace: 100, total: 1_000 };
}

/// Whether the operator works with a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It does.
    Admitted,
    /// Enough older ones are in its namespace.
    NamespaceFull,
    /// Enough older ones are in all namespaces together.
    Full,
    /// Not known before every namespace was listed, which enqueues the project.
    Unknown,
}

/// The projects that count, and which of them are out.
#[derive(Debug)]
pub struct ProjectQuota {
    limits: ProjectLimits,
    enqueue: UnboundedSender<ObjectRef>,
    index: Mutex<Index>,
}

#[derive(Debug, Default)]
struct Index {
    /// Lists that were not complete yet since the start.
    missing_lists: usize,
    /// Who asked before they were.
    early: BTreeSet<ObjectRef>,
    created: HashMap<ObjectRef, Timestamp>,
    by_age: BTreeSet<(Timestamp, ObjectRef)>,
    /// Those that are out, and why.
    out: BTreeMap<ObjectRef, Admission>,
}

impl ProjectQuota {
    /// No project yet. `lists`: how many first lists of projects there are to come, each ended by [`ProjectQuota::listed`]; `enqueue`
    /// takes those that are to reconcile again.
    #[must_use]
    pub fn new(limits: ProjectLimits, lists: usize, enqueue: UnboundedSender<ObjectRef>) -> Self {
        Self { limits, enqueue, index: Mutex::new(Index { missing_lists: lists, ..Index::default() }) }
    }

    /// A project exists that counts. What follows is for [`ProjectQuota::settle`], so that a list costs one comparison.
    pub fn saw(&self, project: &ObjectRef, created: Timestamp) {
        let mut index = self.lock();
        let before = index.created.insert(project.clone(), created);
        if let Some(before) = before.filter(|before| *before != created) {
            // Deleted and made anew.
            index.by_age.remove(&(before, project.clone()));
        }
        index.by_age.insert((created, project.clone()));
    }

    /// Enqueues whoever comes in or falls out because of what was seen.
    pub fn settle(&self) {
        let mut index = self.lock();
        let out = out(&index.by_age, self.limits);
        let before = mem::replace(&mut index.out, out);
        let turned = |object_ref: &&ObjectRef| before.get(*object_ref) != index.out.get(*object_ref);
        let turned: BTreeSet<_> = before.keys().chain(index.out.keys()).filter(turned).cloned().collect();
        self.enqueue(turned);
    }

    /// A project is gone, or does not count any more.
    pub fn forget(&self, project: &ObjectRef) {
        let removed = self.lock().remove(project);
        if removed {
            self.settle();
        }
    }

    /// One of the first lists is complete, or refused by the API server: nothing in it reconciles then.
    pub fn listed(&self) {
        let mut index = self.lock();
        index.missing_lists = index.missing_lists.saturating_sub(1);
        if index.missing_lists == 0 {
            let early = mem::take(&mut index.early);
            self.enqueue(early);
        }
    }

    /// Whether the operator works with this project, which counts from now on.
    #[must_use]
    pub fn admission(&self, project: &ObjectRef, created: Timestamp) -> Admission {
        if !self.lock().created.contains_key(project) {
            self.saw(project, created);
            self.settle();
        }
        let mut index = self.lock();
        if index.missing_lists > 0 {
            index.early.insert(project.clone());
            return Admission::Unknown;
        }
        index.out.get(project).copied().unwrap_or(Admission::Admitted)
    }

    /// Why the operator does not work with a project, for people; `None`: it does, as far as is known.
    #[must_use]
    pub fn condition(&self, admission: Admission) -> Option<ConditionUpdate> {
        let ProjectLimits { per_namespace, total } = self.limits;
        let message = match admission {
            Admission::Admitted | Admission::Unknown => return None,
            Admission::NamespaceFull => format!(
                "The operator works with the {per_namespace} oldest ConnectProjects of a namespace, and this is none of them: \
                 delete one that is not needed, or have --max-projects-per-namespace raised"
            ),
            Admission::Full => format!(
                "The operator works with the {total} oldest ConnectProjects of all namespaces, and this is none of them: delete \
                 one that is not needed, or have --max-projects raised"
            ),
        };
        Some(ConditionUpdate::new(Reason::TooManyProjects, message))
    }

    /// Every project that is known.
    #[must_use]
    pub fn object_refs(&self) -> Vec<ObjectRef> {
        self.lock().created.keys().cloned().collect()
    }

    fn enqueue(&self, projects: BTreeSet<ObjectRef>) {
        for project in projects {
            // Nobody listens any more when the operator ends.
            let _ = self.enqueue.send(project);
        }
    }

    /// A panic elsewhere leaves at worst a count that the next event corrects.
    fn lock(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Index {
    /// Returns whether it was there.
    fn remove(&mut self, project: &ObjectRef) -> bool {
        self.early.remove(project);
        let Some(created) = self.created.remove(project) else { return false };
        self.by_age.remove(&(created, project.clone()))
    }
}

/// Those that are out. One that is out because of its namespace takes no place from others.
fn out(by_age: &BTreeSet<(Timestamp, ObjectRef)>, limits: ProjectLimits) -> BTreeMap<ObjectRef, Admission> {
    let (mut total, mut of_namespace) = (0_u32, HashMap::<&str, u32>::new());
    let mut out = BTreeMap::new();
    for (_, project) in by_age {
        let here = of_namespace.entry(&project.namespace).or_default();
        if *here >= limits.per_namespace {
            out.insert(project.clone(), Admission::NamespaceFull);
        } else if total >= limits.total {
            out.insert(project.clone(), Admission::Full);
        } else {
            *here += 1;
            total += 1;
        }
    }
    out
}

#[cfg(test)]
#[path = "project_quota_tests.rs"]
mod tests;
