//! What is polled at one remote, and what was observed. Pure. Next: [`super::plan`] for what to read next.
//!
//! Only a fingerprint of a settled deployment is kept, about 340 bytes with all names. A record stays only until a
//! reconcile has taken it.

use std::collections::{BTreeMap, HashMap};
use std::hash::RandomState;
use std::sync::Arc;
use std::time::Duration;

use clock::{between, later};
use connect_api::ApiError;
use connect_api::model::Deployment;
use jiff::Timestamp;

use super::fingerprint::fingerprint;
use super::jitter::Jitter;
use super::{PollRate, PolledRecord};
use crate::controllers::object_ref::ObjectRef;

/// Shortest pause between two polls of a busy deployment: with the calls of a create, at most 6 calls in 10 s.
const SHORTEST_BUSY: Duration = Duration::from_secs(3);
/// Shortest pause between two LISTs that show what became of new operations, for each page: with more than four pages, one
/// LIST in [`SHORTEST_BUSY`] shows all.
const LISTED_AGAIN: Duration = Duration::from_millis(600);
/// Failed reads in a row, the last one of which a reconcile waited for, after which it reports the error: a single one is
/// most likely over with the next read.
const WORTH_REPORTING: u32 = 2;
/// Longest pause between two polls of a busy deployment.
const LONGEST_BUSY: Duration = Duration::from_secs(30);

impl PollRate {
    /// Returns the time between two polls.
    pub(super) fn period(self, now: Timestamp) -> Duration {
        match self {
            Self::Busy { since } => (between(since, now) / 5).clamp(SHORTEST_BUSY, LONGEST_BUSY),
            Self::Settled(interval) => interval,
        }
    }

    fn next(self, now: Timestamp, jitter: &mut Jitter) -> Timestamp {
        let period = self.period(now);
        match self {
            Self::Busy { .. } => later(now, period),
            Self::Settled(_) => later(now, jitter.stretch(period)),
        }
    }
}

/// What is kept for one object.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) id: Box<str>,
    pub(super) pace: Option<PollRate>,
    /// When to poll next.
    pub(super) due: Timestamp,
    /// A reconcile waits for an observation that is not older than this.
    pending: Option<Timestamp>,
    /// Failed reads in a row.
    failures: u32,
    /// The waiting object was enqueued for the delay since the last successful read.
    delay_reported: bool,
    /// Why the read that the object waits for fails again and again; boxed, because hardly any entry has one.
    error: Option<Box<ApiError>>,
    /// Fingerprint of the last observation.
    fingerprint: Option<u64>,
    /// The observation that no reconcile has taken yet; boxed, because few entries have one.
    fresh: Option<Box<PolledRecord>>,
}

impl Entry {
    fn new(id: &str) -> Self {
        let due = Timestamp::MAX;
        Self {
            id: id.into(),
            pace: None,
            due,
            pending: None,
            failures: 0,
            delay_reported: false,
            error: None,
            fingerprint: None,
            fresh: None,
        }
    }

    /// Whether a change of the deployment is in progress, or a reconcile waits for more than the first observation.
    pub(super) fn is_changing(&self) -> bool {
        matches!(self.pace, Some(PollRate::Busy { .. })) || (self.pending.is_some() && self.fingerprint.is_some())
    }

    fn set_pace(&mut self, pace: PollRate, now: Timestamp, jitter: &mut Jitter) {
        let (before, due) = (self.pace.replace(pace), self.due);
        if before == Some(pace) || self.failures > 0 {
            return;
        }
        self.schedule(now, jitter);
        if let (Some(PollRate::Busy { since: response }), PollRate::Busy { since: start }) = (before, pace)
            && start <= response
        {
            // The same operation, known by its start instead of by its response: its next poll stays.
            self.due = self.due.min(due);
        }
    }

    /// Returns when the first poll of an operation is due, if it is still to come.
    fn first_poll(&self, now: Timestamp) -> Option<Timestamp> {
        let Some(PollRate::Busy { since }) = self.pace else { return None };
        Some(later(since, SHORTEST_BUSY)).filter(|due| *due > now)
    }

    fn schedule(&mut self, now: Timestamp, jitter: &mut Jitter) {
        let by_pace = self.pace.map_or(Timestamp::MAX, |pace| pace.next(now, jitter));
        let by_pending = self.pending.unwrap_or(Timestamp::MAX);
        self.due = by_pace.min(by_pending);
    }

    /// Records a failed read; returns whether the object is to be enqueued.
    fn failed(&mut self, error: &ApiError, outage: bool, now: Timestamp, jitter: &mut Jitter) -> bool {
        self.failures = self.failures.saturating_add(1);
        self.due = later(now, jitter.growing(self.failures));
        let lasts = self.pending.is_some() && self.failures >= WORTH_REPORTING && !outage;
        let known = self.error.take().is_some();
        self.error = lasts.then(|| Box::new(error.clone()));
        let delayed = self.pending.is_some() && !self.delay_reported;
        self.delay_reported |= delayed;
        delayed || (lasts && !known)
    }

    /// Records an observation; returns whether the object is to be enqueued.
    fn observe(
        &mut self,
        polled_record: PolledRecord,
        now: Timestamp,
        jitter: &mut Jitter,
        hasher: &RandomState,
    ) -> bool {
        (self.failures, self.delay_reported, self.error) = (0, false, None);
        // Older than what the waiting reconcile needs, or than what it will find: it would discard this one.
        let useless = self.pending.is_some_and(|pending| polled_record.at < pending)
            || self.fresh.as_ref().is_some_and(|fresh| fresh.at > polled_record.at);
        let awaited = self.pending.is_some() && !useless;
        if awaited {
            self.pending = None;
        }
        self.schedule(now, jitter);
        if useless {
            return false;
        }
        let fingerprint = fingerprint(polled_record.found.as_deref(), hasher);
        let changed = self.fingerprint.replace(fingerprint) != Some(fingerprint);
        if awaited || changed || self.fresh.is_some() {
            self.fresh = Some(Box::new(polled_record));
        }
        awaited || changed
    }
}

/// What is polled at one remote.
#[derive(Debug, Default)]
pub(super) struct View {
    /// Ordered, so that random jitter is drawn in the same order each time a test runs.
    entries: BTreeMap<ObjectRef, Entry>,
    hasher: RandomState,
}

impl View {
    pub(super) fn entries(&self) -> impl Iterator<Item = (&ObjectRef, &Entry)> {
        self.entries.iter()
    }

    /// Takes the observation, or registers a pending read; [`View::due`] then returns when it happens.
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
        None
    }

    /// Returns why the read that the object waits for fails again and again; `None`: it may be over with the next read, or
    /// the whole remote is reported as failing.
    pub(super) fn error(&self, object_ref: &ObjectRef) -> Option<ApiError> {
        self.entries.get(object_ref)?.error.as_deref().cloned()
    }

    /// Polls `id` at this rate from now on.
    pub(super) fn poll(
        &mut self,
        object_ref: &ObjectRef,
        id: &str,
        pace: PollRate,
        now: Timestamp,
        jitter: &mut Jitter,
    ) {
        self.entry(object_ref, id).set_pace(pace, now, jitter);
    }

    /// Polls once in each interval from now on, if anything is polled for the object.
    pub(super) fn poll_at_interval(
        &mut self,
        object_ref: &ObjectRef,
        interval: Duration,
        now: Timestamp,
        jitter: &mut Jitter,
    ) {
        if let Some(entry) = self.entries.get_mut(object_ref) {
            entry.set_pace(PollRate::Settled(interval), now, jitter);
        }
    }

    /// Returns when the object is polled next.
    pub(super) fn due(&self, object_ref: &ObjectRef) -> Option<Timestamp> {
        self.entries.get(object_ref).map(|entry| entry.due)
    }

    /// Records the answer to a GET by id; returns the objects to enqueue.
    pub(super) fn observe(
        &mut self,
        object_refs: &[ObjectRef],
        id: &str,
        polled_record: &PolledRecord,
        now: Timestamp,
        jitter: &mut Jitter,
    ) -> Vec<ObjectRef> {
        let Self { entries, hasher } = self;
        let seen = |object_ref: &&ObjectRef| {
            let entry = entries.get_mut(*object_ref).filter(|entry| *entry.id == *id);
            entry.is_some_and(|entry| entry.observe(polled_record.clone(), now, jitter, hasher))
        };
        object_refs.iter().filter(seen).cloned().collect()
    }

    /// Records a page of a LIST of so many `pages` whose request left at `at`; returns the objects to enqueue. An operation
    /// that began a moment ago has its first poll when it would have without this LIST, which shows it too early, unless that
    /// would be a LIST right after this one.
    pub(super) fn observe_page(
        &mut self,
        page: &[Arc<Deployment>],
        pages: u32,
        at: Timestamp,
        now: Timestamp,
        jitter: &mut Jitter,
    ) -> Vec<ObjectRef> {
        let again = later(now, LISTED_AGAIN.saturating_mul(pages));
        let Self { entries, hasher } = self;
        let found: HashMap<&str, &Arc<Deployment>> = page.iter().map(|found| (found.id.as_str(), found)).collect();
        let mut enqueued = Vec::new();
        for (object_ref, entry) in entries.iter_mut() {
            if let Some(deployment) = found.get(&*entry.id) {
                let polled_record = PolledRecord { at, found: Some(Arc::clone(deployment)) };
                let first_poll = entry.first_poll(now).filter(|due| *due > again);
                if entry.observe(polled_record, now, jitter, hasher) {
                    enqueued.push(object_ref.clone());
                }
                entry.due = first_poll.map_or(entry.due, |due| entry.due.min(due));
            }
        }
        enqueued
    }

    /// Records a failed read and schedules the next one with exponential backoff, or, if it was held back because another
    /// call failed, for when that is over. Returns the objects to enqueue: each waiting object reports the delay once, and
    /// once that the read keeps failing although there is no `outage` of the whole remote that is reported.
    #[must_use]
    pub(super) fn read_failed(
        &mut self,
        object_refs: &[ObjectRef],
        id: &str,
        error: &ApiError,
        outage: bool,
        now: Timestamp,
        jitter: &mut Jitter,
    ) -> Vec<ObjectRef> {
        let mut waiting = Vec::new();
        for object_ref in object_refs {
            if let Some(entry) = self.entries.get_mut(object_ref).filter(|entry| *entry.id == *id) {
                if error.is_held_back() {
                    entry.due = later(now, error.retry_after.unwrap_or_default());
                    continue;
                }
                if entry.failed(error, outage, now, jitter) {
                    waiting.push(object_ref.clone());
                }
            }
        }
        waiting
    }

    /// Returns the objects that wait for a read and do not know of its delay yet, each once.
    pub(super) fn take_unreported(&mut self) -> Vec<ObjectRef> {
        let unreported = self.entries.iter_mut().filter(|(_, entry)| entry.pending.is_some() && !entry.delay_reported);
        unreported
            .map(|(object_ref, entry)| {
                entry.delay_reported = true;
                object_ref.clone()
            })
            .collect()
    }

    pub(super) fn forget(&mut self, object_ref: &ObjectRef) {
        self.entries.remove(object_ref);
    }

    /// Removes all chosen objects and returns them.
    pub(super) fn dismiss(&mut self, chosen: impl Fn(&ObjectRef) -> bool) -> Vec<ObjectRef> {
        self.entries.extract_if(.., |object_ref, _| chosen(object_ref)).map(|(object_ref, _)| object_ref).collect()
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

#[cfg(test)]
#[path = "view_tests.rs"]
mod tests;
