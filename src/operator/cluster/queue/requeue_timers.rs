//! Requeue timers: at most one for each resource, on the operator's clock.
//!
//! kube's own requeue timer uses the machine's time, which a test cannot control. This module decides nothing;
//! the end of each reconcile sets its timer.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use clock::{Clock, later};
use jiff::Timestamp;
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedSender;

use crate::mutex::Mutex;
use crate::operator::object_ref::ObjectRef;

/// The requeue timers of all resources.
pub struct RequeueTimers {
    clock: Clock,
    enqueue: UnboundedSender<ObjectRef>,
    /// Notified when the earliest timer may have changed.
    notify: Notify,
    // A panic of a holder leaves at worst a timer that enqueues needlessly.
    set: Mutex<Set>,
}

#[derive(Default)]
struct Set {
    times: BTreeMap<ObjectRef, Timestamp>,
    order: BTreeSet<(Timestamp, ObjectRef)>,
}

impl RequeueTimers {
    /// Creates an empty set of timers. `enqueue` receives the resources whose timer has expired.
    pub fn new(clock: Clock, enqueue: UnboundedSender<ObjectRef>) -> Self {
        Self { clock, enqueue, notify: Notify::new(), set: Mutex::default() }
    }

    /// Enqueues a resource now. A timer of it stays.
    pub fn enqueue(&self, object_ref: ObjectRef) {
        // There is no receiver when the operator ends.
        let _ = self.enqueue.send(object_ref);
    }

    /// Sets the timer of `object_ref` to `pause` from now, in place of an earlier one; `None` clears it.
    pub fn set(&self, object_ref: &ObjectRef, pause: Option<Duration>) {
        let at = pause.map(|pause| later(self.clock.now(), pause));
        self.replace(&mut self.set.lock(), object_ref, at);
    }

    /// Sets the timer of `object_ref` to `pause` from now, unless it expires earlier.
    pub fn set_within(&self, object_ref: &ObjectRef, pause: Duration) {
        let at = later(self.clock.now(), pause);
        let mut set = self.set.lock();
        if set.times.get(object_ref).is_none_or(|before| at < *before) {
            self.replace(&mut set, object_ref, Some(at));
        }
    }

    fn replace(&self, set: &mut Set, object_ref: &ObjectRef, at: Option<Timestamp>) {
        let first = set.order.first().map(|(at, _)| *at);
        if let Some(before) = set.times.remove(object_ref) {
            set.order.remove(&(before, object_ref.clone()));
        }
        if let Some(at) = at {
            set.times.insert(object_ref.clone(), at);
            set.order.insert((at, object_ref.clone()));
            if first.is_none_or(|first| at < first) {
                self.notify.notify_one();
            }
        }
    }

    /// Enqueues resources as their timers expire. Never returns.
    pub async fn enqueue_due(&self) {
        loop {
            let due = self.due();
            for object_ref in due {
                self.enqueue(object_ref);
            }
            let next = self.set.lock().order.first().map_or(Timestamp::MAX, |(at, _)| *at);
            tokio::select! {
                // In a fixed order, so that tests are deterministic.
                biased;
                () = self.clock.sleep_until(next) => {}
                () = self.notify.notified() => {}
            }
        }
    }

    /// Returns every resource that has a timer.
    pub fn object_refs(&self) -> Vec<ObjectRef> {
        self.set.lock().times.keys().cloned().collect()
    }

    /// Removes and returns the resources whose timer has expired.
    fn due(&self) -> Vec<ObjectRef> {
        let now = self.clock.now();
        let mut set = self.set.lock();
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
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn each_timer_expires_once_at_the_time_that_was_set_last() {
        let clock = Clock::stepped(Timestamp::UNIX_EPOCH);
        let (enqueue, mut enqueued) = mpsc::unbounded_channel();
        let requeue_timers = std::sync::Arc::new(RequeueTimers::new(clock.clone(), enqueue));
        let ringing = tokio::spawn({
            let requeue_timers = std::sync::Arc::clone(&requeue_timers);
            async move { requeue_timers.enqueue_due().await }
        });
        let [early, late, never] = ["early", "late", "never"].map(|name| ObjectRef::deployment("here", name));
        requeue_timers.set(&late, Some(Duration::from_secs(5)));
        requeue_timers.set(&early, Some(Duration::from_mins(1)));
        requeue_timers.set(&early, Some(Duration::from_secs(1)));
        requeue_timers.set(&never, Some(Duration::from_secs(1)));
        requeue_timers.set(&never, None);
        let gathered = ObjectRef::deployment("here", "gathered");
        requeue_timers.set(&gathered, Some(Duration::from_secs(9)));
        requeue_timers.set_within(&gathered, Duration::from_secs(3));
        requeue_timers.set_within(&gathered, Duration::from_secs(6));
        clock.step(Duration::from_secs(1));
        assert_eq!(enqueued.recv().await, Some(early));
        clock.step(Duration::from_secs(2));
        assert_eq!(enqueued.recv().await, Some(gathered), "the earliest of those within a pause");
        clock.step(Duration::from_secs(2));
        assert_eq!(enqueued.recv().await, Some(late.clone()));
        requeue_timers.set(&late, Some(Duration::ZERO));
        assert_eq!(enqueued.recv().await, Some(late), "without a step");
        clock.step(Duration::from_hours(1));
        tokio::task::yield_now().await;
        assert!(enqueued.is_empty());
        ringing.abort();
    }
}
