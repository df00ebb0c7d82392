//! The work queue of one kind: how many objects reconcile at once, and whose turn is next. Fair between namespaces, and pure.
//!
//! kube's controller has no order among the objects that wait, so whoever has most of them gets most slots. That is why nothing
//! waits there: [`super::manager`] hands an object to the controller only when this queue has a slot for it.
//!
//! - Nobody waits while a slot is free.
//! - A slot that becomes free goes to the namespace that holds the fewest; among those that hold equally many, to the one that
//!   has waited longest since its last turn. Within a namespace the order is that of the events.
//! - So a namespace that holds no slot gets the next one that becomes free, however many objects of others wait. If several hold
//!   none, they get one after the other.
//! - An object waits once and reconciles once at a time. An event during its reconcile puts it at the end of the queue afterwards.

use std::collections::{HashMap, HashSet, VecDeque};

use super::object_ref::ObjectRef;

/// The objects of one kind that wait, and those that reconcile.
#[derive(Debug)]
pub struct FairQueue {
    slots: usize,
    /// Those that reconcile, and whether there was an event since.
    active: HashMap<ObjectRef, bool>,
    /// Slots that each namespace holds, if any.
    held: HashMap<String, usize>,
    queued: HashSet<ObjectRef>,
    /// Namespaces in which objects wait, with these; the one that has waited longest since its last turn comes first.
    waiting: VecDeque<(String, VecDeque<ObjectRef>)>,
}

impl FairQueue {
    /// An empty queue. `slots`: how many objects reconcile at once, 1 or more.
    #[must_use]
    pub fn new(slots: usize) -> Self {
        Self { slots, active: HashMap::new(), held: HashMap::new(), queued: HashSet::new(), waiting: VecDeque::new() }
    }

    /// Something happened for which this object is to reconcile.
    pub fn push(&mut self, object_ref: ObjectRef) {
        if let Some(again) = self.active.get_mut(&object_ref) {
            *again = true;
        } else if self.queued.insert(object_ref.clone()) {
            match self.waiting.iter_mut().find(|(namespace, _)| *namespace == object_ref.namespace) {
                Some((_, objects)) => objects.push_back(object_ref),
                None => self.waiting.push_back((object_ref.namespace.clone(), [object_ref].into())),
            }
        }
    }

    /// Takes the next object for which there is a slot. It holds the slot until [`FairQueue::done`].
    pub fn pop(&mut self) -> Option<ObjectRef> {
        if self.active.len() >= self.slots {
            return None;
        }
        let held = |(_, (namespace, _)): &(usize, &(String, _))| self.held.get(namespace).copied().unwrap_or_default();
        // The first one of those that are equal.
        let (at, _) = self.waiting.iter().enumerate().min_by_key(held)?;
        let (namespace, mut objects) = self.waiting.remove(at)?;
        let object_ref = objects.pop_front()?;
        *self.held.entry(namespace.clone()).or_default() += 1;
        if !objects.is_empty() {
            self.waiting.push_back((namespace, objects));
        }
        self.queued.remove(&object_ref);
        self.active.insert(object_ref.clone(), false);
        Some(object_ref)
    }

    /// The reconcile of an object has ended, which frees its slot.
    pub fn done(&mut self, object_ref: ObjectRef) {
        let Some(again) = self.active.remove(&object_ref) else { return };
        if let Some(held) = self.held.get_mut(&object_ref.namespace) {
            *held -= 1;
            if *held == 0 {
                self.held.remove(&object_ref.namespace);
            }
        }
        if again {
            self.push(object_ref);
        }
    }
}

#[cfg(test)]
#[path = "fair_queue_tests.rs"]
mod tests;
