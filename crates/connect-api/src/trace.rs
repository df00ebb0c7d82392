//! The trace id, shared by everything that happens for one reason, in logs and in outgoing requests.
//!
//! The code that starts a unit of work sets an id with [`within`]; the client reads it with [`current`]. Logs get it
//! from the span around the same work.

use std::fmt;
use std::future::Future;

/// A trace id of 64 random bits, written as 16 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Id(u64);

impl Id {
    /// Creates a new random id.
    #[must_use]
    pub fn random() -> Self {
        Self(rand::random())
    }
}

impl fmt::Display for Id {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:016x}", self.0)
    }
}

tokio::task_local! {
    static CURRENT: Id;
}

/// Runs `work` under this id. Tasks that `work` spawns do not inherit it.
pub async fn within<T>(id: Id, work: impl Future<Output = T>) -> T {
    CURRENT.scope(id, work).await
}

/// Carries the caller's id, if any, into `work` that a separate task runs.
pub fn carried<T>(work: impl Future<Output = T>) -> impl Future<Output = T> {
    let id = current();
    async move {
        match id {
            Some(id) => within(id, work).await,
            None => work.await,
        }
    }
}

/// Returns the id of the current work, if any.
#[must_use]
pub fn current() -> Option<Id> {
    CURRENT.try_with(|id| *id).ok()
}
