//! What this process keeps of each resource between its reconciles. Losing it costs time, never correctness.

use jiff::Timestamp;

use crate::controllers::backoff::Backoff;
use crate::controllers::conditions::ConditionUpdate;
use crate::controllers::object_map::ObjectMap;
use crate::controllers::object_ref::ObjectRef;
use crate::controllers::refusal::KubernetesErrorBackoff;
use crate::controllers::remote::Login;

use super::pending_create::PendingCreate;

/// What is kept of one resource. `T`: what the decision table has seen; `O`: its operation; `C`: what only its kind keeps.
#[derive(Clone, Debug)]
pub struct LocalCache<T, O, C> {
    /// Uid of the resource: another resource of the same name starts afresh.
    pub uid: String,
    /// What the decision table has seen.
    pub transient: T,
    /// A first create that the status does not have yet.
    pub pending_create: Option<Box<PendingCreate<O>>>,
    /// Whether this process wrote the annotation of that create, so that it counts without the annotation.
    pub is_create_own: bool,
    /// Whether this install wrote that create: any user can write the annotation.
    pub is_create_signed: bool,
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

impl<T: Default, O, C: Default> Default for LocalCache<T, O, C> {
    fn default() -> Self {
        Self {
            uid: String::new(),
            transient: T::default(),
            pending_create: None,
            is_create_own: false,
            is_create_signed: false,
            asked: None,
            refusal: None,
            login: None,
            backoff: Backoff::default(),
            kubernetes_error_backoff: KubernetesErrorBackoff::default(),
            own: C::default(),
        }
    }
}

/// What is kept of all resources of a kind; boxed, because nodes of the map have free places, and this is large.
pub type LocalCaches<T, O, C> = ObjectMap<Box<LocalCache<T, O, C>>>;

/// Returns what is kept of this resource; an empty cache if that was another resource of the same name.
#[must_use]
pub(super) fn local_cache<T: Clone + Default, O: Clone, C: Clone + Default>(
    caches: &LocalCaches<T, O, C>,
    object_ref: &ObjectRef,
    uid: &str,
) -> Box<LocalCache<T, O, C>> {
    let found = caches.get(object_ref).filter(|cache| cache.uid == uid);
    found.unwrap_or_else(|| Box::new(LocalCache { uid: uid.to_owned(), ..LocalCache::default() }))
}
