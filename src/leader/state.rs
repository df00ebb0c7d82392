//! The state of the election, cheap to read at any moment: whether this process leads, and whether the loop is alive.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::watch;

use clock::Clock;
use connect_api::Fence;

/// The state of the election. Clones share it.
#[derive(Clone, Debug)]
pub struct LeadershipState(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    clock: Clock,
    fence: Fence,
    won: watch::Sender<bool>,
    /// When the loop last started an attempt, on [`Clock::elapsed`] in nanoseconds; `None`: there is no loop.
    turned: Option<AtomicU64>,
}

impl LeadershipState {
    /// Returns the state of a process that leads without an election.
    #[must_use]
    pub fn alone(clock: Clock) -> Self {
        Self(Arc::new(Inner { clock, fence: Fence::none(), won: watch::Sender::new(true), turned: None }))
    }

    /// Returns the state of a process that does not lead yet.
    pub(super) fn candidate(clock: Clock, fence: Fence) -> Self {
        let state =
            Self(Arc::new(Inner { clock, fence, won: watch::Sender::new(false), turned: Some(AtomicU64::new(0)) }));
        state.turn();
        state
    }

    /// Whether this process leads now: it runs the controllers, and the fence permits its calls.
    #[must_use]
    pub fn leads(&self) -> bool {
        *self.0.won.borrow() && self.0.fence.holds()
    }

    /// Time since the loop of the election last started an attempt. It does so every few seconds, also while the API
    /// server does not answer. Zero without an election.
    #[must_use]
    pub fn since_last_turn(&self) -> Duration {
        let Some(turned) = &self.0.turned else { return Duration::ZERO };
        self.0.clock.elapsed().saturating_sub(Duration::from_nanos(turned.load(Ordering::Relaxed)))
    }

    /// Returns once this process leads.
    pub(super) async fn won(&self) {
        // It cannot fail: the sender lives as long as `self`.
        let _ = self.0.won.subscribe().wait_for(|won| *won).await;
    }

    pub(super) fn turn(&self) {
        if let Some(turned) = &self.0.turned {
            let now = u64::try_from(self.0.clock.elapsed().as_nanos()).unwrap_or(u64::MAX);
            turned.store(now, Ordering::Relaxed);
        }
    }

    pub(super) fn leads_now(&self, leads: bool) {
        self.0.won.send_replace(leads);
    }
}
