//! Who may run, and who is next: first come, first served, nobody twice. Pure.
//!
//! Whoever stands at the head is invited (woken) when there is room, and its place is kept for a while, so that
//! newcomers do not overtake it. An invitation lapses: a run that has nothing to do any more does not come.

use std::collections::{HashMap, HashSet, VecDeque};
use std::mem;
use std::time::Duration;

use clock::later;
use jiff::Timestamp;

use crate::controllers::object_ref::ObjectRef;

/// How long a place is kept for someone who was woken.
pub(super) const INVITATION: Duration = Duration::from_secs(2);

/// Turns of one remote.
#[derive(Debug)]
pub(super) struct ConcurrencyLimiter {
    limit: usize,
    active: usize,
    queue: VecDeque<ObjectRef>,
    queued: HashSet<ObjectRef>,
    /// Those of them who were put there while turns were given out.
    unaware: HashSet<ObjectRef>,
    /// Until when each place is kept.
    invited: HashMap<ObjectRef, Timestamp>,
}

impl ConcurrencyLimiter {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            active: 0,
            queue: VecDeque::new(),
            queued: HashSet::new(),
            unaware: HashSet::new(),
            invited: HashMap::new(),
        }
    }

    fn room(&self) -> usize {
        self.limit.saturating_sub(self.active + self.invited.len())
    }

    /// Starts a turn, or puts the subject into the queue.
    pub(super) fn enter(&mut self, object_ref: &ObjectRef, now: Timestamp) -> bool {
        self.invited.retain(|_, kept_until| *kept_until > now);
        if self.invited.remove(object_ref).is_some() {
            self.active += 1;
            return true;
        }
        let ahead = self.queue.iter().take(self.room()).take_while(|queued| *queued != object_ref).count();
        if ahead < self.room() {
            self.unqueue(object_ref);
            self.active += 1;
            return true;
        }
        self.wait(object_ref);
        self.unaware.insert(object_ref.clone());
        false
    }

    /// Puts the subject into the queue, and it knows that nobody is invited for now.
    pub(super) fn wait(&mut self, object_ref: &ObjectRef) {
        self.invited.remove(object_ref);
        self.unaware.remove(object_ref);
        if self.queued.insert(object_ref.clone()) {
            self.queue.push_back(object_ref.clone());
        }
    }

    /// Ends a turn.
    pub(super) fn leave(&mut self) {
        self.active = self.active.saturating_sub(1);
    }

    /// Whoever is to be woken now.
    pub(super) fn invite(&mut self, now: Timestamp) -> Vec<ObjectRef> {
        self.invited.retain(|_, kept_until| *kept_until > now);
        let invited: Vec<ObjectRef> = self.queue.drain(..self.room().min(self.queue.len())).collect();
        for object_ref in &invited {
            self.queued.remove(object_ref);
            self.unaware.remove(object_ref);
            self.invited.insert(object_ref.clone(), later(now, INVITATION));
        }
        invited
    }

    /// Those in the queue who think that it moves, each once.
    pub(super) fn take_unaware(&mut self) -> Vec<ObjectRef> {
        let unaware = mem::take(&mut self.unaware);
        self.queue.iter().filter(|object_ref| unaware.contains(object_ref)).cloned().collect()
    }

    /// When the next invitation lapses for which somebody waits.
    pub(super) fn next_lapse(&self) -> Option<Timestamp> {
        if self.queue.is_empty() { None } else { self.invited.values().min().copied() }
    }

    /// Forgets the subject, unless it has a turn.
    pub(super) fn forget(&mut self, object_ref: &ObjectRef) {
        self.invited.remove(object_ref);
        self.unqueue(object_ref);
    }

    /// Forgets all that are chosen, and returns them.
    pub(super) fn dismiss(&mut self, chosen: impl Fn(&ObjectRef) -> bool) -> Vec<ObjectRef> {
        let waiting = self.queue.iter().chain(self.invited.keys());
        let dismissed: Vec<ObjectRef> = waiting.filter(|object_ref| chosen(object_ref)).cloned().collect();
        for object_ref in &dismissed {
            self.forget(object_ref);
        }
        dismissed
    }

    /// Everyone who waits or is invited.
    pub(super) fn object_refs(&self) -> impl Iterator<Item = &ObjectRef> {
        self.queue.iter().chain(self.invited.keys())
    }

    fn unqueue(&mut self, object_ref: &ObjectRef) {
        self.unaware.remove(object_ref);
        if self.queued.remove(object_ref) {
            self.queue.retain(|queued| queued != object_ref);
        }
    }
}

#[cfg(test)]
#[path = "concurrency_limiter_tests.rs"]
mod tests;
