//! The order of the queue, as tables of events and of the objects that begin to reconcile: `+a1 +a2 > a1; -a1 > a2`.

use super::*;

/// Returns an object; `a1` is one of namespace `a`.
fn object(name: &str) -> ObjectRef {
    ObjectRef::check(&name[..1], name)
}

/// Returns the objects that get a slot now.
fn begin(queue: &mut FairQueue) -> String {
    let begun: Vec<_> = std::iter::from_fn(|| queue.pop()).map(|object_ref| object_ref.name.clone()).collect();
    begun.join(" ")
}

/// Does these steps (`+a1`: an event, `-a1`: its reconcile ends) and returns the objects that begin then.
fn then(queue: &mut FairQueue, steps: &str) -> String {
    for step in steps.split_whitespace() {
        match step.split_at(1) {
            ("+", name) => queue.push(object(name)),
            ("-", name) => queue.done(object(name)),
            _ => unreachable!("{step}"),
        }
    }
    begin(queue)
}

#[test]
fn an_object_without_a_namespace_shares_slots_with_no_other() {
    let mut queue = FairQueue::new(2);
    let projects = ["shop", "yard"].map(ObjectRef::cluster_project);
    for project in projects.clone() {
        queue.push(project);
    }
    assert_eq!(begin(&mut queue), "shop yard");
    for project in projects {
        queue.done(project);
    }
    assert!(queue.held.is_empty(), "nothing is kept");
}

#[test]
fn slots_are_shared_fairly_between_namespaces() {
    for (case, slots, steps) in [
        ("a namespace leaves one of three slots", 3, "+a1 +a2 +a3 +a4 > a1 a2; -a2 > a3; +b1 > b1"),
        (
            "a namespace leaves one of two slots, also after another one has used it",
            2,
            "+a1 +a2 +a3 > a1; +b1 +b2 > b1; -b1 > b2; -b2 >; +c1 > c1; -a1 > a2",
        ),
        ("two namespaces use two slots, and the third gets the next", 2, "+a1 +b1 +c1 > a1 b1; -b1 > c1"),
        ("one slot is for whoever comes", 1, "+a1 +a2 > a1; -a1 > a2; +b1 >; -a2 > b1"),
        (
            "a namespace leaves a quarter of the slots, and another one a quarter of these",
            16,
            "+a1 +a2 +a3 +a4 +a5 +a6 +a7 +a8 +a9 +a10 +a11 +a12 +a13 +a14 > a1 a2 a3 a4 a5 a6 a7 a8 a9 a10 a11 a12; +b1 +b2 +b3 +b4 > b1 b2 b3; +c1 +c2 > c1; -a1 >; -a2 -a3 > c2 b4; -b1 -b2 -b3 -c1 > a13 a14",
        ),
        (
            "a newcomer gets one of the next slots, however many wait",
            2,
            "+c1 +a1 +a2 +a3 +a4 +a5 > c1 a1; +b1 +b2 >; -a1 > a2; -c1 > b1; -b1 > b2; -a2 > a3",
        ),
        (
            "several newcomers get slots in the order in which they came",
            3,
            "+a1 +d1 +a2 +a3 +a4 > a1 d1; +b1 +c1 +b2 > b1; -a1 -d1 > a2 c1; -b1 > b2; -c1 >",
        ),
        (
            "equal shares while all wait, and one slot for a third",
            4,
            "+a1 +a2 +a3 +a4 +a5 +a6 > a1 a2 a3; +b1 +b2 +b3 +b4 > b1; -a1 >; -a2 > a4; -a3 > b2; -b1 > a5",
        ),
        ("a share that no namespace needs is used by others", 4, "+a1 +b1 +a2 +a3 +a4 > a1 b1 a2; -b1 > a3; -a1 > a4"),
        ("an object waits once", 1, "+a1 +a2 +a2 +a2 > a1; -a1 > a2; -a2 >"),
        (
            "an event during a reconcile leads to another one, behind other objects",
            1,
            "+a1 > a1; +a1 +a1 +a2 >; -a1 > a2; -a2 > a1; -a1 >",
        ),
        ("the end of an inactive object frees no slot", 1, "+a1 +a2 > a1; -a2 -b1 >; -a1 -a1 > a2"),
    ] {
        let mut queue = FairQueue::new(slots);
        for step in steps.split("; ") {
            let (events, begins) = step.split_once(" >").expect("events, and what begins then");
            assert_eq!(then(&mut queue, events), begins.trim_start(), "{case}: {step}");
        }
    }
}

#[test]
fn nothing_is_kept_of_objects_that_are_done() {
    let mut queue = FairQueue::new(3);
    for number in 0..100 {
        queue.push(object(&format!("{}{number}", ["a", "b", "c"][number % 3])));
    }
    let mut begun = Vec::new();
    while let Some(object_ref) = queue.pop() {
        begun.push(object_ref.name.clone());
        queue.done(object_ref);
    }
    assert_eq!(begun.len(), 100);
    assert!(queue.active.is_empty() && queue.held.is_empty() && queue.queued.is_empty() && queue.waiting.is_empty());
}
