//! The registry entries of the connectors that resources of a project name, each read once for all of them.
//!
//! A reconcile waits for an entry that is new enough. A connector is also read at the shortest interval of the objects that
//! name it, beside the poller, and enqueues them when it has changed. If it cannot be read, the earlier answer stays but is
//! not current: objects proceed without a check against it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use clock::later;
use connect_api::model::{Connector, ConnectorStaged, DeclaredApplication, DeclaredGlobal, IsPreviewable};
use connect_api::{ApiError, ConnectApi, Selector};
use futures::{StreamExt, stream};
use jiff::Timestamp;
use tokio::sync::Mutex;
use tracing::Instrument as _;

use super::Remote;
use super::circuit_breaker::{BreakerState, Caller};
use super::jitter::Jitter;
use crate::controllers::object_ref::ObjectRef;
use crate::controllers::spans;

/// Connectors read at once beside the poller.
const READS_AT_ONCE: usize = 4;

/// The way a resource names a connector.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RegistryKey {
    /// By id or by key.
    pub selector: Selector,
    /// The staged connector, not the published one.
    pub staged: bool,
}

/// The part of a connector that deployments depend on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RegistryConnector {
    /// Its version.
    pub version: i64,
    /// The Git tag that it is built from.
    pub tag: String,
    /// Variables that its applications declare; `None`: unknown.
    pub applications: Option<Vec<DeclaredApplication>>,
    /// Variables that all its applications share.
    pub global: Option<DeclaredGlobal>,
    /// Regions that it may be deployed to; empty: any.
    pub supported_regions: Vec<String>,
    /// Whether it may be deployed while staged; `None`: it is published.
    pub previewable: Option<IsPreviewable>,
    /// Scopes of the API client that each deployment generates (`apiClient`); empty: it generates none.
    pub api_client: Vec<String>,
}

impl RegistryConnector {
    /// Whether a deployment of it generates an API client, which needs an additional right.
    #[must_use]
    pub fn generates_api_client(&self) -> bool {
        !self.api_client.is_empty()
    }
}

impl From<Connector> for RegistryConnector {
    fn from(connector: Connector) -> Self {
        Self {
            version: connector.version,
            tag: connector.repository.tag,
            applications: connector.configurations,
            global: connector.global_configuration,
            supported_regions: connector.supported_regions,
            previewable: None,
            api_client: connector.api_client.unwrap_or_default().scopes,
        }
    }
}

impl From<ConnectorStaged> for RegistryConnector {
    fn from(staged: ConnectorStaged) -> Self {
        Self {
            version: staged.version,
            tag: staged.repository.tag,
            applications: staged.configurations,
            global: staged.global_configuration,
            supported_regions: staged.supported_regions,
            previewable: Some(staged.is_previewable),
            api_client: staged.api_client.unwrap_or_default().scopes,
        }
    }
}

/// An answer of the registry.
#[derive(Clone, Debug, PartialEq)]
pub enum RegistryAnswer {
    /// The connector exists.
    There(Arc<RegistryConnector>),
    /// The service answered that it does not exist.
    Absent,
    /// Unknown: no permission, or no answer.
    Unreadable,
}

/// An observation of a connector in the registry.
#[derive(Clone, Debug, PartialEq)]
pub struct RegistryEntry {
    /// When the last request left (never later).
    pub at: Timestamp,
    /// The last readable answer; it is older than `at` if that request failed.
    pub found: RegistryAnswer,
    /// Whether `found` is the answer to the request at `at`.
    pub current: bool,
}

/// What is kept for one connector.
#[derive(Debug)]
struct Entry {
    /// The objects that name it, each with its interval.
    users: BTreeMap<ObjectRef, Duration>,
    known: Option<RegistryEntry>,
    /// When it is read again beside the poller.
    due: Timestamp,
    /// Locked by the one that reads it.
    reader: Arc<Mutex<()>>,
}

/// The connectors that the resources of one project name.
#[derive(Debug, Default)]
pub(super) struct RegistryCache {
    entries: BTreeMap<RegistryKey, Entry>,
    /// The connector that each object names: one each.
    named: BTreeMap<ObjectRef, RegistryKey>,
}

impl RegistryCache {
    /// Notes that the object names the connector; returns its entry.
    fn note(&mut self, object_ref: &ObjectRef, name: &RegistryKey, interval: Duration) -> &Entry {
        if self.named.get(object_ref) != Some(name) {
            self.forget(object_ref);
            self.named.insert(object_ref.clone(), name.clone());
        }
        let entry = self.entries.entry(name.clone()).or_insert_with(|| Entry {
            users: BTreeMap::new(),
            known: None,
            due: Timestamp::MAX,
            reader: Arc::default(),
        });
        entry.users.insert(object_ref.clone(), interval);
        if let Some(known) = &entry.known {
            entry.due = entry.due.min(later(known.at, interval));
        }
        entry
    }

    /// Returns what was read of the connector at `newer_than` or later.
    fn known(&self, name: &RegistryKey, newer_than: Timestamp) -> Option<&RegistryEntry> {
        self.entries.get(name)?.known.as_ref().filter(|known| known.at >= newer_than)
    }

    /// Returns the connectors that are due, each with the time of its last read.
    fn due(&self, now: Timestamp) -> Vec<(RegistryKey, Arc<Mutex<()>>, Timestamp)> {
        let due = self.entries.iter().filter(|(_, entry)| entry.due <= now);
        let read_at = |entry: &Entry| entry.known.as_ref().map_or(Timestamp::MIN, |known| known.at);
        due.map(|(name, entry)| (name.clone(), Arc::clone(&entry.reader), read_at(entry))).collect()
    }

    /// Returns when the first connector is due.
    fn next(&self) -> Timestamp {
        self.entries.values().map(|entry| entry.due).min().unwrap_or(Timestamp::MAX)
    }

    /// Records the answer to a request that left at `at`. Returns the entry, and the objects to enqueue: all that name the
    /// connector, if the answer differs from the one before.
    fn observe(
        &mut self,
        name: &RegistryKey,
        at: Timestamp,
        found: RegistryAnswer,
        now: Timestamp,
        jitter: &mut Jitter,
    ) -> (RegistryEntry, Vec<ObjectRef>) {
        let current = found != RegistryAnswer::Unreadable;
        let Some(entry) = self.entries.get_mut(name) else {
            return (RegistryEntry { at, found, current }, Vec::new());
        };
        let before = entry.known.take().map(|before| before.found);
        let changed = current && before.as_ref().is_some_and(|before| *before != found);
        let registry_entry =
            RegistryEntry { at, found: if current { found } else { before.unwrap_or(found) }, current };
        let interval = entry.users.values().min().copied().unwrap_or(Duration::MAX);
        entry.due = later(now, jitter.stretch(interval));
        entry.known = Some(registry_entry.clone());
        let enqueued = if changed { entry.users.keys().cloned().collect() } else { Vec::new() };
        (registry_entry, enqueued)
    }

    /// Returns all objects that name a connector.
    pub(super) fn object_refs(&self) -> impl Iterator<Item = &ObjectRef> {
        self.named.keys()
    }

    /// Marks everything as outdated: what was read with other credentials does not count.
    pub(super) fn distrust(&mut self, now: Timestamp) {
        for entry in self.entries.values_mut() {
            if let Some(registry_entry) = &mut entry.known {
                registry_entry.at = Timestamp::MIN;
                entry.due = now;
            }
        }
    }

    pub(super) fn forget(&mut self, object_ref: &ObjectRef) {
        let Some(name) = self.named.remove(object_ref) else { return };
        let Some(entry) = self.entries.get_mut(&name) else { return };
        entry.users.remove(object_ref);
        if entry.users.is_empty() {
            self.entries.remove(&name);
        }
    }

    /// Removes all chosen objects and returns them.
    pub(super) fn dismiss(&mut self, chosen: impl Fn(&ObjectRef) -> bool) -> Vec<ObjectRef> {
        let dismissed: Vec<_> = self.named.keys().filter(|object_ref| chosen(object_ref)).cloned().collect();
        for object_ref in &dismissed {
            self.forget(object_ref);
        }
        dismissed
    }
}

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
#[path = "registry_cache_tests.rs"]
mod tests;
