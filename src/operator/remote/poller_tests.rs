use std::time::Duration;

use clock::{between, later};
use connect_api::ErrorCode;
use connect_api::error::Failure;
use futures::FutureExt;

use super::*;
use crate::operator::object_ref::ObjectRef;
use crate::operator::remote::testing::{
    Bench, Call, Mood, START, answered, at, failure, id, object_ref, retry_after, until,
};
use crate::operator::remote::{Health, NotAdmitted, OutageKind, PollRate};

const SETTLED: PollRate = PollRate::Settled(Duration::from_mins(5));

/// Registers a pending read of each of these now.
fn request_reads(bench: &Bench, numbers: impl IntoIterator<Item = usize>) {
    for number in numbers {
        let polled_record = bench.remote.polled_record(&object_ref(number), &id(number), bench.clock.now());
        assert!(polled_record.is_none(), "{number} was not read yet");
    }
}

/// Takes the observation of each of these, and polls them at that rate from now on.
fn take(bench: &Bench, numbers: impl IntoIterator<Item = usize>, pace: PollRate) {
    for number in numbers {
        assert!(bench.remote.polled_record(&object_ref(number), &id(number), START).is_some(), "{number} was read");
        bench.remote.poll(&object_ref(number), &id(number), pace);
    }
}

fn pages(offsets: &[u32]) -> Vec<Call> {
    offsets.iter().map(|offset| Call::Page { offset: *offset, limit: 100 }).collect()
}

const COUNT: Call = Call::Page { offset: 0, limit: 1 };

#[tokio::test]
async fn pending_reads_share_one_list_and_each_object_is_enqueued_once() {
    let mut bench = Bench::new(250, 16);
    bench.settle().await;
    assert_eq!(bench.service.calls(), [COUNT]);
    request_reads(&bench, 0..250);
    bench.settle().await;
    assert_eq!(bench.service.calls(), pages(&[0, 100, 200]));
    let mut enqueued = bench.enqueued();
    enqueued.sort();
    let mut expected: Vec<ObjectRef> = (0..250).map(object_ref).collect();
    expected.sort();
    assert_eq!(enqueued, expected);
    take(&bench, 0..250, SETTLED);
}

#[tokio::test]
async fn a_list_is_read_to_its_end_whatever_pages_the_service_returns() {
    for (case, largest_page, without_total, offsets) in [
        ("smaller pages than asked for", Some(60), false, [0, 60, 120, 180, 240].as_slice()),
        ("no total", None, true, [0, 100, 200].as_slice()),
        ("smaller pages and no total", Some(60), true, [0, 60, 120, 180, 240].as_slice()),
    ] {
        let mut bench = Bench::new(250, 16);
        bench.settle().await;
        bench.service.calls();
        {
            let mut world = bench.service.world();
            world.largest_page = largest_page;
            world.without_total = without_total;
        }
        request_reads(&bench, 0..250);
        bench.settle().await;
        assert_eq!(bench.service.calls(), pages(offsets), "{case}");
        assert_eq!(bench.enqueued().len(), 250, "{case}");
    }
}

#[tokio::test]
async fn few_are_read_by_id_and_a_404_is_observed_as_absence() {
    let bench = Bench::new(250, 16);
    request_reads(&bench, [1, 2, 900]);
    bench.settle().await;
    assert_eq!(bench.service.calls(), [COUNT, Call::Get(id(1)), Call::Get(id(2)), Call::Get(id(900))]);
    let seen = |number| bench.remote.polled_record(&object_ref(number), &id(number), START).expect("it was read").found;
    assert_eq!(seen(1).map(|found| found.id.clone()), Some(id(1)));
    assert!(seen(900).is_none());
}

#[tokio::test]
async fn a_list_proves_presence_only_and_absence_is_read_by_id() {
    let bench = Bench::new(100, 16);
    bench.service.world().hidden = vec![id(5)];
    bench.settle().await;
    bench.service.calls();
    request_reads(&bench, (0..10).chain([900]));
    bench.settle().await;
    let mut calls = bench.service.calls();
    calls.retain(|call| matches!(call, Call::Get(_)));
    assert_eq!(calls, [Call::Get(id(5)), Call::Get(id(900))]);
    let seen = |number| bench.remote.polled_record(&object_ref(number), &id(number), START).expect("it was read").found;
    assert!(seen(5).is_some(), "the pages had shifted");
    assert!(seen(900).is_none());
}

#[tokio::test]
async fn a_list_that_takes_longer_than_a_pause_does_not_read_the_same_again_by_id() {
    let bench = Bench::new(500, 16);
    bench.settle().await;
    request_reads(&bench, 0..500);
    bench.settle().await;
    take(&bench, 0..500, PollRate::Busy { since: START });
    bench.service.calls();
    bench.service.world().latency = Duration::from_secs(2);
    bench.clock.step(Duration::from_secs(3));
    assert_eq!(bench.remote.round().await, None);
    assert_eq!(bench.service.calls(), pages(&[0, 100, 200, 300, 400]));
}

#[tokio::test]
async fn a_page_of_a_slow_list_is_newer_than_the_list() {
    let bench = Bench::new(500, 16);
    bench.settle().await;
    request_reads(&bench, 0..500);
    bench.service.world().latency = Duration::from_secs(10);
    bench.clock.step(Duration::from_secs(3));
    let started = bench.clock.now();
    assert_eq!(bench.remote.round().await, None);
    // By the request of the page before at the earliest: of a part that is no page, no more is known.
    for (number, left) in [(50, 0), (150, 0), (250, 10), (450, 30)] {
        let newer_than = later(started, Duration::from_secs(left));
        let polled_record = bench.remote.polled_record(&object_ref(number), &id(number), newer_than);
        assert!(polled_record.is_some(), "{number}");
    }
}

#[tokio::test]
async fn a_change_enqueues_its_object_and_no_other() {
    let mut bench = Bench::new(50, 16);
    request_reads(&bench, 0..50);
    bench.settle().await;
    take(&bench, 0..50, SETTLED);
    bench.enqueued();
    bench.service.world().deployments.insert(id(7), 2);
    bench.pass(Duration::from_secs(331)).await;
    assert_eq!(bench.enqueued(), [object_ref(7)]);
    let polled_record = bench.remote.polled_record(&object_ref(7), &id(7), at(300)).expect("it is kept until taken");
    assert_eq!(polled_record.found.map(|found| found.version), Some(2));
    assert!(polled_record.at >= at(300) && polled_record.at <= at(330));
}

#[tokio::test]
async fn a_thousand_settled_ones_cost_one_list_per_interval_and_enqueue_nothing() {
    for (minutes, most_in_an_hour) in [(5, 5 * 60), (1, 12 * 60)] {
        let mut bench = Bench::new(1_000, 16);
        bench.settle().await;
        request_reads(&bench, 0..1_000);
        bench.settle().await;
        take(&bench, 0..1_000, PollRate::Settled(Duration::from_mins(minutes)));
        bench.enqueued();
        bench.service.calls();
        bench.pass(Duration::from_hours(1)).await;
        let calls = bench.service.calls();
        let lists = calls.iter().filter(|call| **call == Call::Page { offset: 0, limit: 100 }).count();
        let intervals = usize::try_from(60 / minutes).expect("few");
        assert!(calls.iter().all(|call| matches!(call, Call::Page { .. })), "nothing by id");
        assert!((intervals * 10 / 11..=intervals).contains(&lists), "{minutes}: {lists} lists");
        assert!(calls.len() <= most_in_an_hour, "{minutes}: {} calls", calls.len());
        assert_eq!(bench.enqueued(), [], "{minutes}");
    }
}

#[tokio::test]
async fn one_busy_among_many_settled_ones_is_read_by_id() {
    let mut bench = Bench::new(1_000, 16);
    bench.settle().await;
    request_reads(&bench, 0..1_000);
    bench.settle().await;
    take(&bench, 1..1_000, SETTLED);
    take(&bench, [0], PollRate::Busy { since: bench.clock.now() });
    bench.service.calls();
    bench.enqueued();
    bench.pass(Duration::from_secs(10)).await;
    assert_eq!(bench.service.calls(), vec![Call::Get(id(0)); 3]);
    assert_eq!(bench.enqueued(), []);
}

#[tokio::test]
async fn nothing_is_sent_inside_retry_after() {
    let bench = Bench::new(10, 16);
    bench.settle().await;
    bench.service.world().mood = Mood::Fails(retry_after(answered(429, None), 7_321));
    let api = bench.remote.api();
    let by_key = Selector::Key("tax".into());
    assert!(api.deployment(&by_key).await.is_err());
    bench.service.world().mood = Mood::Works;
    bench.service.calls();
    request_reads(&bench, 0..10);
    bench.pass(Duration::from_millis(7_320)).await;
    let error = api.deployment(&by_key).await.expect_err("it is held back");
    assert_eq!((error.failure, error.retry_after), (Failure::HeldBack, Some(Duration::from_millis(1))));
    let outage = bench.remote.outage().expect("it asked for a pause");
    assert_eq!((outage.kind, outage.until), (OutageKind::Throttled, later(START, Duration::from_millis(7_321))));
    let (remote, waiter) = (Arc::clone(&bench.remote), object_ref(1));
    let mut waiting = Box::pin(remote.enter(&waiter));
    assert!(waiting.as_mut().now_or_never().is_none(), "a pause that is not reported is waited for");
    assert_eq!(bench.service.calls(), []);
    bench.pass(Duration::from_millis(2)).await;
    assert!(waiting.now_or_never().is_some_and(|admission| admission.is_ok()));
    assert!(!bench.service.calls().is_empty());
    assert!(api.deployment(&by_key).await.is_ok());
}

#[tokio::test]
async fn rule_21_a_call_is_held_back_with_the_same_message_after_each_attempt() {
    let expected = "the request is held back: the service answered 503: no (getDeploymentByKey)";
    let of_client = "the request is held back: no (getDeploymentByKey)";
    for (failed, number, expected) in [
        (answered(503, None), "one", expected),
        (answered(503, None), "two", expected),
        (failure(Failure::HeldBack), "one", of_client),
    ] {
        let bench = Bench::new(1, 16);
        bench.settle().await;
        let refused = retry_after(failed, 7_000);
        let refused = ApiError { message: "no".into(), correlation_id: Some(number.into()), ..refused };
        bench.service.world().mood = Mood::Fails(refused);
        let (api, by_key) = (bench.remote.api(), Selector::Key("tax".into()));
        assert!(api.deployment(&by_key).await.is_err());
        let error = api.deployment(&by_key).await.expect_err("it is held back");
        assert_eq!(error.to_string(), expected);
    }
}

#[tokio::test]
async fn a_dead_remote_costs_few_calls_and_whoever_was_refused_is_enqueued_once_it_answers() {
    let mut bench = Bench::new(100, 2);
    bench.settle().await;
    let project = bench.all_enqueued().pop().expect("the project reports that the remote answers");
    bench.service.world().mood = Mood::Fails(failure(Failure::NotSent));
    request_reads(&bench, 0..100);
    bench.settle().await;
    assert_eq!(bench.service.calls().len(), 2, "the count and one list");
    bench.pass(Duration::from_secs(10)).await;
    let calls = bench.service.calls().len();
    assert!((3..=5).contains(&calls), "{calls} calls in 10 s");
    for number in [3, 1, 2, 1] {
        assert!(matches!(bench.remote.enter(&object_ref(number)).await, Err(NotAdmitted::CircuitOpen(_))));
    }
    bench.pass(Duration::from_mins(30)).await;
    let calls = bench.service.calls().len();
    assert!((30..=45).contains(&calls), "{calls} calls in half an hour");
    let mut enqueued = bench.all_enqueued();
    enqueued.sort();
    let mut everyone: Vec<_> = (0..100).map(object_ref).chain([project.clone()]).collect();
    everyone.sort();
    assert_eq!(enqueued, everyone, "each waiting object is enqueued once, and so is the project");
    assert!(matches!(bench.remote.health(), Health::Failing(outage) if outage.since == START));

    bench.service.world().mood = Mood::Works;
    let probe = bench.settle().await;
    bench.clock.step(between(bench.clock.now(), probe));
    bench.settle().await;
    assert_eq!(bench.remote.health(), Health::Good { last_poll: bench.clock.now() });
    let enqueued = bench.all_enqueued();
    for object_ref in [&object_ref(1), &object_ref(2), &object_ref(3), &project] {
        assert!(enqueued.contains(object_ref), "{object_ref:?} of {enqueued:?}");
    }
}

#[tokio::test]
async fn rule_20_an_outage_is_reported_by_the_objects_that_wait_for_a_permit_or_a_read() {
    let mut bench = Bench::new(3, 1);
    bench.settle().await;
    let permit = bench.remote.enter(&object_ref(0)).await;
    assert!(permit.is_ok());
    let (remote, waiter) = (Arc::clone(&bench.remote), object_ref(1));
    let mut waiting = Box::pin(remote.enter(&waiter));
    assert!(waiting.as_mut().now_or_never().is_none());
    bench.service.world().mood = Mood::Fails(failure(Failure::NotSent));
    request_reads(&bench, 2..3);
    bench.settle().await;
    assert!(waiting.as_mut().now_or_never().is_none(), "one failure");
    // It still has the permit from before the outage.
    request_reads(&bench, 0..1);
    assert_eq!(bench.enqueued(), []);
    bench.pass(Duration::from_mins(30)).await;
    drop(permit);
    assert!(matches!(waiting.now_or_never(), Some(Err(NotAdmitted::CircuitOpen(_)))));
    assert_eq!(bench.enqueued(), [object_ref(0), object_ref(2)], "each once");
}

#[tokio::test]
async fn neither_a_bad_record_nor_a_failing_list_keeps_the_circuit_breaker_open_or_makes_a_hot_loop() {
    for (case, mood) in [
        ("record", Mood::GetFails(id(1), failure(Failure::Unreadable))),
        ("list", Mood::ListFails(answered(500, None))),
    ] {
        let mut bench = Bench::new(250, 16);
        bench.settle().await;
        bench.service.world().mood = mood;
        bench.service.calls();
        request_reads(&bench, 0..2);
        bench.pass(Duration::from_secs(10)).await;
        let calls = bench.service.calls();
        assert!(calls.len() <= 12, "{case}: {calls:?}");
        assert!(bench.enqueued().contains(&object_ref(0)), "{case}: the other object is served");
    }
}

#[tokio::test]
async fn a_project_without_rights_is_called_once_in_five_minutes() {
    let mut bench = Bench::new(10, 16);
    bench.service.world().mood = Mood::Fails(answered(403, Some(ErrorCode::AuthorizationError)));
    request_reads(&bench, 0..10);
    bench.pass(Duration::from_hours(1)).await;
    let calls = bench.service.calls().len();
    assert!((11..=13).contains(&calls), "{calls} calls in an hour");
    assert!(matches!(bench.remote.health(), Health::Failing(outage) if outage.kind == OutageKind::PermissionMissing));
    assert_eq!(bench.enqueued().len(), 10, "each waiting object is enqueued once");
}

#[tokio::test]
async fn an_unreadable_registry_does_not_open_the_circuit_breaker() {
    for (case, error) in [
        ("it is broken", answered(503, None)),
        ("it does not answer", failure(Failure::NoAnswer)),
        ("it may not be read", answered(403, Some(ErrorCode::AuthorizationError))),
        ("it asks for a pause", retry_after(answered(429, None), 60_000)),
    ] {
        let bench = Bench::new(10, 16);
        bench.settle().await;
        bench.service.world().mood = Mood::Fails(error);
        let api = bench.remote.api();
        for _ in 0..3 {
            assert!(api.connector(&Selector::Key("tax".into())).await.is_err(), "{case}");
        }
        assert!(bench.remote.enter(&object_ref(1)).await.is_ok(), "{case}");
        assert!(matches!(bench.remote.health(), Health::Good { .. }), "{case}");
    }
}

#[tokio::test]
async fn polling_goes_on_after_a_panic_of_the_client() {
    let bench = Bench::new(10, 16);
    bench.service.world().mood = Mood::Panics;
    let poller = tokio::spawn(Arc::clone(&bench.remote).run());
    until(|| !bench.service.calls().is_empty()).await;
    bench.service.world().mood = Mood::Works;
    until(|| {
        bench.clock.step(Duration::from_secs(1));
        bench.remote.has_answered()
    })
    .await;
    poller.abort();
}
