//! The trace id: one for everything that is done for one reason, in logs and in what leaves the process.
//!
//! Who begins something gives it an id with [`within`]; whoever sends finds it with [`current`]. Logs have it from the span
//! around the same thing.

use std::fmt;
use std::future::Future;

/// An id of 64 random bits, written as 16 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Id(u64);

impl Id {
    /// A new one.
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

/// Does `work` under this id. A task that it spawns is under none.
pub async fn within<T>(id: Id, work: impl Future<Output = T>) -> T {
    CURRENT.scope(id, work).await
}

/// Has `work` done by a task of its own go on under the id of whoever calls this, if there is one.
pub fn carried<T>(work: impl Future<Output = T>) -> impl Future<Output = T> {
    let id = current();
    async move {
        match id {
            Some(id) => within(id, work).await,
            None => work.await,
        }
    }
}

/// The id of what is being done.
#[must_use]
pub fn current() -> Option<Id> {
    CURRENT.try_with(|id| *id).ok()
}
