//! What a client is given beside its settings: the time, a permission that may end, and who counts. One value, since
//! whoever makes clients hands all of it on.

use std::sync::Arc;

use super::fence::Fence;
use super::observer::{Observer, Unobserved};
use clock::Clock;

/// What stands around every call of a client.
#[derive(Clone, Debug)]
pub struct ClientContext {
    /// The time.
    pub clock: Clock,
    /// What changes something leaves only while this holds: else it counts as not sent.
    pub fence: Fence,
    /// Hears of each request.
    pub observer: Arc<dyn Observer>,
}

impl ClientContext {
    /// The time, and nobody who forbids or counts: for commands that run once, and tests.
    #[must_use]
    pub fn plain(clock: Clock) -> Self {
        Self { clock, fence: Fence::none(), observer: Arc::new(Unobserved) }
    }
}
