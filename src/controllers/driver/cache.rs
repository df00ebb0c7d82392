//! Takes what this process keeps of a resource for its reconcile.

use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::api::ApiResource;
use kube::runtime::events::EventType;

use crate::controllers::context::Context;
use crate::controllers::context::event_recorder::NewEvent;
use crate::controllers::context::local_cache::{LocalCache, LocalCaches};
use crate::controllers::object_ref::ObjectRef;
use crate::controllers::reporting::event_reason::EventReason;

use super::RemoteKind;

/// How long a reconcile waits for the watch to show our last write before it reads the object. Less than a reservation of its
/// turn at the remote lasts; and after a relist the watch never shows that write.
const AWAITED: Duration = Duration::from_secs(1);

impl<K: RemoteKind> LocalCache<K> {
    /// How long to wait because the watch does not show our last write yet. It does so in a moment, and enqueues the resource:
    /// to read the object would only be one more request. What comes meanwhile is not put off again, unless a call was just
    /// accepted: then its poll, and the events of the writes around it, come in that moment.
    pub(super) fn waits_for_watch(&self, context: &Context, cached: &K) -> Option<Duration> {
        let accepted = self.accepted_call.as_ref();
        let left = accepted.and_then(|accepted| accepted.left_for_watch(context.clock.now()));
        context.own_writes.awaits(cached, left.is_some()).then(|| left.unwrap_or(AWAITED))
    }

    /// Reports what an object that seems to be gone has left at the remote: it was deleted without its finalizer, so that its
    /// record stays. That happens also if no client removes the finalizer: the API server ignores one that is added after its
    /// DELETE has read the object.
    /// `seems_gone`: a watch says so; otherwise it is being deleted.
    pub(super) fn report_left_behind(&self, context: &Context, object_ref: &ObjectRef, seems_gone: bool) {
        let accepted = self.accepted_call.as_ref();
        let Some(status) = accepted.and_then(|accepted| accepted.status::<K>()) else { return };
        // Its DELETE was accepted.
        if K::operation(&status).is_some_and(K::takes_down) {
            return;
        }
        let Some(id) = K::record_id(&status) else { return };
        let note = format!(
            "The object was deleted without its finalizer while an operation was in progress, so {id} stays at the remote: \
             delete it there, or create the object again with adoptionPolicy: Adopt"
        );
        let regarding = ObjectReference {
            api_version: Some(K::api_version(&()).into_owned()),
            kind: Some(K::kind(&()).into_owned()),
            namespace: Some(object_ref.namespace.clone()),
            name: Some(object_ref.name.clone()),
            uid: Some(self.uid.clone()),
            ..ObjectReference::default()
        };
        let reason = EventReason::Orphaned.as_str();
        if !seems_gone {
            tracing::warn!(reason, namespace = object_ref.namespace, name = object_ref.name, "{note}");
        }
        let if_gone = seems_gone.then(|| Box::new(ApiResource::erase::<K>(&())));
        let event = NewEvent { regarding, type_: EventType::Warning, reason, action: "Reconcile", note, if_gone };
        context.recorder.record(event, context.clock.now());
    }
}

/// Returns what is kept of this resource; an empty cache if that was another resource of the same name, which is gone.
#[must_use]
pub(super) fn local_cache<K: RemoteKind>(context: &Context, object_ref: &ObjectRef, uid: &str) -> Box<LocalCache<K>> {
    let kept = K::caches(context).with(|map| {
        if map.get(object_ref)?.uid != uid {
            return map.remove(object_ref);
        }
        let kept = map.get_mut(object_ref)?;
        let copy = kept.clone();
        kept.is_taken = true;
        Some(copy)
    });
    match kept {
        Some(kept) if kept.uid == uid => Box::new(LocalCache { is_taken: false, ..*kept }),
        other => {
            if let Some(former) = other {
                former.report_left_behind(context, object_ref, true);
            }
            Box::new(LocalCache { uid: uid.to_owned(), ..LocalCache::default() })
        }
    }
}

/// A reconcile that has a copy of what is kept. When it ends, whichever way, an event about the deletion reports again.
pub(super) struct Taken<'a, K: RemoteKind>(pub(super) &'a LocalCaches<K>, pub(super) &'a ObjectRef);

impl<K: RemoteKind> Drop for Taken<'_, K> {
    fn drop(&mut self) {
        self.0.with(|map| {
            if let Some(kept) = map.get_mut(self.1) {
                kept.is_taken = false;
            }
        });
    }
}

/// Keeps the cache of a reconcile that goes on, with a response that no status has yet: it may panic, or the process may end
/// before it.
pub(super) fn keep_meanwhile<K: RemoteKind>(context: &Context, object_ref: &ObjectRef, cache: &LocalCache<K>) {
    let copy = LocalCache { is_taken: true, ..cache.clone() };
    K::caches(context).insert(object_ref, Box::new(copy));
}
