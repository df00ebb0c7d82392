//! What every client gets in addition to its settings: the clock, the fence and the observer. They form one value
//! because code that creates clients always passes all three on.

use std::sync::Arc;

use super::fence::Fence;
use super::observer::{Observer, Unobserved};
use clock::Clock;

/// The environment that all calls of a client share.
#[derive(Clone, Debug)]
pub struct ClientContext {
    /// Source of the current time.
    pub clock: Clock,
    /// Changing calls leave only while the fence holds; otherwise they fail as not sent.
    pub fence: Fence,
    /// Notified of each request, for metrics.
    pub observer: Arc<dyn Observer>,
}

impl ClientContext {
    /// Creates a context without restrictions and metrics, for one-shot commands and tests.
    pub fn plain(clock: Clock) -> Self {
        Self { clock, fence: Fence::none(), observer: Arc::new(Unobserved) }
    }
}
