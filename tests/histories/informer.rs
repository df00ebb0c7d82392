//! What one operator knows of one kind from its watch: possibly old, with holes until it lists again, and with repeats.
//!
//! The driver decides when an event arrives. What an event ends and wakes is the operator's own code
//! (`controllers/events.rs`).

use std::collections::BTreeMap;
use std::sync::Arc;

use connect_operator::controllers::context::Context;
use connect_operator::controllers::events::{self, Lifes, Ours, strip, what_people_change};
use connect_operator::controllers::subject::Subject;
use kube::Resource;
use kube::runtime::watcher::Event;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::cluster::{Cluster, Key, Kind};

/// The watch of one kind of ours.
pub(crate) struct Informer<K> {
    kind: Kind,
    lifes: Lifes,
    /// What was seen last of what people change.
    seen: BTreeMap<(Subject, Option<String>), Option<u64>>,
    store: BTreeMap<Subject, Arc<K>>,
    /// Everything up to this version was delivered.
    cursor: u64,
    /// No event arrives until the next list.
    pub(crate) cut: bool,
}

impl<K> Informer<K>
where
    K: Ours + Clone + DeserializeOwned,
{
    pub(crate) fn new(kind: Kind) -> Self {
        let lifes = Lifes::new(None);
        Self { kind, lifes, seen: BTreeMap::new(), store: BTreeMap::new(), cursor: 0, cut: true }
    }

    /// What it believes to exist.
    pub(crate) fn get(&self, subject: &Subject) -> Option<Arc<K>> {
        self.store.get(subject).cloned()
    }

    /// Whether an event waits to be delivered.
    pub(crate) fn waits(&self, cluster: &Cluster) -> bool {
        !self.cut && cluster.changes_after(self.cursor).iter().any(|change| change.key.kind == self.kind)
    }

    /// Lists as of a version, and watches from there; returns who is to run.
    pub(crate) fn list(&mut self, context: &Context, cluster: &Cluster, version: u64) -> Vec<Subject> {
        self.cut = false;
        self.cursor = version;
        let mut gone = self.lifes.note(context, &Event::<K>::Init);
        let mut store = BTreeMap::new();
        let mut run = Vec::new();
        for (key, value) in cluster.at(self.kind, version) {
            let object = parse::<K>(&value);
            gone.extend(self.lifes.note(context, &Event::InitApply(object.clone())));
            run.extend(self.news(&key, &object));
            store.insert(Self::subject(&key), Arc::new(object));
        }
        self.store = store;
        gone.extend(self.lifes.note(context, &Event::<K>::InitDone));
        for subject in gone {
            events::ended(context, &subject);
        }
        run
    }

    /// Delivers the next event; returns who is to run.
    pub(crate) fn deliver(&mut self, context: &Context, cluster: &Cluster) -> Option<Subject> {
        let change = cluster.changes_after(self.cursor).iter().find(|change| change.key.kind == self.kind)?;
        self.cursor = change.version;
        let object = parse::<K>(&change.object);
        let subject = Self::subject(&change.key);
        let event = if change.deleted { Event::Delete(object.clone()) } else { Event::Apply(object.clone()) };
        let gone = self.lifes.note(context, &event);
        if change.deleted {
            self.store.remove(&subject);
        } else {
            self.store.insert(subject, Arc::new(object.clone()));
        }
        for subject in gone {
            events::ended(context, &subject);
        }
        if change.deleted { None } else { self.news(&change.key, &object) }
    }

    fn news(&mut self, key: &Key, object: &K) -> Option<Subject> {
        let subject = Self::subject(key);
        let hash = what_people_change(object);
        let before = self.seen.insert((subject.clone(), object.meta().uid.clone()), hash);
        (before != Some(hash)).then_some(subject)
    }

    fn subject(key: &Key) -> Subject {
        Subject { kind: K::KIND, namespace: key.namespace.clone(), name: key.name.clone() }
    }
}

fn parse<K: Resource + DeserializeOwned>(value: &Value) -> K {
    let mut object = K::deserialize(value).expect("what is stored is of its kind");
    strip(&mut object);
    object
}

/// The watch of names of Secrets or of ConfigMaps.
pub(crate) struct Names {
    kind: Kind,
    cursor: u64,
    pub(crate) cut: bool,
}

impl Names {
    pub(crate) fn new(kind: Kind) -> Self {
        Self { kind, cursor: 0, cut: true }
    }

    pub(crate) fn waits(&self, cluster: &Cluster) -> bool {
        !self.cut && cluster.changes_after(self.cursor).iter().any(|change| change.key.kind == self.kind)
    }

    /// Every object that exists is touched once more; what went meanwhile is not.
    pub(crate) fn list(&mut self, cluster: &Cluster, version: u64) -> Vec<Key> {
        self.cut = false;
        self.cursor = version;
        cluster.at(self.kind, version).into_keys().collect()
    }

    pub(crate) fn deliver(&mut self, cluster: &Cluster) -> Option<Key> {
        let change = cluster.changes_after(self.cursor).iter().find(|change| change.key.kind == self.kind)?;
        self.cursor = change.version;
        Some(change.key.clone())
    }
}
