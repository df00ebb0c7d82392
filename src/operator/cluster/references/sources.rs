//! Determines which resources a change of a Secret or ConfigMap enqueues. Pure; of each of these objects only
//! a hash of its version is kept, so that a relist enqueues nothing for what it shows as it was.
//!
//! A relist shows only what exists. An object that was deleted while no watch was open is one that a resource refers to
//! and that the list does not contain. Next: `references/mod.rs` for the references, `manager/watches.rs`, which feeds it.

use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, RandomState};

use kube::runtime::watcher::Event;
use kube::{Resource, ResourceExt};

use super::{Referenced, References};
use crate::operator::object_ref::ObjectRef;

/// The watch state of one kind of sources.
#[derive(Debug)]
pub struct Sources {
    kind: Referenced,
    /// The only namespace that is watched; `None`: all namespaces.
    namespace: Option<String>,
    /// Hashes of the names of all objects, and of their versions: there may be very many, and most are named by nothing.
    seen: BTreeMap<u64, u64>,
    /// What the list in progress has shown so far.
    listed: BTreeMap<u64, u64>,
    hasher: RandomState,
}

impl Sources {
    /// Creates the state before the first event. `namespace`: the only one that is watched; `None`: all namespaces.
    pub fn new(kind: Referenced, namespace: Option<String>) -> Self {
        Self { kind, namespace, seen: BTreeMap::new(), listed: BTreeMap::new(), hasher: RandomState::new() }
    }

    /// The kind of the objects.
    pub fn kind(&self) -> Referenced {
        self.kind
    }

    /// Processes an event; returns the resources that refer to an object that may have changed, or that does not exist.
    pub fn note<K: Resource>(&mut self, references: &References, event: &Event<K>) -> Vec<ObjectRef> {
        match event {
            Event::Init => self.listed.clear(),
            Event::InitApply(object) => {
                let (name, version) = self.hashes(object);
                self.listed.insert(name, version);
                if self.seen.get(&name) != Some(&version) {
                    return self.users(references, object);
                }
            }
            // An object that became referenced after its page was read counts as missing, which costs one reconcile.
            Event::InitDone => {
                self.seen = std::mem::take(&mut self.listed);
                let named = references.named(self.kind, self.namespace.as_deref());
                let missing = named.iter().filter(|name| !self.seen.contains_key(&self.hasher.hash_one(name)));
                let missing = missing.flat_map(|(namespace, name)| references.users(self.kind, namespace, name));
                return missing.collect();
            }
            Event::Apply(object) => {
                let (name, version) = self.hashes(object);
                self.seen.insert(name, version);
                return self.users(references, object);
            }
            Event::Delete(object) => {
                self.seen.remove(&self.hashes(object).0);
                return self.users(references, object);
            }
        }
        Vec::new()
    }

    /// Returns hashes of the name and of the version of an object.
    fn hashes<K: Resource>(&self, object: &K) -> (u64, u64) {
        let name = (object.namespace().unwrap_or_default(), object.name_any());
        let version = (object.uid(), object.resource_version());
        (self.hasher.hash_one(name), self.hasher.hash_one(version))
    }

    fn users<K: Resource>(&self, references: &References, object: &K) -> Vec<ObjectRef> {
        references.users(self.kind, &object.namespace().unwrap_or_default(), &object.name_any())
    }
}
