//! Table tests of [`super`].

use super::*;
use crate::controllers::remote::testing::{START, at, lookup, object_ref};

const INTERVAL: Duration = Duration::from_mins(5);

fn observe(lookups: &mut Lookups, lookup: &Lookup, left: u64, found: [Found; 2], now: u64) -> bool {
    lookups.observe(&object_ref(0), lookup, at(left), found.into(), at(now), &mut Jitter::new(1))
}

fn broken() -> Found {
    Found::Unreadable("status 503".into())
}

fn verified(lookups: &mut Lookups, now: u64) {
    let cadence = Cadence { interval: INTERVAL, unverified_since: None };
    lookups.set_cadence(&object_ref(0), cadence, at(now), &mut Jitter::new(1));
}

#[test]
fn unverified_resources_are_looked_up_with_growing_pauses_and_verified_ones_at_the_interval() {
    let (mut lookups, lookup) = (Lookups::default(), lookup());
    assert_eq!(lookups.take(&object_ref(0), &lookup, at(0), INTERVAL, at(0)), None);
    assert_eq!(lookups.due(at(0)).len(), 1);
    assert!(observe(&mut lookups, &lookup, 0, [Found::Absent, Found::Absent], 1), "a lookup was pending");
    let mut pauses = Vec::new();
    let mut now = 1;
    while now < 2_000 {
        let next = u64::try_from(lookups.next().as_second() - START.as_second()).expect("later");
        pauses.push(next - now);
        now = next + 1;
        assert!(!observe(&mut lookups, &lookup, now, [Found::Absent, Found::Absent], now), "no change");
    }
    assert!((10..=11).contains(&pauses[0]), "{pauses:?}");
    assert!(pauses.is_sorted_by(|one, other| *other + 31 >= *one), "{pauses:?}");
    assert!(pauses.iter().all(|pause| *pause <= 331) && pauses.len() < 15, "{pauses:?}");

    let there = || Found::There(Destination::default());
    assert!(observe(&mut lookups, &lookup, now, [there(), there()], now), "it appears");
    verified(&mut lookups, now);
    assert!(lookups.next() >= at(now + 300) && lookups.next() <= at(now + 331), "{:?}", lookups.next());
    assert!(observe(&mut lookups, &lookup, now + 320, [there(), Found::Absent], now + 320), "it disappears");
}

#[test]
fn a_lookup_that_failed_keeps_its_backoff_whatever_reconciles_ask() {
    let (mut lookups, lookup) = (Lookups::default(), lookup());
    lookups.take(&object_ref(0), &lookup, at(0), INTERVAL, at(0));
    assert!(observe(&mut lookups, &lookup, 0, [broken(), Found::Absent], 1), "a lookup was pending");
    let due = lookups.next();
    verified(&mut lookups, 2);
    assert_eq!(lookups.next(), due, "another cadence");
    assert_eq!(lookups.take(&object_ref(0), &lookup, at(3), INTERVAL, at(3)), None);
    assert_eq!(lookups.next(), due, "a newer lookup is pending");
}

#[test]
fn a_pending_lookup_begins_no_earlier_than_its_result_may_be() {
    let (mut lookups, lookup) = (Lookups::default(), lookup());
    lookups.take(&object_ref(0), &lookup, at(0), INTERVAL, at(0));
    observe(&mut lookups, &lookup, 0, [Found::Absent, Found::Absent], 1);
    verified(&mut lookups, 1);
    assert_eq!(lookups.take(&object_ref(0), &lookup, at(20), INTERVAL, at(10)), None);
    assert_eq!(lookups.next(), at(20));
}

#[test]
fn a_failed_read_keeps_the_earlier_result_unless_a_newer_one_is_pending() {
    let (mut lookups, lookup) = (Lookups::default(), lookup());
    assert_eq!(lookups.take(&object_ref(0), &lookup, at(0), INTERVAL, at(0)), None);
    assert!(observe(&mut lookups, &lookup, 0, [broken(), broken()], 1), "the waiting object is enqueued");
    assert!(lookups.next() <= at(2), "and it is tried again soon");
    assert!(observe(&mut lookups, &lookup, 2, [Found::Absent, Found::Absent], 2));
    assert!(!observe(&mut lookups, &lookup, 20, [Found::Absent, broken()], 20), "no change");
    let seen = lookups.take(&object_ref(0), &lookup, at(1), INTERVAL, at(21)).expect("it was looked up");
    assert_eq!(seen.found, [Found::Absent, Found::Absent]);
    // After an operation, earlier results do not count.
    assert_eq!(lookups.take(&object_ref(0), &lookup, at(30), INTERVAL, at(30)), None);
    assert!(!observe(&mut lookups, &lookup, 29, [Found::Absent, Found::Absent], 31), "it began before");
    assert_eq!(lookups.due(at(31)).len(), 1, "so it is looked up again");
    assert!(observe(&mut lookups, &lookup, 31, [Found::Absent, Found::Absent], 31));
}

#[test]
fn another_client_or_other_resources_discard_the_result_and_a_removed_object_is_not_kept() {
    let (mut lookups, first) = (Lookups::default(), lookup());
    assert_eq!(lookups.take(&object_ref(0), &first, at(0), INTERVAL, at(0)), None);
    assert!(observe(&mut lookups, &first, 0, [Found::Forbidden, Found::Forbidden], 0));
    assert!(lookups.take(&object_ref(0), &first, at(0), INTERVAL, at(1)).is_some());
    let other = lookup();
    assert_eq!(lookups.take(&object_ref(0), &other, at(0), INTERVAL, at(1)), None, "new credentials");
    assert!(!observe(&mut lookups, &first, 1, [Found::Absent, Found::Absent], 1), "a result of the former client");
    let fewer = Lookup { resources: other.resources[..1].to_vec(), ..other.clone() };
    assert_eq!(lookups.take(&object_ref(0), &fewer, at(0), INTERVAL, at(1)), None, "other resources");
    assert_eq!(lookups.dismiss(|_| true), [object_ref(0)]);
    assert_eq!((lookups.object_refs().count(), lookups.next()), (0, Timestamp::MAX));
}
