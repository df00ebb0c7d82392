//! What exists, by what it says of itself: how many resources are in which state, whose operation runs longest, and when
//! each project was seen last.
//!
//! Read from the same watch that wakes the runs, so it is right as soon as the first list is there, whoever wrote it, and
//! what is gone is gone. Counts are kept as things change, so that a scrape never walks over the resources.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clock::{Clock, between};
use jiff::Timestamp;

use super::conditions;
use super::object_ref::{Kind, ObjectRef};
use super::reason::Reason;
use crate::metrics::{AtScrape, Metrics};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

/// What a resource says of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReportedState {
    /// Reason of the condition that counts; `None`: none that this version knows, such as before its first run.
    pub reason: Option<Reason>,
    /// Start of the operation that runs.
    pub operation: Option<Timestamp>,
}

impl ReportedState {
    /// What stands in conditions; an operation that runs since `operation`.
    #[must_use]
    pub fn of(conditions: &[Condition], type_: &str, operation: Option<Timestamp>) -> Self {
        Self { reason: conditions::reason(conditions, type_).and_then(Reason::parse), operation }
    }

    /// Values of the labels `state` and `reason`. What has said nothing yet is about to.
    fn labels(self) -> (&'static str, &'static str) {
        self.reason.map_or(("Running", "None"), |reason| (reason.state().as_str(), reason.as_str()))
    }
}

/// Everything that exists.
pub struct Inventory {
    clock: Clock,
    metrics: Arc<Metrics>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    says: BTreeMap<ObjectRef, ReportedState>,
    counts: BTreeMap<(&'static str, &'static str, &'static str), usize>,
    operations: BTreeSet<(Kind, Timestamp, ObjectRef)>,
    /// When a project that is used was last known to answer, or else since when it is used.
    looks: BTreeMap<ObjectRef, Timestamp>,
}

impl Inventory {
    /// Nothing yet.
    #[must_use]
    pub fn new(clock: Clock, metrics: Arc<Metrics>) -> Self {
        Self { clock, metrics, state: Mutex::default() }
    }

    /// A resource was seen; `None`: there is nothing of that kind to be counted, as a mirror that nobody wants.
    pub fn seen(&self, object_ref: &ObjectRef, says: Option<ReportedState>) {
        let mut state = self.lock();
        if state.says.get(object_ref).copied() != says {
            self.replace(&mut state, object_ref, says);
        }
    }

    /// A resource is gone.
    pub fn gone(&self, object_ref: &ObjectRef) {
        let mut state = self.lock();
        state.looks.remove(object_ref);
        self.replace(&mut state, object_ref, None);
    }

    /// This install uses a project from now on, so it is to be looked at.
    pub fn used(&self, project: &ObjectRef) {
        let now = self.clock.now();
        self.lock().looks.entry(project.clone()).or_insert(now);
    }

    /// This install does not use it any more; another one may.
    pub fn unused(&self, project: &ObjectRef) {
        self.lock().looks.remove(project);
    }

    /// A request for a project left at `at`, and its answer was good.
    pub fn looked(&self, project: &ObjectRef, at: Timestamp) {
        if let Some(last) = self.lock().looks.get_mut(project) {
            *last = at.max(*last);
        }
    }

    /// Every resource that is counted.
    #[must_use]
    pub fn object_refs(&self) -> Vec<ObjectRef> {
        let state = self.lock();
        state.says.keys().chain(state.looks.keys()).cloned().collect()
    }

    fn replace(&self, state: &mut State, object_ref: &ObjectRef, says: Option<ReportedState>) {
        let kind = object_ref.kind;
        let before = match says {
            Some(says) => state.says.insert(object_ref.clone(), says),
            None => state.says.remove(object_ref),
        };
        if let Some(before) = before {
            self.count(state, kind, before, false);
            if let Some(since) = before.operation {
                state.operations.remove(&(kind, since, object_ref.clone()));
            }
        }
        if let Some(says) = says {
            self.count(state, kind, says, true);
            if let Some(since) = says.operation {
                state.operations.insert((kind, since, object_ref.clone()));
            }
        }
    }

    fn count(&self, state: &mut State, kind: Kind, says: ReportedState, more: bool) {
        let (claim_status, reason) = says.labels();
        let count = state.counts.entry((kind.as_str(), claim_status, reason)).or_default();
        *count = if more { count.saturating_add(1) } else { count.saturating_sub(1) };
        self.metrics.resources(kind.as_str(), claim_status, reason, *count);
    }

    /// A panic elsewhere leaves at worst a number that is wrong until the resource changes.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AtScrape for Inventory {
    fn refresh(&self, metrics: &Metrics) {
        let now = self.clock.now();
        let state = self.lock();
        for kind in [Kind::Deployment, Kind::Staged] {
            let from = (kind, Timestamp::MIN, ObjectRef { kind, namespace: String::new(), name: String::new() });
            let oldest = state.operations.range(from..).next().filter(|(of, ..)| *of == kind);
            metrics
                .oldest_operation(kind.as_str(), oldest.map_or_else(Default::default, |(_, at, _)| between(*at, now)));
        }
        let looks = state.looks.iter();
        metrics.since_look(looks.map(|(project, at)| (&*project.namespace, &*project.name, between(*at, now))));
    }
}
