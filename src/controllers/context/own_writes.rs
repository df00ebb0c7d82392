//! Writes of the objects that the operator reconciles, and which of them the cache does not show yet: a decision from a copy
//! that is older than our last write would repeat it, or find nothing to correct and stay wrong.
//!
//! The next version is read from the API server only in that case, so a reconcile usually reads nothing.

use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kube::ResourceExt;
use kube::api::Api;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::Notify;

use crate::controllers::kinds::managed_kind::{ManagedKind, Stored, object_ref};
use crate::controllers::object_map::ObjectMap;
use crate::controllers::object_ref::ObjectRef;
use crate::controllers::objects::patch;

/// With so many writes in progress, the API server has enough to do.
pub(in crate::controllers) const MANY: usize = 4;

/// The last write of each object, until the cache shows it.
#[derive(Debug, Default)]
pub struct OwnWrites {
    entries: ObjectMap<Entry>,
    /// Number of writes in progress.
    in_progress: AtomicUsize,
    ended: Notify,
}

/// A write in progress.
pub(in crate::controllers) struct InProgress<'a>(&'a OwnWrites);

impl<'a> InProgress<'a> {
    pub(in crate::controllers) fn new(own_writes: &'a OwnWrites) -> Self {
        own_writes.in_progress.fetch_add(1, Ordering::Relaxed);
        Self(own_writes)
    }
}

impl Drop for InProgress<'_> {
    fn drop(&mut self) {
        self.0.in_progress.fetch_sub(1, Ordering::Relaxed);
        self.0.ended.notify_one();
    }
}

/// What is known of the writes of one object.
#[derive(Debug, Default)]
struct Entry {
    /// The last write that the cache does not show yet.
    last: Option<Written>,
    /// Whether a write is in progress.
    is_writing: bool,
    /// The versions that the cache has shown while a write is in progress: the event of a write may come before its response,
    /// and that of somebody else's next write too.
    shown: Vec<String>,
    /// A reconcile waits until the cache shows the last write.
    is_awaited: bool,
    /// A reconcile was given a copy from before the last write, and has not checked it yet.
    older_is_given: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Written {
    /// It has this resource version.
    As(String),
    /// Its resource version is not known, because no response came.
    Unknown,
}

impl OwnWrites {
    /// Returns the object, not older than our last write; `None`: it no longer exists. `cached`: the copy of the watch.
    ///
    /// # Errors
    /// Those of the API server.
    pub async fn current<K: ManagedKind>(&self, api: &Api<K>, cached: Arc<K>) -> Result<Option<Arc<K>>, kube::Error> {
        self.shown(&*cached);
        let object_ref = object_ref(&*cached);
        let is_shown = self.entries.with(|entries| {
            let Some(entry) = entries.get_mut(&object_ref) else { return true };
            entry.older_is_given = false;
            entry.last.is_none()
        });
        if is_shown {
            return Ok(Some(cached));
        }
        let Some(found) = api.get_opt(&cached.name_any()).await? else { return Ok(None) };
        if found.meta().uid != cached.meta().uid {
            return Ok(None);
        }
        if found.resource_version() == cached.resource_version() {
            self.forget(&object_ref);
        }
        Ok(Some(Arc::new(found)))
    }

    /// Whether the cache is behind our last write, and can be awaited: then [`OwnWrites::shown`] says once that it no longer
    /// is. `cached`: the copy of the watch. `again`: also if a reconcile has awaited that write before.
    pub fn awaits<K: ManagedKind>(&self, cached: &K, again: bool) -> bool {
        self.shown(cached);
        self.entries.with(|entries| {
            let entry = entries.get_mut(&object_ref(cached));
            let behind = entry.filter(|entry| matches!(entry.last, Some(Written::As(_))));
            let Some(entry) = behind.filter(|entry| again || !entry.is_awaited) else { return false };
            (entry.is_awaited, entry.older_is_given) = (true, false);
            true
        })
    }

    /// Records that a reconcile is given this copy of an object, before the store can change. The watch may show our last
    /// write before that reconcile calls [`OwnWrites::current`], but that does not make the copy newer.
    pub fn given<K: Stored>(&self, object_ref: &ObjectRef, copy: &K) {
        self.entries.with(|entries| {
            let Some(entry) = entries.get_mut(object_ref) else { return };
            let Some(Written::As(last)) = &entry.last else { return };
            entry.older_is_given = copy.meta().resource_version.as_ref() != Some(last);
        });
    }

    /// Records that the cache shows this version of an object. Returns whether a reconcile waits for it.
    pub fn shown<K: Stored>(&self, object: &K) -> bool {
        let Some(version) = object.resource_version() else { return false };
        self.entries.with(|entries| {
            let object_ref = object.reference();
            let Some(entry) = entries.get_mut(&object_ref) else { return false };
            let mut is_awaited = false;
            if entry.last == Some(Written::As(version.clone())) {
                // A reconcile that has an older copy reads the object.
                entry.last = mem::take(&mut entry.older_is_given).then_some(Written::Unknown);
                is_awaited = mem::take(&mut entry.is_awaited);
                if entry.last.is_none() && !entry.is_writing {
                    entries.remove(&object_ref);
                    return is_awaited;
                }
            }
            if entry.is_writing {
                entry.shown.push(version);
            }
            is_awaited
        })
    }

    /// Writes `after` into the status of `object`, if it differs from `before`, and only if the object is still the version
    /// that was read. Returns the object as the API server stored it; `None` if the status is unchanged (rule 21).
    ///
    /// # Errors
    /// Those of the API server; 409 if the object was changed meanwhile.
    pub async fn write_status<K: ManagedKind, S: Serialize>(
        &self,
        api: &Api<K>,
        object: &K,
        before: &S,
        after: &S,
    ) -> Result<Option<K>, kube::Error> {
        let Some(status) = patch::status_patch(before, after)? else { return Ok(None) };
        self.noted(object, patch::patch_status(api, object, status)).await.map(Some)
    }

    /// Writes metadata with [`patch::patch_metadata`].
    ///
    /// # Errors
    /// Those of the API server; 409 if the object was changed meanwhile.
    pub async fn patch_metadata<K: ManagedKind>(
        &self,
        api: &Api<K>,
        object: &K,
        metadata: Value,
    ) -> Result<K, kube::Error> {
        self.noted(object, patch::patch_metadata(api, object, metadata)).await
    }

    async fn noted<K: ManagedKind>(
        &self,
        object: &K,
        write: impl Future<Output = Result<K, kube::Error>>,
    ) -> Result<K, kube::Error> {
        let _in_progress = InProgress::new(self);
        self.begin(object);
        let answer = write.await;
        self.end(object, answer.as_ref().map(ResourceExt::resource_version));
        answer
    }

    fn begin<K: ManagedKind>(&self, object: &K) {
        self.entries.with(|entries| {
            let entry = entries.entry(object_ref(object)).or_default();
            (entry.is_writing, entry.is_awaited, entry.older_is_given) = (true, false, false);
        });
    }

    /// Records the answer to a write: the version that is stored now.
    fn end<K: ManagedKind>(&self, object: &K, answer: Result<Option<String>, &kube::Error>) {
        let object_ref = object_ref(object);
        self.entries.with(|entries| {
            let Some(entry) = entries.get_mut(&object_ref) else { return };
            entry.is_writing = false;
            let shown = mem::take(&mut entry.shown);
            match answer {
                Ok(Some(version)) => entry.last = (!shown.contains(&version)).then_some(Written::As(version)),
                Err(error) if patch::may_be_stored(error) => entry.last = Some(Written::Unknown),
                Ok(None) | Err(_) => {}
            }
            if entry.last.is_none() {
                entries.remove(&object_ref);
            }
        });
    }

    /// Whether so many writes are in progress that those that nothing depends on come later.
    pub fn is_busy(&self) -> bool {
        self.in_progress.load(Ordering::Relaxed) >= MANY
    }

    /// Returns once few writes are in progress. Only one task may wait.
    pub async fn calm(&self) {
        while self.is_busy() {
            self.ended.notified().await;
        }
    }

    /// Notes that an object is written in another way.
    pub fn unknown(&self, object_ref: &ObjectRef) {
        let _ = self.entries.insert(object_ref, Entry { last: Some(Written::Unknown), ..Entry::default() });
    }

    /// Forgets the writes of an object that is gone.
    pub fn forget(&self, object_ref: &ObjectRef) {
        self.entries.forget(object_ref);
    }

    /// Returns the objects with a write that the cache may not show yet.
    #[must_use]
    pub fn object_refs(&self) -> Vec<ObjectRef> {
        self.entries.object_refs()
    }
}

#[cfg(test)]
#[path = "own_writes_tests.rs"]
mod tests;
