//! Who is next, as tables of what happens and who begins.

use super::*;

/// `a1` is an object of namespace `a`.
fn object(name: &str) -> ObjectRef {
    ObjectRef::check(&name[..1], name)
}

/// Everybody who gets a slot now.
fn begin(queue: &mut FairQueue) -> String {
    let begun: Vec<_> = std::iter::from_fn(|| queue.pop()).map(|object_ref| object_ref.name).collect();
    begun.join(" ")
}

/// Does these steps (`+a1`: an event, `-a1`: its reconcile ends) and returns who begins then.
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
fn whose_turn_is_next() {
    for (case, slots, steps) in [
        ("nobody waits while a slot is free", 3, vec![("+a1 +a2 +a3 +a4", "a1 a2 a3"), ("-a2", "a4")]),
        (
            "a newcomer gets the next slot, however many wait",
            2,
            vec![("+a1 +a2 +a3 +a4 +a5", "a1 a2"), ("+b1 +b2", ""), ("-a1", "b1"), ("-a2", "a3"), ("-b1", "b2")],
        ),
        (
            "several newcomers: in the order in which they came",
            3,
            vec![
                ("+a1 +a2 +a3 +a4", "a1 a2 a3"),
                ("+b1 +c1 +b2", ""),
                ("-a1 -a2", "b1 c1"),
                ("-b1", "b2"),
                ("-c1", "a4"),
            ],
        ),
        (
            "equal shares while all wait",
            4,
            vec![
                ("+a1 +a2 +a3 +a4 +a5 +a6", "a1 a2 a3 a4"),
                ("+b1 +b2 +b3 +b4", ""),
                ("-a1", "b1"),
                ("-a2", "b2"),
                ("-a3", "a5"),
                ("-a4", "a6"),
                ("-b1", "b3"),
            ],
        ),
        (
            "a share that nobody claims is used by others",
            4,
            vec![("+a1 +b1 +a2 +a3 +a4", "a1 b1 a2 a3"), ("-b1", "a4")],
        ),
        ("an object waits once", 1, vec![("+a1 +a2 +a2 +a2", "a1"), ("-a1", "a2"), ("-a2", "")]),
        (
            "an event during a reconcile is for the next one, behind others",
            1,
            vec![("+a1", "a1"), ("+a1 +a1 +a2", ""), ("-a1", "a2"), ("-a2", "a1"), ("-a1", "")],
        ),
        ("an end that nobody waits for frees nothing", 1, vec![("+a1 +a2", "a1"), ("-a2 -b1", ""), ("-a1 -a1", "a2")]),
    ] {
        let mut queue = FairQueue::new(slots);
        for (step, begins) in steps {
            assert_eq!(then(&mut queue, step), begins, "{case}: {step}");
        }
    }
}

#[test]
fn nothing_is_kept_of_what_is_done() {
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
