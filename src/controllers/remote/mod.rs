//! State that the controllers share for one remote project.
//!
//! A reconcile waits for its permit, for connectors and for lookups. It never polls: it takes a fresh [`PolledRecord`] out of
//! the view, or registers a pending read and ends. The poller of each remote reads what is pending or due, few deployments
//! by id and many by LIST, and sends the objects to reconcile again into a channel. Nothing here knows Kubernetes or HTTP.
//!
//! - `settings`: how to reach the remote, and the factory of its clients;
//! - `remotes` ([`Remotes`]), `project_claims`: which projects share which remote, and with which credentials;
//! - `state` ([`Remote`]): the lock around the state of one remote, and the calls of its users;
//! - `circuit_breaker`: whether calls go out at all, after failures and inside `Retry-After`;
//! - `concurrency_limiter`: how many reconciles use the remote at once, and which one is next;
//! - `view`, `fingerprint`: what is polled and what was observed; `plan`: what to read next (all pure);
//! - `registry_cache`: the registry entries of the connectors that resources name; `registry_reader` reads them;
//! - `permissions`: which rights the token lacks, and which objects wait for a token that has them;
//! - `lookups`: what is looked up in the HTTP API;
//! - `poller`: executes what `plan` returns; `tasks`: runs it, and beside it the reads of connectors that are due;
//! - `guarded_client`: the client that every caller gets; it asks the circuit breaker before each call and reports to
//!   it after.

mod circuit_breaker;
mod concurrency_limiter;
mod fingerprint;
mod guarded_client;
mod jitter;
mod lookups;
mod permissions;
mod plan;
mod poller;
mod project_claims;
mod registry_cache;
mod registry_reader;
mod remotes;
mod round_robin;
mod settings;
mod state;
mod tasks;
#[cfg(test)]
mod testing;
mod view;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use connect_api::model::Deployment;

pub use crate::controllers::reporting::outage::{Outage, OutageKind};
pub use lookups::{Found, Lookup, LookupResult};
pub use registry_cache::{RegistryAnswer, RegistryConnector, RegistryEntry, RegistryKey};
pub use registry_reader::ask;
pub use remotes::Remotes;
pub use settings::{ConnectFactory, Connection, Settings};
pub use state::{ConcurrencyPermit, Login, Remote};

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
    /// No call has succeeded yet, or none since the credentials were replaced during an outage.
    Unknown,
    /// It answers.
    Good {
        /// When the last successful request left.
        last_poll: Timestamp,
    },
    /// It is not usable.
    Failing(Outage),
}
