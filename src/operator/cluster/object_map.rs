//! A map from objects to what this process keeps of each, behind a lock. Nothing in it has to survive a restart.

use std::collections::BTreeMap;

use crate::mutex::Mutex;
use crate::operator::object_ref::ObjectRef;

/// What is kept of each object. Whoever keeps something forgets it when the object is gone
/// ([`forget`](crate::operator::manager::event_handlers::forget)).
#[derive(Debug)]
pub struct ObjectMap<T>(Mutex<BTreeMap<ObjectRef, T>>);

impl<T> Default for ObjectMap<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> ObjectMap<T> {
    /// Keeps `value`; returns what was kept before.
    pub fn insert(&self, object_ref: &ObjectRef, value: T) -> Option<T> {
        self.with(|map| map.insert(object_ref.clone(), value))
    }

    /// Forgets an object; returns what was kept of it.
    pub fn forget(&self, object_ref: &ObjectRef) -> Option<T> {
        self.with(|map| map.remove(object_ref))
    }

    /// Returns every object that something is kept of.
    pub fn object_refs(&self) -> Vec<ObjectRef> {
        self.with(|map| map.keys().cloned().collect())
    }

    /// Runs `operation` under the lock. A panic elsewhere leaves the map usable, because it changes in single steps.
    pub fn with<R>(&self, operation: impl FnOnce(&mut BTreeMap<ObjectRef, T>) -> R) -> R {
        operation(&mut self.0.lock())
    }
}

impl<T: Clone> ObjectMap<T> {
    /// Returns what is kept of an object.
    pub fn get(&self, object_ref: &ObjectRef) -> Option<T> {
        self.with(|map| map.get(object_ref).cloned())
    }
}
