use std::collections::BTreeSet;

use connect_api::error::Failure;
use serde_json::json;

use super::*;
use crate::controllers::remote::testing::{START, at, deployment, id, object_ref};

const SECOND: Duration = Duration::from_secs(1);
const SETTLED: PollRate = PollRate::Settled(Duration::from_mins(5));

fn saw(version: i64, seconds: u64) -> PolledRecord {
    PolledRecord { at: at(seconds), found: Some(Arc::new(deployment(&id(1), version))) }
}

struct Watching {
    view: View,
    jitter: Jitter,
}

impl Watching {
    fn new() -> Self {
        let (mut view, mut jitter) = (View::default(), Jitter::new(1));
        view.poll(&object_ref(1), &id(1), SETTLED, START, &mut jitter);
        Self { view, jitter }
    }

    /// Whether that observation enqueues object 1.
    fn observe(&mut self, polled_record: &PolledRecord) -> bool {
        let enqueued = self.view.observe(&[object_ref(1)], &id(1), polled_record, polled_record.at, &mut self.jitter);
        !enqueued.is_empty()
    }

    fn take(&mut self, newer_than: u64, now: u64) -> Option<i64> {
        let polled_record = self.view.take(&object_ref(1), &id(1), at(newer_than), at(now))?;
        Some(polled_record.found.map_or(0, |found| found.version))
    }

    /// Lets a read of object 1 fail; returns what is enqueued.
    fn fails(&mut self, now: Timestamp) -> Vec<ObjectRef> {
        self.fails_during(false, now)
    }

    /// The same; `outage`: one of the whole remote is reported.
    fn fails_during(&mut self, outage: bool, now: Timestamp) -> Vec<ObjectRef> {
        let error = error(Failure::NoAnswer, None);
        self.view.read_failed(&[object_ref(1)], &id(1), &error, outage, now, &mut self.jitter)
    }

    /// Whether there is an error to report.
    fn has_error(&self) -> bool {
        self.view.error(&object_ref(1)).is_some()
    }

    fn due(&self) -> Timestamp {
        self.view.due(&object_ref(1)).expect("the object is polled")
    }

    fn keeps_a_record(&self) -> bool {
        self.view.entries().any(|(_, entry)| entry.fresh.is_some())
    }
}

fn error(failure: Failure, retry_after: Option<Duration>) -> ApiError {
    ApiError { operation: "getDeploymentById", failure, message: String::new(), correlation_id: None, retry_after }
}

#[test]
fn an_observation_without_a_change_enqueues_nothing_and_keeps_no_record() {
    let mut watching = Watching::new();
    assert!(watching.observe(&saw(1, 10)), "the first observation is a change");
    assert_eq!(watching.take(0, 10), Some(1));
    for seconds in [20, 30] {
        assert!(!watching.observe(&saw(1, seconds)));
        assert!(!watching.keeps_a_record());
    }
    assert!(watching.observe(&saw(2, 40)));
    assert!(!watching.observe(&saw(2, 50)), "this change has already enqueued it");
    assert_eq!(watching.take(50, 50), Some(2), "the newest is kept until it is taken");
    assert!(watching.observe(&PolledRecord { at: at(60), found: None }), "absence is a change");
    assert_eq!(watching.take(60, 60), Some(0));
    assert!(!watching.keeps_a_record());
    assert!(!watching.observe(&PolledRecord { at: at(70), found: None }));
    assert!(watching.observe(&saw(3, 80)));
    assert!(!watching.observe(&saw(2, 79)), "older than what the reconcile will find");
    assert!(watching.observe(&saw(4, 80)), "not older");
    assert_eq!(watching.take(80, 80), Some(4));
}

#[test]
fn a_pending_read_is_served_once_by_a_request_that_left_late_enough() {
    let mut watching = Watching::new();
    assert!(watching.observe(&saw(1, 10)));
    assert_eq!(watching.take(11, 12), None, "too old");
    assert_eq!(watching.due(), at(12), "so it is read now");
    assert!(!watching.observe(&saw(2, 10)), "as old as before: the reconcile could not use it");
    assert_eq!(watching.due(), at(11), "and the read is still pending");
    assert!(watching.observe(&saw(1, 12)), "unchanged, but a read was pending");
    assert_eq!(watching.take(11, 13), Some(1));
    assert_eq!(watching.take(11, 13), None, "it was consumed");
}

#[test]
fn a_pending_read_for_a_later_time_happens_then() {
    let mut watching = Watching::new();
    assert!(watching.observe(&PolledRecord { at: at(10), found: None }));
    assert_eq!(watching.take(10, 10), Some(0));
    assert_eq!(watching.take(40, 10), None);
    assert_eq!(watching.due(), at(40));
    assert!(watching.observe(&PolledRecord { at: at(40), found: None }), "the same, but a read was pending");
    assert_eq!(watching.take(1_000, 40), None);
    assert!(watching.due() <= at(370), "until then it is polled as before: {}", watching.due());
}

#[test]
fn failed_reads_back_off_even_if_reconciles_ask_again() {
    let mut watching = Watching::new();
    assert_eq!(watching.take(0, 0), None);
    let mut now = START;
    for seconds in [1, 2, 4, 8, 16, 32, 60, 60] {
        let enqueued = watching.fails(now).len();
        assert_eq!(
            enqueued,
            usize::from(seconds <= 2),
            "the waiting object is enqueued for the delay and for the error"
        );
        let (whole, pause) = (Duration::from_secs(seconds), between(now, watching.due()));
        assert!(pause <= whole && pause >= whole.mul_f64(0.75), "{seconds} s: {pause:?}");
        assert!(watching.view.take(&object_ref(1), &id(1), now, now).is_none());
        assert_eq!(between(now, watching.due()), pause, "asking does not shorten it");
        now = watching.due();
    }
    assert!(watching.observe(&PolledRecord { at: now, found: None }));
    assert!(between(now, watching.due()) >= Duration::from_mins(5));
    assert!(watching.view.take(&object_ref(1), &id(1), later(now, SECOND), now).is_none());
    assert_eq!(watching.fails(now), [object_ref(1)], "another outage is reported again");
    assert!(between(now, watching.due()) <= SECOND, "and begins with a short pause");
}

#[test]
fn a_backoff_stays_for_another_rate() {
    let mut watching = Watching::new();
    for _ in 0..8 {
        watching.fails(START);
    }
    let due = watching.due();
    assert!(due > at(30), "{due}");
    let Watching { view, jitter } = &mut watching;
    view.poll(&object_ref(1), &id(1), PollRate::Busy { since: START }, START, jitter);
    view.poll_at_interval(&object_ref(1), Duration::from_mins(1), START, jitter);
    assert_eq!(watching.due(), due);
}

#[test]
fn what_is_calm_is_polled_at_its_interval_until_it_is_watched_again() {
    let mut watching = Watching::new();
    let Watching { view, jitter } = &mut watching;
    let busy = PollRate::Busy { since: START };
    view.poll(&object_ref(1), &id(1), busy, START, jitter);
    view.poll_at_interval(&object_ref(1), Duration::from_mins(5), START, jitter);
    view.poll_at_interval(&object_ref(2), Duration::from_mins(5), START, jitter);
    assert_eq!(view.due(&object_ref(2)), None, "what is not polled stays so");
    assert!(watching.due() >= at(300), "{}", watching.due());
    assert_eq!(watching.take(8, 8), None);
    assert_eq!(watching.due(), at(8), "a reconcile is served at once");
    assert!(watching.observe(&saw(1, 8)));
    assert!(watching.due() >= at(308), "{}", watching.due());
    watching.view.poll(&object_ref(1), &id(1), busy, at(8), &mut watching.jitter);
    assert_eq!(watching.due(), at(11));
}

#[test]
fn an_outage_enqueues_each_object_that_waits_once_and_no_other() {
    let mut watching = Watching::new();
    assert_eq!(watching.fails(START), [], "it does not wait");
    assert_eq!(watching.view.take_unreported(), []);
    assert_eq!(watching.take(0, 0), None);
    assert_eq!(watching.view.take_unreported(), [object_ref(1)]);
    assert_eq!(watching.view.take_unreported(), []);
    assert_eq!(watching.fails_during(true, START), [], "it knows");
    watching.view.forget(&object_ref(1));
    assert_eq!(watching.view.due(&object_ref(1)), None);
}

#[test]
fn a_waiting_object_gets_the_error_of_a_read_that_keeps_failing_once_and_never_an_old_one() {
    let mut watching = Watching::new();
    for seconds in [0, 10, 20] {
        assert_eq!(watching.fails(at(seconds)), [], "nothing waits for it");
        assert!(!watching.has_error());
    }
    assert_eq!(watching.take(21, 21), None);
    assert!(!watching.has_error(), "the next read may work");
    assert_eq!(watching.fails(at(30)), [object_ref(1)], "it failed before, and again");
    assert!(watching.has_error());
    assert_eq!((watching.fails(at(40)), watching.take(41, 41)), (Vec::new(), None));
    assert!(watching.has_error(), "each reconcile finds it");
    assert_eq!(watching.fails_during(true, at(50)), [], "the outage is reported instead");
    assert!(!watching.has_error());
    assert_eq!(watching.fails(at(60)), [object_ref(1)], "it was not due to the outage");
    assert!(watching.observe(&saw(2, 70)));
    assert!(!watching.has_error());
    assert_eq!((watching.take(70, 70), watching.take(71, 71)), (Some(2), None));
    assert_eq!(watching.fails(at(72)), [object_ref(1)], "it is delayed");
    assert!(!watching.has_error(), "a single failure is no error to report");
    assert!(watching.observe(&saw(2, 73)));
    assert_eq!((watching.take(73, 73), watching.take(74, 74)), (Some(2), None));
    assert_eq!(watching.fails(at(75)), [object_ref(1)]);
    assert!(!watching.has_error(), "failures with successes in between do not add up");
}

#[test]
fn a_read_that_was_held_back_is_repeated_when_that_is_over_and_delays_nothing_after_it() {
    let mut watching = Watching::new();
    watching.view.poll(&object_ref(1), &id(1), PollRate::Busy { since: START }, START, &mut watching.jitter);
    for _ in 0..5 {
        let held_back = error(Failure::HeldBack, Some(Duration::from_secs(2)));
        let enqueued =
            watching.view.read_failed(&[object_ref(1)], &id(1), &held_back, false, START, &mut watching.jitter);
        assert_eq!((enqueued, watching.due()), (Vec::new(), at(2)));
    }
    watching.fails(START);
    assert!(watching.due() <= at(1), "the first failure of its own");
}

#[test]
fn settled_deployments_are_polled_after_the_interval_and_up_to_a_tenth_later() {
    let (mut view, mut jitter) = (View::default(), Jitter::new(1));
    let mut polls = BTreeSet::new();
    for number in 0..200 {
        view.poll(&object_ref(number), &id(number), SETTLED, START, &mut jitter);
        let due = view.due(&object_ref(number)).expect("the object is polled");
        assert!((at(300)..=at(330)).contains(&due), "{due}");
        view.poll(&object_ref(number), &id(number), SETTLED, at(200), &mut jitter);
        assert_eq!(view.due(&object_ref(number)), Some(due), "the same rate again changes nothing");
        polls.insert(due);
    }
    assert!(polls.len() > 100, "they spread out");
}

#[test]
fn busy_deployments_are_polled_less_often_as_they_age() {
    for (age, seconds) in [(0, 3), (10, 3), (20, 4), (100, 20), (150, 30), (3_600, 30)] {
        assert_eq!(PollRate::Busy { since: START }.period(at(age)).as_secs(), seconds, "{age}");
    }
    let mut watching = Watching::new();
    watching.view.poll(&object_ref(1), &id(1), PollRate::Busy { since: START }, START, &mut watching.jitter);
    assert_eq!(watching.due(), at(3));
}

#[test]
fn a_list_that_shows_an_operation_too_early_does_not_delay_its_first_poll() {
    let page = [Arc::new(deployment(&id(1), 1))];
    for (case, pages, listed, due) in [
        ("a second after its start", 1, 1_000, 3_000),
        ("just before another LIST would follow at once", 1, 2_399, 3_000),
        ("the next poll would be a LIST right after this one", 1, 2_400, 5_400),
        ("its first poll", 1, 3_000, 6_000),
        ("a later poll", 1, 4_000, 7_000),
        ("a long LIST", 4, 500, 3_000),
        ("a long LIST, a moment later", 4, 600, 3_600),
        ("each LIST is longer than the pause", 10, 500, 3_500),
    ] {
        let (mut view, mut jitter) = (View::default(), Jitter::new(1));
        let at = |milliseconds| later(START, Duration::from_millis(milliseconds));
        view.poll(&object_ref(1), &id(1), PollRate::Busy { since: START }, START, &mut jitter);
        view.observe_page(&page, pages, at(listed), at(listed), &mut jitter);
        assert_eq!(view.due(&object_ref(1)), Some(at(due)), "{case}");
    }
}

#[test]
fn a_poll_of_an_operation_stays_when_its_start_replaces_its_response() {
    for (case, response, start, due) in [
        ("the same operation", at(1), START, at(4)),
        ("nothing else is known", at(1), at(1), at(4)),
        ("another operation", at(1), at(2), at(5)),
    ] {
        let (mut view, mut jitter) = (View::default(), Jitter::new(1));
        view.poll(&object_ref(1), &id(1), PollRate::Busy { since: response }, response, &mut jitter);
        view.poll(&object_ref(1), &id(1), PollRate::Busy { since: start }, at(2), &mut jitter);
        assert_eq!(view.due(&object_ref(1)), Some(due), "{case}");
    }
}

#[test]
fn an_observation_reaches_all_objects_of_its_id_and_no_others() {
    let (mut view, mut jitter) = (View::default(), Jitter::new(1));
    for (number, watched) in [(1, 1), (2, 1), (3, 3)] {
        view.poll(&object_ref(number), &id(watched), SETTLED, START, &mut jitter);
    }
    let page = [Arc::new(deployment(&id(1), 1)), Arc::new(deployment(&id(9), 1))];
    let mut enqueued = view.observe_page(&page, 1, at(1), at(1), &mut jitter);
    enqueued.sort();
    assert_eq!(enqueued, [object_ref(1), object_ref(2)]);
    assert!(view.take(&object_ref(1), &id(3), START, at(1)).is_none(), "the observation is of another id");
    let late = PolledRecord { at: at(2), found: None };
    assert_eq!(
        view.observe(&[object_ref(1)], &id(1), &late, at(2), &mut jitter),
        [],
        "a late answer for the former id is ignored, too"
    );
    assert_eq!(
        view.read_failed(&[object_ref(1)], &id(1), &error(Failure::NoAnswer, None), false, at(2), &mut jitter),
        [],
        "and so is a failure"
    );
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
    let hasher = RandomState::new();
    let base = fingerprint(Some(&record("***", "/version", json!(1))), &hasher);
    assert_eq!(fingerprint(Some(&record("other", "/version", json!(1))), &hasher), base);
    assert_ne!(fingerprint(None, &hasher), base);
    for (member, value) in [
        ("/version", json!(2)),
        ("/status", json!("Failed")),
        ("/deployedRegion", json!("us-central1.gcp")),
        ("/globalConfiguration/standardConfiguration", json!([{"key": "D", "value": ""}])),
        ("/applications/0/standardConfiguration/0/value", json!("d")),
        ("/applications/0/url", json!("https://b.test")),
    ] {
        assert_ne!(fingerprint(Some(&record("***", member, value)), &hasher), base, "{member}");
    }
}
