//! What this process remembers between the runs of the resources of a kind. Losing it costs time, never correctness.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::object_ref::ObjectRef;

/// What is remembered of one resource.
pub trait CachePerObject: Clone {
    /// Uid of the resource: another one of the same name starts afresh.
    fn uid(&self) -> &str;

    /// Nothing yet.
    fn new(uid: &str) -> Self;
}

/// What is remembered of all resources of a kind.
#[derive(Debug)]
pub struct LocalCaches<R>(Mutex<BTreeMap<ObjectRef, R>>);

impl<R> Default for LocalCaches<R> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<R: CachePerObject> LocalCaches<R> {
    /// What is remembered of this resource; nothing if it is another one of the same name.
    #[must_use]
    pub fn of(&self, object_ref: &ObjectRef, uid: &str) -> R {
        let found = self.lock().get(object_ref).filter(|cache| cache.uid() == uid).cloned();
        found.unwrap_or_else(|| R::new(uid))
    }

    /// Remembers.
    pub fn keep(&self, object_ref: &ObjectRef, cache: R) {
        self.lock().insert(object_ref.clone(), cache);
    }

    /// Forgets a resource that is gone.
    pub fn forget(&self, object_ref: &ObjectRef) {
        self.lock().remove(object_ref);
    }

    /// Every resource that is remembered.
    #[must_use]
    pub fn object_refs(&self) -> Vec<ObjectRef> {
        self.lock().keys().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ObjectRef, R>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
