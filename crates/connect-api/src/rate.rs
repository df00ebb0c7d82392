//! Request rates. Pure.

use std::num::NonZeroU32;
use std::time::Duration;

/// Requests per second, at least 1: at a lower rate, what has to leave within 30 s of its preparation would leave too late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(NonZeroU32);

impl Rate {
    /// Creates a rate of `requests` per second; 0 becomes 1.
    pub const fn per_second(requests: u32) -> Self {
        Self(if let Some(requests) = NonZeroU32::new(requests) { requests } else { NonZeroU32::MIN })
    }

    /// Returns the time between two requests.
    pub fn period(self) -> Duration {
        Duration::from_secs(1) / self.0.get()
    }

    /// Returns the number of requests in one second, at most `most`.
    pub fn burst(self, most: NonZeroU32) -> NonZeroU32 {
        self.0.min(most)
    }

    /// Returns the number of requests in one second.
    pub fn whole(self) -> usize {
        usize::try_from(self.0.get()).unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_period_and_a_burst() {
        let most = NonZeroU32::new(5).expect("5 is not zero");
        for (requests, milliseconds, burst) in [(10, 100, 5), (3, 333, 3), (1, 1_000, 1), (0, 1_000, 1)] {
            let rate = Rate::per_second(requests);
            assert_eq!(rate.period().as_millis(), milliseconds, "{requests}");
            assert_eq!(rate.burst(most).get(), burst, "{requests}");
        }
    }
}
