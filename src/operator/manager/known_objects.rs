//! The objects that a watch of one kind has shown: which of them exist, and which of them users have changed since they were
//! last enqueued.
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

/// The objects of one watch. Those that exist are in the memory of all reconciles.
#[derive(Debug, Default)]
pub struct KnownObjects {
    /// The only namespace that is watched; `None`: all namespaces.
    namespace: Option<String>,
    /// What the list in progress has shown so far, each with a hash of what users can change.
    listed: BTreeMap<ObjectRef, u64>,
}

impl KnownObjects {
    /// Creates the state before the first event. `namespace`: the only one that is watched; `None`: all namespaces.
    pub fn new(namespace: Option<String>) -> Self {
        Self { namespace, listed: BTreeMap::new() }
    }

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
                let listed = mem::take(&mut self.listed);
                let mut gone = context.memory.shown.object_refs();
                gone.retain(|object_ref| self.watches::<K>(object_ref) && !listed.contains_key(object_ref));
                for object_ref in &gone {
                    deleted(context, object_ref);
                }
                for (object_ref, change) in listed {
                    exists(context, &object_ref, change);
                }
            }
            Event::Apply(object) => {
                seen(context, object);
                exists(context, &object_ref(object), user_changes(object));
            }
            Event::Delete(object) => deleted(context, &object_ref(object)),
        }
    }

    fn watches<K: ManagedKind>(&self, object_ref: &ObjectRef) -> bool {
        let within = self.namespace.as_ref().is_none_or(|namespace| *namespace == object_ref.namespace);
        object_ref.kind == K::KIND && within
    }
}

/// Records that an object exists, and enqueues it if users have changed it. `change`: a hash of what they can change.
fn exists(context: &Context, object_ref: &ObjectRef, change: u64) {
    if context.memory.shown.insert(object_ref, change) != Some(change) {
        context.enqueue_changed(object_ref);
    }
}
