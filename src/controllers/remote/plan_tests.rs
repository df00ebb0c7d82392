use super::*;
use crate::controllers::remote::jitter::Jitter;
use crate::controllers::remote::testing::{START, at, id, object_ref};
use crate::controllers::remote::{PollRate, PolledRecord};

/// The default rate, at which nothing but the number of calls decides.
const SLOW: Rate = Rate::per_second(10);

/// A view with so many polled ids in each group, each due after that many seconds.
fn watched(groups: &[(usize, u64)]) -> View {
    let (mut view, mut number) = (View::default(), 0);
    for (count, seconds) in groups {
        for _ in 0..*count {
            let pace = PollRate::Settled(Duration::from_mins(5));
            view.poll(&object_ref(number), &id(number), pace, START, &mut Jitter::new(1));
            assert!(view.take(&object_ref(number), &id(number), at(*seconds), START).is_none());
            number += 1;
        }
    }
    view
}

/// Returns the shape of a plan: its kind and size.
fn shape(plan: &Plan) -> String {
    match plan {
        Plan::Rest(until) => format!("rest until {}", until.as_second()),
        Plan::Count => "count".into(),
        Plan::Read(reads) => format!("read {}", reads.len()),
        Plan::List(due) => format!("list for {}", due.len()),
    }
}

#[test]
fn few_are_read_by_id_and_many_by_list() {
    let closed = BreakerState::Closed;
    for (case, groups, circuit_breaker, total, now, expected) in [
        ("nothing known: counts first", &[][..], closed, None, 0, "count"),
        ("nothing to do until the count is old", &[], closed, Some(50), 0, "rest until 600"),
        ("the count is old", &[], closed, Some(50), 600, "count"),
        ("not due yet", &[(1, 100)], closed, Some(50), 0, "rest until 100"),
        ("one page against one read", &[(1, 0)], closed, Some(100), 0, "read 1"),
        ("one page against two reads", &[(2, 0)], closed, Some(100), 0, "list for 2"),
        ("two pages against two reads", &[(2, 0)], closed, Some(101), 0, "read 2"),
        ("more are watched than were counted", &[(2, 0), (99, 200)], closed, Some(0), 0, "read 2"),
        ("ten pages against ten reads", &[(10, 0)], closed, Some(1_000), 0, "read 10"),
        ("ten pages against eleven reads", &[(11, 0)], closed, Some(1_000), 0, "list for 11"),
        ("what is due soon comes along", &[(2, 0), (3, 60), (9, 61)], closed, Some(1_000), 0, "read 5"),
        ("what is due soon counts", &[(2, 0), (9, 60)], closed, Some(1_000), 0, "list for 2"),
        ("soon alone is not due", &[(9, 60)], closed, Some(100), 0, "rest until 60"),
        ("a list counts as well", &[(2, 0)], closed, Some(100), 600, "list for 2"),
        ("an old count is read before the few", &[(1, 0)], closed, Some(100), 600, "count"),
        ("only so many can be listed", &[(101, 0)], closed, Some(50_000), 0, "read 101"),
        ("more than can be listed", &[(102, 0)], closed, Some(50_000), 0, "list for 102"),
        ("unknown total, few", &[(3, 0)], closed, None, 0, "count"),
        ("unknown total, many", &[(4, 0)], closed, None, 0, "list for 4"),
        ("open", &[(4, 0)], BreakerState::Open(at(9)), Some(100), 0, "rest until 9"),
        ("half open: one call", &[(400, 0)], BreakerState::HalfOpen(1), Some(400), 0, "read 1"),
        ("half open: the next time a count", &[(400, 0)], BreakerState::HalfOpen(2), Some(400), 0, "count"),
        ("only a list may be sent", &[(4, 0)], BreakerState::HalfOpenForList, Some(100), 0, "count"),
        ("half open, nothing due", &[(4, 100)], BreakerState::HalfOpen(1), Some(100), 0, "count"),
    ] {
        let counted = total.map(|total| (total, START));
        let plan = plan(&watched(groups), PlanInputs { now: at(now), circuit_breaker, counted, rate: SLOW });
        assert_eq!(shape(&plan), expected, "{case}");
    }
}

#[test]
fn what_changes_is_read_by_id_as_the_rate_allows() {
    let watch =
        |view: &mut View, number, pace| view.poll(&object_ref(number), &id(number), pace, START, &mut Jitter::new(1));
    let settled = PollRate::Settled(Duration::from_secs(1));
    let add = |view: &mut View, kind, number| match kind {
        "busy" => watch(view, number, PollRate::Busy { since: START }),
        "settled" => watch(view, number, settled),
        _ => {
            if kind != "unseen" {
                watch(view, number, settled);
                let polled_record = PolledRecord { at: START, found: None };
                view.observe(&[object_ref(number)], &id(number), &polled_record, START, &mut Jitter::new(1));
            }
            if kind != "seen" {
                assert!(view.take(&object_ref(number), &id(number), at(1), START).is_none());
            }
        }
    };
    for (case, groups, rate, total, expected) in [
        ("as many as the rate allows", &[("busy", 25)][..], 100, 1_000, "read 25"),
        ("one more", &[("busy", 26)], 100, 1_000, "list for 26"),
        ("ten for each page", &[("busy", 100)], 1_000, 1_000, "read 100"),
        ("one more than ten for each page", &[("busy", 101)], 1_000, 1_000, "list for 101"),
        ("a single page is read at once", &[("busy", 2)], 1_000, 100, "list for 2"),
        ("two pages", &[("busy", 20)], 1_000, 101, "read 20"),
        ("the default rate", &[("busy", 11)], 10, 1_000, "list for 11"),
        ("a reconcile waits for what was observed before", &[("awaited", 25)], 100, 1_000, "read 25"),
        ("after a restart, nothing was observed", &[("unseen", 25)], 100, 1_000, "list for 25"),
        ("nothing changes", &[("settled", 25)], 100, 1_000, "list for 25"),
        ("nothing changes, and it was observed before", &[("seen", 25)], 100, 1_000, "list for 25"),
        ("few settled ones come along", &[("busy", 15), ("settled", 10)], 100, 1_000, "read 25"),
        ("many settled ones are listed", &[("busy", 1), ("settled", 11)], 100, 1_000, "list for 12"),
    ] {
        let (mut view, mut number) = (View::default(), 0);
        for (kind, count) in groups {
            for _ in 0..*count {
                add(&mut view, *kind, number);
                number += 1;
            }
        }
        let facts = PlanInputs {
            now: at(5),
            circuit_breaker: BreakerState::Closed,
            counted: Some((total, START)),
            rate: Rate::per_second(rate),
        };
        assert_eq!(shape(&plan(&view, facts)), expected, "{case}");
    }
}

#[test]
fn one_read_serves_all_objects_of_an_id_and_the_longest_waiting_come_first() {
    let mut view = View::default();
    for (number, watched, seconds) in [(3, 1, 5), (1, 1, 9), (2, 2, 1)] {
        assert!(view.take(&object_ref(number), &id(watched), at(seconds), START).is_none());
    }
    let facts =
        PlanInputs { now: at(9), circuit_breaker: BreakerState::Closed, counted: Some((1_000, START)), rate: SLOW };
    let read = |number, object_refs: &[usize]| Read {
        id: id(number).into(),
        object_refs: object_refs.iter().map(|number| object_ref(*number)).collect(),
    };
    assert_eq!(plan(&view, facts), Plan::Read(vec![read(2, &[2]), read(1, &[1, 3])]));
}
