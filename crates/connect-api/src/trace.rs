//! The trace id, shared by everything that happens for one reason, in logs and in outgoing requests.
//!
//! The code that starts a unit of work sets an id with [`within`]; the client reads it with [`current`]. Logs get it
//! from the span around the same work.

use std::fmt;
use std::future::Future;

/// Target of the spans that may be exported as traces. Each of them names all its fields, and has no secret, no header and
/// no body. The log leaves them out, because its lines have fields of their own.
pub const EXPORTED: &str = "exported_traces";

/// A trace id of 128 random bits, written as 32 hexadecimal digits (W3C Trace Context).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Id(u128);

impl Id {
    /// Creates a new random id.
    pub fn random() -> Self {
        Self(rand::random())
    }

    /// Returns the bytes of the id, in the order of its digits.
    pub fn to_bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }
}

impl fmt::Display for Id {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:032x}", self.0)
    }
}

tokio::task_local! {
    static CURRENT: Id;
}

/// Runs `work` under this id. Tasks that `work` spawns do not inherit it.
pub async fn within<T>(id: Id, work: impl Future<Output = T>) -> T {
    CURRENT.scope(id, work).await
}

/// Returns the id of the current work, if any.
pub fn current() -> Option<Id> {
    CURRENT.try_with(|id| *id).ok()
}
