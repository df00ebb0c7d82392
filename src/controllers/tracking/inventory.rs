//! Counts of the resources that exist, by state and reason; the longest operation of each kind; and the last successful
//! read of each project.
//!
//! It is fed by the watch that enqueues reconciles, so it is correct once the first list is complete, whoever wrote the
//! status, and forgets deleted resources at once. Counts are updated with each event, so that a scrape never iterates
//! over the resources.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use clock::{Clock, between};
use jiff::Timestamp;

use crate::controllers::object_ref::{Kind, ObjectRef};
use crate::controllers::reporting::conditions;
use crate::controllers::reporting::reason::Reason;
use crate::metrics::{AtScrape, Metrics};
use crate::mutex::Mutex;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

/// The state of a resource, as its status reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReportedState {
    /// Reason of `Ready`; `None`: none that this version knows, for example before the first reconcile.
    pub reason: Option<Reason>,
    /// Start of the operation in progress.
    pub operation: Option<Timestamp>,
}

impl ReportedState {
    /// Returns the state that the conditions report. `operation`: start of the operation in progress.
    #[must_use]
    pub fn of(conditions: &[Condition], operation: Option<Timestamp>) -> Self {
        Self { reason: conditions::ready_reason(conditions).and_then(Reason::parse), operation }
    }

    /// Returns the values of the labels `state` and `reason`. A resource without a reason counts as `Progressing`, because
    /// its first reconcile is due.
    fn labels(self) -> (&'static str, &'static str) {
        self.reason.map_or(("Progressing", "None"), |reason| (reason.state().as_str(), reason.as_str()))
    }
}

/// The resources that exist.
pub struct Inventory {
    clock: Clock,
    metrics: Arc<Metrics>,
    // A panic of a holder leaves at worst a wrong count until the resource changes.
    state: Mutex<InventoryState>,
}

#[derive(Default)]
struct InventoryState {
    reported: BTreeMap<ObjectRef, ReportedState>,
    counts: BTreeMap<(&'static str, &'static str, &'static str), usize>,
    operations: BTreeSet<(Kind, Timestamp, ObjectRef)>,
    /// Time of the last successful read of each project in use; before the first one, the time since it is in use.
    polls: BTreeMap<ObjectRef, Timestamp>,
}

impl Inventory {
    /// Creates an empty inventory.
    #[must_use]
    pub fn new(clock: Clock, metrics: Arc<Metrics>) -> Self {
        Self { clock, metrics, state: Mutex::default() }
    }

    /// Records the state of a resource; `None`: it is not counted, because it cannot be read.
    pub fn seen(&self, object_ref: &ObjectRef, reported: Option<ReportedState>) {
        let mut state = self.state.lock();
        if state.reported.get(object_ref).copied() != reported {
            self.replace(&mut state, object_ref, reported);
        }
    }

    /// Removes a resource that no longer exists.
    pub fn gone(&self, object_ref: &ObjectRef) {
        let mut state = self.state.lock();
        state.polls.remove(object_ref);
        self.replace(&mut state, object_ref, None);
    }

    /// Records that this install uses a project from now on, so that the age of its last read is exported.
    pub fn used(&self, project: &ObjectRef) {
        let now = self.clock.now();
        self.state.lock().polls.entry(project.clone()).or_insert(now);
    }

    /// Records that this install no longer uses a project; another install may.
    pub fn unused(&self, project: &ObjectRef) {
        self.state.lock().polls.remove(project);
    }

    /// Records that a request for a project was sent at `at` and succeeded.
    pub fn polled(&self, project: &ObjectRef, at: Timestamp) {
        if let Some(last) = self.state.lock().polls.get_mut(project) {
            *last = at.max(*last);
        }
    }

    /// Returns every resource that is counted.
    #[must_use]
    pub fn object_refs(&self) -> Vec<ObjectRef> {
        let state = self.state.lock();
        state.reported.keys().chain(state.polls.keys()).cloned().collect()
    }

    fn replace(&self, state: &mut InventoryState, object_ref: &ObjectRef, reported: Option<ReportedState>) {
        let kind = object_ref.kind;
        let before = match reported {
            Some(reported) => state.reported.insert(object_ref.clone(), reported),
            None => state.reported.remove(object_ref),
        };
        if let Some(before) = before {
            self.count(state, kind, before, false);
            if let Some(since) = before.operation {
                state.operations.remove(&(kind, since, object_ref.clone()));
            }
        }
        if let Some(reported) = reported {
            self.count(state, kind, reported, true);
            if let Some(since) = reported.operation {
                state.operations.insert((kind, since, object_ref.clone()));
            }
        }
    }

    fn count(&self, state: &mut InventoryState, kind: Kind, reported: ReportedState, more: bool) {
        let (state_label, reason) = reported.labels();
        let count = state.counts.entry((kind.as_str(), state_label, reason)).or_default();
        *count = if more { count.saturating_add(1) } else { count.saturating_sub(1) };
        self.metrics.resources(kind.as_str(), state_label, reason, *count);
    }
}

impl AtScrape for Inventory {
    fn refresh(&self, metrics: &Metrics) {
        let now = self.clock.now();
        let state = self.state.lock();
        for kind in [Kind::Deployment, Kind::Staged] {
            let from = (kind, Timestamp::MIN, ObjectRef::new(kind, "", ""));
            let oldest = state.operations.range(from..).next().filter(|(of, ..)| *of == kind);
            metrics
                .oldest_operation(kind.as_str(), oldest.map_or_else(Default::default, |(_, at, _)| between(*at, now)));
        }
        let polls = state.polls.iter();
        metrics.since_response(polls.map(|(project, at)| (&*project.namespace, &*project.name, between(*at, now))));
    }
}
