//! The Secrets and ConfigMaps that were just read. Many resources name the same one, and a resource is reconciled several
//! times in a row.
//!
//! A content is used for [`LIFETIME`] at most, and only until a watch shows a change of its object. A read that a change
//! overtook is not kept: the reconcile that the change enqueued would use it. Watches of different kinds lag differently, so
//! when a resource is changed, what was read in its namespace is forgotten: a user who changes a Secret first, and then the
//! resource, may expect the new value.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use clock::{Clock, later};
use jiff::Timestamp;
use kube::runtime::watcher::Event;
use kube::{Resource, ResourceExt};
use secrecy::SecretSlice;
use tokio::sync::OwnedMutexGuard;

use crate::mutex::Mutex;
use crate::operator::cluster::references::Referenced;
use crate::operator::cluster::references::Source;

/// Time for which a content is used; it is wiped within as much again. The watch of its object may lag, but hardly by
/// more.
pub const LIFETIME: Duration = Duration::from_secs(2);
/// Maximum number of contents. Each has 1 MiB at most (Kubernetes: Secret, ConfigMap).
const MAX_COUNT: usize = 32;

/// An object that values come from, as it was read.
#[derive(Clone, Debug)]
pub struct Content {
    /// The object, in the version that was read.
    pub source: Source,
    /// Its data, by key.
    pub data: BTreeMap<String, SecretSlice<u8>>,
}

/// The contents that were just read, by kind, namespace and name.
#[derive(Debug, Default)]
pub struct ContentCache(Mutex<State>);

type Key = (Referenced, String, String);

#[derive(Debug, Default)]
struct State {
    entries: BTreeMap<Key, Entry>,
    /// Reads in progress.
    reads: BTreeMap<Key, Weak<tokio::sync::Mutex<()>>>,
    /// Number of changes so far, of all objects and resources.
    changes: u64,
}

#[derive(Debug)]
struct Entry {
    content: Content,
    until: Timestamp,
}

/// A read that has begun.
#[derive(Debug)]
pub struct Reading {
    key: Key,
    /// [`State::changes`] when it began.
    changes: u64,
    /// Held by the one that others wait for.
    _first: Option<OwnedMutexGuard<()>>,
}

impl ContentCache {
    /// Records that a watch has shown a change of a resource by a user.
    pub fn resource_changed(&self, namespace: &str) {
        self.with(|state| {
            state.changes += 1;
            state.entries.retain(|(_, of, _), _| of != namespace);
        });
    }

    /// Returns a content that may be used.
    fn get(&self, key: &Key, now: Timestamp) -> Option<Content> {
        self.with(|state| state.entries.get(key).filter(|entry| now < entry.until).map(|entry| entry.content.clone()))
    }

    /// Returns a content that may be used, after the read of it that is in progress, if there is one.
    ///
    /// # Errors
    /// The caller has to read it. Other callers wait until it drops the [`Reading`], and for no further read: an object
    /// that cannot be read, or does not exist, must not be read by one reconcile after the other.
    pub async fn get_or_begin(
        &self,
        namespace: &str,
        kind: Referenced,
        name: &str,
        clock: &Clock,
    ) -> Result<Content, Reading> {
        let key = (kind, namespace.to_owned(), name.to_owned());
        if let Some(content) = self.get(&key, clock.now()) {
            return Ok(content);
        }
        let read = self.read(&key);
        let first = Arc::clone(&read).try_lock_owned().ok();
        if first.is_none() {
            drop(read.lock().await);
        }
        // Also for the first one: another read may have ended before it got the lock.
        if let Some(content) = self.get(&key, clock.now()) {
            return Ok(content);
        }
        let changes = self.with(|state| state.changes);
        Err(Reading { key, changes, _first: first })
    }

    /// Returns the lock of the reads of one object.
    fn read(&self, key: &Key) -> Arc<tokio::sync::Mutex<()>> {
        self.with(|state| {
            if let Some(read) = state.reads.get(key).and_then(Weak::upgrade) {
                return read;
            }
            state.reads.retain(|_, read| read.strong_count() > 0);
            let read = Arc::default();
            state.reads.insert(key.clone(), Arc::downgrade(&read));
            read
        })
    }

    /// Keeps what was read, unless something has changed since the read began.
    pub fn keep(&self, reading: Reading, content: &Content, now: Timestamp) {
        // Others wait until the end of this function.
        let Reading { key, changes, _first } = reading;
        self.with(|state| {
            state.entries.retain(|_, entry| now < entry.until);
            let room = state.entries.len() < MAX_COUNT || state.entries.contains_key(&key);
            if changes == state.changes && room {
                state.entries.insert(key, Entry { content: content.clone(), until: later(now, LIFETIME) });
            }
        });
    }

    /// Processes an event of a watch. Only the end of a list shows that no change was missed: what was read meanwhile may
    /// be older than what the list contains, and no further event would show that.
    pub fn note<K: Resource>(&self, kind: Referenced, event: &Event<K>) {
        match event {
            Event::Apply(object) | Event::Delete(object) | Event::InitApply(object) => {
                self.changed(kind, &object.namespace().unwrap_or_default(), &object.name_any());
            }
            Event::Init | Event::InitDone => self.interrupted(),
        }
    }

    /// Forgets an object that was changed or deleted.
    fn changed(&self, kind: Referenced, namespace: &str, name: &str) {
        let key = (kind, namespace.to_owned(), name.to_owned());
        self.with(|state| {
            state.changes += 1;
            state.entries.remove(&key);
        });
    }

    /// Forgets everything: a watch was interrupted, so a change may not have been shown.
    pub fn interrupted(&self) {
        self.with(|state| {
            state.changes += 1;
            state.entries.clear();
        });
    }

    /// Wipes what may not be used any more.
    pub fn expire(&self, now: Timestamp) {
        self.with(|state| state.entries.retain(|_, entry| now < entry.until));
    }

    fn with<R>(&self, operation: impl FnOnce(&mut State) -> R) -> R {
        operation(&mut self.0.lock())
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use k8s_openapi::api::core::v1::Secret;
    use kube::api::ObjectMeta;
    use secrecy::SecretSlice;

    use super::*;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn content() -> Content {
        let source =
            Source { kind: "Secret".into(), name: "tax".into(), uid: "1".into(), resource_version: "1".into() };
        Content { source, data: [("token".to_owned(), SecretSlice::from(vec![0]))].into() }
    }

    /// Returns what a reconcile gets that need not wait.
    fn begin(cache: &ContentCache, name: &str) -> Result<Content, Reading> {
        let clock = Clock::stepped(NOW);
        cache.get_or_begin("shop", Referenced::Secret, name, &clock).now_or_never().expect("no read is in progress")
    }

    #[test]
    fn others_wait_for_a_read_in_progress_but_not_for_a_second_one() {
        for kept in [true, false] {
            let (cache, clock) = (ContentCache::default(), Clock::stepped(NOW));
            let first = begin(&cache, "tax").expect_err("nothing is kept yet");
            let mut others = [0, 1].map(|_| Box::pin(cache.get_or_begin("shop", Referenced::Secret, "tax", &clock)));
            assert!(others.iter_mut().all(|other| other.now_or_never().is_none()), "they wait");
            begin(&cache, "oms").expect_err("another object is read meanwhile");
            if kept {
                cache.keep(first, &content(), NOW);
            } else {
                drop(first);
            }
            let got = others.each_mut().map(|other| other.now_or_never().map(|got| got.is_ok()));
            assert_eq!(got, [Some(kept); 2], "both go on, with the content or to read it themselves");
        }
    }

    fn event(name: &str) -> Secret {
        let metadata = ObjectMeta { namespace: Some("shop".into()), name: Some(name.into()), ..ObjectMeta::default() };
        Secret { metadata, ..Secret::default() }
    }

    #[test]
    fn a_content_is_used_until_its_object_changes_and_not_for_long() {
        type Act = fn(&ContentCache);
        let tax = (Referenced::Secret, "shop".to_owned(), "tax".to_owned());
        let soon = later(NOW, Duration::from_secs(1));
        let none: Act = |_| {};
        let rows: [(&str, Act, Act, Timestamp, bool); 17] = [
            ("at once", none, none, soon, true),
            ("later", none, none, later(NOW, LIFETIME), false),
            ("changed", none, |cache| cache.note(Referenced::Secret, &Event::Apply(event("tax"))), soon, false),
            ("deleted", none, |cache| cache.note(Referenced::Secret, &Event::Delete(event("tax"))), soon, false),
            ("another changed", none, |cache| cache.note(Referenced::Secret, &Event::Apply(event("oms"))), soon, true),
            ("another kind", none, |cache| cache.note(Referenced::ConfigMap, &Event::Apply(event("tax"))), soon, true),
            ("listed", none, |cache| cache.note(Referenced::Secret, &Event::InitApply(event("tax"))), soon, false),
            ("a list begins", none, |cache| cache.note(Referenced::Secret, &Event::<Secret>::Init), soon, false),
            ("a list lacks it", none, |cache| cache.note(Referenced::Secret, &Event::<Secret>::InitDone), soon, false),
            ("the watch breaks", none, ContentCache::interrupted, soon, false),
            ("a resource changed", none, |cache| cache.resource_changed("shop"), soon, false),
            ("one of another namespace", none, |cache| cache.resource_changed("yard"), soon, true),
            ("read, a resource changed", |cache| cache.resource_changed("shop"), none, soon, false),
            ("read, changed", |cache| cache.note(Referenced::Secret, &Event::Apply(event("tax"))), none, soon, false),
            (
                "read, listed",
                |cache| cache.note(Referenced::Secret, &Event::InitApply(event("tax"))),
                none,
                soon,
                false,
            ),
            ("read, list ends", |cache| cache.note(Referenced::Secret, &Event::<Secret>::InitDone), none, soon, false),
            ("read, the watch breaks", ContentCache::interrupted, none, soon, false),
        ];
        for (case, during, after, at, used) in rows {
            let cache = ContentCache::default();
            let reading = begin(&cache, "tax").expect_err("nothing is kept yet");
            during(&cache);
            cache.keep(reading, &content(), NOW);
            after(&cache);
            assert_eq!(cache.get(&tax, at).is_some(), used, "{case}");
        }
    }

    #[test]
    fn the_memory_is_bounded_and_wiped() {
        let cache = ContentCache::default();
        for number in 0..=MAX_COUNT {
            let name = number.to_string();
            let reading = begin(&cache, &name).expect_err("nothing is kept yet");
            cache.keep(reading, &content(), NOW);
        }
        let kept = |cache: &ContentCache| cache.with(|state| state.entries.len());
        assert_eq!(kept(&cache), MAX_COUNT);
        cache.expire(NOW);
        assert_eq!(kept(&cache), MAX_COUNT);
        cache.expire(later(NOW, LIFETIME));
        assert_eq!(kept(&cache), 0);
    }
}
