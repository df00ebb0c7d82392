//! Everything that the controllers share for one remote project.
//!
//! A run never polls and never waits for a look: it takes a fresh [`PolledRecord`] out of the view, or says that it wants
//! one and ends. One task for each remote, the looker, reads what is wanted or due, few by id and many by LIST, and
//! sends into a channel whose run is to be done again. Nothing here knows of Kubernetes, nor of HTTP.
//!
//! - `settings`: how to reach it, and who makes the client;
//! - `registry` ([`Remotes`]), `claims`: which projects share which remote, and with what credentials;
//! - `state` ([`Remote`]): the lock around what is known of one remote, and what its users call;
//! - `circuit_breaker`: whether calls go out at all, after failures and inside `Retry-After`;
//! - `concurrency_limiter`: how many runs at once, and who is next;
//! - `view`, `fingerprint`: what is watched and what was seen; `plan`: what to read next (all pure);
//! - `registry_cache`: what the registry says of the connectors that are named (pure);
//! - `permissions`: which rights the token lacks, and who waits for one that has them;
//! - `lookups`, `verifier`: what is looked up in the HTTP API, and the task that reads it;
//! - `poller`: does what `plan` says;
//! - `guarded_client`: the client as everyone gets it, which asks the gate before each call and reports to it after.

mod circuit_breaker;
mod claims;
mod concurrency_limiter;
mod fingerprint;
mod guarded_client;
mod jitter;
mod lookups;
mod permissions;
mod plan;
mod poller;
mod registry;
mod registry_cache;
mod settings;
mod state;
#[cfg(test)]
mod testing;
mod verifier;
mod view;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use connect_api::ApiError;
use connect_api::model::Deployment;

pub(super) use jitter::Jitter;
pub use lookups::{Cadence, Found, Lookup, LookupResult};
pub use poller::ask;
pub use registry::Remotes;
pub use registry_cache::{RegistryAnswer, RegistryConnector, RegistryEntry, RegistryKey};
pub use settings::{ConnectFactory, Connection, Settings};
pub use state::{ConcurrencyPermit, Login, Remote};

/// What a look saw.
#[derive(Clone, Debug)]
pub struct PolledRecord {
    /// When the request left (never later).
    pub at: Timestamp,
    /// The record; `None` if the service itself answered that there is none (404 to a GET by id).
    pub found: Option<Arc<Deployment>>,
}

/// How often to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PollRate {
    /// Something moves, since then: every 3 s at first, then with pauses of a fifth of its age, up to 30 s.
    Busy {
        /// Start of the operation.
        since: Timestamp,
    },
    /// Nothing moves: after each interval, and up to a tenth of it later.
    Settled(Duration),
}

/// Why a run does not get a turn. It is woken when it may ask again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotAdmitted {
    /// As many as may run do so.
    Queued,
    /// The remote is not to be called.
    CircuitOpen(Outage),
}

/// How a remote is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// Not looked at yet.
    Unknown,
    /// It answers.
    Good {
        /// When the last request left whose answer was good.
        last_look: Timestamp,
    },
    /// It cannot be worked with.
    Failing(Outage),
}

/// Why a remote cannot be worked with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outage {
    /// Who has to act.
    pub kind: OutageKind,
    /// The error that said so last.
    pub error: Arc<ApiError>,
    /// Since when, over all attempts.
    pub since: Timestamp,
    /// Nothing is sent before that.
    pub until: Timestamp,
}

/// Who has to act for a remote to work again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OutageKind {
    /// Nobody: it does not answer, or answers that it is broken.
    Unavailable,
    /// Nobody: it asked to be left alone for a while.
    Throttled,
    /// A person: client id or secret are wrong.
    CredentialsRejected,
    /// A person: the API client may not see deployments.
    PermissionMissing,
    /// A person: the service has no such project, or none with Connect.
    ProjectNotFound,
}
