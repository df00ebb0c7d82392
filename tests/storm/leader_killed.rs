//! Two replicas: the leader is killed, or asked to end, and the other goes on.

use std::time::{Duration, Instant};

use connect_operator::dev_server::Options;
use rustix::process::Signal;

use crate::judge::Verdict;
use crate::operator::Operator;
use crate::place::Place;

/// How long it may take until another leads after the leader was killed.
const TAKEN_OVER: Duration = Duration::from_secs(20);
/// The same after it was asked to end: a look, and what a busy machine takes.
const HANDED_OVER: Duration = Duration::from_secs(8);

async fn until_it_leads(operator: &Operator) {
    while !operator.leads() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_the_leader_is_killed_or_ends_the_other_goes_on_in_time() {
    let options = Options { deploy_duration: Duration::from_millis(500), ..Options::default() };
    let place = Place::open("leader-killed", options).await;
    let first = place.replica("first").now();
    until_it_leads(&first).await;
    let second = place.replica("second").now();
    place.create("tax").await;
    Verdict::must_settle(&place).await;
    assert!(!second.leads());

    let from = Instant::now();
    first.kill().await;
    let within = tokio::time::timeout(TAKEN_OVER, until_it_leads(&second)).await;
    assert!(within.is_ok(), "nobody leads {TAKEN_OVER:?} after the leader was killed");
    let taken_over = from.elapsed();
    place.rotate("tax").await;
    Verdict::must_settle(&place).await;

    let third = place.replica("third").now();
    // It has to stand by first.
    while !std::fs::read_to_string(third.log()).unwrap_or_default().contains("another process leads") {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let from = Instant::now();
    second.signal(Signal::TERM);
    let within = tokio::time::timeout(HANDED_OVER, until_it_leads(&third)).await;
    assert!(within.is_ok(), "nobody leads {HANDED_OVER:?} after the leader was asked to end");
    let handed_over = from.elapsed();
    let (_, status) = second.ended(Duration::from_secs(5)).await;
    assert_eq!(status.code(), Some(0), "it was asked to end");
    place.rotate("tax").await;
    let times = [("ms until taken over", taken_over), ("ms until handed over", handed_over)];
    let times = times.map(|(what, time)| (what, u64::try_from(time.as_millis()).unwrap()));
    Verdict::at_the_end(&place, &[], vec![third], &times).await;
}
