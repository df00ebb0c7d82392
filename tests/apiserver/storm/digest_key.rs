//! The Secret with the digest key is deleted: this does not change any value, so nothing is sent.

use std::time::Duration;

use dev_server::{Happened, Options};
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::DeleteParams;

use crate::storm::checker::Report;
use crate::storm::environment::{DIGEST_KEY, Environment};
use crate::storm::size::pick;
use crate::storm::watched::digest_keys;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_digest_key_sends_nothing_and_a_rotation_is_one_redeploy() {
    let resources = pick(8, 50);
    let options = Options { deploy_duration: Duration::from_millis(500), ..Options::default() };
    let env = Environment::open("digest-key", options).await;
    let mut operator = env.operator().now();
    let names: Vec<_> = (0..resources).map(|number| format!("tax-{number}")).collect();
    for name in &names {
        env.create(name).await;
    }
    Report::must_settle(&env).await;

    for (case, runs, rotate) in
        [("stopped", false, false), ("running", true, false), ("stopped, rotated meanwhile", false, true)]
    {
        let (before, old) = (redeploys(&env), digest_keys(&env.watched.latest()));
        operator = if runs {
            lose(&env).await;
            operator.restart().await
        } else {
            let start = operator.kill().await;
            lose(&env).await;
            if rotate {
                rotate_all(&env, &names).await;
            }
            start.now()
        };
        let again = env.watched.until(|latest| {
            let new = digest_keys(latest);
            new.len() == 1 && new.is_disjoint(&old)
        });
        assert!(again.await, "{case}: digests use a new key");
        Report::must_settle(&env).await;
        env.reconcile_all().await;
        let expected = if rotate { names.len() } else { 0 };
        assert_eq!(redeploys(&env) - before, expected, "{case}: redeploys after the restart");

        let before = redeploys(&env);
        rotate_all(&env, &names).await;
        Report::must_settle(&env).await;
        assert_eq!(redeploys(&env) - before, names.len(), "{case}: one redeploy for each rotation");
    }
    Report::at_the_end(&env, &[], vec![operator], &[("digest keys lost", 3)]).await;
}

async fn rotate_all(env: &Environment, names: &[String]) {
    for name in names {
        env.rotate(name).await;
    }
}

/// Deletes the only Secret that the operator keeps for itself.
async fn lose(env: &Environment) {
    let secrets = Api::<Secret>::namespaced(env.client.clone(), &env.home());
    secrets.delete(DIGEST_KEY, &DeleteParams::default()).await.expect("the operator created it");
}

fn redeploys(env: &Environment) -> usize {
    let now = env.dev.now();
    let history = env.dev.world().history(now);
    history.iter().filter(|moment| moment.what == Happened::Redeployed).count()
}
