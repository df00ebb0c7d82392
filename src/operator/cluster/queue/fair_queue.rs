//! The work queue of one kind: it limits concurrent reconciles and shares the slots fairly between namespaces. Pure.
//!
//! The queue of kube's `Controller` knows no namespaces, so the one with the most objects would get the most slots.
//!
//! A cluster-scoped object counts as a namespace.
//!
//! - A namespace takes no further slot while it holds three times as many as are free ([`HELD_FOR_EACH_FREE`]), and never
//!   the last free one, so that slots are left for others, also if its reconciles hang. Otherwise no object waits while
//!   a slot is free.
//! - A slot that becomes free goes to the namespace that holds the fewest slots; among equals, to the one that has
//!   waited longest since its last turn. Within a namespace, objects keep the order of their events.
//! - So a namespace that holds no slot gets the next free one, however many objects of other namespaces wait. If
//!   several namespaces hold none, each of them gets one in turn.
//! - An object is queued at most once and reconciles at most once at a time. An event during its reconcile appends it
//!   to the queue afterwards.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::operator::object_ref::ObjectRef;

/// A namespace holds at most so many slots for each that stays free: alone, three quarters of all, or one of two.
const HELD_FOR_EACH_FREE: usize = 3;

/// The queued and the reconciling objects of one kind.
#[derive(Debug)]
pub struct FairQueue {
    slots: usize,
    /// Reconciling objects, and whether an event arrived since their reconcile began.
    active: HashMap<ObjectRef, bool>,
    /// Number of slots that each namespace holds; namespaces without slots are absent.
    held: HashMap<String, usize>,
    queued: HashSet<ObjectRef>,
    /// Namespaces with queued objects; the one that has waited longest since its last turn comes first.
    waiting: VecDeque<(String, VecDeque<ObjectRef>)>,
}

impl FairQueue {
    /// Creates an empty queue. `slots`: maximum number of concurrent reconciles, 1 or more.
    pub fn new(slots: usize) -> Self {
        Self { slots, active: HashMap::new(), held: HashMap::new(), queued: HashSet::new(), waiting: VecDeque::new() }
    }

    /// Enqueues an object, or marks it for another reconcile if it is reconciling.
    pub fn push(&mut self, object_ref: ObjectRef) {
        if let Some(again) = self.active.get_mut(&object_ref) {
            *again = true;
        } else if self.queued.insert(object_ref.clone()) {
            match self.waiting.iter_mut().find(|(namespace, _)| namespace == namespace_of(&object_ref)) {
                Some((_, objects)) => objects.push_back(object_ref),
                None => self.waiting.push_back((namespace_of(&object_ref).clone(), [object_ref].into())),
            }
        }
    }

    /// Takes the next object, if a slot is free for its namespace. The object holds the slot until [`FairQueue::done`].
    pub fn pop(&mut self) -> Option<ObjectRef> {
        let free = self.slots.saturating_sub(self.active.len());
        let held = |namespace: &String| self.held.get(namespace).copied().unwrap_or_default();
        let each = self.waiting.iter().map(|(namespace, _)| held(namespace)).enumerate();
        // `min_by_key` returns the first of several minimal elements: the namespace that has waited longest.
        let (at, held) = each.min_by_key(|(_, held)| *held)?;
        let is_last = held > 0 && free == 1;
        if is_last || held >= HELD_FOR_EACH_FREE * free {
            return None;
        }
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

    /// Frees the slot of an object whose reconcile has ended.
    pub fn done(&mut self, object_ref: ObjectRef) {
        let Some(again) = self.active.remove(&object_ref) else { return };
        let namespace = namespace_of(&object_ref);
        if let Some(held) = self.held.get_mut(namespace) {
            *held -= 1;
            if *held == 0 {
                self.held.remove(namespace);
            }
        }
        if again {
            self.push(object_ref);
        }
    }
}

/// Returns the namespace whose slots an object uses; one without a namespace shares them with no other.
fn namespace_of(object_ref: &ObjectRef) -> &String {
    if object_ref.namespace.is_empty() { &object_ref.name } else { &object_ref.namespace }
}

#[cfg(test)]
#[path = "fair_queue_tests.rs"]
mod tests;
