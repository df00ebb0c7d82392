//! Whether a process may still send what changes something: a deadline, and the clock that it is held against.
//!
//! Knows nothing of who sets the deadline, or why (`leader/`). It is asked right before a request leaves, since everything
//! between a decision and the wire takes time: a token, a turn, and a machine that was suspended in between.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use clock::Clock;

/// A permission that ends by itself. Clones share it.
#[derive(Clone, Debug)]
pub struct Fence(Option<Arc<Timed>>);

#[derive(Debug)]
struct Timed {
    clock: Clock,
    /// On [`Clock::elapsed`], in nanoseconds: enough for 584 years.
    until: AtomicU64,
}

impl Fence {
    /// Always holds: nobody else could send.
    #[must_use]
    pub fn none() -> Self {
        Self(None)
    }

    /// Does not hold before [`Fence::hold_until`].
    #[must_use]
    pub fn closed(clock: Clock) -> Self {
        Self(Some(Arc::new(Timed { clock, until: AtomicU64::new(0) })))
    }

    /// Whether what changes something may leave now.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.0.as_ref().is_none_or(|timed| nanoseconds(timed.clock.elapsed()) < timed.until.load(Ordering::SeqCst))
    }

    /// Holds until its clock's [`Clock::elapsed`] is `deadline`.
    pub fn hold_until(&self, deadline: Duration) {
        if let Some(timed) = &self.0 {
            timed.until.store(nanoseconds(deadline), Ordering::SeqCst);
        }
    }

    /// Does not hold any more.
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
