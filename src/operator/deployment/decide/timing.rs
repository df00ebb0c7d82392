//! How long a call may be in flight, when 404s prove absence, and the pauses before another attempt.

use std::time::Duration;

use clock::{between, later};
use jiff::Timestamp;

/// L: the time limit of a request. A call is sent only while less than this has passed since `startedAt`.
pub const LIMIT: Duration = Duration::from_secs(30);
/// How long a read after a write may still return the state before it.
pub const LAG: Duration = Duration::from_mins(1);
/// After this time no effect of an earlier write can still arrive or be hidden: 2 L + 60 s.
pub const QUIET_PERIOD: Duration = Duration::from_mins(2);
/// Minimum time between the two 404s that prove absence (rule 5).
pub const ABSENCE: Duration = Duration::from_secs(30);
/// A running operation is reported as `TakesTooLong` after this time (rule 18).
pub const TOO_LONG: Duration = Duration::from_mins(30);

/// First pause before a refused write is repeated without any change; doubles.
const REFUSED_AGAIN: Duration = Duration::from_mins(10);
/// Longest such pause.
const REFUSED_AGAIN_AT_MOST: Duration = Duration::from_hours(1);
/// First pause after a transient refusal: the record is busy, or the version was an old one. Doubles.
const PASSING: Duration = Duration::from_secs(5);
/// Longest such pause.
const PASSING_AT_MOST: Duration = Duration::from_mins(1);

/// A pause in which nothing is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// When it ends.
    pub until: Timestamp,
    /// Number of pauses in a row.
    pub times: u32,
}

impl Pause {
    /// Returns the pause after a transient refusal; `before`: the previous pause in the row.
    pub fn after(before: Option<Self>, now: Timestamp) -> Self {
        let times = before.map_or(1, |before| before.times.saturating_add(1));
        Self { until: later(now, doubled(PASSING, times, PASSING_AT_MOST)), times }
    }

    /// Returns how long it lasts from now on; `None`: it is over.
    pub fn left(self, now: Timestamp) -> Option<Duration> {
        (now < self.until).then(|| between(now, self.until))
    }
}

/// Returns the pause before a call is sent again whose response was lost: 6 s, doubling to 5 minutes.
pub(super) fn repeat_after(attempt: u32) -> Duration {
    const FIRST: Duration = Duration::from_secs(6);
    const AT_MOST: Duration = Duration::from_mins(5);
    doubled(FIRST, attempt, AT_MOST)
}

/// Returns the poll interval for an operation that has run for `age`: an eighth of it, 1 to 15 seconds.
pub(super) fn pace(age: Duration) -> Duration {
    (age / 8).clamp(Duration::from_secs(1), Duration::from_secs(15))
}

/// Returns the pause before a write is repeated that was refused so many times in a row for the same cause.
pub fn refused_for(times: u32) -> Duration {
    doubled(REFUSED_AGAIN, times, REFUSED_AGAIN_AT_MOST)
}

/// Returns what remains of `wait` after `age`, at least one second.
pub(super) fn left(age: Duration, wait: Duration) -> Duration {
    wait.saturating_sub(age).max(Duration::from_secs(1))
}

/// Returns `first` doubled for each time after the first, at most `at_most`.
pub(super) fn doubled(first: Duration, times: u32, at_most: Duration) -> Duration {
    first.saturating_mul(1 << times.saturating_sub(1).min(16)).min(at_most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_after_an_earlier_refusal_is_over() {
        let (first, second) = (Pause::after(None, Timestamp::UNIX_EPOCH), Timestamp::UNIX_EPOCH + PASSING);
        assert_eq!(first.left(Timestamp::UNIX_EPOCH), Some(PASSING));
        assert_eq!(first.left(second), None);
        assert_eq!(Pause::after(Some(first), second).left(second), Some(PASSING * 2));
    }
}
