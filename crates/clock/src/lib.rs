//! The workspace's only source of the current time.
//!
//! Code that decides takes a [`Timestamp`] as an argument. Code that waits uses a [`Clock`], so that tests control
//! time. See `controllers/` for how the controllers use it, and `crates/dev-server` for the simulated remote.

use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::watch;

/// A source of time: the system clock, or a clock that tests step manually.
#[derive(Clone, Debug)]
pub struct Clock(Source);

#[derive(Clone, Debug)]
enum Source {
    /// The wall-clock time and the monotonic reading of [`counting`] at the moment this clock was created.
    System {
        start: Timestamp,
        since: Duration,
    },
    Stepped(watch::Sender<Timestamp>),
}

/// The longest single sleep. Tokio's timers do not advance while the machine is suspended, but this clock does on
/// Linux, so [`Clock::sleep_until`] checks the time again at least this often.
const LONGEST_SLEEP: Duration = Duration::from_mins(1);

impl Clock {
    /// Creates a clock that starts at the system time. From then on it and its clones count monotonically, so that
    /// setting the system time moves no timer and changes no age. The process adopts a new system time at its restart.
    pub fn system() -> Self {
        Self(Source::System { start: Timestamp::now(), since: counting() })
    }

    /// Creates a clock that stays at `start` until [`Clock::step`] advances it.
    pub fn stepped(start: Timestamp) -> Self {
        Self(Source::Stepped(watch::Sender::new(start)))
    }

    /// Returns the current time, which is never earlier than a time that this clock or one of its clones returned
    /// before.
    pub fn now(&self) -> Timestamp {
        match &self.0 {
            Source::System { start, .. } => later(*start, self.elapsed()),
            Source::Stepped(now) => *now.borrow(),
        }
    }

    /// Returns the time that has passed on this clock and its clones since a fixed moment. On Linux this includes the
    /// time that the machine was suspended (`CLOCK_BOOTTIME`), because time passed for other machines as well, for
    /// example for a lease.
    pub fn elapsed(&self) -> Duration {
        match &self.0 {
            Source::System { since, .. } => counting().saturating_sub(*since),
            Source::Stepped(now) => between(Timestamp::UNIX_EPOCH, *now.borrow()),
        }
    }

    /// Advances a stepped clock and completes the sleeps that are due. Does nothing on the system clock.
    pub fn step(&self, by: Duration) {
        if let Source::Stepped(now) = &self.0 {
            now.send_modify(|now| *now = later(*now, by));
        }
    }

    /// Waits until the clock shows `deadline` or later; returns immediately if it already does.
    pub async fn sleep_until(&self, deadline: Timestamp) {
        match &self.0 {
            Source::System { .. } => loop {
                let left = between(self.now(), deadline);
                if left.is_zero() {
                    return;
                }
                tokio::time::sleep(left.min(LONGEST_SLEEP)).await;
            },
            Source::Stepped(now) => {
                let mut now = now.subscribe();
                // The sender lives as long as this clock, so the wait cannot fail.
                let _ = now.wait_for(|now| *now >= deadline).await;
            }
        }
    }

    /// Waits until `duration` has passed on this clock.
    pub async fn sleep(&self, duration: Duration) {
        self.sleep_until(later(self.now(), duration)).await;
    }
}

/// Returns the time since boot, including suspended time and independent of changes to the system time.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn counting() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    // Never negative: `CLOCK_BOOTTIME` counts from the start of the machine.
    Duration::try_from(time).unwrap_or_default()
}

/// Returns the time since the first call of this function, independent of changes to the system time.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn counting() -> Duration {
    static SINCE: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(std::time::Instant::now);
    SINCE.elapsed()
}

/// Returns `from` plus `by`, limited to [`Timestamp::MAX`].
pub fn later(from: Timestamp, by: Duration) -> Timestamp {
    from.saturating_add(by).unwrap_or(Timestamp::MAX)
}

/// Returns the time from `start` to `end`, or zero if `end` is earlier.
pub fn between(start: Timestamp, end: Timestamp) -> Duration {
    Duration::try_from(end.duration_since(start)).unwrap_or(Duration::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_sleep_on_a_stepped_clock_ends_only_at_its_deadline() {
        let clock = Clock::stepped(Timestamp::UNIX_EPOCH);
        let sleeper = tokio::spawn({
            let clock = clock.clone();
            async move {
                clock.sleep(Duration::from_secs(10)).await;
                clock.now()
            }
        });
        tokio::task::yield_now().await;
        clock.step(Duration::from_secs(9));
        tokio::task::yield_now().await;
        assert!(!sleeper.is_finished());
        clock.step(Duration::from_secs(1));
        let woken = sleeper.await.expect("the sleeper does not panic");
        assert_eq!(woken.as_second(), 10);
    }

    #[test]
    fn durations_never_wrap() {
        let (early, late) = (Timestamp::UNIX_EPOCH, later(Timestamp::UNIX_EPOCH, Duration::from_secs(5)));
        assert_eq!(between(early, late), Duration::from_secs(5));
        assert_eq!(between(late, early), Duration::ZERO);
        let clock = Clock::stepped(early);
        clock.step(Duration::from_secs(5));
        assert_eq!(clock.elapsed(), Duration::from_secs(5));
        assert_eq!(later(Timestamp::MAX, Duration::from_secs(1)), Timestamp::MAX);
    }
}
