//! Keeps one object that this version cannot deserialize from hiding all others of its kind.
//!
//! A newer version may have allowed more: after a rollback, an enum value may be unknown here. Such an object is left
//! alone, which is reported in the log and in an Event; its claim to a key stays. Next: `manager/watches.rs`, whose watches use
//! this.

use std::sync::Arc;

use futures::{Stream, StreamExt, future};
use kube::core::error_boundary::InvalidObject;
use kube::runtime::events::EventType;
use kube::runtime::reflector::{ObjectRef, Store};
use kube::runtime::watcher;
use kube::{Resource, ResourceExt};
use tokio::sync::mpsc::{Receiver, Sender};

use crate::controllers::context::Context;
use crate::controllers::kinds::managed_kind::{ClaimRequest, ManagedKind, Object};
use crate::controllers::object_ref::Kind;
use crate::controllers::objects::guarded::Guarded;
use crate::controllers::objects::seen::Seen;
use crate::controllers::reporting::conditions::cut;
use crate::controllers::reporting::event_reason::EventReason;
use crate::crd::{AllowedNamespaces, ConnectProjectSpec, ConnectProjectStatus};

/// Maximum length of the error text.
const LONGEST_TEXT: usize = 512;

/// Maximum number of such objects that wait for their Event; further ones are only logged.
pub const WAITING: usize = 64;

impl<K: ManagedKind> ManagedKind for Guarded<K>
where
    Self: Resource<DynamicType = ()>,
{
    const KIND: Kind = K::KIND;
    type Memory = K::Memory;

    fn is_readable(&self) -> bool {
        self.0.is_ok()
    }

    fn claim(&self) -> Option<ClaimRequest> {
        self.0.as_ref().ok()?.claim()
    }

    fn has_begun(&self) -> bool {
        self.0.as_ref().is_ok_and(ManagedKind::has_begun)
    }

    /// A project that cannot be deserialized keeps the permissions that it had.
    fn allowed_namespaces(&self) -> Option<AllowedNamespaces> {
        self.0.as_ref().ok()?.allowed_namespaces()
    }

    fn as_project(&self) -> Option<(&ConnectProjectSpec, Option<&ConnectProjectStatus>)> {
        self.0.as_ref().ok()?.as_project()
    }
}

/// Returns the events of the objects that can be deserialized, as the store keeps them. Any other object is removed from `store`, so that no
/// reconcile uses its old version, and is logged; `unreadable_sender` passes it to [`report`], unless that channel is full.
pub fn only_readable<K>(
    events: impl Stream<Item = watcher::Result<watcher::Event<Guarded<K>>>> + Send + 'static,
    store: Store<Seen<K>>,
    unreadable_sender: Sender<InvalidObject>,
) -> impl Stream<Item = watcher::Result<watcher::Event<Seen<K>>>> + Send + 'static
where
    K: ManagedKind,
{
    let readable = move |event| match event {
        watcher::Event::Init => Some(watcher::Event::Init),
        watcher::Event::InitDone => Some(watcher::Event::InitDone),
        watcher::Event::InitApply(Guarded(Ok(object))) => Some(watcher::Event::InitApply(Seen::of(&object))),
        watcher::Event::InitApply(Guarded(Err(invalid))) => {
            report_unreadable::<K>(&unreadable_sender, invalid);
            None
        }
        watcher::Event::Apply(Guarded(Ok(object))) => Some(watcher::Event::Apply(Seen::of(&object))),
        watcher::Event::Apply(Guarded(Err(invalid))) => {
            let before = stored(&store, &invalid);
            report_unreadable::<K>(&unreadable_sender, invalid);
            before
        }
        watcher::Event::Delete(Guarded(Ok(object))) => Some(watcher::Event::Delete(Seen::of(&object))),
        watcher::Event::Delete(Guarded(Err(invalid))) => stored(&store, &invalid),
    };
    events.filter_map(move |event| future::ready(event.map(&readable).transpose()))
}

/// Returns the event that removes an object from the store, if the store contains it.
fn stored<K>(store: &Store<Seen<K>>, invalid: &InvalidObject) -> Option<watcher::Event<Seen<K>>>
where
    K: ManagedKind,
{
    let name = ObjectRef::new(invalid.metadata.name.as_deref().unwrap_or_default());
    let namespace = invalid.metadata.namespace.as_deref();
    let before = store.get(&namespace.map_or(name.clone(), |namespace| name.within(namespace)))?;
    Some(watcher::Event::Delete(Seen::clone(&before)))
}

/// Logs an object and has it reported. Awaits nothing, so that the watch continues with other objects.
fn report_unreadable<K: Object>(unreadable_sender: &Sender<InvalidObject>, invalid: InvalidObject) {
    let object = Guarded::<K>(Err(invalid));
    let (namespace, name) = (object.namespace().unwrap_or_default(), object.name_any());
    let Guarded(Err(invalid)) = object else { return };
    let why = cut(&invalid.error, LONGEST_TEXT);
    tracing::warn!(kind = %K::kind(&()), namespace, name, %why, "left alone: this version does not understand it");
    // If the channel is full, the log entry is enough.
    let _ = unreadable_sender.try_send(invalid);
}

/// Writes an Event for each object that cannot be deserialized, until the channel closes. The status stays as it was,
/// with its observedGeneration. The error quotes the spec,
/// which cannot contain a secured value.
pub async fn report<K: Object>(mut unreadable: Receiver<InvalidObject>, context: Arc<Context>) {
    while let Some(invalid) = unreadable.recv().await {
        let why = cut(&invalid.error, LONGEST_TEXT);
        let object = Guarded::<K>(Err(invalid));
        let note = format!(
            "Left alone, because this version of the operator does not understand it: {why}. Update the operator, or change the spec back."
        );
        context.report(&object, EventType::Warning, EventReason::NotUnderstood, "Reconcile", &note);
    }
}
