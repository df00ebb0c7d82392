//! How many reconciles use a remote at once, and which of those that wait is next.
//!
//! Of each namespace, one reconcile at a time waits for a permit of the remote, and the others of that namespace wait for
//! their turn. Both queues are first come, first served, so namespaces take turns: nobody waits for all changes of another
//! tenant that shares the remote.

use std::collections::HashMap;
use std::sync::Arc;

use connect_api::Rate;
use tokio::sync::{AcquireError, Mutex, OwnedSemaphorePermit, Semaphore};

/// Permits for each request per second. A call rarely takes longer than 2 s, so that more reconciles would only wait for
/// the rate limiter, with their slots, and leave too late.
const PERMITS_PER_REQUEST: usize = 2;

/// The permits of one remote.
pub(super) struct ConcurrencyLimiter {
    permits: Arc<Semaphore>,
    /// Of each namespace, the turn to wait for a permit.
    turns: HashMap<String, Arc<Mutex<()>>>,
}

impl ConcurrencyLimiter {
    /// `most`: permits that no rate exceeds.
    pub(super) fn new(most: usize, rate: Rate) -> Self {
        let permits = most.min(rate.whole().saturating_mul(PERMITS_PER_REQUEST)).max(1);
        Self { permits: Arc::new(Semaphore::new(permits)), turns: HashMap::new() }
    }

    /// Returns the wait for a permit on behalf of a namespace.
    pub(super) fn wait(
        &mut self,
        namespace: &str,
    ) -> impl Future<Output = Result<OwnedSemaphorePermit, AcquireError>> + use<> {
        self.turns.retain(|_, turn| Arc::strong_count(turn) > 1);
        let turn = Arc::clone(self.turns.entry(namespace.to_owned()).or_default());
        let permits = Arc::clone(&self.permits);
        async move {
            let _turn = turn.lock().await;
            permits.acquire_owned().await
        }
    }
}

#[cfg(test)]
#[path = "concurrency_limiter_tests.rs"]
mod tests;
