//! Lookups of Extensions and Subscriptions in the HTTP API of the project.
//!
//! They have clients of their own and do not use the circuit breaker or the permits: no failure of these reads delays calls
//! of the Connect API.

use std::time::Duration;

use connect_api::commerce::ResourceName;
use connect_api::error::Failure;
use connect_api::model::Destination;
use connect_api::{ApiError, CommerceApi, ErrorCode};

/// Pause before the second lookup of what is not verified; the pause grows with the age of the operation.
const FIRST_PAUSE: Duration = Duration::from_secs(10);
/// Longest pause after a lookup in which something could not be read.
const AFTER_FAILURE: Duration = Duration::from_mins(1);

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

/// Looks up these resources: one observation for each, in their order.
pub(super) async fn look_up(client: &dyn CommerceApi, resources: &[ResourceName]) -> Vec<Found> {
    let mut found = Vec::with_capacity(resources.len());
    for name in resources {
        match client.destination(name).await {
            Ok(there) => found.push(there.map_or(Found::Absent, Found::There)),
            Err(error) => match read(&error) {
                // A service that does not answer, or rejects the credentials, is not asked for the remaining resources.
                failed @ (Found::Unreadable(_) | Found::CredentialsRefused(_)) => {
                    found.resize(resources.len(), failed);
                    break;
                }
                failed => found.push(failed),
            },
        }
    }
    found
}

/// Returns the pause before the next lookup: the interval, and less after a failure, and while something is not verified,
/// because scripts may take their time. `unverified_for`: how long the resources have been expected to be as declared;
/// `None`: they are.
#[must_use]
pub(super) fn pause(interval: Duration, unverified_for: Option<Duration>, failed: bool) -> Duration {
    let pause = unverified_for.map_or(interval, |age| age.max(FIRST_PAUSE).min(interval));
    if failed { pause.min(AFTER_FAILURE) } else { pause }
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
