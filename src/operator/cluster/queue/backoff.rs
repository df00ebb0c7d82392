//! Holds back the calls of one resource after failures of its own. Pure: time is an argument.
//!
//! The circuit breaker (`remote/circuit_breaker.rs`) holds back the calls of the whole remote.

use std::time::Duration;

use clock::{between, later};
use connect_api::ApiError;
use jiff::Timestamp;

/// Pause after a call that was held back while the circuit breaker is half open.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);

/// First pause of one resource after a call of its own failed; doubles. An attempt is a read, a write, and the call
/// that finds out whether the service works again: with 8 s there are at most 6 calls in any 10 s.
const FIRST_PAUSE: Duration = Duration::from_secs(8);
/// Longest such pause.
const LONGEST_PAUSE: Duration = Duration::from_mins(5);

/// Generation of a resource and its newest request. A pause applies to these; a change ends it.
pub type Asked = (i64, Option<String>);

/// Calls of one resource that failed in a row.
#[derive(Clone, Debug, Default)]
pub struct Backoff {
    failures: u32,
    not_before: Option<Timestamp>,
    paused_for: Option<Asked>,
}

impl Backoff {
    /// Returns what is left of the pause; `None`: the resource may call.
    pub fn left(&mut self, asked: &Asked, now: Timestamp) -> Option<Duration> {
        if self.paused_for.as_ref() != Some(asked) {
            self.not_before = None;
        }
        let until = self.not_before?;
        (now < until).then(|| between(now, until))
    }

    /// Records a failed call; returns the pause before the next one. A call that was held back says nothing about this
    /// resource: if it counted, a service that fails now and then would slow down resources whose calls it answers.
    pub fn failed(&mut self, asked: Asked, error: &ApiError, now: Timestamp) -> Duration {
        let at_least = error.retry_after.unwrap_or_default();
        if error.is_held_back() {
            return at_least.max(SHORTEST_PAUSE);
        }
        self.failures = self.failures.saturating_add(1);
        let pause = pause(self.failures).max(at_least);
        self.not_before = Some(later(now, pause));
        self.paused_for = Some(asked);
        pause
    }

    /// Records a successful call.
    pub fn worked(&mut self) {
        self.failures = 0;
        self.not_before = None;
    }
}

/// Returns the pause before the next call or reconcile of a resource after this many failures in a row.
pub fn pause(failures: u32) -> Duration {
    FIRST_PAUSE.saturating_mul(1 << failures.saturating_sub(1).min(10)).min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use connect_api::error::Failure;

    use super::*;
    use crate::operator::testing::{answered, failure, retry_after};

    #[test]
    fn only_a_failure_of_its_own_makes_the_next_pause_longer() {
        let mut backoff = Backoff::default();
        let now = Timestamp::UNIX_EPOCH;
        let held = failure(Failure::HeldBack);
        let own = answered(503);
        for (error, pause, left) in [
            (retry_after(held.clone(), 3_000), 3, None),
            (held.clone(), 1, None),
            (own.clone(), 8, Some(8)),
            (retry_after(held, 5_000), 5, Some(8)),
            (own.clone(), 16, Some(16)),
            (retry_after(own.clone(), 60_000), 60, Some(60)),
            (retry_after(own.clone(), 96_000), 96, Some(96)),
        ] {
            let asked = (1, None);
            assert_eq!(backoff.failed(asked.clone(), &error, now).as_secs(), pause, "{error:?}");
            assert_eq!(backoff.left(&asked, now).map(|left| left.as_secs()), left, "{error:?}");
        }
        let over = later(now, Duration::from_secs(96));
        assert_eq!(backoff.left(&(1, None), over), None, "the pause is over");
        assert_eq!(backoff.left(&(2, None), now), None, "a change ends the pause");
        backoff.worked();
        let pause = backoff.failed((2, None), &own, now);
        assert_eq!(pause.as_secs(), 8, "the first failure after a success");
        backoff.worked();
        assert_eq!(backoff.left(&(2, None), now), None, "a success ends the pause");
    }

    #[test]
    fn pauses_grow_to_an_end() {
        assert_eq!(pause(1), Duration::from_secs(8));
        assert_eq!(pause(3), Duration::from_secs(32));
        assert_eq!(pause(100), LONGEST_PAUSE);
    }
}
