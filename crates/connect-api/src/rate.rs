//! Request rates. Pure.

use std::num::NonZeroU32;
use std::time::Duration;

/// Number of thousandths in one.
const THOUSAND: u32 = 1_000;

/// Requests per second in steps of a thousandth, at least 1: at a lower rate, what has to leave within 30 s of its
/// preparation would leave too late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(u32);

impl Rate {
    /// Creates a rate of `requests` per second; 0 becomes the lowest rate.
    pub const fn per_second(requests: u32) -> Self {
        let thousandths = requests.saturating_mul(THOUSAND);
        Self(if thousandths < THOUSAND { THOUSAND } else { thousandths })
    }

    /// Creates a rate from a fraction, rounded to thousandths. Values that are not a rate, such as negative numbers and
    /// NaN, become the lowest rate.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to what fits")]
    pub fn of(requests: f64) -> Self {
        // A NaN stays one here, and becomes 0.
        let thousandths =
            (requests * f64::from(THOUSAND)).round().clamp(f64::from(THOUSAND), f64::from(u32::MAX)) as u32;
        Self(thousandths.max(THOUSAND))
    }

    /// Returns the time between two requests.
    pub fn period(self) -> Duration {
        Duration::from_nanos(u64::from(THOUSAND) * 1_000_000_000 / u64::from(self.0))
    }

    /// Returns the number of requests in one second, rounded down, at least 1 and at most `most`.
    pub fn burst(self, most: NonZeroU32) -> NonZeroU32 {
        NonZeroU32::new(self.0 / THOUSAND).map_or(NonZeroU32::MIN, |whole| whole.min(most))
    }

    /// Returns the number of requests in one second, rounded down, at least 1.
    pub fn whole(self) -> usize {
        usize::try_from(self.0 / THOUSAND).unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_period_and_a_burst() {
        let most = NonZeroU32::new(5).expect("5 is not zero");
        for (requests, milliseconds, burst) in
            [(10.0, 100, 5), (3.0, 333, 3), (1.0, 1_000, 1), (0.5, 1_000, 1), (0.001, 1_000, 1), (2.5, 400, 2)]
        {
            let rate = Rate::of(requests);
            assert_eq!(rate.period().as_millis(), milliseconds, "{requests}");
            assert_eq!(rate.burst(most).get(), burst, "{requests}");
        }
        assert_eq!(Rate::of(10.0), Rate::per_second(10));
        assert!(Rate::of(1.5) > Rate::per_second(1));
        for nothing in [0.0, -1.0, f64::NAN] {
            assert_eq!(Rate::of(nothing), Rate::per_second(0), "{nothing}");
        }
        assert!(Rate::of(f64::MAX) >= Rate::per_second(u32::MAX));
    }
}
