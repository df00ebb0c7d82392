//! The leader is frozen (SIGSTOP) at random moments while resources are created and redeployed, and woken after another has
//! taken over: it ends, and sends nothing, but for a call that had passed its check.

use std::path::PathBuf;
use std::time::Duration;

use connect_operator::clock::later;
use connect_operator::dev_server::{Fault, FaultAnswer, Options};
use futures::future::join_all;
use jiff::Timestamp;
use rand::RngExt;
use rustix::process::Signal;

use crate::judge::Verdict;
use crate::life;
use crate::operator::{Operator, last_lines};
use crate::place::Place;
use crate::size::{self, pick};

/// Resources of a pair.
const RESOURCES: usize = 16;
/// How long it may take until another leads.
const TAKEN_OVER: Duration = Duration::from_secs(25);
/// How long one that was woken may run.
const ENDS: Duration = Duration::from_secs(10);

/// After this time a call is answered and in the log of who sent it, unless that one is frozen.
const LOGGED: Duration = Duration::from_secs(1);

/// A leader that was frozen and woken.
struct Moment {
    log: PathBuf,
    woken: Timestamp,
    ended: Timestamp,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rule_25_a_leader_that_sleeps_sends_nothing_after_another_took_over() {
    let (pairs, freezes) = pick((3, 2), (10, 5));
    join_all((0..pairs).map(|pair| pair_of_replicas(pair, freezes))).await;
}

async fn pair_of_replicas(pair: usize, freezes: u32) {
    let part: &'static str = Box::leak(format!("frozen-{pair}").into_boxed_str());
    // Slow calls, so that it is often frozen in the middle of one.
    let slow = |operation| {
        let answer = FaultAnswer { delay_ms: 200, ..FaultAnswer::default() };
        let before = Fault { share: Some(0.3), ..Fault::of(operation, answer) };
        [before.clone(), before.after_the_effect()]
    };
    let faults = ["createDeployment", "updateDeploymentById", "deleteDeploymentById"].into_iter().flat_map(slow);
    let options =
        Options { deploy_duration: Duration::from_millis(500), faults: faults.collect(), ..Options::default() };
    let place = Place::open(part, options).await;
    let replicas = vec![place.replica("replica-0").now(), place.replica("replica-1").now()];
    let storm = freeze(&place, replicas, freezes);
    let (replicas, moments) = life::lives(&place, RESOURCES, Duration::from_secs(3), storm).await;
    Verdict::must_settle(&place).await;
    let late = late_calls(&place, &moments);
    assert!(late.iter().all(|calls| calls.len() <= 1), "more than one call after it was woken: {late:#?}");
    let late = late.iter().map(Vec::len).sum::<usize>();
    let done = [("moments", u64::from(freezes)), ("calls after a wake", late as u64)];
    Verdict::at_the_end(&place, &[], replicas, &done).await;
}

/// Freezes whoever leads so many times, each time until another leads.
async fn freeze(place: &Place, mut replicas: Vec<Operator>, freezes: u32) -> (Vec<Operator>, Vec<Moment>) {
    let mut chance = size::chance(place.part, "freezer");
    let mut moments = Vec::new();
    // Each process has a log of its own, so that one that leads can be told from one that did.
    let mut number = replicas.len();
    let mut leading = until_one_leads(&replicas).await;
    for _ in 0..freezes {
        // Not before all that was sent when the last one ended is in a log.
        tokio::time::sleep(LOGGED * 2 + Duration::from_secs(3).mul_f64(chance.random_range(0.0..1.0))).await;
        let frozen = replicas.remove(leading);
        frozen.signal(Signal::STOP);
        let taken = tokio::time::timeout(TAKEN_OVER, until_one_leads(&replicas)).await;
        assert!(taken.is_ok(), "{}: nobody took over within {TAKEN_OVER:?}", place.part);
        // The new leader is at work when the old one wakes.
        tokio::time::sleep(Duration::from_secs(2).mul_f64(chance.random_range(0.0..1.0))).await;
        let woken = place.dev.now();
        frozen.signal(Signal::CONT);
        let log = frozen.log().to_owned();
        let (_, status) = frozen.ended(ENDS).await;
        assert_eq!(status.code(), Some(1), "it ends with an error: {}", last_lines(&log, ""));
        assert_ne!(last_lines(&log, "this process ends"), "", "and says why");
        moments.push(Moment { log, woken, ended: place.dev.now() });
        replicas.push(place.replica(&format!("replica-{number}")).now());
        number += 1;
        leading = until_one_leads(&replicas).await;
    }
    (replicas, moments)
}

/// The one that leads, once there is one. Of those that run only one ever did.
async fn until_one_leads(replicas: &[Operator]) -> usize {
    loop {
        if let Some(leading) = replicas.iter().position(Operator::leads) {
            return leading;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Changes that a woken leader sent, for each moment: those that arrived while it ran and that no other process knows of.
fn late_calls(place: &Place, moments: &[Moment]) -> Vec<Vec<String>> {
    let logs = (0..moments.len() + 2).map(|number| place.replica(&format!("replica-{number}")).log);
    let logs: Vec<_> = logs.map(|log| (std::fs::read_to_string(&log).unwrap_or_default(), log)).collect();
    let calls = place.dev.calls();
    let changes: Vec<_> = calls.iter().filter(|call| call.method != "GET" && call.operation != "token").collect();
    assert!(
        changes.iter().any(|call| logs.iter().any(|(log, _)| log.contains(&call.correlation_id))),
        "logs tell calls"
    );
    let late = moments.iter().map(|moment| {
        let until = later(moment.ended, LOGGED);
        let here = changes.iter().filter(|call| call.at >= moment.woken && call.at <= until);
        let others = |id: &str| logs.iter().any(|(log, path)| *path != moment.log && log.contains(id));
        let late = here.filter(|call| !others(&call.correlation_id));
        late.map(|call| format!("{} {} {} {}", call.at, call.method, call.path, call.status)).collect()
    });
    late.collect()
}
