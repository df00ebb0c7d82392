use super::*;
use crate::controllers::remote::testing::{START, at, subject};

fn full(limit: usize) -> Turns {
    let mut turns = Turns::new(limit);
    for number in 0..limit {
        assert!(turns.enter(&subject(number), START));
    }
    turns
}

#[test]
fn the_queue_is_first_come_first_served_without_duplicates() {
    let mut turns = full(2);
    for number in [5, 3, 5, 4, 3] {
        assert!(!turns.enter(&subject(number), START));
    }
    assert_eq!(turns.invite(START), []);
    for expected in [5, 3, 4] {
        turns.leave();
        assert_eq!(turns.invite(START), [subject(expected)]);
        assert!(turns.enter(&subject(expected), START));
    }
    turns.leave();
    assert_eq!(turns.invite(START), []);
}

#[test]
fn a_newcomer_does_not_overtake_who_was_woken() {
    let mut turns = full(1);
    assert!(!turns.enter(&subject(1), START));
    turns.leave();
    assert_eq!(turns.invite(START), [subject(1)]);
    assert!(!turns.enter(&subject(2), START));
    assert!(turns.enter(&subject(1), START));
}

#[test]
fn a_place_is_kept_for_a_while_only() {
    let mut turns = full(1);
    assert!(!turns.enter(&subject(1), START) && !turns.enter(&subject(2), START));
    turns.leave();
    assert_eq!(turns.invite(START), [subject(1)]);
    assert_eq!(turns.next_lapse(), Some(later(START, INVITATION)));
    assert_eq!(turns.invite(at(1)), []);
    assert_eq!(turns.invite(later(START, INVITATION)), [subject(2)], "the first one did not come");
    assert!(turns.enter(&subject(2), at(2)));
    assert_eq!(turns.next_lapse(), None);
}

#[test]
fn whoever_is_forgotten_leaves_the_place_to_the_next() {
    let mut turns = full(1);
    for number in [1, 2, 3] {
        assert!(!turns.enter(&subject(number), START));
    }
    turns.leave();
    assert_eq!(turns.invite(START), [subject(1)]);
    turns.forget(&subject(1));
    turns.forget(&subject(2));
    assert_eq!(turns.invite(START), [subject(3)]);
    assert_eq!(turns.dismiss(|_| true), [subject(3)]);
    assert!(turns.enter(&subject(4), START));
}

#[test]
fn of_many_no_more_than_the_limit_run_and_all_do_in_their_order() {
    let mut turns = Turns::new(4);
    let mut running = Vec::new();
    for number in 0..100 {
        if turns.enter(&subject(number), START) {
            running.push(number);
        }
    }
    assert_eq!(running, [0, 1, 2, 3]);
    let mut order = running.clone();
    while let Some(ended) = running.pop() {
        assert!(running.len() < 4, "{ended} was one of at most 4");
        turns.leave();
        for invited in turns.invite(START) {
            assert!(turns.enter(&invited, START));
            let number = invited.name.trim_start_matches("tax-").parse().expect("names end with the number");
            running.push(number);
            order.push(number);
        }
    }
    assert_eq!(order, (0..100).collect::<Vec<_>>());
}
