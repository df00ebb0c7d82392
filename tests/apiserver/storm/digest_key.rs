//! The Secret with the digest key is deleted: this does not change any value, so nothing is sent.

use std::time::Duration;

use dev_server::{Happened, Options};
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::DeleteParams;

use crate::storm::checker::Report;
use crate::storm::place::{DIGEST_KEY, Place};
use crate::storm::size::pick;
use crate::storm::watched::digest_keys;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_digest_key_sends_nothing_and_a_rotation_is_one_redeploy() {
    let resources = pick(8, 50);
    let options = Options { deploy_duration: Duration::from_millis(500), ..Options::default() };
    let place = Place::open("digest-key", options).await;
    let mut operator = place.operator().now();
    let names: Vec<_> = (0..resources).map(|number| format!("tax-{number}")).collect();
    for name in &names {
        place.create(name).await;
    }
    Report::must_settle(&place).await;

    for (case, runs, rotate) in
        [("stopped", false, false), ("running", true, false), ("stopped, rotated meanwhile", false, true)]
    {
        let (before, old) = (redeploys(&place), digest_keys(&place.watched.latest()));
        operator = if runs {
            lose(&place).await;
            operator.restart().await
        } else {
            let start = operator.kill().await;
            lose(&place).await;
            if rotate {
                rotate_all(&place, &names).await;
            }
            start.now()
        };
        let again = place.watched.until(|latest| {
            let new = digest_keys(latest);
            new.len() == 1 && new.is_disjoint(&old)
        });
        assert!(again.await, "{case}: digests use a new key");
        Report::must_settle(&place).await;
        place.reconcile_all().await;
        let expected = if rotate { names.len() } else { 0 };
        assert_eq!(redeploys(&place) - before, expected, "{case}: redeploys after the restart");

        let before = redeploys(&place);
        rotate_all(&place, &names).await;
        Report::must_settle(&place).await;
        assert_eq!(redeploys(&place) - before, names.len(), "{case}: one redeploy for each rotation");
    }
    Report::at_the_end(&place, &[], vec![operator], &[("digest keys lost", 3)]).await;
}

async fn rotate_all(place: &Place, names: &[String]) {
    for name in names {
        place.rotate(name).await;
    }
}

/// Deletes the only Secret that the operator keeps for itself.
async fn lose(place: &Place) {
    let secrets = Api::<Secret>::namespaced(place.client.clone(), &place.home());
    secrets.delete(DIGEST_KEY, &DeleteParams::default()).await.expect("the operator created it");
}

fn redeploys(place: &Place) -> usize {
    let now = place.dev.now();
    let history = place.dev.world().history(now);
    history.iter().filter(|moment| moment.what == Happened::Redeployed).count()
}
