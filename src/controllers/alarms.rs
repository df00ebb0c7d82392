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

use super::subject::Subject;

/// The alarms of all resources.
pub struct Alarms {
    clock: Clock,
    wake: UnboundedSender<Subject>,
    /// Rung when the first alarm may have changed.
    bell: Notify,
    set: Mutex<Set>,
}

#[derive(Default)]
struct Set {
    times: BTreeMap<Subject, Timestamp>,
    order: BTreeSet<(Timestamp, Subject)>,
}

impl Alarms {
    /// None set. `wake` takes those whose time has come.
    #[must_use]
    pub fn new(clock: Clock, wake: UnboundedSender<Subject>) -> Self {
        Self { clock, wake, bell: Notify::new(), set: Mutex::default() }
    }

    /// Wakes `subject` after `pause`, or not at all; an alarm that it had is gone.
    pub fn set(&self, subject: &Subject, pause: Option<Duration>) {
        let at = pause.map(|pause| later(self.clock.now(), pause));
        let mut set = self.lock();
        let first = set.order.first().map(|(at, _)| *at);
        if let Some(before) = set.times.remove(subject) {
            set.order.remove(&(before, subject.clone()));
        }
        if let Some(at) = at {
            set.times.insert(subject.clone(), at);
            set.order.insert((at, subject.clone()));
            if first.is_none_or(|first| at < first) {
                self.bell.notify_one();
            }
        }
    }

    /// Wakes whoever's time has come, for ever.
    pub async fn ring(&self) {
        loop {
            let due = self.due();
            for subject in due {
                // Nobody listens any more when the operator ends.
                let _ = self.wake.send(subject);
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
    pub fn subjects(&self) -> Vec<Subject> {
        self.lock().times.keys().cloned().collect()
    }

    /// Takes out those whose time has come.
    fn due(&self) -> Vec<Subject> {
        let now = self.clock.now();
        let mut set = self.lock();
        let mut due = Vec::new();
        while let Some((at, subject)) = set.order.pop_first() {
            if at > now {
                set.order.insert((at, subject));
                break;
            }
            set.times.remove(&subject);
            due.push(subject);
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
        let (wake, mut woken) = mpsc::unbounded_channel();
        let alarms = std::sync::Arc::new(Alarms::new(clock.clone(), wake));
        let ringing = tokio::spawn({
            let alarms = std::sync::Arc::clone(&alarms);
            async move { alarms.ring().await }
        });
        let [early, late, never] = ["early", "late", "never"].map(|name| Subject::deployment("here", name));
        alarms.set(&late, Some(Duration::from_secs(5)));
        alarms.set(&early, Some(Duration::from_mins(1)));
        alarms.set(&early, Some(Duration::from_secs(1)));
        alarms.set(&never, Some(Duration::from_secs(1)));
        alarms.set(&never, None);
        clock.step(Duration::from_secs(1));
        assert_eq!(woken.recv().await, Some(early));
        clock.step(Duration::from_secs(4));
        assert_eq!(woken.recv().await, Some(late.clone()));
        alarms.set(&late, Some(Duration::ZERO));
        assert_eq!(woken.recv().await, Some(late), "without a step");
        clock.step(Duration::from_hours(1));
        tokio::task::yield_now().await;
        assert!(woken.is_empty());
        ringing.abort();
    }
}
