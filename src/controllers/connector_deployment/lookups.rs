//! Lookups of Extensions and Subscriptions in the HTTP API of the project.
//!
//! They have clients of their own and do not use the circuit breaker or the permits: no failure of these reads delays calls
//! of the Connect API.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use clock::{Clock, between, later};
use connect_api::commerce::ResourceName;
use connect_api::error::Failure;
use connect_api::model::Destination;
use connect_api::{ApiError, CommerceApi, ErrorCode};
use jiff::Timestamp;

/// Pause before the second lookup of what is not verified; the pause grows with the age of the operation.
const FIRST_PAUSE: Duration = Duration::from_secs(10);
/// Longest pause after a lookup in which something could not be read.
const AFTER_FAILURE: Duration = Duration::from_mins(1);

/// What to look up, and with which client.
#[derive(Clone)]
pub struct Lookup {
    /// The client. Observations of another client do not count.
    pub client: Arc<dyn CommerceApi>,
    /// The resources.
    pub resources: Vec<ResourceName>,
}

impl PartialEq for Lookup {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.client, &other.client) && self.resources == other.resources
    }
}

impl fmt::Debug for Lookup {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Lookup").field("resources", &self.resources).finish_non_exhaustive()
    }
}

/// The observation of one resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// It exists and has this destination.
    There(Destination),
    /// It does not exist.
    Absent,
    /// The API client may not read it.
    Forbidden,
    /// The service rejected the credentials, with the message for users.
    CredentialsRefused(String),
    /// There was no usable answer, with the message for users.
    Unreadable(String),
}

/// The result of a lookup.
#[derive(Clone, Debug, PartialEq)]
pub struct LookupResult {
    /// What was looked up.
    pub lookup: Lookup,
    /// When its first request left (never later).
    pub at: Timestamp,
    /// One observation for each resource, in their order.
    pub found: Vec<Found>,
    /// Whether something could not be read.
    pub failed: bool,
    /// When to look up again.
    pub due: Timestamp,
}

impl Lookup {
    /// Looks up now. What cannot be read keeps its observation of an `earlier` result that still counts.
    pub async fn run(self, earlier: Option<LookupResult>, clock: &Clock) -> LookupResult {
        let at = clock.now();
        let mut found = self.ask().await;
        let failed = found.iter().any(|found| matches!(found, Found::Unreadable(_)));
        for (now, before) in found.iter_mut().zip(earlier.into_iter().flat_map(|earlier| earlier.found)) {
            if matches!(now, Found::Unreadable(_)) {
                *now = before;
            }
        }
        LookupResult { lookup: self, at, found, failed, due: at }
    }

    async fn ask(&self) -> Vec<Found> {
        let mut found = Vec::with_capacity(self.resources.len());
        for name in &self.resources {
            match self.client.destination(name).await {
                Ok(there) => found.push(there.map_or(Found::Absent, Found::There)),
                Err(error) => match read(&error) {
                    // A service that does not answer, or rejects the credentials, is not asked for the remaining resources.
                    failed @ (Found::Unreadable(_) | Found::CredentialsRefused(_)) => {
                        found.resize(self.resources.len(), failed);
                        break;
                    }
                    failed => found.push(failed),
                },
            }
        }
        found
    }
}

impl LookupResult {
    /// Whether it is a result of `lookup` that began at `newer_than` or later.
    #[must_use]
    pub fn counts(&self, lookup: &Lookup, newer_than: Timestamp) -> bool {
        self.lookup == *lookup && self.at >= newer_than
    }

    /// Sets when to look up again: at the interval, and sooner after a failure, and while something is not verified, because
    /// scripts may take their time. `unverified_since`: since when the resources are expected to be as declared; `None`: they
    /// are.
    pub fn schedule(&mut self, interval: Duration, unverified_since: Option<Timestamp>, now: Timestamp) {
        let pause = unverified_since.map_or(interval, |since| between(since, now).max(FIRST_PAUSE).min(interval));
        self.due = later(now, if self.failed { pause.min(AFTER_FAILURE) } else { pause });
    }
}

/// Returns what an error means for a resource.
fn read(error: &ApiError) -> Found {
    tracing::debug!(%error, "a resource of the project cannot be looked up");
    match &error.failure {
        Failure::Answered { status: 403, .. } => Found::Forbidden,
        Failure::Answered { codes, .. } if codes.contains(&ErrorCode::AuthorizationError) => Found::Forbidden,
        Failure::CredentialsRefused | Failure::Answered { status: 401, .. } => {
            Found::CredentialsRefused(error.message.clone())
        }
        _ => Found::Unreadable(error.to_string()),
    }
}

#[cfg(test)]
#[path = "lookups_tests.rs"]
mod tests;
