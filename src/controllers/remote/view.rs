//! What is watched at one remote, and what was seen of it. Pure. Next: [`super::plan`] for what to read next.
//!
//! Of a settled deployment only a fingerprint is kept, about 340 bytes with all names; a record stays only while it is
//! news that nobody took yet.

use std::collections::{BTreeMap, HashMap};
use std::hash::RandomState;
use std::sync::Arc;
use std::time::Duration;

use clock::{between, later};
use connect_api::model::Deployment;
use jiff::Timestamp;

use super::fingerprint::fingerprint;
use super::jitter::Jitter;
use super::{PollRate, PolledRecord};
use crate::controllers::object_ref::ObjectRef;

/// Shortest pause between two looks at something that moves: with the calls of a create, at most 6 calls in 10 s.
const SHORTEST_BUSY: Duration = Duration::from_secs(3);
/// Longest one.
const LONGEST_BUSY: Duration = Duration::from_secs(30);

impl PollRate {
    /// Time between two looks.
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

/// What is kept for one subject.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) id: Box<str>,
    pub(super) pace: Option<PollRate>,
    /// When to look next.
    pub(super) due: Timestamp,
    /// A run wants a sighting that is not older than that.
    wish: Option<Timestamp>,
    /// Looks that failed in a row.
    misses: u32,
    /// Who waits was told since the last good look that it takes longer.
    aware: bool,
    /// Fingerprint of what was seen last.
    seen: Option<u64>,
    /// News that nobody took yet; boxed, because hardly any entry has some.
    news: Option<Box<PolledRecord>>,
}

impl Entry {
    fn new(id: &str) -> Self {
        let due = Timestamp::MAX;
        Self { id: id.into(), pace: None, due, wish: None, misses: 0, aware: false, seen: None, news: None }
    }

    fn schedule(&mut self, now: Timestamp, jitter: &mut Jitter) {
        let by_pace = self.pace.map_or(Timestamp::MAX, |pace| pace.next(now, jitter));
        let by_wish = self.wish.map_or(Timestamp::MAX, |wish| wish.max(now));
        self.due = by_pace.min(by_wish);
    }

    /// Takes note of what was seen; true if the subject is to be woken.
    fn see(&mut self, sighting: PolledRecord, now: Timestamp, jitter: &mut Jitter, hasher: &RandomState) -> bool {
        (self.misses, self.aware) = (0, false);
        // Too old for the run that waits, or older than what it will find: it would only be thrown away there.
        let useless = self.wish.is_some_and(|wish| sighting.at < wish)
            || self.news.as_ref().is_some_and(|news| news.at > sighting.at);
        let wished = self.wish.is_some() && !useless;
        if wished {
            self.wish = None;
        }
        self.schedule(now, jitter);
        if useless {
            return false;
        }
        let fingerprint = fingerprint(sighting.found.as_deref(), hasher);
        let changed = self.seen.replace(fingerprint) != Some(fingerprint);
        if wished || changed || self.news.is_some() {
            self.news = Some(Box::new(sighting));
        }
        wished || changed
    }
}

/// What is watched at one remote.
#[derive(Debug, Default)]
pub(super) struct View {
    /// In order, so that chance falls to each in the same order whenever a test runs.
    entries: BTreeMap<ObjectRef, Entry>,
    hasher: RandomState,
}

impl View {
    pub(super) fn entries(&self) -> impl Iterator<Item = (&ObjectRef, &Entry)> {
        self.entries.iter()
    }

    /// Takes the news, or notes the wish; then [`View::due`] tells when.
    pub(super) fn take(
        &mut self,
        object_ref: &ObjectRef,
        id: &str,
        newer_than: Timestamp,
        now: Timestamp,
    ) -> Option<PolledRecord> {
        let entry = self.entry(object_ref, id);
        if let Some(news) = entry.news.take_if(|news| news.at >= newer_than) {
            entry.wish = None;
            return Some(*news);
        }
        // Times asked for only grow, so older news are of no use to anyone.
        entry.news = None;
        entry.wish = Some(newer_than);
        // After a failed look the next one keeps its pause, however often runs ask.
        if entry.misses == 0 {
            entry.due = entry.due.min(newer_than.max(now));
        }
        None
    }

    /// Looks at `id` at this pace from now on.
    pub(super) fn watch(
        &mut self,
        object_ref: &ObjectRef,
        id: &str,
        pace: PollRate,
        now: Timestamp,
        jitter: &mut Jitter,
    ) {
        let entry = self.entry(object_ref, id);
        if entry.pace.replace(pace) != Some(pace) && entry.misses == 0 {
            entry.schedule(now, jitter);
        }
    }

    /// When the subject is looked at next.
    pub(super) fn due(&self, object_ref: &ObjectRef) -> Option<Timestamp> {
        self.entries.get(object_ref).map(|entry| entry.due)
    }

    /// Takes note of the answer to a GET by id; returns those to wake.
    pub(super) fn see(
        &mut self,
        object_refs: &[ObjectRef],
        id: &str,
        sighting: &PolledRecord,
        now: Timestamp,
        jitter: &mut Jitter,
    ) -> Vec<ObjectRef> {
        let Self { entries, hasher } = self;
        let seen = |object_ref: &&ObjectRef| {
            let entry = entries.get_mut(*object_ref).filter(|entry| *entry.id == *id);
            entry.is_some_and(|entry| entry.see(sighting.clone(), now, jitter, hasher))
        };
        object_refs.iter().filter(seen).cloned().collect()
    }

    /// Takes note of a page of a LIST, whose request left at `at`; returns those to wake.
    pub(super) fn see_page(
        &mut self,
        page: &[Arc<Deployment>],
        at: Timestamp,
        now: Timestamp,
        jitter: &mut Jitter,
    ) -> Vec<ObjectRef> {
        let Self { entries, hasher } = self;
        let found: HashMap<&str, &Arc<Deployment>> = page.iter().map(|found| (found.id.as_str(), found)).collect();
        let mut enqueued = Vec::new();
        for (object_ref, entry) in entries.iter_mut() {
            if let Some(deployment) = found.get(&*entry.id) {
                let sighting = PolledRecord { at, found: Some(Arc::clone(deployment)) };
                if entry.see(sighting, now, jitter, hasher) {
                    enqueued.push(object_ref.clone());
                }
            }
        }
        enqueued
    }

    /// Takes note of a look that failed: the next one comes after a growing pause. Returns those to wake: who waited for
    /// it has to say, once, why it waits longer.
    #[must_use]
    pub(super) fn miss(
        &mut self,
        object_refs: &[ObjectRef],
        id: &str,
        now: Timestamp,
        jitter: &mut Jitter,
    ) -> Vec<ObjectRef> {
        let mut waiting = Vec::new();
        for object_ref in object_refs {
            if let Some(entry) = self.entries.get_mut(object_ref).filter(|entry| *entry.id == *id) {
                entry.misses = entry.misses.saturating_add(1);
                entry.due = later(now, jitter.growing(entry.misses));
                if entry.wish.is_some() && !entry.aware {
                    entry.aware = true;
                    waiting.push(object_ref.clone());
                }
            }
        }
        waiting
    }

    /// Those who wait for a look and think that it comes soon, each once.
    pub(super) fn take_unaware(&mut self) -> Vec<ObjectRef> {
        let unaware = self.entries.iter_mut().filter(|(_, entry)| entry.wish.is_some() && !entry.aware);
        unaware
            .map(|(object_ref, entry)| {
                entry.aware = true;
                object_ref.clone()
            })
            .collect()
    }

    pub(super) fn forget(&mut self, object_ref: &ObjectRef) {
        self.entries.remove(object_ref);
    }

    /// Forgets all that are chosen, and returns them.
    pub(super) fn dismiss(&mut self, chosen: impl Fn(&ObjectRef) -> bool) -> Vec<ObjectRef> {
        self.entries.extract_if(.., |object_ref, _| chosen(object_ref)).map(|(object_ref, _)| object_ref).collect()
    }

    /// The entry of the subject for that id; one for another id is thrown away.
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
