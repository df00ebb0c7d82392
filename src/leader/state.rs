//! What others may ask of the election at any moment, cheaply: whether this process leads, and whether the loop turns.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::watch;

use clock::Clock;
use connect_api::Fence;

/// How the election stands. Clones share it.
#[derive(Clone, Debug)]
pub struct State(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    clock: Clock,
    fence: Fence,
    won: watch::Sender<bool>,
    /// When the loop last turned, on [`Clock::elapsed`] in nanoseconds; `None`: there is no loop.
    turned: Option<AtomicU64>,
}

impl State {
    /// Of a process that leads without an election.
    #[must_use]
    pub fn alone(clock: Clock) -> Self {
        Self(Arc::new(Inner { clock, fence: Fence::none(), won: watch::Sender::new(true), turned: None }))
    }

    /// Of a process that does not lead yet.
    pub(super) fn candidate(clock: Clock, fence: Fence) -> Self {
        let state =
            Self(Arc::new(Inner { clock, fence, won: watch::Sender::new(false), turned: Some(AtomicU64::new(0)) }));
        state.turn();
        state
    }

    /// Whether this process leads now: it runs the controllers, and what it sends may leave.
    #[must_use]
    pub fn leads(&self) -> bool {
        *self.0.won.borrow() && self.0.fence.holds()
    }

    /// How long ago the loop of the election turned last; it does so every few seconds, also while the API server does not
    /// answer. Zero without an election.
    #[must_use]
    pub fn since_last_turn(&self) -> Duration {
        let Some(turned) = &self.0.turned else { return Duration::ZERO };
        self.0.clock.elapsed().saturating_sub(Duration::from_nanos(turned.load(Ordering::Relaxed)))
    }

    /// Returns once it leads.
    pub(super) async fn won(&self) {
        // The sender is in what this borrows.
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
