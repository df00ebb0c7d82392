//! The objects that the watch of one kind has shown: which of them exist, and which of them users have changed since they
//! were last enqueued.
//!
//! Objects of a list are enqueued once it is complete, so that at the start all keys are known first (rule 4). An object
//! that a list lacks was deleted while no watch was open.

use std::collections::BTreeMap;
use std::mem;

use kube::runtime::watcher::Event;

use super::event_handlers::{deleted, seen};
use crate::operator::context::Context;
use crate::operator::kinds::managed_kind::{ManagedKind, object_ref, user_changes};
use crate::operator::object_ref::ObjectRef;

/// The objects of one watch.
#[derive(Debug, Default)]
pub struct KnownObjects {
    /// Each with a hash of what users can change.
    known: BTreeMap<ObjectRef, u64>,
    /// What the list in progress has shown so far.
    listed: BTreeMap<ObjectRef, u64>,
}

impl KnownObjects {
    /// Processes an event: forgets what was deleted, and enqueues what users have changed. Records the claim of an object
    /// before any reconcile that it enqueues.
    pub fn note<K: ManagedKind>(&mut self, context: &Context, event: &Event<K>) {
        match event {
            // A list that failed halfway is followed by another `Init`.
            Event::Init => self.listed.clear(),
            Event::InitApply(object) => {
                seen(context, object);
                self.listed.insert(object_ref(object), user_changes(object));
            }
            Event::InitDone => {
                context.keys.listed();
                let before = mem::replace(&mut self.known, mem::take(&mut self.listed));
                let gone = before.keys().filter(|object_ref| !self.known.contains_key(*object_ref));
                gone.for_each(|object_ref| deleted(context, object_ref));
                let changed = self.known.iter().filter(|(object_ref, change)| before.get(*object_ref) != Some(*change));
                changed.for_each(|(object_ref, _)| context.enqueue_changed(object_ref));
            }
            Event::Apply(object) => {
                seen(context, object);
                let (object_ref, change) = (object_ref(object), user_changes(object));
                if self.known.insert(object_ref.clone(), change) != Some(change) {
                    context.enqueue_changed(&object_ref);
                }
            }
            Event::Delete(object) => {
                let object_ref = object_ref(object);
                self.known.remove(&object_ref);
                deleted(context, &object_ref);
            }
        }
    }
}
