use std::time::Duration;

use clock::later;
use connect_api::Selector;
use connect_api::error::Failure;
use futures::FutureExt;

use super::*;
use crate::controllers::object_ref::ObjectRef;
use crate::controllers::remote::testing::{
    Bench, Call, Mood, START, answered, at, failure, id, object_ref, retry_after, settings, until,
};
use crate::controllers::remote::{PollRate, RegistryEntry};

const INTERVAL: Duration = Duration::from_mins(5);

fn name(number: usize) -> RegistryKey {
    RegistryKey { selector: Selector::Key(format!("connector-{number}")), staged: false }
}

fn call(number: usize) -> Call {
    Call::Connector(format!("connector-{number}"))
}

/// Takes the entry of a connector, or registers a pending read of it now.
fn take(bench: &Bench, number: usize) -> Option<RegistryEntry> {
    bench.remote.registry_entry(&object_ref(number), &name(number), INTERVAL, bench.clock.now())
}

#[tokio::test]
async fn a_registry_that_hangs_delays_no_poll() {
    let bench = Bench::new(50, 16);
    bench.settle().await;
    bench.service.world().mood = Mood::RegistryHangs;
    for number in 0..20 {
        assert_eq!(take(&bench, number), None);
    }
    bench.remote.poll(&object_ref(0), &id(0), PollRate::Busy { since: START });
    bench.service.calls();
    let tasks = tokio::spawn(Arc::clone(&bench.remote).run());
    let mut calls = Vec::new();
    until(|| {
        bench.clock.step(Duration::from_secs(1));
        calls.extend(bench.service.calls());
        calls.iter().filter(|call| **call == Call::Get(id(0))).count() == 3
    })
    .await;
    let hanging = calls.iter().filter(|call| matches!(call, Call::Connector(_))).count();
    assert_eq!(hanging, READS_AT_ONCE, "and it is not asked by everybody at once");
    tasks.abort();
}

#[tokio::test]
async fn a_round_reads_a_few_connectors_the_longest_waiting_first() {
    let bench = Bench::new(0, 16);
    bench.settle().await;
    bench.service.calls();
    for number in (0..6).rev() {
        assert_eq!(take(&bench, number), None);
        bench.clock.step(Duration::from_secs(1));
    }
    assert_eq!(bench.remote.read_registry().await, None);
    assert_eq!(bench.service.calls(), [5, 4, 3, 2].map(call));
    assert_eq!(bench.remote.read_registry().await, None);
    assert_eq!(bench.service.calls(), [1, 0].map(call));
    assert!(bench.remote.read_registry().await.is_some_and(|until| until >= at(300)));
}

#[tokio::test]
async fn nothing_is_read_while_the_circuit_breaker_is_open_and_at_once_when_it_closes() {
    let mut bench = Bench::new(10, 16);
    bench.settle().await;
    bench.service.world().mood = Mood::Fails(retry_after(answered(503, None), 60_000));
    assert!(bench.remote.api().deployment(&Selector::Key("tax".into())).await.is_err());
    bench.service.world().mood = Mood::Works;
    assert_eq!(take(&bench, 1), None);
    bench.service.calls();
    for seconds in [0, 60] {
        bench.clock.step(Duration::from_secs(seconds));
        assert_eq!(bench.remote.read_registry().await, Some(Timestamp::MAX), "after {seconds} s: the poller is first");
    }
    assert_eq!(bench.service.calls(), []);
    assert!(bench.remote.registry_notify.notified().now_or_never().is_none());
    assert_eq!(bench.remote.round().await, None);
    assert!(bench.remote.registry_notify.notified().now_or_never().is_some(), "a call of the poller worked");
    bench.enqueued();
    bench.settle().await;
    assert!(bench.service.calls().contains(&call(1)));
    assert_eq!(bench.enqueued(), [object_ref(1)]);
}

#[tokio::test]
async fn a_read_that_is_not_sent_is_no_answer() {
    let mut bench = Bench::new(10, 16);
    bench.settle().await;
    bench.service.world().mood = Mood::Fails(retry_after(failure(Failure::HeldBack), 7_000));
    assert_eq!(take(&bench, 1), None);
    bench.service.calls();
    bench.enqueued();
    assert_eq!(bench.remote.read_registry().await, None);
    assert_eq!(bench.remote.read_registry().await, Some(Timestamp::MAX), "every other call is held back, too");
    assert_eq!((bench.service.calls(), bench.enqueued()), (vec![call(1)], Vec::<ObjectRef>::new()));
    bench.service.world().mood = Mood::Works;
    bench.pass(Duration::from_secs(8)).await;
    assert_eq!(bench.enqueued(), [object_ref(1)]);
}

#[tokio::test]
async fn the_answer_to_former_credentials_does_not_count() {
    let mut bench = Bench::new(10, 16);
    let project = ObjectRef::project("default", "shop");
    bench.settle().await;
    assert_eq!(take(&bench, 1), None);
    let mut read = Box::pin(bench.remote.read_registry());
    assert_eq!(read.as_mut().now_or_never(), None, "the answer is under way");
    assert!(bench.remote.join(&project, &settings("other", 10), Some(bench.service.clone())));
    assert_eq!(read.await, None);
    assert_eq!(bench.enqueued(), []);
    bench.settle().await;
    assert!(bench.enqueued().contains(&object_ref(1)));
}

#[tokio::test]
async fn the_resting_reader_is_notified_only_of_what_is_due_earlier() {
    let bench = Bench::new(10, 16);
    let notified = || bench.remote.registry_notify.notified().now_or_never().is_some();
    bench.settle().await;
    assert!(!notified());
    assert_eq!(take(&bench, 1), None);
    assert!(notified());
    bench.settle().await;
    assert!(take(&bench, 1).is_some());
    assert!(!notified(), "it is known");
    let later = later(bench.clock.now(), Duration::from_secs(9));
    assert_eq!(bench.remote.registry_entry(&object_ref(1), &name(1), INTERVAL, later), None);
    assert!(notified());
}
