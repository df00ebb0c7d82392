//! What this process keeps of each resource between its reconciles. Losing it costs time, never correctness.

use jiff::Timestamp;

use crate::controllers::backoff::Backoff;
use crate::controllers::conditions::ConditionUpdate;
use crate::controllers::context::Context;
use crate::controllers::object_map::ObjectMap;
use crate::controllers::object_ref::ObjectRef;
use crate::controllers::refusal::KubernetesErrorBackoff;
use crate::controllers::remote::Login;

use super::RemoteKind;
use super::accepted_create::AcceptedCreate;
use super::pending_create::PendingCreate;

/// What is kept of one resource.
#[derive(Clone, Debug)]
pub struct LocalCache<K: RemoteKind> {
    /// Uid of the resource: another resource of the same name starts afresh.
    pub uid: String,
    /// What the decision table has seen.
    pub transient: K::Transient,
    /// A first create that the status does not have yet.
    pub pending_create: Option<Box<PendingCreate<K::Operation>>>,
    /// Whether this process wrote the annotation of that create, so that it counts without the annotation.
    pub is_create_own: bool,
    /// Whether this install wrote that create: any user can write the annotation.
    pub is_create_signed: bool,
    /// A create that was accepted, which the status does not have yet.
    pub accepted_create: Option<Box<AcceptedCreate>>,
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
    pub own: K::Cache,
}

impl<K: RemoteKind> Default for LocalCache<K> {
    fn default() -> Self {
        Self {
            uid: String::new(),
            transient: K::Transient::default(),
            pending_create: None,
            is_create_own: false,
            is_create_signed: false,
            accepted_create: None,
            asked: None,
            refusal: None,
            login: None,
            backoff: Backoff::default(),
            kubernetes_error_backoff: KubernetesErrorBackoff::default(),
            own: K::Cache::default(),
        }
    }
}

impl<K: RemoteKind> LocalCache<K> {
    /// Whether the watch does not show the write before an accepted create yet. It does so in a moment, and enqueues the
    /// resource: to read the object would only be one more request.
    pub(super) fn waits_for_watch(&self, context: &Context, cached: &K) -> bool {
        let now = context.clock.now();
        let is_new = self.accepted_create.as_ref().is_some_and(|accepted| accepted.is_new(now));
        is_new && context.own_writes.awaits(cached)
    }

    /// Reports what an object that is gone has left at the remote.
    pub(super) fn report_left_behind(&self, context: &Context, object_ref: &ObjectRef) {
        if let Some(accepted) = &self.accepted_create {
            accepted.report_left_behind::<K>(context, object_ref, &self.uid);
        }
    }
}

/// What is kept of all resources of a kind; boxed, because nodes of the map have free places, and this is large.
pub type LocalCaches<K> = ObjectMap<Box<LocalCache<K>>>;

/// Returns what is kept of this resource; an empty cache if that was another resource of the same name, which is gone.
#[must_use]
pub(super) fn local_cache<K: RemoteKind>(context: &Context, object_ref: &ObjectRef, uid: &str) -> Box<LocalCache<K>> {
    let kept = K::caches(context).with(|map| {
        let kept = map.get_mut(object_ref)?;
        // Removed from the map: during the reconcile, an event about the deletion of the object does not report it.
        let accepted_create = kept.accepted_create.take();
        Some(Box::new(LocalCache { accepted_create, ..(**kept).clone() }))
    });
    match kept {
        Some(kept) if kept.uid == uid => kept,
        other => {
            if let Some(former) = other {
                former.report_left_behind(context, object_ref);
            }
            Box::new(LocalCache { uid: uid.to_owned(), ..LocalCache::default() })
        }
    }
}
