use std::time::Duration;

use connect_api::error::Failure;
use futures::FutureExt;

use super::*;
use crate::operator::remote::NotAdmitted;
use crate::operator::remote::testing::{Bench, Call, Mood, START, id, object_ref, until};
use crate::operator::testing::{answered, failure, retry_after};

/// Registers a pending read of each of these now.
fn request_reads(bench: &Bench, numbers: impl IntoIterator<Item = usize>) {
    for number in numbers {
        let polled_record = bench.remote.polled_record(&object_ref(number), &id(number), bench.clock.now());
        assert!(polled_record.is_none(), "{number} was not read yet");
    }
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
async fn rule_21_a_call_is_held_back_with_the_same_message_after_each_attempt() {
    let expected = "the request is held back: the service answered 503: no (getDeploymentByKey)";
    let of_client = "the request is held back: no (getDeploymentByKey)";
    for (failed, number, expected) in [
        (answered(503), "one", expected),
        (answered(503), "two", expected),
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
    for (case, mood) in
        [("record", Mood::GetFails(id(1), failure(Failure::Unreadable))), ("list", Mood::ListFails(answered(500)))]
    {
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
