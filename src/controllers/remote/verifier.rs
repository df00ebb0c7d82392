//! The verifier, the task of a remote that does the lookups of [`super::lookups`], outside of reconciles.
//!
//! It has clients of its own and does not use the circuit breaker: no failure of these reads delays calls of the
//! Connect API.

use std::time::Duration;

use connect_api::error::Failure;
use connect_api::{ApiError, ErrorCode, commerce};
use futures::{StreamExt, stream};
use jiff::Timestamp;
use tracing::Instrument as _;

use super::lookups::{Cadence, Found, Lookup, LookupResult};
use super::{Remote, Settings};
use crate::controllers::object_ref::ObjectRef;
use crate::controllers::spans;

/// Deployments looked up at once.
const LOOKUPS_AT_ONCE: usize = 4;

impl Remote {
    /// Returns the settings of the remote's client.
    #[must_use]
    pub fn settings(&self) -> Settings {
        self.change(|state| state.settings.clone())
    }

    /// Takes the result of a lookup that began at `newer_than` or later; `None`: a lookup is pending, and `object_ref`
    /// is enqueued once it is done. From now on the lookup is repeated, and each change enqueues `object_ref`.
    #[must_use]
    pub fn look_up(
        &self,
        object_ref: &ObjectRef,
        lookup: &Lookup,
        newer_than: Timestamp,
        interval: Duration,
    ) -> Option<LookupResult> {
        let now = self.clock.now();
        let seen = self.change(|state| {
            state.enqueue_if_closed(object_ref);
            state.lookups.take(object_ref, lookup, newer_than, interval, now)
        });
        if seen.is_none() {
            self.lookup_notify.notify_one();
        }
        seen
    }

    /// Sets how often to look up from now on.
    pub fn set_cadence(&self, object_ref: &ObjectRef, cadence: Cadence) {
        let now = self.clock.now();
        let sooner = self.change(|state| {
            let before = state.lookups.next();
            state.lookups.set_cadence(object_ref, cadence, now, &mut state.jitter);
            state.lookups.next() < before
        });
        if sooner {
            self.lookup_notify.notify_one();
        }
    }

    /// Ends the lookups for an object.
    pub fn forget_lookup(&self, object_ref: &ObjectRef) {
        self.change(|state| state.lookups.forget(object_ref));
    }

    /// Looks up what is due; returns until when there is nothing to do, if so.
    pub(super) async fn lookups(&self) -> Option<Timestamp> {
        let now = self.clock.now();
        let (due, next) = self.change(|state| (state.lookups.due(now), state.lookups.next()));
        if due.is_empty() {
            return Some(next);
        }
        stream::iter(due)
            .for_each_concurrent(LOOKUPS_AT_ONCE, |(object_ref, lookup)| async move {
                self.look_up_one(&object_ref, &lookup).await;
            })
            .instrument(spans::round("lookup", &self.project_key()))
            .await;
        None
    }

    async fn look_up_one(&self, object_ref: &ObjectRef, lookup: &Lookup) {
        let at = self.clock.now();
        let mut found = Vec::with_capacity(lookup.resources.len());
        for name in &lookup.resources {
            let answer = commerce::destination(&*lookup.client, name).await;
            // A service that does not answer, or rejects the credentials, is not asked for the remaining resources.
            let failed = answer.as_ref().err().map(read);
            match (answer, failed) {
                (Ok(there), _) => found.push(there.map_or(Found::Absent, Found::There)),
                (Err(_), Some(failed @ (Found::Unreadable(_) | Found::CredentialsRefused(_)))) => {
                    found.resize(lookup.resources.len(), failed);
                    break;
                }
                (Err(_), failed) => found.extend(failed),
            }
        }
        let now = self.clock.now();
        self.change(|state| {
            if state.lookups.observe(object_ref, lookup, at, found, now, &mut state.jitter) {
                state.enqueue.push(object_ref.clone());
            }
        });
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
