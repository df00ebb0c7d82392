//! Which reconciles may use a remote, and which is next, no object twice. Pure.
//!
//! Namespaces take turns, so that nobody waits for all changes of another tenant that shares the remote ([`RoundRobin`]);
//! within a namespace: first come, first served.
//!
//! When a permit is free, the object at the head of the queue is enqueued, and the permit is reserved for it for a
//! while, so that newcomers do not overtake it. A reservation expires, because an object with nothing left to do does
//! not ask again.

use std::collections::{HashMap, HashSet};
use std::mem;
use std::time::Duration;

use clock::later;
use connect_api::Rate;
use jiff::Timestamp;

use super::round_robin::RoundRobin;
use crate::controllers::object_ref::ObjectRef;

/// How long a permit is reserved for an object that was enqueued.
pub(super) const RESERVATION: Duration = Duration::from_secs(2);
/// Permits for each request per second. A call rarely takes longer than 2 s, so that more reconciles would only wait for
/// the rate limiter, with their slots, and leave too late.
const PERMITS_PER_REQUEST: usize = 2;

/// The permits of one remote.
#[derive(Debug)]
pub(super) struct ConcurrencyLimiter {
    /// Permits for any rate.
    most: usize,
    limit: usize,
    active: usize,
    queue: RoundRobin,
    /// Queued objects that were not enqueued for an outage yet.
    unreported: HashSet<ObjectRef>,
    /// Until when a permit is reserved for each object.
    reserved: HashMap<ObjectRef, Timestamp>,
}

impl ConcurrencyLimiter {
    /// `most`: permits that no rate exceeds.
    pub(super) fn new(most: usize, rate: Rate) -> Self {
        Self {
            most,
            limit: permits(most, rate),
            active: 0,
            queue: RoundRobin::default(),
            unreported: HashSet::new(),
            reserved: HashMap::new(),
        }
    }

    /// Adapts the number of permits to a new rate. Permits beyond it end with their reconciles.
    pub(super) fn set_rate(&mut self, rate: Rate) {
        self.limit = permits(self.most, rate);
    }

    fn room(&self) -> usize {
        self.limit.saturating_sub(self.active + self.reserved.len())
    }

    /// Grants a permit, or puts the object into the queue.
    pub(super) fn enter(&mut self, object_ref: &ObjectRef, now: Timestamp) -> bool {
        self.reserved.retain(|_, kept_until| *kept_until > now);
        if self.reserved.remove(object_ref).is_some() {
            self.active += 1;
            return true;
        }
        let is_ahead = |queued: &&ObjectRef| *queued != object_ref;
        // Fewer are ahead than permits are free.
        if self.room().checked_sub(1).is_some_and(|last| self.queue.iter().take_while(is_ahead).nth(last).is_none()) {
            self.unqueue(object_ref);
            self.active += 1;
            return true;
        }
        self.queue_up(object_ref);
        false
    }

    /// Puts the object into the queue; if an outage begins, it has to report that.
    pub(super) fn queue_up(&mut self, object_ref: &ObjectRef) {
        self.wait(object_ref);
        self.unreported.insert(object_ref.clone());
    }

    /// Puts the object into the queue; it knows that no permits are granted for now.
    pub(super) fn wait(&mut self, object_ref: &ObjectRef) {
        self.reserved.remove(object_ref);
        self.unreported.remove(object_ref);
        self.queue.push(object_ref);
    }

    /// Releases a permit.
    pub(super) fn leave(&mut self) {
        self.active = self.active.saturating_sub(1);
    }

    /// Reserves the free permits for the head of the queue; returns the objects to enqueue.
    pub(super) fn admit_next(&mut self, now: Timestamp) -> Vec<ObjectRef> {
        self.reserved.retain(|_, kept_until| *kept_until > now);
        let reserved: Vec<ObjectRef> = (0..self.room()).map_while(|_| self.queue.pop()).collect();
        for object_ref in &reserved {
            self.unreported.remove(object_ref);
            self.reserved.insert(object_ref.clone(), later(now, RESERVATION));
        }
        reserved
    }

    /// Returns the queued objects that do not know of the outage yet, each once.
    pub(super) fn take_unreported(&mut self) -> Vec<ObjectRef> {
        let unreported = mem::take(&mut self.unreported);
        self.queue.iter().filter(|object_ref| unreported.contains(object_ref)).cloned().collect()
    }

    /// Returns when the next reservation expires, if an object waits for it.
    pub(super) fn next_expiry(&self) -> Option<Timestamp> {
        self.queue.iter().next().and_then(|_| self.reserved.values().min().copied())
    }

    /// Removes the object, unless it has a permit.
    pub(super) fn forget(&mut self, object_ref: &ObjectRef) {
        self.reserved.remove(object_ref);
        self.unqueue(object_ref);
    }

    /// Removes all chosen objects and returns them.
    pub(super) fn dismiss(&mut self, chosen: impl Fn(&ObjectRef) -> bool) -> Vec<ObjectRef> {
        let waiting = self.queue.iter().chain(self.reserved.keys());
        let dismissed: Vec<ObjectRef> = waiting.filter(|object_ref| chosen(object_ref)).cloned().collect();
        for object_ref in &dismissed {
            self.forget(object_ref);
        }
        dismissed
    }

    /// Returns all objects that wait or have a reservation.
    pub(super) fn object_refs(&self) -> impl Iterator<Item = &ObjectRef> {
        self.queue.iter().chain(self.reserved.keys())
    }

    fn unqueue(&mut self, object_ref: &ObjectRef) {
        self.unreported.remove(object_ref);
        self.queue.remove(object_ref);
    }
}

fn permits(most: usize, rate: Rate) -> usize {
    most.min(rate.whole().saturating_mul(PERMITS_PER_REQUEST)).max(1)
}

#[cfg(test)]
#[path = "concurrency_limiter_tests.rs"]
mod tests;
