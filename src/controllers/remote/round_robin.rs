//! A queue in which namespaces take turns. Pure.
//!
//! Objects are queued in rounds: of each namespace, one object in each round. So an object waits for at most as many
//! objects of another namespace as of its own, however many that one has queued. Every operation takes logarithmic time;
//! only the first object of a new round costs a look at each namespace of the last one.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::controllers::object_ref::ObjectRef;

/// A place in the queue: its round, and the number of the arrival.
type Position = (u64, u64);

/// Queued objects, each once.
#[derive(Debug, Default)]
pub(super) struct RoundRobin {
    queue: BTreeMap<Position, ObjectRef>,
    positions: HashMap<ObjectRef, Position>,
    /// Round of the last object that was taken from the queue.
    round: u64,
    /// The rounds in which each namespace has an object, and the current one if it had one there.
    rounds: HashMap<String, BTreeSet<u64>>,
    arrivals: u64,
}

impl RoundRobin {
    /// Appends an object, unless it is queued.
    pub(super) fn push(&mut self, object_ref: &ObjectRef) {
        if self.positions.contains_key(object_ref) {
            return;
        }
        let rounds = self.rounds.entry(object_ref.namespace.clone()).or_default();
        let round = rounds.last().map_or(self.round, |last| last + 1);
        rounds.insert(round);
        self.arrivals += 1;
        self.positions.insert(object_ref.clone(), (round, self.arrivals));
        self.queue.insert((round, self.arrivals), object_ref.clone());
    }

    /// Takes the first object.
    pub(super) fn pop(&mut self) -> Option<ObjectRef> {
        let ((round, _), object_ref) = self.queue.pop_first()?;
        self.positions.remove(&object_ref);
        if round > self.round {
            self.round = round;
            self.rounds.retain(|_, rounds| {
                while rounds.first().is_some_and(|first| *first < round) {
                    rounds.pop_first();
                }
                !rounds.is_empty()
            });
        }
        Some(object_ref)
    }

    /// Removes an object.
    pub(super) fn remove(&mut self, object_ref: &ObjectRef) {
        if let Some(place) = self.positions.remove(object_ref) {
            self.queue.remove(&place);
            if let Some(rounds) = self.rounds.get_mut(&object_ref.namespace) {
                rounds.remove(&place.0);
            }
        }
    }

    /// Returns the objects in their order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &ObjectRef> {
        self.queue.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_that_were_removed_cost_their_namespace_no_turn() {
        let mut queue = RoundRobin::default();
        let of = |namespace: &str, number: usize| ObjectRef::deployment(namespace, &format!("tax-{number}"));
        for number in 0..10 {
            queue.push(&of("a", number));
            queue.push(&of("b", number));
        }
        (0..10).for_each(|number| queue.remove(&of("a", number)));
        queue.push(&of("a", 10));
        assert_eq!([queue.pop(), queue.pop()], [Some(of("b", 0)), Some(of("a", 10))]);
    }

    #[test]
    fn a_namespace_that_comes_later_gets_no_turn_that_has_passed() {
        let mut queue = RoundRobin::default();
        let of = |name: &str| ObjectRef::deployment(&name[..1], name);
        for name in ["a0", "a1", "a2", "a3", "a4", "a5"] {
            queue.push(&of(name));
        }
        (0..4).for_each(|_| drop(queue.pop()));
        for name in ["b0", "b1", "b2"] {
            queue.push(&of(name));
        }
        let order: Vec<_> = std::iter::from_fn(|| queue.pop()).map(|object_ref| object_ref.name.clone()).collect();
        assert_eq!(order, ["b0", "a4", "b1", "a5", "b2"]);
    }

    #[test]
    fn nothing_is_kept_of_namespaces_that_had_their_turn() {
        let mut queue = RoundRobin::default();
        for number in 0..100 {
            queue.push(&ObjectRef::deployment(&format!("n{}", number % 7), &format!("tax-{number}")));
        }
        queue.remove(&ObjectRef::deployment("n1", "tax-1"));
        assert_eq!(std::iter::from_fn(|| queue.pop()).count(), 99);
        let late = ObjectRef::deployment("late", "tax");
        queue.push(&late);
        queue.push(&late);
        assert_eq!((queue.pop(), queue.pop()), (Some(late), None));
        assert!(queue.queue.is_empty() && queue.rounds.len() <= 3, "{queue:?}");
    }
}
