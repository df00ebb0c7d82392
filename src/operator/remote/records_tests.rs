use connect_api::error::Failure;
use serde_json::json;

use super::*;
use crate::operator::remote::testing::{START, at, deployment, id, object_ref};
use crate::operator::testing::{failure, retry_after};

const SETTLED: PollRate = PollRate::Settled(Duration::from_mins(5));
const SECOND: Duration = Duration::from_secs(1);

/// An observation of a version of object 1.
fn saw(version: i64, seconds: u64) -> PolledRecord {
    PolledRecord { at: at(seconds), found: Some(Arc::new(deployment(&id(1), version))) }
}

/// Records of which object 1 polls one.
struct Watching {
    records: Records,
    jitter: Jitter,
}

impl Watching {
    fn new() -> Self {
        let mut watching = Self { records: Records::default(), jitter: Jitter::new(1) };
        watching.poll(SETTLED, START);
        watching
    }

    fn poll(&mut self, rate: PollRate, now: Timestamp) {
        self.records.poll(&object_ref(1), &id(1), rate, now, &mut self.jitter);
    }

    /// Whether that observation enqueues object 1.
    fn observe(&mut self, polled_record: &PolledRecord) -> bool {
        !self.records.observe(&id(1), polled_record, polled_record.at, &mut self.jitter).is_empty()
    }

    fn take(&mut self, newer_than: u64, now: u64) -> Option<i64> {
        let polled_record = self.records.take(&object_ref(1), &id(1), at(newer_than), at(now))?;
        Some(polled_record.found.map_or(0, |found| found.version))
    }

    /// Lets a read of object 1 fail; returns whether that enqueues it.
    fn fails(&mut self, error: &ApiError, now: Timestamp) -> bool {
        !self.records.read_failed(&[id(1).into()], error, now, &mut self.jitter).is_empty()
    }

    fn due(&self) -> Timestamp {
        self.records.entries.get(&object_ref(1)).expect("the object is polled").due
    }
}

#[test]
fn few_are_read_by_id_and_many_by_list() {
    for (case, groups, total, now, expected) in [
        ("nothing is polled", &[][..], 50, 0, "rest"),
        ("not due yet", &[(1, 100)], 50, 0, "rest until 100"),
        ("one page against one read", &[(1, 0)], 100, 0, "read 1"),
        ("one page against two reads", &[(2, 0)], 100, 0, "list for 2"),
        ("two pages against two reads", &[(2, 0)], 101, 0, "read 2"),
        ("more are watched than were counted", &[(2, 0), (99, 200)], 0, 0, "read 2"),
        ("ten pages against ten reads", &[(10, 0)], 1_000, 0, "read 10"),
        ("ten pages against eleven reads", &[(11, 0)], 1_000, 0, "list for 11"),
        ("what is due soon comes along", &[(2, 0), (3, 60), (9, 61)], 1_000, 0, "read 5"),
        ("what is due soon counts", &[(2, 0), (9, 60)], 1_000, 0, "list for 2"),
        ("soon alone is not due", &[(9, 60)], 100, 0, "rest until 60"),
        ("only so many can be listed", &[(101, 0)], 50_000, 0, "read 101"),
        ("more than can be listed", &[(102, 0)], 50_000, 0, "list for 102"),
    ] {
        let (mut records, mut number) = (Records::default(), 0);
        for (count, seconds) in groups {
            for _ in 0..*count {
                records.poll(&object_ref(number), &id(number), SETTLED, START, &mut Jitter::new(1));
                assert!(records.take(&object_ref(number), &id(number), at(*seconds), START).is_none());
                number += 1;
            }
        }
        let shape = match records.plan(at(now), total) {
            Plan::Rest(until) if until == Timestamp::MAX => "rest".into(),
            Plan::Rest(until) => format!("rest until {}", until.as_second()),
            Plan::Count => "count".into(),
            Plan::Read(ids) => format!("read {}", ids.len()),
            Plan::List(due) => format!("list for {}", due.len()),
        };
        assert_eq!(shape, expected, "{case}");
    }
}

#[test]
fn an_observation_without_a_change_enqueues_nothing_and_keeps_no_record() {
    let mut watching = Watching::new();
    assert!(watching.observe(&saw(1, 10)), "the first observation is a change");
    assert_eq!(watching.take(0, 10), Some(1));
    for seconds in [20, 30] {
        assert!(!watching.observe(&saw(1, seconds)));
        assert!(watching.records.entries.values().all(|entry| entry.fresh.is_none()));
    }
    assert!(watching.observe(&saw(2, 40)));
    assert!(!watching.observe(&saw(2, 50)), "this change has already enqueued it");
    assert_eq!(watching.take(50, 50), Some(2), "the newest is kept until it is taken");
    assert!(watching.observe(&PolledRecord { at: at(60), found: None }), "absence is a change");
    assert_eq!(watching.take(60, 60), Some(0));
    assert!(!watching.observe(&PolledRecord { at: at(70), found: None }));
}

#[test]
fn rule_05_a_pending_read_is_served_by_a_request_that_left_late_enough() {
    let mut watching = Watching::new();
    assert!(watching.observe(&saw(1, 10)));
    assert_eq!(watching.take(11, 12), None, "too old");
    assert_eq!(watching.due(), at(12), "so it is read now");
    assert!(!watching.observe(&saw(1, 10)), "as old as before");
    assert_eq!(watching.due(), at(11), "the read is still pending");
    assert!(watching.observe(&saw(1, 12)), "unchanged, but a read was pending");
    assert_eq!(watching.take(11, 13), Some(1));
    assert_eq!(watching.take(40, 13), None, "it was consumed");
    assert_eq!(watching.due(), at(40), "a read may be asked for a later time");
    assert!(watching.observe(&saw(1, 40)), "unchanged, but a read was pending");
}

#[test]
fn failed_reads_back_off_and_are_reported_once_from_the_second_on() {
    let (mut watching, mut now) = (Watching::new(), START);
    assert_eq!(watching.take(0, 0), None);
    for (seconds, enqueues) in [(1, false), (2, true), (4, false), (8, false), (16, false), (32, false), (60, false)] {
        assert_eq!(watching.fails(&failure(Failure::NoAnswer), now), enqueues, "{seconds} s");
        assert_eq!(watching.records.error(&object_ref(1)).is_some(), seconds > 1, "{seconds} s");
        let (whole, pause) = (Duration::from_secs(seconds), between(now, watching.due()));
        assert!(pause <= whole && pause >= whole.mul_f64(0.75), "{seconds} s: {pause:?}");
        assert!(watching.records.take(&object_ref(1), &id(1), now, now).is_none());
        watching.poll(PollRate::Busy { since: now }, now);
        assert_eq!(between(now, watching.due()), pause, "neither asking nor another rate shortens it");
        now = watching.due();
    }
    assert!(!watching.fails(&retry_after(failure(Failure::HeldBack), 1_000), now));
    assert_eq!(watching.due(), later(now, SECOND), "it is repeated when the pause is over");
    assert!(watching.observe(&PolledRecord { at: now, found: None }));
    assert!(watching.records.error(&object_ref(1)).is_none());
    assert!(between(now, watching.due()) >= 3 * SECOND);
}

#[test]
fn settled_deployments_are_polled_at_their_interval_and_busy_ones_less_often_as_they_age() {
    let mut watching = Watching::new();
    let due = watching.due();
    assert!((at(300)..=at(330)).contains(&due), "{due}");
    watching.poll(SETTLED, at(200));
    assert_eq!(watching.due(), due, "the same rate again changes nothing");
    for (age, seconds) in [(0, 3), (10, 3), (20, 4), (100, 20), (150, 30), (3_600, 30)] {
        let mut watching = Watching::new();
        watching.observe(&saw(1, 0));
        watching.poll(PollRate::Busy { since: START }, at(age));
        watching.observe(&saw(1, age));
        assert_eq!(watching.due(), at(age + seconds), "{age}");
    }
    watching.poll(PollRate::Busy { since: at(1) }, at(1));
    watching.poll(PollRate::Busy { since: START }, at(2));
    assert_eq!(watching.due(), at(4), "the start of the operation replaces its response, and its poll stays");
}

#[test]
fn an_observation_reaches_all_objects_of_its_id_and_no_others() {
    let (mut records, mut jitter) = (Records::default(), Jitter::new(1));
    for (number, watched) in [(1, 1), (2, 1), (3, 3)] {
        records.poll(&object_ref(number), &id(watched), SETTLED, START, &mut jitter);
    }
    let page = [Arc::new(deployment(&id(1), 1)), Arc::new(deployment(&id(9), 1))];
    assert_eq!(records.observe_page(&page, at(1), at(1), &mut jitter), [object_ref(1), object_ref(2)]);
    assert!(records.take(&object_ref(1), &id(3), START, at(1)).is_none(), "the observation is of another id");
    let late = PolledRecord { at: at(2), found: None };
    assert_eq!(records.observe(&id(1), &late, at(2), &mut jitter), [object_ref(2)], "the other one has another id now");
}

#[test]
fn placeholders_of_secured_values_do_not_count_but_everything_else_does() {
    let record = |secured: &str, member: &str, value: serde_json::Value| {
        let mut record = json!({
            "id": id(1), "key": "tax", "version": 1, "status": "Deployed", "deployedRegion": "europe-west1.gcp",
            "globalConfiguration": {"standardConfiguration": [], "securedConfiguration": [{"key": "A", "value": secured}]},
            "applications": [{
                "id": "1", "applicationName": "service", "standardConfiguration": [{"key": "B", "value": "c"}],
                "securedConfiguration": [{"key": "A", "value": secured}], "url": "https://a.test",
            }],
        });
        *record.pointer_mut(member).expect("the record has this member") = value;
        serde_json::from_value::<Deployment>(record).expect("the record has all required members")
    };
    let base = fingerprint(Some(&record("***", "/version", json!(1))));
    assert_eq!(fingerprint(Some(&record("other", "/version", json!(1)))), base);
    assert_ne!(fingerprint(None), base);
    for (member, value) in [
        ("/version", json!(2)),
        ("/status", json!("Failed")),
        ("/deployedRegion", json!("us-central1.gcp")),
        ("/globalConfiguration/standardConfiguration", json!([{"key": "D", "value": ""}])),
        ("/applications/0/standardConfiguration/0/value", json!("d")),
        ("/applications/0/url", json!("https://b.test")),
    ] {
        assert_ne!(fingerprint(Some(&record("***", member, value))), base, "{member}");
    }
}
