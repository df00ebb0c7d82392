//! The registry entries of the connectors that resources of a project name, each read once for all of them.
//!
//! A reconcile waits for an entry that is new enough. A connector is also read at the shortest interval of the objects that
//! name it, beside the poller, and enqueues them when it has changed. If it cannot be read, the earlier answer stays but is
//! not current: objects proceed without a check against it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use clock::later;
use connect_api::Selector;
use connect_api::model::{Connector, ConnectorStaged, DeclaredApplication, DeclaredGlobal, IsPreviewable};
use jiff::Timestamp;
use tokio::sync::Mutex;

use super::jitter::Jitter;
use crate::controllers::object_ref::ObjectRef;

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
pub(super) struct Entry {
    /// The objects that name it, each with its interval.
    users: BTreeMap<ObjectRef, Duration>,
    known: Option<RegistryEntry>,
    /// When it is read again beside the poller.
    due: Timestamp,
    /// Locked by the one that reads it.
    pub(super) reader: Arc<Mutex<()>>,
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
    pub(super) fn note(&mut self, object_ref: &ObjectRef, name: &RegistryKey, interval: Duration) -> &Entry {
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
    pub(super) fn known(&self, name: &RegistryKey, newer_than: Timestamp) -> Option<&RegistryEntry> {
        self.entries.get(name)?.known.as_ref().filter(|known| known.at >= newer_than)
    }

    /// Returns the connectors that are due, each with the time of its last read.
    pub(super) fn due(&self, now: Timestamp) -> Vec<(RegistryKey, Arc<Mutex<()>>, Timestamp)> {
        let due = self.entries.iter().filter(|(_, entry)| entry.due <= now);
        let read_at = |entry: &Entry| entry.known.as_ref().map_or(Timestamp::MIN, |known| known.at);
        due.map(|(name, entry)| (name.clone(), Arc::clone(&entry.reader), read_at(entry))).collect()
    }

    /// Returns when the first connector is due.
    pub(super) fn next(&self) -> Timestamp {
        self.entries.values().map(|entry| entry.due).min().unwrap_or(Timestamp::MAX)
    }

    /// Records the answer to a request that left at `at`. Returns the entry, and the objects to enqueue: all that name the
    /// connector, if the answer differs from the one before.
    pub(super) fn observe(
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
