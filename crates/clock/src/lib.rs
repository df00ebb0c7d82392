//! The only reader of time.
//!
//! Everything that decides takes a [`Timestamp`] as an argument; everything that waits, waits on a [`Clock`], so that
//! tests own time. Next: `controllers/` for the controllers' use, `dev_server/` for the remote's.

use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::watch;

/// A source of time: the machine's, or one that is stepped by hand.
#[derive(Clone, Debug)]
pub struct Clock(Source);

#[derive(Clone, Debug)]
enum Source {
    /// The time when it was made, by the machine's clock and by [`counting`].
    System {
        start: Timestamp,
        since: Duration,
    },
    Stepped(watch::Sender<Timestamp>),
}

/// Longest time that is slept at once: the runtime's timers stand still while the machine sleeps, this clock does not.
const LONGEST_SLEEP: Duration = Duration::from_mins(1);

impl Clock {
    /// The machine's clock as it is now. From here on it and its clones only count: whoever sets the machine's clock
    /// moves no timer, and makes nothing look older or younger than it is. A process takes the new time over when it
    /// is started again.
    #[must_use]
    pub fn system() -> Self {
        Self(Source::System { start: Timestamp::now(), since: counting() })
    }

    /// A clock that stands still at `start` until [`Clock::step`] moves it.
    #[must_use]
    pub fn stepped(start: Timestamp) -> Self {
        Self(Source::Stepped(watch::Sender::new(start)))
    }

    /// The time now. Never earlier than what this clock or a clone of it showed before.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        match &self.0 {
            Source::System { start, .. } => later(*start, self.elapsed()),
            Source::Stepped(now) => *now.borrow(),
        }
    }

    /// Time that has passed on this clock and its clones since some fixed moment. On Linux it counts while the machine
    /// sleeps too (`CLOCK_BOOTTIME`): who was suspended has to know that time passed for the others.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        match &self.0 {
            Source::System { since, .. } => counting().saturating_sub(*since),
            Source::Stepped(now) => between(Timestamp::UNIX_EPOCH, *now.borrow()),
        }
    }

    /// Moves a stepped clock forward and wakes whoever waited for that time; the machine's clock moves by itself.
    pub fn step(&self, by: Duration) {
        if let Source::Stepped(now) = &self.0 {
            now.send_modify(|now| *now = later(*now, by));
        }
    }

    /// Returns once the clock shows `deadline` or later; at once if it does already.
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
                // The sender lives as long as this clock, so waiting cannot fail.
                let _ = now.wait_for(|now| *now >= deadline).await;
            }
        }
    }

    /// Returns once `duration` has passed on this clock.
    pub async fn sleep(&self, duration: Duration) {
        self.sleep_until(later(self.now(), duration)).await;
    }
}

/// Time since some moment before this process started, whoever sets the clock and however the machine slept.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn counting() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    // Never negative: it counts from the start of the machine.
    Duration::try_from(time).unwrap_or_default()
}

/// Time since this was asked first, whoever sets the clock.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn counting() -> Duration {
    static SINCE: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(std::time::Instant::now);
    SINCE.elapsed()
}

/// `from` plus `by`, or the end of time.
#[must_use]
pub fn later(from: Timestamp, by: Duration) -> Timestamp {
    from.saturating_add(by).unwrap_or(Timestamp::MAX)
}

/// The time from `start` to `end`; zero if `end` is earlier.
#[must_use]
pub fn between(start: Timestamp, end: Timestamp) -> Duration {
    Duration::try_from(end.duration_since(start)).unwrap_or(Duration::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_stepped_clock_wakes_a_sleeper_only_when_its_time_has_come() {
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
