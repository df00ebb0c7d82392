use super::*;
use crate::controllers::remote::testing::{START, at, object_ref};

/// A rate that limits nothing.
const FAST: Rate = Rate::per_second(1_000);

fn full(limit: usize) -> ConcurrencyLimiter {
    let mut concurrency_limiter = ConcurrencyLimiter::new(limit, FAST);
    for number in 0..limit {
        assert!(concurrency_limiter.enter(&object_ref(number), START));
    }
    concurrency_limiter
}

#[test]
fn the_queue_is_first_come_first_served_without_duplicates() {
    let mut concurrency_limiter = full(2);
    for number in [5, 3, 5, 4, 3] {
        assert!(!concurrency_limiter.enter(&object_ref(number), START));
    }
    assert_eq!(concurrency_limiter.admit_next(START), []);
    for expected in [5, 3, 4] {
        concurrency_limiter.leave();
        assert_eq!(concurrency_limiter.admit_next(START), [object_ref(expected)]);
        assert!(concurrency_limiter.enter(&object_ref(expected), START));
    }
    concurrency_limiter.leave();
    assert_eq!(concurrency_limiter.admit_next(START), []);
    assert_eq!(concurrency_limiter.object_refs().next(), None);
}

#[test]
fn a_newcomer_does_not_overtake_a_reservation() {
    let mut concurrency_limiter = full(1);
    assert!(!concurrency_limiter.enter(&object_ref(1), START));
    concurrency_limiter.leave();
    assert_eq!(concurrency_limiter.admit_next(START), [object_ref(1)]);
    assert!(!concurrency_limiter.enter(&object_ref(2), START));
    assert!(concurrency_limiter.enter(&object_ref(1), START));
}

#[test]
fn a_reservation_expires() {
    let mut concurrency_limiter = full(1);
    assert!(!concurrency_limiter.enter(&object_ref(1), START) && !concurrency_limiter.enter(&object_ref(2), START));
    concurrency_limiter.leave();
    assert_eq!(concurrency_limiter.admit_next(START), [object_ref(1)]);
    assert_eq!(concurrency_limiter.next_expiry(), Some(later(START, RESERVATION)));
    assert_eq!(concurrency_limiter.admit_next(at(1)), []);
    assert_eq!(concurrency_limiter.admit_next(later(START, RESERVATION)), [object_ref(2)], "the first one did not ask");
    assert!(concurrency_limiter.enter(&object_ref(2), at(2)));
    assert_eq!(concurrency_limiter.next_expiry(), None);
}

#[test]
fn an_expired_reservation_keeps_nobody_waiting() {
    let mut limiter = full(2);
    for number in [2, 3, 4] {
        assert!(!limiter.enter(&object_ref(number), START));
    }
    for (seconds, next) in [(0, 2), (1, 3)] {
        limiter.leave();
        assert_eq!(limiter.admit_next(at(seconds)), [object_ref(next)]);
    }
    assert_eq!(limiter.next_expiry(), Some(later(START, RESERVATION)), "the first of both");
    assert!(limiter.enter(&object_ref(4), later(START, RESERVATION)));
    assert_eq!(limiter.next_expiry(), None, "no object waits for the other reservation");
}

#[test]
fn a_free_permit_is_for_the_head_of_the_queue() {
    let mut limiter = full(1);
    for number in [1, 2] {
        assert!(!limiter.enter(&object_ref(number), START));
    }
    limiter.leave();
    assert!(!limiter.enter(&object_ref(3), START), "a newcomer");
    assert!(!limiter.enter(&object_ref(2), START), "the second");
    assert!(limiter.enter(&object_ref(1), START));
    limiter.leave();
    assert_eq!(limiter.admit_next(START), [object_ref(2)], "the first is not queued any more");
    limiter.wait(&object_ref(2));
    assert_eq!(limiter.admit_next(START), [object_ref(3)], "it waits again, behind the next");
}

#[test]
fn nothing_is_kept_of_objects_that_are_gone_or_have_their_turn() {
    let mut limiter = full(1);
    for number in [1, 2, 3] {
        assert!(!limiter.enter(&object_ref(number), START));
    }
    limiter.forget(&object_ref(1));
    limiter.leave();
    assert_eq!(limiter.admit_next(START), [object_ref(2)]);
    let mut left: Vec<_> = limiter.object_refs().cloned().collect();
    left.sort();
    assert_eq!(left, [object_ref(2), object_ref(3)], "one with a reservation and one that waits");
    limiter.forget(&object_ref(3));
    assert!(limiter.unreported.is_empty(), "{limiter:?}");
}

#[test]
fn a_forgotten_object_passes_its_reservation_to_the_next() {
    let mut concurrency_limiter = full(1);
    for number in [1, 2, 3] {
        assert!(!concurrency_limiter.enter(&object_ref(number), START));
    }
    concurrency_limiter.leave();
    assert_eq!(concurrency_limiter.admit_next(START), [object_ref(1)]);
    concurrency_limiter.forget(&object_ref(1));
    concurrency_limiter.forget(&object_ref(2));
    assert_eq!(concurrency_limiter.admit_next(START), [object_ref(3)]);
    assert_eq!(concurrency_limiter.dismiss(|_| true), [object_ref(3)]);
    assert!(concurrency_limiter.enter(&object_ref(4), START));
}

#[test]
fn no_more_than_the_limit_get_permits_and_all_do_in_order() {
    let mut concurrency_limiter = ConcurrencyLimiter::new(4, FAST);
    let mut running = Vec::new();
    for number in 0..100 {
        if concurrency_limiter.enter(&object_ref(number), START) {
            running.push(number);
        }
    }
    assert_eq!(running, [0, 1, 2, 3]);
    let mut order = running.clone();
    while let Some(ended) = running.pop() {
        assert!(running.len() < 4, "{ended} was one of at most 4");
        concurrency_limiter.leave();
        for reserved in concurrency_limiter.admit_next(START) {
            assert!(concurrency_limiter.enter(&reserved, START));
            let number = reserved.name.trim_start_matches("tax-").parse().expect("names end with the number");
            running.push(number);
            order.push(number);
        }
    }
    assert_eq!(order, (0..100).collect::<Vec<_>>());
}

#[test]
fn a_low_rate_leaves_few_permits() {
    for (most, rate, expected) in
        [(16, 1, 2), (16, 2, 4), (16, 10, 16), (16, 1_000, 16), (1, 1, 1), (1, 1_000, 1), (0, 1, 1)]
    {
        let limiter = ConcurrencyLimiter::new(most, Rate::per_second(rate));
        assert_eq!(limiter.limit, expected, "{most} at {rate} a second");
    }
    let mut concurrency_limiter = full(4);
    concurrency_limiter.set_rate(Rate::per_second(1));
    assert!(!concurrency_limiter.enter(&object_ref(4), START));
    for permits in [3, 2] {
        concurrency_limiter.leave();
        assert_eq!(concurrency_limiter.admit_next(START), [], "{permits} are left, of 2");
    }
    concurrency_limiter.leave();
    assert_eq!(concurrency_limiter.admit_next(START), [object_ref(4)]);
    concurrency_limiter.set_rate(FAST);
    assert!(concurrency_limiter.enter(&object_ref(5), START), "the rate was raised");
}

/// Queues objects, written as `a1` for one of namespace `a`, and returns the order in which they get permits.
fn order(limiter: &mut ConcurrencyLimiter, queued: &str) -> String {
    let of = |name: &str| ObjectRef::deployment(&name[..1], name);
    for name in queued.split_whitespace() {
        assert!(!limiter.enter(&of(name), START), "{name}");
    }
    let mut order = Vec::new();
    loop {
        limiter.leave();
        let Some(next) = limiter.admit_next(START).pop() else { return order.join(" ") };
        assert!(limiter.enter(&next, START));
        order.push(next.name.clone());
    }
}

#[test]
fn rule_27_namespaces_take_turns_at_a_remote() {
    for (case, queued, expected) in [
        ("one namespace", "a1 a2 a3", "a1 a2 a3"),
        ("a namespace with many objects", "a1 a2 a3 a4 a5 b1", "a1 b1 a2 a3 a4 a5"),
        ("three namespaces", "a1 a2 a3 b1 b2 c1 a4", "a1 b1 c1 a2 b2 a3 a4"),
    ] {
        assert_eq!(order(&mut full(1), queued), expected, "{case}");
    }
}

#[test]
fn a_namespace_that_always_has_another_object_keeps_no_other_waiting() {
    let mut limiter = full(1);
    let busy = |number: usize| ObjectRef::deployment("busy", &format!("tax-{number}"));
    for number in 0..10 {
        limiter.enter(&object_ref(number), START);
    }
    for number in 0..10 {
        limiter.enter(&busy(number), START);
        let mut namespaces = Vec::new();
        for _ in 0..2 {
            limiter.leave();
            let next = limiter.admit_next(START).pop().expect("one permit is free");
            assert!(limiter.enter(&next, START));
            namespaces.push(next.namespace.clone());
        }
        namespaces.sort();
        assert_eq!(namespaces, ["busy", "default"], "turn {number}");
    }
}

#[test]
fn an_object_that_knows_of_the_outage_is_not_enqueued_for_it() {
    let mut limiter = full(1);
    for number in [1, 2] {
        assert!(!limiter.enter(&object_ref(number), START));
    }
    limiter.wait(&object_ref(1));
    assert_eq!(limiter.take_unreported(), [object_ref(2)]);
    assert_eq!(limiter.take_unreported(), []);
}
