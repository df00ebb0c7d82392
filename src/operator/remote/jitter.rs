//! Random jitter, so that what began together spreads out. Seeded, so that tests repeat.

use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// First pause after a failure.
pub(super) const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// Longest pause after failures in a row.
pub(super) const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// A seeded random generator for pauses.
pub(in crate::operator) struct Jitter(StdRng);

impl Jitter {
    pub(in crate::operator) fn new(seed: u64) -> Self {
        Self(StdRng::seed_from_u64(seed))
    }

    /// Returns `duration` plus up to a tenth, never less.
    pub(in crate::operator) fn stretch(&mut self, duration: Duration) -> Duration {
        duration.saturating_add(duration.mul_f64(self.0.random_range(0.0..0.1)))
    }

    /// Returns the pause after so many failures in a row: 1 s, doubled each time, 60 s at most, minus up to a quarter.
    pub(super) fn growing(&mut self, failures: u32) -> Duration {
        let doublings = failures.saturating_sub(1).min(6);
        let whole = FIRST_PAUSE.saturating_mul(1 << doublings).min(LONGEST_PAUSE);
        whole.mul_f64(1.0 - self.0.random_range(0.0..0.25))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_and_intervals_stay_within_their_bounds() {
        let mut jitter = Jitter::new(1);
        for (failures, whole) in [(0, 1), (1, 1), (2, 2), (3, 4), (6, 32), (7, 60), (8, 60), (u32::MAX, 60)] {
            let whole = Duration::from_secs(whole);
            for _ in 0..200 {
                let pause = jitter.growing(failures);
                assert!(pause <= whole && pause >= whole.mul_f64(0.75), "{failures}: {pause:?}");
            }
        }
        let interval = Duration::from_mins(5);
        let drawn: Vec<Duration> = (0..200).map(|_| jitter.stretch(interval)).collect();
        assert!(drawn.iter().all(|drawn| *drawn >= interval && *drawn <= Duration::from_secs(330)));
        assert!(drawn.iter().max() > drawn.iter().min(), "each pause is drawn separately");
        assert_eq!(jitter.stretch(Duration::MAX), Duration::MAX);
    }
}
