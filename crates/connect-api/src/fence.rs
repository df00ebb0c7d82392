//! A deadline up to which a process may send changing requests.
//!
//! This module does not know who sets the deadline or why (see `leader/`). The client checks the fence right before a
//! request leaves, because time passes between the decision and the send: fetching a token, waiting for a slot in the
//! rate limit, or a suspended machine.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use clock::Clock;

/// A permission to send that expires by itself. Clones share one deadline.
#[derive(Clone, Debug)]
pub struct Fence(Option<Arc<Timed>>);

#[derive(Debug)]
struct Timed {
    clock: Clock,
    /// Deadline as a [`Clock::elapsed`] value in nanoseconds; a `u64` covers 584 years.
    until: AtomicU64,
}

impl Fence {
    /// Creates a fence that always holds, for processes without competing replicas.
    pub fn none() -> Self {
        Self(None)
    }

    /// Creates a fence that does not hold until [`Fence::hold_until`] is called.
    pub fn closed(clock: Clock) -> Self {
        Self(Some(Arc::new(Timed { clock, until: AtomicU64::new(0) })))
    }

    /// Returns whether a changing request may leave now.
    pub fn holds(&self) -> bool {
        self.0.as_ref().is_none_or(|timed| nanoseconds(timed.clock.elapsed()) < timed.until.load(Ordering::SeqCst))
    }

    /// Sets the deadline: the fence holds until its clock's [`Clock::elapsed`] reaches `deadline`.
    pub fn hold_until(&self, deadline: Duration) {
        if let Some(timed) = &self.0 {
            timed.until.store(nanoseconds(deadline), Ordering::SeqCst);
        }
    }

    /// Ends the permission immediately.
    pub fn close(&self) {
        self.hold_until(Duration::ZERO);
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn it_holds_until_its_deadline_and_not_at_it() {
        let clock = Clock::stepped(Timestamp::UNIX_EPOCH);
        let fence = Fence::closed(clock.clone());
        let other = fence.clone();
        assert!(!fence.holds() && Fence::none().holds());
        other.hold_until(clock.elapsed() + Duration::from_secs(10));
        assert!(fence.holds());
        clock.step(Duration::from_nanos(9_999_999_999));
        assert!(fence.holds());
        clock.step(Duration::from_nanos(1));
        assert!(!fence.holds());
        other.hold_until(clock.elapsed() + Duration::from_secs(10));
        assert!(fence.holds());
        other.close();
        assert!(!fence.holds());
        Fence::none().close();
        assert!(Fence::none().holds());
    }
}
