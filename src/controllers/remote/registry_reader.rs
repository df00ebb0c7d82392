//! Reads the connectors of [`super::registry_cache`]: for the reconciles that wait for one, and beside the poller.

use std::sync::Arc;
use std::time::Duration;

use clock::later;
use connect_api::{ApiError, ConnectApi};
use futures::{StreamExt, stream};
use jiff::Timestamp;
use tokio::sync::Mutex;
use tracing::Instrument as _;

use super::circuit_breaker::{BreakerState, Caller};
use super::{RegistryAnswer, RegistryConnector, RegistryEntry, RegistryKey, Remote};
use crate::controllers::object_ref::ObjectRef;
use crate::controllers::spans;

/// Connectors read at once beside the poller.
const READS_AT_ONCE: usize = 4;

impl Remote {
    /// Returns the registry entry of a connector, read at `newer_than` or later, which is not in the future; reads the
    /// registry if there is none. From now on the connector is read at this interval, or more often, and a change enqueues
    /// `object_ref`. Each object has one connector: another one replaces it.
    ///
    /// # Errors
    /// The request was held back, because the circuit breaker is open.
    pub async fn registry_entry(
        self: &Arc<Self>,
        object_ref: &ObjectRef,
        name: &RegistryKey,
        interval: Duration,
        newer_than: Timestamp,
    ) -> Result<RegistryEntry, ApiError> {
        let (reader, known) = self.change(|state| {
            let reader = Arc::clone(&state.registry_cache.note(object_ref, name, interval).reader);
            (reader, state.registry_cache.known(name, newer_than).cloned())
        });
        match known {
            Some(known) => Ok(known),
            None => self.read_connector(name, &reader, newer_than, Some(object_ref)).await,
        }
    }

    /// Ends the object's interest in a connector.
    pub fn forget_registry_entry(&self, object_ref: &ObjectRef) {
        self.change(|state| state.registry_cache.forget(object_ref));
    }

    /// Reads the connectors that are due; returns until when there are none. Not while the circuit breaker is open, which the
    /// poller closes.
    pub(super) async fn refresh_registry(self: &Arc<Self>) -> Timestamp {
        let now = self.clock.now();
        let (due, next) = self.change(|state| match state.circuit_breaker.position(now) {
            BreakerState::Closed => (state.registry_cache.due(now), state.registry_cache.next()),
            BreakerState::Open(_) | BreakerState::HalfOpen(_) | BreakerState::HalfOpenForList => {
                (Vec::new(), Timestamp::MAX)
            }
        });
        if due.is_empty() {
            return next;
        }
        stream::iter(due)
            .for_each_concurrent(READS_AT_ONCE, |(name, reader, read_at)| async move {
                // If it is held back, it stays due.
                let newer_than = later(read_at, Duration::from_nanos(1));
                drop(self.read_connector(&name, &reader, newer_than, None).await);
            })
            .instrument(spans::round("registry", &self.project_key()))
            .await;
        self.change(|state| state.registry_cache.next())
    }

    /// Reads a connector for `object_ref`, or takes what somebody else has read meanwhile.
    async fn read_connector(
        self: &Arc<Self>,
        name: &RegistryKey,
        reader: &Mutex<()>,
        newer_than: Timestamp,
        object_ref: Option<&ObjectRef>,
    ) -> Result<RegistryEntry, ApiError> {
        let _reading = reader.lock().await;
        if let Some(known) = self.change(|state| state.registry_cache.known(name, newer_than).cloned()) {
            return Ok(known);
        }
        loop {
            let (guarded_client, at) = (self.guarded_client(Caller::Reconcile), self.clock.now());
            let answer = match connector(&guarded_client, name).await {
                // Nothing was asked, so it is no answer.
                Err(error) if error.is_held_back() => return Err(error),
                answer => found(answer),
            };
            let now = self.clock.now();
            let observed = self.change(|state| {
                // With other credentials it has to be read again.
                if state.circuit_breaker.client() != guarded_client.number {
                    return None;
                }
                let (entry, mut enqueued) = state.registry_cache.observe(name, at, answer, now, &mut state.jitter);
                enqueued.retain(|enqueued| Some(enqueued) != object_ref);
                state.enqueue.extend(enqueued);
                Some(entry)
            });
            if let Some(registry_entry) = observed {
                return Ok(registry_entry);
            }
        }
    }
}

/// Reads a connector from the registry.
pub async fn ask(api: &impl ConnectApi, name: &RegistryKey) -> RegistryAnswer {
    found(connector(api, name).await)
}

async fn connector(api: &impl ConnectApi, name: &RegistryKey) -> Result<Option<RegistryConnector>, ApiError> {
    if name.staged {
        api.staged(&name.selector).await.map(|found| found.map(RegistryConnector::from))
    } else {
        api.connector(&name.selector).await.map(|found| found.map(RegistryConnector::from))
    }
}

fn found(answer: Result<Option<RegistryConnector>, ApiError>) -> RegistryAnswer {
    match answer {
        Ok(found) => found.map_or(RegistryAnswer::Absent, |found| RegistryAnswer::There(Arc::new(found))),
        Err(error) => {
            tracing::debug!(%error, "a connector cannot be read");
            RegistryAnswer::Unreadable
        }
    }
}

#[cfg(test)]
#[path = "registry_reader_tests.rs"]
mod tests;
