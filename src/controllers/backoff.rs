//! Holds back the calls of one resource after failures of its own. Pure: time is an argument.
//!
//! The circuit breaker (`remote/circuit_breaker.rs`) holds back the calls of the whole remote.

use std::time::Duration;

use clock::{between, later};
use connect_api::ApiError;
use jiff::Timestamp;

use super::problem;

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
    #[must_use]
    pub fn left(&mut self, asked: &Asked, now: Timestamp) -> Option<Duration> {
        if self.paused_for.as_ref() != Some(asked) {
            self.not_before = None;
        }
        let until = self.not_before?;
        (now < until).then(|| between(now, until))
    }

    /// Records a failed call; returns the pause before the next one.
    pub fn failed(&mut self, asked: Asked, error: &ApiError, now: Timestamp) -> Duration {
        self.failures = self.failures.saturating_add(1);
        let pause = problem::pause(self.failures).max(error.retry_after.unwrap_or_default());
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
