//! The records that are polled at one remote, what was observed of them, and what to read next. Pure.
//!
//! Few records are read by id, many by LIST. What is due soon is read together with what is due, so that reads coincide: a
//! settled project costs one call per interval for each 100 deployments. Only a fingerprint of a settled deployment is kept;
//! a record stays only until a reconcile has taken it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{DefaultHasher, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use clock::{between, later};
use connect_api::ApiError;
use connect_api::model::Deployment;
use connect_api::routes::LARGEST_OFFSET;
use jiff::Timestamp;

use super::jitter::Jitter;
use super::{PollRate, PolledRecord};
use crate::operator::object_ref::ObjectRef;

/// Records on a page: each contains its whole connector, so the largest possible page would be heavy.
pub(super) const PAGE: usize = 100;
/// How old the number of deployments may become; reading it also checks that the credentials still work.
pub(super) const COUNT_AGE: Duration = Duration::from_mins(10);
/// Shortest pause between two polls of a busy deployment: with the calls of a create, at most 6 calls in 10 s.
const SHORTEST_BUSY: Duration = Duration::from_secs(3);
/// Longest pause between two polls of a busy deployment.
const LONGEST_BUSY: Duration = Duration::from_secs(30);
/// Failed reads in a row after which a reconcile reports the error: a single one is most likely over with the next read.
const WORTH_REPORTING: u32 = 2;

/// What to read next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Plan {
    /// Nothing before this time.
    Rest(Timestamp),
    /// A page of one record: shows how many deployments exist, and whether the remote works.
    Count,
    /// These deployments, by id.
    Read(Vec<Box<str>>),
    /// All pages. These ids are due, and are read by id if they are on no page: only a GET proves absence.
    List(Vec<Box<str>>),
}

/// What is kept for one object.
#[derive(Debug)]
struct Entry {
    id: Box<str>,
    rate: Option<PollRate>,
    /// When to poll next.
    due: Timestamp,
    /// A reconcile waits for an observation that is not older than this.
    pending: Option<Timestamp>,
    /// Failed reads in a row.
    failures: u32,
    /// The last of several of them; boxed, because hardly any entry has one.
    error: Option<Box<ApiError>>,
    /// Fingerprint of the last observation.
    fingerprint: Option<u64>,
    /// The observation that no reconcile has taken yet; boxed, because few entries have one.
    fresh: Option<Box<PolledRecord>>,
}

impl Entry {
    fn new(id: &str) -> Self {
        Self {
            id: id.into(),
            rate: None,
            due: Timestamp::MAX,
            pending: None,
            failures: 0,
            error: None,
            fingerprint: None,
            fresh: None,
        }
    }

    /// Returns the time between two polls.
    fn period(&self, now: Timestamp) -> Duration {
        match self.rate {
            Some(PollRate::Busy { since }) => (between(since, now) / 5).clamp(SHORTEST_BUSY, LONGEST_BUSY),
            Some(PollRate::Settled(interval)) => interval,
            None => Duration::MAX,
        }
    }

    /// Whether it is read together with what is due.
    fn is_due_soon(&self, now: Timestamp) -> bool {
        self.rate.is_some() && between(now, self.due) <= self.period(now) / 5
    }

    fn schedule(&mut self, now: Timestamp, jitter: &mut Jitter) {
        let period = self.period(now);
        let settled = matches!(self.rate, Some(PollRate::Settled(_)));
        let due = later(now, if settled { jitter.stretch(period) } else { period });
        self.due = due.min(self.pending.unwrap_or(Timestamp::MAX));
    }

    /// Records an observation; returns whether the object is to be enqueued.
    fn observe(&mut self, polled_record: PolledRecord, now: Timestamp, jitter: &mut Jitter) -> bool {
        (self.failures, self.error) = (0, None);
        let awaited = self.pending.take_if(|pending| polled_record.at >= *pending).is_some();
        self.schedule(now, jitter);
        let fingerprint = fingerprint(polled_record.found.as_deref());
        let changed = self.fingerprint.replace(fingerprint) != Some(fingerprint);
        if awaited || changed || self.fresh.is_some() {
            self.fresh = Some(Box::new(polled_record));
        }
        awaited || changed
    }

    /// Records a failed read, and schedules the next one with exponential backoff, or, if it was held back because another
    /// call failed, for when that is over. Returns whether the object is to be enqueued.
    fn failed(&mut self, error: &ApiError, now: Timestamp, jitter: &mut Jitter) -> bool {
        if error.is_held_back() {
            self.due = later(now, error.retry_after.unwrap_or_default());
            return false;
        }
        self.failures = self.failures.saturating_add(1);
        self.due = later(now, jitter.growing(self.failures));
        if self.failures >= WORTH_REPORTING {
            self.error = Some(Box::new(error.clone()));
        }
        self.pending.is_some() && self.failures == WORTH_REPORTING
    }
}

/// What is polled at one remote.
#[derive(Debug)]
pub(super) struct Records {
    /// Ordered, so that random jitter is drawn in the same order each time a test runs.
    entries: BTreeMap<ObjectRef, Entry>,
    /// Nothing is due earlier.
    next: Timestamp,
}

impl Default for Records {
    fn default() -> Self {
        Self { entries: BTreeMap::new(), next: Timestamp::MAX }
    }
}

impl Records {
    /// Returns the objects that poll a record.
    pub(super) fn object_refs(&self) -> impl Iterator<Item = &ObjectRef> {
        self.entries.keys()
    }

    /// Returns the objects that wait for a read.
    pub(super) fn waiting(&self) -> impl Iterator<Item = &ObjectRef> {
        self.entries.iter().filter(|(_, entry)| entry.pending.is_some()).map(|(object_ref, _)| object_ref)
    }

    /// Takes the observation, or registers a pending read.
    pub(super) fn take(
        &mut self,
        object_ref: &ObjectRef,
        id: &str,
        newer_than: Timestamp,
        now: Timestamp,
    ) -> Option<PolledRecord> {
        let entry = self.entry(object_ref, id);
        // The times asked for only grow, so no reconcile can use an older observation.
        if let Some(fresh) = entry.fresh.take().filter(|fresh| fresh.at >= newer_than) {
            return Some(*fresh);
        }
        entry.pending = Some(newer_than);
        // After a failed read the backoff stays, however often reconciles ask.
        if entry.failures == 0 {
            entry.due = entry.due.min(newer_than.max(now));
        }
        let due = entry.due;
        self.next = self.next.min(due);
        None
    }

    /// Returns why the reads that the object waits for fail, if several in a row did.
    pub(super) fn error(&self, object_ref: &ObjectRef) -> Option<ApiError> {
        self.entries.get(object_ref)?.error.as_deref().cloned()
    }

    /// Polls `id` at this rate from now on. A change that is in progress is polled no later than before.
    pub(super) fn poll(
        &mut self,
        object_ref: &ObjectRef,
        id: &str,
        rate: PollRate,
        now: Timestamp,
        jitter: &mut Jitter,
    ) {
        let entry = self.entry(object_ref, id);
        let due = entry.due;
        if entry.rate.replace(rate) != Some(rate) && entry.failures == 0 {
            entry.schedule(now, jitter);
            if matches!(rate, PollRate::Busy { .. }) {
                entry.due = entry.due.min(due);
            }
        }
        let due = entry.due;
        self.next = self.next.min(due);
    }

    /// Decides what to read next, of a project with so many deployments.
    pub(super) fn plan(&mut self, now: Timestamp, total: u64) -> Plan {
        if self.next > now {
            return Plan::Rest(self.next);
        }
        let ids = |chosen: &dyn Fn(&Entry) -> bool| -> BTreeSet<&str> {
            self.entries.values().filter(|entry| chosen(entry)).map(|entry| &*entry.id).collect()
        };
        let due = ids(&|entry| entry.due <= now);
        if due.is_empty() {
            self.next = self.entries.values().map(|entry| entry.due).min().unwrap_or(Timestamp::MAX);
            return Plan::Rest(self.next);
        }
        let with_soon = ids(&|entry| entry.due <= now || entry.is_due_soon(now));
        let total = usize::try_from(total).unwrap_or(usize::MAX).max(self.entries.len());
        let reachable = LARGEST_OFFSET as usize / PAGE + 1;
        let owned = |ids: BTreeSet<&str>| ids.into_iter().map(Box::from).collect();
        if with_soon.len() <= total.div_ceil(PAGE).min(reachable) {
            Plan::Read(owned(with_soon))
        } else {
            Plan::List(owned(due))
        }
    }

    /// Keeps of these ids those that were due at that time, and were not read since.
    pub(super) fn retain_due(&self, ids: &mut Vec<Box<str>>, at: Timestamp) {
        let due: HashSet<&str> =
            self.entries.values().filter(|entry| entry.due <= at).map(|entry| &*entry.id).collect();
        ids.retain(|id| due.contains(&**id));
    }

    /// Records the answer to a GET by id that left at `at`; returns the objects to enqueue.
    pub(super) fn observe(
        &mut self,
        id: &str,
        polled_record: &PolledRecord,
        now: Timestamp,
        jitter: &mut Jitter,
    ) -> Vec<ObjectRef> {
        self.each(|entry| *entry.id == *id && entry.observe(polled_record.clone(), now, jitter))
    }

    /// Records a part of a LIST whose first request left at `at`; returns the objects to enqueue.
    pub(super) fn observe_page(
        &mut self,
        page: &[Arc<Deployment>],
        at: Timestamp,
        now: Timestamp,
        jitter: &mut Jitter,
    ) -> Vec<ObjectRef> {
        let found: HashMap<&str, &Arc<Deployment>> = page.iter().map(|found| (found.id.as_str(), found)).collect();
        self.each(|entry| {
            let deployment = found.get(&*entry.id);
            deployment.is_some_and(|deployment| {
                entry.observe(PolledRecord { at, found: Some(Arc::clone(deployment)) }, now, jitter)
            })
        })
    }

    /// Records that these could not be read; returns the objects to enqueue.
    pub(super) fn read_failed(
        &mut self,
        ids: &[Box<str>],
        error: &ApiError,
        now: Timestamp,
        jitter: &mut Jitter,
    ) -> Vec<ObjectRef> {
        let ids: HashSet<&str> = ids.iter().map(|id| &**id).collect();
        self.each(|entry| ids.contains(&*entry.id) && entry.failed(error, now, jitter))
    }

    pub(super) fn forget(&mut self, object_ref: &ObjectRef) {
        self.entries.remove(object_ref);
    }

    /// Returns the objects of the entries for which `enqueues` is true.
    fn each(&mut self, mut enqueues: impl FnMut(&mut Entry) -> bool) -> Vec<ObjectRef> {
        let all = self.entries.iter_mut().filter_map(|(object_ref, entry)| enqueues(entry).then_some(object_ref));
        all.cloned().collect()
    }

    /// Returns the entry of the object for that id; replaces an entry for another id.
    fn entry(&mut self, object_ref: &ObjectRef, id: &str) -> &mut Entry {
        let entry = self.entries.entry(object_ref.clone()).or_insert_with(|| Entry::new(id));
        if *entry.id != *id {
            *entry = Entry::new(id);
        }
        entry
    }
}

/// Returns the fingerprint of an observation: shows in 8 bytes, instead of a whole record, whether it has changed. Secured
/// values do not count: what the service shows in their place is unspecified (contract section 4.4), and may differ from read
/// to read.
fn fingerprint(found: Option<&Deployment>) -> u64 {
    let mut hasher = DefaultHasher::new();
    if let Some(deployment) = found {
        let mut visible = deployment.clone();
        for application in &mut visible.applications {
            application.secured_configuration.clear();
        }
        if let Some(global) = &mut visible.global_configuration {
            global.secured_configuration.clear();
        }
        // These types cannot fail.
        hasher.write(&serde_json::to_vec(&visible).unwrap_or_default());
    }
    hasher.finish()
}

#[cfg(test)]
#[path = "records_tests.rs"]
mod tests;
