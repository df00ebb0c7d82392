//! Decides when a request may leave: limits the rate, and stops requests while a pause requested by the service lasts.
//! Waits on the injected clock only.

use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use governor::clock::Clock as GovernorClock;
use governor::middleware::NoOpMiddleware;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};

use crate::Rate;
use clock::Clock;

/// Maximum number of requests that may leave at once after an idle time, if the rate allows as many per second.
const LARGEST_BURST: NonZeroU32 = NonZeroU32::new(5).expect("5 is not zero");

type Limiter = RateLimiter<NotKeyed, InMemoryState, Elapsed, NoOpMiddleware<Duration>>;

/// Adapts the injected clock to the rate limiter.
#[derive(Clone, Debug)]
struct Elapsed(Clock);

impl GovernorClock for Elapsed {
    type Instant = Duration;

    fn now(&self) -> Duration {
        self.0.elapsed()
    }
}

/// Rate limit and pauses of one client.
#[derive(Debug)]
pub(super) struct Pace {
    clock: Clock,
    limiter: Limiter,
    /// Held while waiting for the rate limiter, so that requests leave in the order of their calls.
    queue: tokio::sync::Mutex<()>,
    /// End of the pause, as a [`Clock::elapsed`] value.
    held_until: Mutex<Duration>,
}

impl Pace {
    pub(super) fn new(clock: Clock, rate: Rate) -> Self {
        let limiter = limiter(&clock, rate);
        Self { clock, limiter, queue: tokio::sync::Mutex::new(()), held_until: Mutex::new(Duration::ZERO) }
    }

    /// Waits until the rate limiter permits one request. The error is the rest of a pause.
    pub(super) async fn turn(&self) -> Result<(), Duration> {
        let _first = self.queue.lock().await;
        loop {
            self.open()?;
            match self.limiter.check() {
                Ok(()) => return Ok(()),
                Err(early) => self.clock.sleep(early.wait_time_from(self.clock.elapsed())).await,
            }
        }
    }

    /// Checks that no pause is in effect. The error is the rest of the pause.
    pub(super) fn open(&self) -> Result<(), Duration> {
        let until = *self.held_until.lock().unwrap_or_else(PoisonError::into_inner);
        match until.saturating_sub(self.clock.elapsed()) {
            Duration::ZERO => Ok(()),
            left => Err(left),
        }
    }

    /// Starts a pause; a longer pause that is already in effect remains.
    pub(super) fn hold(&self, pause: Duration) {
        let until = self.clock.elapsed().saturating_add(pause);
        let mut held_until = self.held_until.lock().unwrap_or_else(PoisonError::into_inner);
        *held_until = until.max(*held_until);
    }
}

fn limiter(clock: &Clock, rate: Rate) -> Limiter {
    // `None` stands for a period of zero, which no rate has.
    let quota = Quota::with_period(rate.period()).unwrap_or_else(|| Quota::per_second(LARGEST_BURST));
    let quota = quota.allow_burst(rate.burst(LARGEST_BURST));
    RateLimiter::direct_with_clock(quota, Elapsed(clock.clone()))
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use jiff::Timestamp;

    use super::*;

    fn pace(rate: u32) -> (Clock, Pace) {
        let clock = Clock::stepped(Timestamp::UNIX_EPOCH);
        (clock.clone(), Pace::new(clock, Rate::per_second(rate)))
    }

    /// Counts the requests that the limiter permits now.
    fn turns(pace: &Pace) -> usize {
        std::iter::from_fn(|| pace.turn().now_or_never()).take(1000).count()
    }

    #[test]
    fn requests_leave_at_the_rate_after_a_small_burst() {
        let (clock, pace) = pace(10);
        assert_eq!(turns(&pace), 5, "burst");
        clock.step(Duration::from_millis(99));
        assert_eq!(turns(&pace), 0);
        clock.step(Duration::from_millis(1));
        assert_eq!(turns(&pace), 1);
        clock.step(Duration::from_mins(1));
        assert_eq!(turns(&pace), 5, "no more than one burst accumulates");
    }

    #[tokio::test]
    async fn a_pause_ends_by_the_clock_and_rejects_waiting_callers() {
        let (clock, pace) = pace(1);
        assert_eq!(pace.turn().await, Ok(()));
        let waiting = pace.turn();
        futures::pin_mut!(waiting);
        assert_eq!(waiting.as_mut().now_or_never(), None);
        pace.hold(Duration::from_secs(30));
        pace.hold(Duration::from_secs(3));
        clock.step(Duration::from_secs(1));
        assert_eq!(waiting.await, Err(Duration::from_secs(29)));
        clock.step(Duration::from_secs(28));
        assert_eq!(pace.open(), Err(Duration::from_secs(1)));
        clock.step(Duration::from_secs(1));
        assert_eq!(pace.open(), Ok(()));
        assert_eq!(pace.turn().await, Ok(()));
    }
}
