//! Two replicas: the leader is killed, or asked to end, and the other goes on.

use std::time::Duration;

use clock::Clock;
use dev_server::Options;
use rustix::process::Signal;

use crate::judge::Verdict;
use crate::operator::{Operator, last_lines};
use crate::patience::in_time;
use crate::place::Place;

/// What one says that leaves the lead to others at once, so that nobody has to wait until its Lease runs out.
const GIVEN_UP: &str = "the Lease is given up";

async fn until_it_leads(operator: &Operator) {
    while !operator.leads() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_the_leader_is_killed_or_ends_the_other_goes_on() {
    let options = Options { deploy_duration: Duration::from_millis(500), ..Options::default() };
    let place = Place::open("leader-killed", options).await;
    let first = place.replica("first").now();
    in_time(until_it_leads(&first)).await.expect("the only one leads");
    let second = place.replica("second").now();
    place.create("tax").await;
    Verdict::must_settle(&place).await;
    assert!(!second.leads());

    let from = Clock::system();
    let log = first.log().to_owned();
    first.kill().await;
    assert_eq!(last_lines(&log, GIVEN_UP), "", "the dead give nothing up");
    in_time(until_it_leads(&second)).await.expect("the other leads after the leader was killed");
    let taken_over = from.elapsed();
    place.rotate("tax").await;
    Verdict::must_settle(&place).await;

    let third = place.replica("third").now();
    // It has to stand by first.
    let stands_by = async {
        while last_lines(third.log(), "another process leads").is_empty() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    in_time(stands_by).await.expect("it stands by");
    let from = Clock::system();
    second.signal(Signal::TERM);
    in_time(until_it_leads(&third)).await.expect("the third leads after the leader was asked to end");
    let handed_over = from.elapsed();
    let log = second.log().to_owned();
    let (_, status) = second.ended().await;
    assert_eq!(status.code(), Some(0), "it was asked to end");
    assert_ne!(last_lines(&log, GIVEN_UP), "", "and left the lead to others at once");
    place.rotate("tax").await;
    let times = [("ms until taken over", taken_over), ("ms until handed over", handed_over)];
    let times = times.map(|(what, time)| (what, u64::try_from(time.as_millis()).unwrap()));
    Verdict::at_the_end(&place, &[], vec![third], &times).await;
}
