//! Two replicas: the leader is killed, or stopped with SIGTERM, and the other takes over.

use crate::prelude::*;

/// Logged by a leader that releases its Lease, so that nobody has to wait until it expires.
const GIVEN_UP: &str = "the Lease is given up";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_the_leader_is_killed_or_ends_the_other_goes_on() {
    let options = Options { deploy_duration: Duration::from_millis(500), ..Options::default() };
    let env = Environment::open("leader-killed", options).await;
    let first = env.replica("first").now();
    until("the only replica leads", async || first.leads()).await;
    let second = env.replica("second").now();
    env.create("tax").await;
    Report::must_settle(&env).await;
    assert!(!second.leads());

    let from = Clock::system();
    let log = first.log().to_owned();
    first.kill().await;
    assert_eq!(last_lines(&log, GIVEN_UP), "", "a killed process releases nothing");
    until("the other leads after the leader was killed", async || second.leads()).await;
    let taken_over = from.elapsed();
    env.rotate("tax").await;
    Report::must_settle(&env).await;

    let third = env.replica("third").now();
    // It must be on standby first.
    until("it is on standby", async || !last_lines(third.log(), "another process leads").is_empty()).await;
    let from = Clock::system();
    second.signal(Signal::TERM);
    until("the third leads after the leader was stopped", async || third.leads()).await;
    let handed_over = from.elapsed();
    let log = second.log().to_owned();
    let (_, status) = second.ended().await;
    assert_eq!(status.code(), Some(0), "it ends without an error on SIGTERM");
    assert_ne!(last_lines(&log, GIVEN_UP), "", "it releases the Lease");
    env.rotate("tax").await;
    let times = [("ms until taken over", taken_over), ("ms until handed over", handed_over)];
    let times = times.map(|(what, time)| (what, u64::try_from(time.as_millis()).unwrap()));
    Report::at_the_end(&env, vec![third], &times).await;
}
