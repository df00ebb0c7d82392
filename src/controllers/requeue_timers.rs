//! When resources are to run again: one time for each, on the operator's clock.
//!
//! The controllers' own timer knows the machine's time only, so a test could not own it. Decides nothing; who sets an
//! alarm is the `mod.rs` of each kind.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use clock::{Clock, later};
use jiff::Timestamp;
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedSender;

use super::object_ref::ObjectRef;

/// The alarms of all resources.
pub struct RequeueTimers {
    clock: Clock,
    enqueue: UnboundedSender<ObjectRef>,
    /// Rung when the first alarm may have changed.
    bell: Notify,
    set: Mutex<Set>,
}

#[derive(Default)]
struct Set {
    times: BTreeMap<ObjectRef, Timestamp>,
    order: BTreeSet<(Timestamp, ObjectRef)>,
}

impl RequeueTimers {
    /// None set. `enqueue` takes those whose time has come.
    #[must_use]
    pub fn new(clock: Clock, enqueue: UnboundedSender<ObjectRef>) -> Self {
        Self { clock, enqueue, bell: Notify::new(), set: Mutex::default() }
    }

    /// Wakes `object_ref` after `pause`, or not at all; an alarm that it had is gone.
    pub fn set(&self, object_ref: &ObjectRef, pause: Option<Duration>) {
        let at = pause.map(|pause| later(self.clock.now(), pause));
        let mut set = self.lock();
        let first = set.order.first().map(|(at, _)| *at);
        if let Some(before) = set.times.remove(object_ref) {
            set.order.remove(&(before, object_ref.clone()));
        }
        if let Some(at) = at {
            set.times.insert(object_ref.clone(), at);
            set.order.insert((at, object_ref.clone()));
            if first.is_none_or(|first| at < first) {
                self.bell.notify_one();
            }
        }
    }

    /// Wakes whoever's time has come, for ever.
    pub async fn ring(&self) {
        loop {
            let due = self.due();
            for object_ref in due {
                // Nobody listens any more when the operator ends.
                let _ = self.enqueue.send(object_ref);
            }
            let next = self.lock().order.first().map_or(Timestamp::MAX, |(at, _)| *at);
            tokio::select! {
                // In order, so that the same events have the same effect whenever a test runs.
                biased;
                () = self.clock.sleep_until(next) => {}
                () = self.bell.notified() => {}
            }
        }
    }

    /// Every subject that has one.
    #[must_use]
    pub fn object_refs(&self) -> Vec<ObjectRef> {
        self.lock().times.keys().cloned().collect()
    }

    /// Takes out those whose time has come.
    fn due(&self) -> Vec<ObjectRef> {
        let now = self.clock.now();
        let mut set = self.lock();
        let mut due = Vec::new();
        while let Some((at, object_ref)) = set.order.pop_first() {
            if at > now {
                set.order.insert((at, object_ref));
                break;
            }
            set.times.remove(&object_ref);
            due.push(object_ref);
        }
        due
    }

    /// A panic elsewhere leaves at worst an alarm that rings for nothing.
    fn lock(&self) -> MutexGuard<'_, Set> {
        self.set.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn each_rings_once_at_the_time_that_was_set_last() {
        let clock = Clock::stepped(Timestamp::UNIX_EPOCH);
        let (enqueue, mut enqueued) = mpsc::unbounded_channel();
        let requeue_timers = std::sync::Arc::new(RequeueTimers::new(clock.clone(), enqueue));
        let ringing = tokio::spawn({
            let requeue_timers = std::sync::Arc::clone(&requeue_timers);
            async move { requeue_timers.ring().await }
        });
        let [early, late, never] = ["early", "late", "never"].map(|name| ObjectRef::deployment("here", name));
        requeue_timers.set(&late, Some(Duration::from_secs(5)));
        requeue_timers.set(&early, Some(Duration::from_mins(1)));
        requeue_timers.set(&early, Some(Duration::from_secs(1)));
        requeue_timers.set(&never, Some(Duration::from_secs(1)));
        requeue_timers.set(&never, None);
        clock.step(Duration::from_secs(1));
        assert_eq!(enqueued.recv().await, Some(early));
        clock.step(Duration::from_secs(4));
        assert_eq!(enqueued.recv().await, Some(late.clone()));
        requeue_timers.set(&late, Some(Duration::ZERO));
        assert_eq!(enqueued.recv().await, Some(late), "without a step");
        clock.step(Duration::from_hours(1));
        tokio::task::yield_now().await;
        assert!(enqueued.is_empty());
        ringing.abort();
    }
}
