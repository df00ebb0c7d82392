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

use crate::operator::object_ref::ObjectRef;

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

impl RegistryEntry {
    /// Whether the registry reports what the connector declares.
    pub fn declares(&self) -> bool {
        matches!(&self.found, RegistryAnswer::There(offering) if offering.applications.is_some())
    }

    /// Whether the registry has just answered that there is no such connector.
    pub fn is_absent(&self) -> bool {
        self.current && self.found == RegistryAnswer::Absent
    }
}

/// What is kept for one connector.
#[derive(Debug, Default)]
struct Entry {
    known: Option<RegistryEntry>,
    /// Locked by the one that reads it.
    reader: Arc<Mutex<()>>,
}

/// The connectors that the resources of one project name.
#[derive(Debug, Default)]
pub(super) struct RegistryCache {
    entries: BTreeMap<RegistryKey, Entry>,
    /// The connector that each object names, and its interval: one each.
    named: BTreeMap<ObjectRef, (RegistryKey, Duration)>,
}

impl RegistryCache {
    /// Notes that the object names the connector.
    pub(super) fn note(&mut self, object_ref: &ObjectRef, name: &RegistryKey, interval: Duration) {
        self.named.insert(object_ref.clone(), (name.clone(), interval));
    }

    /// Returns what is locked by the one that reads the connector.
    pub(super) fn reader(&mut self, name: &RegistryKey) -> Arc<Mutex<()>> {
        Arc::clone(&self.entries.entry(name.clone()).or_default().reader)
    }

    /// Returns what was read of the connector at `newer_than` or later.
    pub(super) fn known(&self, name: &RegistryKey, newer_than: Timestamp) -> Option<RegistryEntry> {
        let known = self.entries.get(name)?.known.as_ref();
        known.filter(|known| known.at >= newer_than).cloned()
    }

    /// Returns the connectors that are due, each with the time after which it has to be read. Removes those that no object
    /// names any more.
    pub(super) fn due(&mut self, now: Timestamp) -> Vec<(RegistryKey, Timestamp)> {
        let mut intervals: BTreeMap<&RegistryKey, Duration> = BTreeMap::new();
        for (name, interval) in self.named.values() {
            intervals.entry(name).and_modify(|shortest| *shortest = (*interval).min(*shortest)).or_insert(*interval);
        }
        self.entries.retain(|name, _| intervals.contains_key(name));
        let due = self.entries.iter().filter_map(|(name, entry)| {
            let at = entry.known.as_ref()?.at;
            let is_due = later(at, intervals.get(name).copied()?) <= now;
            is_due.then(|| (name.clone(), later(at, Duration::from_nanos(1))))
        });
        due.collect()
    }

    /// Records the answer to a request that left at `at`. Returns the entry, and the objects to enqueue: all that name the
    /// connector, if the answer differs from the one before.
    pub(super) fn observe(
        &mut self,
        name: &RegistryKey,
        at: Timestamp,
        found: RegistryAnswer,
    ) -> (RegistryEntry, Vec<ObjectRef>) {
        let current = found != RegistryAnswer::Unreadable;
        let entry = self.entries.entry(name.clone()).or_default();
        let before = entry.known.take().map(|before| before.found);
        let changed = current && before.as_ref().is_some_and(|before| *before != found);
        let registry_entry =
            RegistryEntry { at, found: if current { found } else { before.unwrap_or(found) }, current };
        entry.known = Some(registry_entry.clone());
        let named = self.named.iter().filter(|(_, (named, _))| changed && named == name);
        (registry_entry, named.map(|(object_ref, _)| object_ref.clone()).collect())
    }

    /// Returns all objects that name a connector.
    pub(super) fn object_refs(&self) -> impl Iterator<Item = &ObjectRef> {
        self.named.keys()
    }

    pub(super) fn forget(&mut self, object_ref: &ObjectRef) {
        self.named.remove(object_ref);
    }
}
