//! The registry reader, the task of a remote that reads the connectors of [`super::registry_cache`], beside the poller: a
//! registry that does not answer delays no poll.

use std::sync::Arc;
use std::time::Duration;

use connect_api::{ApiError, ConnectApi};
use futures::{StreamExt, stream};
use jiff::Timestamp;
use tracing::Instrument as _;

use super::circuit_breaker::{BreakerState, Caller};
use super::jitter::FIRST_PAUSE;
use super::state::RemoteState;
use super::{RegistryAnswer, RegistryConnector, RegistryEntry, RegistryKey, Remote};
use crate::controllers::object_ref::ObjectRef;
use crate::controllers::spans;

/// Connectors read at once. A round ends with the slowest of them, so it has no more. At a low rate, a list of many pages
/// takes turns with them.
const READS_AT_ONCE: usize = 4;

impl RemoteState {
    /// Returns when the next connector is to be read: not while the circuit breaker is open, which the poller closes.
    pub(super) fn registry_due(&self, now: Timestamp) -> Timestamp {
        match self.circuit_breaker.position(now) {
            BreakerState::Closed => self.registry_cache.next(),
            BreakerState::Open(_) | BreakerState::HalfOpen(_) | BreakerState::HalfOpenForList => Timestamp::MAX,
        }
    }
}

impl Remote {
    /// Takes the registry entry of a connector if it was read at `newer_than` or later. From now on the connector is
    /// read at this interval, or more often, and a change enqueues `object_ref`. If there is no such entry, a read is
    /// pending, and its answer enqueues `object_ref`. Each object has one connector: another one replaces it.
    #[must_use]
    pub fn registry_entry(
        &self,
        object_ref: &ObjectRef,
        name: &RegistryKey,
        interval: Duration,
        newer_than: Timestamp,
    ) -> Option<RegistryEntry> {
        let now = self.clock.now();
        self.change(|state| {
            state.enqueue_if_closed(object_ref);
            state.registry_cache.take(object_ref, name, interval, newer_than, now)
        })
    }

    /// Ends the object's interest in a connector.
    pub fn forget_registry_entry(&self, object_ref: &ObjectRef) {
        self.change(|state| state.registry_cache.forget(object_ref));
    }

    /// Reads some of the connectors that are due; returns until when there are none, if so.
    pub(super) async fn read_registry(self: &Arc<Self>) -> Option<Timestamp> {
        let now = self.clock.now();
        let due = self.change(|state| {
            let next = state.registry_due(now);
            if next > now {
                state.registry_resting_until = Some(next);
                return Err(next);
            }
            let mut due = state.registry_cache.due(now);
            due.truncate(READS_AT_ONCE);
            Ok(due)
        });
        let due = match due {
            Ok(due) => due,
            Err(next) => return Some(next),
        };
        stream::iter(due)
            .for_each_concurrent(READS_AT_ONCE, |name| self.read_connector(name))
            .instrument(spans::round("registry", &self.project_key()))
            .await;
        None
    }

    async fn read_connector(self: &Arc<Self>, name: RegistryKey) {
        let (guarded_client, at) = (self.guarded_client(Caller::Reconcile), self.clock.now());
        let answer = connector(&guarded_client, &name).await;
        let now = self.clock.now();
        self.change(|state| {
            // With other credentials it has to be read again.
            if state.circuit_breaker.client() != guarded_client.number {
                return;
            }
            match answer {
                // Nothing was asked, so it is no answer.
                Err(error) if error.is_held_back() => {
                    state.registry_cache.postpone(&name, error.retry_after.unwrap_or(FIRST_PAUSE), now);
                }
                answer => {
                    let enqueued = state.registry_cache.observe(&name, at, found(answer), now, &mut state.jitter);
                    state.enqueue.extend(enqueued);
                }
            }
        });
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
