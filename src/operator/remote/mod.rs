//! State that the controllers share for one remote project.
//!
//! A reconcile waits for its permit, and for connectors. It never polls: it takes a fresh [`PolledRecord`], or
//! registers a pending read and ends. The poller of each remote reads what is pending or due, few deployments by id and many
//! by LIST, and sends the objects to reconcile again into a channel. Nothing here knows Kubernetes or HTTP.
//!
//! - `settings`: how to reach the remote, and the factory of its clients;
//! - `remotes` ([`Remotes`]): the remote of each project;
//! - `state` ([`Remote`]): the lock around the state of one remote, and the calls of its users;
//! - `circuit_breaker` (pure): whether calls go out at all, after failures and inside `Retry-After`;
//! - `guarded_client`: the client that every caller gets; each call passes the circuit breaker;
//! - `concurrency_limiter`: how many reconciles use the remote at once, and which one is next;
//! - `records` (pure): what is polled, what was observed, and what to read next; `poller` reads it;
//! - `registry`: the connectors that resources name, read once for all; `registry_reader` reads them;
//! - `tasks`: runs the poller, and beside it the reads of connectors that are due.

mod circuit_breaker;
mod concurrency_limiter;
mod guarded_client;
mod jitter;
mod poller;
mod records;
mod registry;
mod registry_reader;
mod remotes;
mod settings;
mod state;
mod tasks;
#[cfg(test)]
mod testing;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use connect_api::model::Deployment;

pub use crate::operator::reporting::outage::{Outage, OutageKind};
pub use registry::{RegistryAnswer, RegistryConnector, RegistryEntry, RegistryKey};
pub use registry_reader::ask;
pub use remotes::Remotes;
pub use settings::{ConnectFactory, Connection, Settings};
pub use state::{Login, Remote};
/// The right of one reconcile to use the remote; dropping it admits the next one.
pub use tokio::sync::OwnedSemaphorePermit as ConcurrencyPermit;

/// An observation of a deployment.
#[derive(Clone, Debug)]
pub struct PolledRecord {
    /// When the request left (never later).
    pub at: Timestamp,
    /// The record; `None` if the service itself answered that it does not exist (404 to a GET by id).
    pub found: Option<Arc<Deployment>>,
}

/// How often to poll a deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PollRate {
    /// Something changes since that time: every 3 s at first, then with pauses of a fifth of its age, up to 30 s.
    Busy {
        /// Start of the operation.
        since: Timestamp,
    },
    /// Nothing changes: once in each interval, up to a tenth of the interval late.
    Settled(Duration),
}

/// Why a reconcile may not use the remote now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotAdmitted {
    /// The object has to use another remote: its reconcile begins again.
    Moved,
    /// The circuit breaker is open: the remote must not be called.
    CircuitOpen(Outage),
}

/// The health of a remote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// No call has succeeded yet.
    Unknown,
    /// It answers.
    Good {
        /// When the last successful request left.
        last_poll: Timestamp,
    },
    /// It is not usable.
    Failing(Outage),
}
