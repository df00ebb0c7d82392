//! Reads the connectors of [`super::registry`]: for the reconciles that wait for one, and beside the poller.

use std::sync::Arc;
use std::time::Duration;

use connect_api::{ApiError, ConnectApi};
use futures::{StreamExt, stream};
use jiff::Timestamp;
use tracing::Instrument as _;

use super::{RegistryAnswer, RegistryConnector, RegistryEntry, RegistryKey, Remote};
use crate::operator::object_ref::ObjectRef;
use crate::operator::spans;

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
        let known = self.look(|state| {
            state.registry_cache.note(object_ref, name, interval);
            state.registry_cache.known(name, newer_than)
        });
        match known {
            Some(known) => Ok(known),
            None => self.read_connector(name, newer_than, Some(object_ref)).await,
        }
    }

    /// Ends the object's interest in a connector.
    pub fn forget_registry_entry(&self, object_ref: &ObjectRef) {
        self.look(|state| state.registry_cache.forget(object_ref));
    }

    /// Reads the connectors that are due. What is held back while the circuit breaker is open stays due.
    pub(super) async fn refresh_registry(self: &Arc<Self>) {
        let now = self.clock.now();
        let due = self.look(|state| state.registry_cache.due(now));
        if due.is_empty() {
            return;
        }
        let read = |(name, newer_than)| async move { drop(self.read_connector(&name, newer_than, None).await) };
        let round = spans::round("registry", &self.settings().project_key);
        stream::iter(due).for_each_concurrent(READS_AT_ONCE, read).instrument(round).await;
    }

    /// Reads a connector for `object_ref`, or takes what somebody else has read meanwhile.
    async fn read_connector(
        self: &Arc<Self>,
        name: &RegistryKey,
        newer_than: Timestamp,
        object_ref: Option<&ObjectRef>,
    ) -> Result<RegistryEntry, ApiError> {
        let reader = self.look(|state| state.registry_cache.reader(name));
        let _reading = reader.lock().await;
        if let Some(known) = self.look(|state| state.registry_cache.known(name, newer_than)) {
            return Ok(known);
        }
        let (client, at) = (self.api(), self.clock.now());
        let answer = match connector(&client, name).await {
            // Nothing was asked, so it is no answer.
            Err(error) if error.is_held_back() => return Err(error),
            answer => found(answer),
        };
        Ok(self.change(|state| {
            let (registry_entry, mut named) = state.registry_cache.observe(name, at, answer);
            named.retain(|named| Some(named) != object_ref);
            state.enqueue.extend(named);
            registry_entry
        }))
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
