//! Limits the number of `ConnectProject`s that the operator works with, in each namespace and in all. Each project
//! costs a client, a rate limiter, a circuit breaker and a poller.
//!
//! The oldest projects are admitted, by `creationTimestamp`, then namespace, then name. So a new project never
//! displaces an admitted one, and a restart admits the same ones. The watch feeds this before any reconcile sees a
//! project; a project is enqueued when its admission changes. A project that this install's labels do not select counts
//! only while a resource of this install uses it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::mem;

use jiff::Timestamp;
use tokio::sync::mpsc::UnboundedSender;

use crate::controllers::object_ref::ObjectRef;
use crate::controllers::reporting::conditions::ConditionUpdate;
use crate::controllers::reporting::reason::Reason;
use crate::mutex::Mutex;

/// Maximum numbers of `ConnectProject`s that the operator works with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProjectLimits {
    /// Maximum number in each namespace, 1 or more.
    pub per_namespace: u32,
    /// Maximum number in all namespaces together, 1 or more.
    pub total: u32,
}

impl ProjectLimits {
    /// The default limits. A team has a project for each environment and region, which is far below the limit of a
    /// namespace. Ten full namespaces reach the total, which takes a quarter of the memory that the chart allows
    /// (`docs/operations/sizing.md`).
    pub const DEFAULT: Self = Self { per_namespace: 100, total: 1_000 };
}

/// Whether the operator works with a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// The operator works with it.
    Admitted,
    /// Older projects use up the limit of its namespace.
    NamespaceFull,
    /// Older projects use up the total limit.
    Full,
    /// Not known before every initial list is complete, which enqueues the project.
    Unknown,
}

/// The projects that count, and which of them are not admitted.
#[derive(Debug)]
pub struct ProjectQuota {
    limits: ProjectLimits,
    enqueue: UnboundedSender<ObjectRef>,
    // A panic of a holder leaves at worst a count that the next event corrects.
    index: Mutex<Index>,
}

#[derive(Debug, Default)]
struct Index {
    /// Number of initial lists that are not complete.
    missing_lists: usize,
    /// Projects whose admission was requested before the lists were complete.
    early: BTreeSet<ObjectRef>,
    created: HashMap<ObjectRef, Timestamp>,
    by_age: BTreeSet<(Timestamp, ObjectRef)>,
    /// Whether a project came or went since the last comparison. Most events concern only a status.
    changed: bool,
    /// Projects that are not admitted, and why.
    out: BTreeMap<ObjectRef, Admission>,
}

impl ProjectQuota {
    /// Creates a quota without projects. `lists`: number of initial lists of projects, each ended by
    /// [`ProjectQuota::listed`]; `enqueue` receives the projects to reconcile.
    #[must_use]
    pub fn new(limits: ProjectLimits, lists: usize, enqueue: UnboundedSender<ObjectRef>) -> Self {
        Self { limits, enqueue, index: Mutex::new(Index { missing_lists: lists, ..Index::default() }) }
    }

    /// Records a project that counts. [`ProjectQuota::settle`] applies it, so that a whole list costs one comparison.
    pub fn saw(&self, project: &ObjectRef, created: Timestamp) {
        let mut index = self.index.lock();
        match index.created.insert(project.clone(), created) {
            Some(before) if before == created => return,
            // The project was deleted and created again.
            Some(before) => index.by_age.remove(&(before, project.clone())),
            None => false,
        };
        index.by_age.insert((created, project.clone()));
        index.changed = true;
    }

    /// Enqueues the projects whose admission changes because of recorded projects.
    pub fn settle(&self) {
        let mut index = self.index.lock();
        if !mem::take(&mut index.changed) {
            return;
        }
        let out = out(&index.by_age, self.limits);
        let before = mem::replace(&mut index.out, out);
        let turned = |object_ref: &&ObjectRef| before.get(*object_ref) != index.out.get(*object_ref);
        let turned: BTreeSet<_> = before.keys().chain(index.out.keys()).filter(turned).cloned().collect();
        self.enqueue(turned);
    }

    /// Removes a project that no longer exists or no longer counts.
    pub fn forget(&self, project: &ObjectRef) {
        let removed = self.index.lock().remove(project);
        if removed {
            self.settle();
        }
    }

    /// Records that an initial list is complete, or refused by the API server, in which case nothing in it reconciles.
    pub fn listed(&self) {
        let mut index = self.index.lock();
        index.missing_lists = index.missing_lists.saturating_sub(1);
        if index.missing_lists == 0 {
            let early = mem::take(&mut index.early);
            self.enqueue(early);
        }
    }

    /// Returns whether the operator works with this project, which counts from now on.
    #[must_use]
    pub fn admission(&self, project: &ObjectRef, created: Timestamp) -> Admission {
        if !self.has(project) {
            self.saw(project, created);
            self.settle();
        }
        let mut index = self.index.lock();
        if index.missing_lists > 0 {
            index.early.insert(project.clone());
            return Admission::Unknown;
        }
        index.out.get(project).copied().unwrap_or(Admission::Admitted)
    }

    /// Returns the condition of a project that is not admitted; `None` for one that is admitted or not known yet.
    #[must_use]
    pub fn condition(&self, admission: Admission) -> Option<ConditionUpdate> {
        let ProjectLimits { per_namespace, total } = self.limits;
        let message = match admission {
            Admission::Admitted | Admission::Unknown => return None,
            Admission::NamespaceFull => format!(
                "The operator works with the {per_namespace} oldest ConnectProjects of a namespace, and this is not one of \
                 them: delete one that is not needed, or have --max-projects-per-namespace raised"
            ),
            Admission::Full => format!(
                "The operator works with the {total} oldest projects of all namespaces, and this is not one of them: \
                 delete one that is not needed, or have --max-projects raised"
            ),
        };
        Some(ConditionUpdate::new(Reason::TooManyProjects, message))
    }

    /// Returns whether the project is recorded: a watch has shown it, and nothing has removed it since.
    #[must_use]
    pub fn has(&self, project: &ObjectRef) -> bool {
        self.index.lock().created.contains_key(project)
    }

    /// Returns every recorded project.
    #[must_use]
    pub fn object_refs(&self) -> Vec<ObjectRef> {
        self.index.lock().created.keys().cloned().collect()
    }

    fn enqueue(&self, projects: BTreeSet<ObjectRef>) {
        for project in projects {
            // There is no receiver when the operator ends.
            let _ = self.enqueue.send(project);
        }
    }
}

impl Index {
    /// Removes a project. Returns whether it was recorded.
    fn remove(&mut self, project: &ObjectRef) -> bool {
        self.early.remove(project);
        let Some(created) = self.created.remove(project) else { return false };
        self.changed = true;
        self.by_age.remove(&(created, project.clone()))
    }
}

/// Returns the projects that are not admitted. One that exceeds the limit of its namespace does not count towards the
/// total.
fn out(by_age: &BTreeSet<(Timestamp, ObjectRef)>, limits: ProjectLimits) -> BTreeMap<ObjectRef, Admission> {
    let (mut total, mut of_namespace) = (0_u32, HashMap::<&str, u32>::new());
    let mut out = BTreeMap::new();
    for (_, project) in by_age {
        let here = of_namespace.entry(&project.namespace).or_default();
        // A cluster-scoped project has no namespace whose limit it could use up.
        if *here >= limits.per_namespace && !project.kind.is_cluster_scoped() {
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
