//! Two operators that watch the same namespace without leader election, started at the same moment.

use std::time::Duration;

use dev_server::Options;
use rand::RngExt;

use crate::storm::checker::Report;
use crate::storm::environment::Environment;
use crate::storm::life;
use crate::storm::size::{self, pick};
use crate::storm::watched::digest_keys;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_operators_at_once_do_everything_once() {
    let (resources, kills) = pick((10, 3), (50, 25));
    let options = Options { deploy_duration: Duration::from_millis(1_500), ..Options::default() };
    let mut env = Environment::open("two", options).await;
    // Neither finds a digest key: both create one, and both must use the same.
    let (mut one, mut other) = (env.operator().now(), env.operator().now());
    env.create_taken().await;
    let mut chance = size::chance("two", "killer");
    let storm = async {
        for _ in 0..kills {
            tokio::time::sleep(Duration::from_secs(8).mul_f64(chance.random_range(0.2..1.0))).await;
            one = one.restart().await;
            (one, other) = (other, one);
        }
        (one, other)
    };
    let (one, other) = life::lives(&env, resources, pick(Duration::from_secs(2), Duration::from_secs(8)), storm).await;
    Report::must_settle(&env).await;
    let keys = digest_keys(&env.watched.latest());
    assert_eq!(keys.len(), 1, "digests use one key: {keys:?}");
    Report::at_the_end(&env, &[], vec![one, other], &[("kills", kills)]).await;
}
