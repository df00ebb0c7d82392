//! The leader is frozen (SIGSTOP) at random moments while resources are created and redeployed, and woken after another has
//! taken over: it ends, and sends nothing, but for a call that had passed its check.

use std::path::PathBuf;
use std::time::Duration;

use clock::later;
use dev_server::{Call, Fault, FaultAnswer, Options};
use futures::future::join_all;
use jiff::Timestamp;
use rand::RngExt;
use rustix::process::Signal;

use crate::judge::Verdict;
use crate::life;
use crate::operator::{Operator, last_lines};
use crate::patience::in_time;
use crate::place::Place;
use crate::size::{self, pick};

/// Resources of a pair.
const RESOURCES: usize = 16;
/// A call that a process sent before it ended arrives within this time.
const ARRIVES: Duration = Duration::from_secs(1);

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
    let ever = moments.len() + replicas.len();
    let late: Vec<_> = moments.iter().map(|moment| late_calls(&place, moment, ever)).collect();
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
        tokio::time::sleep(ARRIVES * 2 + Duration::from_secs(3).mul_f64(chance.random_range(0.0..1.0))).await;
        // Who is frozen does not log what it has just sent.
        if let Some(last) = moments.last() {
            until_all_is_in_a_log(place, last, number).await;
        }
        let frozen = replicas.remove(leading);
        frozen.signal(Signal::STOP);
        let taken = until_one_leads(&replicas).await;
        // The new leader is at work when the old one wakes.
        in_time(until_it_works(place, &replicas[taken])).await.expect("the new leader works");
        tokio::time::sleep(Duration::from_secs(2).mul_f64(chance.random_range(0.0..1.0))).await;
        let woken = place.dev.now();
        frozen.signal(Signal::CONT);
        let log = frozen.log().to_owned();
        let (_, status) = frozen.ended().await;
        assert_eq!(status.code(), Some(1), "it ends with an error: {}", last_lines(&log, ""));
        assert_ne!(last_lines(&log, "this process ends"), "", "and says why");
        moments.push(Moment { log, woken, ended: place.dev.now() });
        replicas.push(place.replica(&format!("replica-{number}")).now());
        number += 1;
        leading = until_one_leads(&replicas).await;
    }
    (replicas, moments)
}

/// Returns once a change that this one sent is in its log.
async fn until_it_works(place: &Place, leader: &Operator) {
    loop {
        let log = std::fs::read_to_string(leader.log()).unwrap_or_default();
        if changes(place).iter().any(|call| log.contains(&call.correlation_id)) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Returns once no more of the calls of a moment than the one that the woken leader may have sent is in no other's log.
async fn until_all_is_in_a_log(place: &Place, moment: &Moment, replicas: usize) {
    let logged = async {
        while late_calls(place, moment, replicas).len() > 1 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let logged = in_time(logged).await;
    assert!(logged.is_ok(), "more than one call after it was woken: {:#?}", late_calls(place, moment, replicas));
}

/// The one that leads, once there is one. Of those that run only one ever did.
async fn until_one_leads(replicas: &[Operator]) -> usize {
    let leads = async {
        loop {
            if let Some(leading) = replicas.iter().position(Operator::leads) {
                return leading;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    in_time(leads).await.expect("somebody leads")
}

/// Calls that change something, as they arrived.
fn changes(place: &Place) -> Vec<Call> {
    let calls = place.dev.calls().into_iter();
    calls.filter(|call| call.method != "GET" && call.operation != "token").collect()
}

/// Changes that a woken leader sent: those that arrived while it ran and that no other of so many processes knows of.
fn late_calls(place: &Place, moment: &Moment, replicas: usize) -> Vec<String> {
    let logs = (0..replicas).map(|number| place.replica(&format!("replica-{number}")).log);
    let others: Vec<_> = logs.filter(|log| *log != moment.log).collect();
    let others: Vec<_> = others.iter().map(|log| std::fs::read_to_string(log).unwrap_or_default()).collect();
    let until = later(moment.ended, ARRIVES);
    let here = changes(place).into_iter().filter(|call| call.at >= moment.woken && call.at <= until);
    let late = here.filter(|call| !others.iter().any(|log| log.contains(&call.correlation_id)));
    late.map(|call| format!("{} {} {} {}", call.at, call.method, call.path, call.status)).collect()
}
