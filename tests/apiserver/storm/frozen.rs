//! The leader is frozen (SIGSTOP) at random moments while resources are created and redeployed, and resumed after
//! another replica has taken over. It ends, and sends nothing except a call that had already passed its check.

use crate::prelude::*;

/// Number of resources of a pair.
const RESOURCES: usize = 16;
/// A call that a process sent before it ended arrives within this time.
const ARRIVES: Duration = Duration::from_secs(1);

/// A leader that was frozen and resumed.
struct Moment {
    log: PathBuf,
    resumed: Timestamp,
    ended: Timestamp,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rule_25_a_frozen_leader_sends_nothing_after_another_took_over() {
    let (pairs, freezes) = pick((3, 2), (10, 5));
    join_all((0..pairs).map(|pair| pair_of_replicas(pair, freezes))).await;
}

async fn pair_of_replicas(pair: usize, freezes: u32) {
    let part: &'static str = Box::leak(format!("frozen-{pair}").into_boxed_str());
    // Slow calls, so that the leader is often frozen in the middle of one.
    let slow = |operation| {
        let answer = FaultAnswer { delay_ms: 200, ..FaultAnswer::default() };
        let before = Fault { share: Some(0.3), ..Fault::of(operation, answer) };
        [before.clone(), before.after_the_effect()]
    };
    let faults = ["createDeployment", "updateDeploymentById", "deleteDeploymentById"].into_iter().flat_map(slow);
    let options =
        Options { deploy_duration: Duration::from_millis(500), faults: faults.collect(), ..Options::default() };
    let env = Environment::open(part, options).await;
    let replicas = vec![env.replica("replica-0").now(), env.replica("replica-1").now()];
    let storm = freeze(&env, replicas, freezes);
    let (replicas, moments) = life::lives(&env, RESOURCES, Duration::from_secs(3), storm).await;
    Report::must_settle(&env).await;
    let ever = moments.len() + replicas.len();
    let late: Vec<_> = moments.iter().map(|moment| late_calls(&env, moment, ever)).collect();
    assert!(late.iter().all(|calls| calls.len() <= 1), "more than one call after it resumed: {late:#?}");
    let late = late.iter().map(Vec::len).sum::<usize>();
    let done = [("moments", u64::from(freezes)), ("calls after a resume", late as u64)];
    Report::at_the_end(&env, replicas, &done).await;
}

/// Freezes the leader that many times, each time until another replica leads.
async fn freeze(env: &Environment, mut replicas: Vec<Operator>, freezes: u32) -> (Vec<Operator>, Vec<Moment>) {
    let mut chance = size::chance(env.part, "freezer");
    let mut moments = Vec::new();
    // Each process has its own log, so that the current leader can be distinguished from former ones.
    let mut number = replicas.len();
    let mut leading = until_one_leads(&replicas).await;
    for _ in 0..freezes {
        tokio::time::sleep(ARRIVES * 2 + Duration::from_secs(3).mul_f64(chance.random_range(0.0..1.0))).await;
        // A frozen process has not logged what it has just sent.
        if let Some(last) = moments.last() {
            until_all_is_in_a_log(env, last, number).await;
        }
        let frozen = replicas.remove(leading);
        frozen.signal(Signal::STOP);
        let taken = until_one_leads(&replicas).await;
        // The new leader is already working when the old one resumes.
        in_time(until_it_works(env, &replicas[taken])).await.expect("the new leader works");
        tokio::time::sleep(Duration::from_secs(2).mul_f64(chance.random_range(0.0..1.0))).await;
        let resumed = env.dev.now();
        frozen.signal(Signal::CONT);
        let log = frozen.log().to_owned();
        let (_, status) = frozen.ended().await;
        assert_eq!(status.code(), Some(1), "it ends with an error: {}", last_lines(&log, ""));
        assert_ne!(last_lines(&log, "this process ends"), "", "it logs why");
        moments.push(Moment { log, resumed, ended: env.dev.now() });
        replicas.push(env.replica(&format!("replica-{number}")).now());
        number += 1;
        leading = until_one_leads(&replicas).await;
    }
    (replicas, moments)
}

/// Returns once the log contains a change that this replica sent.
async fn until_it_works(env: &Environment, leader: &Operator) {
    loop {
        let log = std::fs::read_to_string(leader.log()).unwrap_or_default();
        if changes(env).iter().any(|call| log.contains(&call.correlation_id)) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Returns once every call of a moment is in the log of another replica, except the one that the resumed leader may
/// have sent.
async fn until_all_is_in_a_log(env: &Environment, moment: &Moment, replicas: usize) {
    let logged = async {
        while late_calls(env, moment, replicas).len() > 1 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let logged = in_time(logged).await;
    assert!(logged.is_ok(), "more than one call after it resumed: {:#?}", late_calls(env, moment, replicas));
}

/// Returns the index of the leader, once there is one. Of the running replicas only one ever led.
async fn until_one_leads(replicas: &[Operator]) -> usize {
    let leads = async {
        loop {
            if let Some(leading) = replicas.iter().position(Operator::leads) {
                return leading;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    in_time(leads).await.expect("one replica leads")
}

/// Returns the calls that may change something, as they arrived.
fn changes(env: &Environment) -> Vec<Call> {
    let calls = env.dev.calls().into_iter();
    calls.filter(|call| call.method != "GET" && call.operation != "token").collect()
}

/// Returns the changes that a resumed leader sent: those that arrived while it ran and that are in the log of no other
/// process.
fn late_calls(env: &Environment, moment: &Moment, replicas: usize) -> Vec<String> {
    let logs = (0..replicas).map(|number| env.replica(&format!("replica-{number}")).log);
    let others: Vec<_> = logs.filter(|log| *log != moment.log).collect();
    let others: Vec<_> = others.iter().map(|log| std::fs::read_to_string(log).unwrap_or_default()).collect();
    let until = later(moment.ended, ARRIVES);
    let here = changes(env).into_iter().filter(|call| call.at >= moment.resumed && call.at <= until);
    let late = here.filter(|call| !others.iter().any(|log| log.contains(&call.correlation_id)));
    late.map(|call| format!("{} {} {} {}", call.at, call.method, call.path, call.status)).collect()
}
