//! What this process keeps of each resource between its reconciles. Losing it costs time, never correctness.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

use crate::controllers::backoff::Backoff;
use crate::controllers::conditions::ConditionUpdate;
use crate::controllers::object_ref::ObjectRef;
use crate::controllers::refusal::KubernetesErrorBackoff;
use crate::controllers::remote::Login;

/// What is kept of one resource. `T`: what the decision table has seen; `C`: what only its kind keeps.
#[derive(Clone, Debug, Default)]
pub struct LocalCache<T, C> {
    /// Uid of the resource: another resource of the same name starts afresh.
    pub uid: String,
    /// What the decision table has seen.
    pub transient: T,
    /// Resource version of our last write. A copy from the informer that does not show it yet is not used.
    pub written: Option<String>,
    /// The reconcile request that is being served, and since when.
    pub asked: Option<(String, Timestamp)>,
    /// Why the last call was rejected.
    pub refusal: Option<ConditionUpdate>,
    /// The credentials of the last reconcile. New ones may be granted what those were refused.
    pub login: Option<Login>,
    /// Calls that failed in a row.
    pub backoff: Backoff,
    /// Reconciles in a row in which the API server refused a request.
    pub kubernetes_error_backoff: KubernetesErrorBackoff,
    /// What only this kind keeps.
    pub own: C,
}

/// What is kept of all resources of a kind.
#[derive(Debug)]
pub struct LocalCaches<T, C>(Mutex<BTreeMap<ObjectRef, LocalCache<T, C>>>);

impl<T, C> Default for LocalCaches<T, C> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Clone + Default, C: Clone + Default> LocalCaches<T, C> {
    /// Returns what is kept of this resource; an empty cache if that was another resource of the same name.
    #[must_use]
    pub fn of(&self, object_ref: &ObjectRef, uid: &str) -> LocalCache<T, C> {
        let found = self.lock().get(object_ref).filter(|cache| cache.uid == uid).cloned();
        found.unwrap_or_else(|| LocalCache { uid: uid.to_owned(), ..LocalCache::default() })
    }

    /// Keeps `cache` until the next reconcile.
    pub fn keep(&self, object_ref: &ObjectRef, cache: LocalCache<T, C>) {
        self.lock().insert(object_ref.clone(), cache);
    }

    /// Forgets a resource that is gone.
    pub fn forget(&self, object_ref: &ObjectRef) {
        self.lock().remove(object_ref);
    }

    /// Returns every resource that something is kept of.
    #[must_use]
    pub fn object_refs(&self) -> Vec<ObjectRef> {
        self.lock().keys().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ObjectRef, LocalCache<T, C>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
