//! How many reconciles use a remote at once, and which of those that wait is next.
//!
//! Namespaces take turns, so that nobody waits for all changes of another tenant that shares the remote ([`RoundRobin`]);
//! within a namespace: first come, first served. A reconcile that ends while it waits is skipped. Pure.

use std::collections::HashMap;

use connect_api::Rate;

use super::round_robin::RoundRobin;
use crate::controllers::object_ref::ObjectRef;

/// Permits for each request per second. A call rarely takes longer than 2 s, so that more reconciles would only wait for
/// the rate limiter, with their slots, and leave too late.
const PERMITS_PER_REQUEST: usize = 2;

/// The permits of one remote. `W`: a reconcile that waits.
pub(super) struct ConcurrencyLimiter<W> {
    /// Permits for any rate.
    most: usize,
    limit: usize,
    active: usize,
    queue: RoundRobin,
    waiters: HashMap<ObjectRef, W>,
}

impl<W> ConcurrencyLimiter<W> {
    /// `most`: permits that no rate exceeds.
    pub(super) fn new(most: usize, rate: Rate) -> Self {
        Self { most, limit: permits(most, rate), active: 0, queue: RoundRobin::default(), waiters: HashMap::new() }
    }

    /// Adapts the number of permits to a new rate. Permits beyond it end with their reconciles.
    pub(super) fn set_rate(&mut self, rate: Rate) {
        self.limit = permits(self.most, rate);
    }

    /// Appends a reconcile of the object; it takes the place of an earlier one of the same object, which has ended.
    pub(super) fn wait(&mut self, object_ref: &ObjectRef, waiter: W) {
        self.queue.push(object_ref);
        self.waiters.insert(object_ref.clone(), waiter);
    }

    /// Takes as many waiting reconciles as there are free permits. `waits`: whether one still waits.
    pub(super) fn admit_next(&mut self, waits: impl Fn(&W) -> bool) -> Vec<W> {
        let mut admitted = Vec::new();
        while self.active < self.limit
            && let Some(object_ref) = self.queue.pop()
        {
            if let Some(waiter) = self.waiters.remove(&object_ref).filter(|waiter| waits(waiter)) {
                self.active += 1;
                admitted.push(waiter);
            }
        }
        admitted
    }

    /// Releases a permit.
    pub(super) fn leave(&mut self) {
        self.active = self.active.saturating_sub(1);
    }

    /// Takes all chosen reconciles that wait, in their order.
    pub(super) fn dismiss(&mut self, chosen: impl Fn(&ObjectRef) -> bool) -> Vec<(ObjectRef, W)> {
        let dismissed: Vec<ObjectRef> = self.queue.iter().filter(|object_ref| chosen(object_ref)).cloned().collect();
        let mut waiters = Vec::with_capacity(dismissed.len());
        for object_ref in dismissed {
            self.queue.remove(&object_ref);
            if let Some(waiter) = self.waiters.remove(&object_ref) {
                waiters.push((object_ref, waiter));
            }
        }
        waiters
    }
}

fn permits(most: usize, rate: Rate) -> usize {
    most.min(rate.whole().saturating_mul(PERMITS_PER_REQUEST)).max(1)
}

#[cfg(test)]
#[path = "concurrency_limiter_tests.rs"]
mod tests;
