//! What this process keeps of each resource between its reconciles. Losing it costs time, never correctness.

use jiff::Timestamp;

use crate::controllers::backoff::Backoff;
use crate::controllers::conditions::ConditionUpdate;
use crate::controllers::object_map::ObjectMap;
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
pub type LocalCaches<T, C> = ObjectMap<LocalCache<T, C>>;

/// Returns what is kept of this resource; an empty cache if that was another resource of the same name.
#[must_use]
pub(super) fn local_cache<T: Clone + Default, C: Clone + Default>(
    caches: &LocalCaches<T, C>,
    object_ref: &ObjectRef,
    uid: &str,
) -> LocalCache<T, C> {
    let found = caches.get(object_ref).filter(|cache| cache.uid == uid);
    found.unwrap_or_else(|| LocalCache { uid: uid.to_owned(), ..LocalCache::default() })
}
