//! Keeps one object that this version cannot read from hiding all others of its kind.
//!
//! A newer version may have allowed more: a word that is unknown here, after a rollback. Such an object is left alone, which
//! is said in the log and as an Event; its claim to a key stays. Next: `manager.rs`, which watches through this.

use std::sync::Arc;

use futures::{Stream, StreamExt, future};
use kube::core::error_boundary::InvalidObject;
use kube::runtime::events::EventType;
use kube::runtime::reflector::{ObjectRef, Store};
use kube::runtime::watcher;
use kube::{Resource, ResourceExt};
use tokio::sync::mpsc::{Receiver, Sender};

use super::conditions::cut;
use super::context::Context;
use super::inventory::ReportedState;
use super::keys::KeyOwnership;
use super::managed_kind::ManagedKind;
use super::object::Object;
use super::object_ref::Kind;

/// Reason of the Event; the status stays as it was, with the generation that it was made for.
const NOT_UNDERSTOOD: &str = "NotUnderstood";
/// Longest text of what cannot be read.
const LONGEST_TEXT: usize = 512;

/// Events about such objects that wait to be written; of more only the log tells.
pub const WAITING: usize = 64;

/// An object as the API server sent it: read, or why not.
pub use kube::core::DeserializeGuard as Guarded;

impl<K: ManagedKind> ManagedKind for Guarded<K>
where
    Self: Resource<DynamicType = ()>,
{
    const KIND: Kind = K::KIND;

    /// What cannot be read keeps the key that it had.
    fn note(&self, keys: &KeyOwnership) {
        if let Ok(object) = &self.0 {
            object.note(keys);
        }
    }

    /// What cannot be read says nothing that counts.
    fn reported_state(&self) -> Option<ReportedState> {
        self.0.as_ref().ok()?.reported_state()
    }

    fn controller(&self) -> Option<&str> {
        self.0.as_ref().ok()?.controller()
    }
}

/// The events of what can be read. What cannot leaves `store`, so that no run works on what it was before, and is logged;
/// `condition` gets it for [`report`], unless more wait there than it takes.
pub fn only_readable<K>(
    events: impl Stream<Item = watcher::Result<watcher::Event<Guarded<K>>>> + Send + 'static,
    store: Store<K>,
    condition: Sender<InvalidObject>,
) -> impl Stream<Item = watcher::Result<watcher::Event<K>>> + Send + 'static
where
    K: Object + ManagedKind,
{
    let readable = move |event| match event {
        watcher::Event::Init => Some(watcher::Event::Init),
        watcher::Event::InitDone => Some(watcher::Event::InitDone),
        watcher::Event::InitApply(Guarded(Ok(object))) => Some(watcher::Event::InitApply(object)),
        watcher::Event::InitApply(Guarded(Err(invalid))) => {
            tell::<K>(&condition, invalid);
            None
        }
        watcher::Event::Apply(Guarded(Ok(object))) => Some(watcher::Event::Apply(object)),
        watcher::Event::Apply(Guarded(Err(invalid))) => {
            let before = stored(&store, &invalid);
            tell::<K>(&condition, invalid);
            before
        }
        watcher::Event::Delete(Guarded(Ok(object))) => Some(watcher::Event::Delete(object)),
        watcher::Event::Delete(Guarded(Err(invalid))) => stored(&store, &invalid),
    };
    events.filter_map(move |event| future::ready(event.map(&readable).transpose()))
}

/// Has what the store knows of an object leave it.
fn stored<K: Object>(store: &Store<K>, invalid: &InvalidObject) -> Option<watcher::Event<K>> {
    let name = ObjectRef::new(invalid.metadata.name.as_deref().unwrap_or_default());
    let before = store.get(&name.within(invalid.metadata.namespace.as_deref().unwrap_or_default()))?;
    Some(watcher::Event::Delete(K::clone(&before)))
}

/// Logs it, and has it reported. Nothing is awaited: the watch has others to show.
fn tell<K: Object>(condition: &Sender<InvalidObject>, invalid: InvalidObject) {
    let object = Guarded::<K>(Err(invalid));
    let (namespace, name) = (object.namespace().unwrap_or_default(), object.name_any());
    let Guarded(Err(invalid)) = object else { return };
    let why = cut(&invalid.error, LONGEST_TEXT);
    tracing::warn!(kind = %K::kind(&()), namespace, name, %why, "left alone: this version does not understand it");
    // The log has it, if there is no room for it.
    let _ = condition.try_send(invalid);
}

/// Writes an Event for each object that cannot be read, as long as there may be more. The text of the error quotes the spec,
/// in which nothing secured can stand.
pub async fn report<K: Object>(mut unreadable: Receiver<InvalidObject>, context: Arc<Context>) {
    while let Some(invalid) = unreadable.recv().await {
        let why = cut(&invalid.error, LONGEST_TEXT);
        let object = Guarded::<K>(Err(invalid));
        let note = format!(
            "Left alone, because this version of the operator does not understand it: {why}. Update the operator, or change the spec back."
        );
        context.report(&object, EventType::Warning, NOT_UNDERSTOOD, "Reconcile", &note).await;
    }
}
