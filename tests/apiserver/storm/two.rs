//! Two operators that watch the same namespace without leader election, started at the same moment: as two processes of one
//! install, and as two installs that overlap by mistake.

use crate::prelude::*;
use crate::storm::operator::Start;
use crate::storm::watched::digest_keys;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_operators_at_once_do_everything_once() {
    let mut env = Environment::open("two", options()).await;
    // Neither finds a digest key: both create one, and both must use the same.
    let start = env.operator();
    let (operators, kills) = storm(&mut env, start.clone(), start).await;
    Report::must_settle(&env).await;
    let keys = digest_keys(&env.watched.latest());
    assert_eq!(keys.len(), 1, "digests use one key: {keys:?}");
    Report::at_the_end(&env, operators, &[("kills", kills)]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rule_26_two_installs_that_overlap_create_nothing_twice() {
    let mut env = Environment::open("overlap", options()).await;
    let one = env.operator();
    let key = ["--digest-key-secret".to_owned(), "digest-key-of-another-install".to_owned()];
    let other = Start { arguments: key.into(), ..one.clone() };
    let (operators, kills) = storm(&mut env, one, other).await;
    Report::at_the_end(&env, operators, &[("kills", kills)]).await;
}

fn options() -> Options {
    Options { deploy_duration: Duration::from_millis(1_500), ..Options::default() }
}

/// Starts both, and kills one after the other while users change resources. Returns both, and the number of kills.
async fn storm(env: &mut Environment, one: Start, other: Start) -> (Vec<Operator>, u64) {
    let (resources, kills) = pick((10, 3), (50, 25));
    let (mut one, mut other) = (one.now(), other.now());
    env.create_taken().await;
    let mut chance = size::chance(env.part, "killer");
    let storm = async {
        for _ in 0..kills {
            tokio::time::sleep(Duration::from_secs(8).mul_f64(chance.random_range(0.2..1.0))).await;
            one = one.restart().await;
            (one, other) = (other, one);
        }
        vec![one, other]
    };
    (life::lives(env, resources, pick(Duration::from_secs(2), Duration::from_secs(8)), storm).await, kills)
}
