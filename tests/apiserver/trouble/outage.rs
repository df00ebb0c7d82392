//! The remote is unavailable for an hour while many resources change: one redeploy for each of them afterwards, at a
//! bounded rate.

use connect_operator::cli::run::health::{Health, Stage};

use super::pace::most_in_10_seconds;
use crate::prelude::*;

/// Resources that change.
const CHANGED: usize = 100;
/// Resources that do not.
const QUIET: usize = 20;
/// Requests per second that the project allows.
const RATE: usize = 20;
/// Requests that may be sent at once after an idle time.
const BURST: usize = 5;
/// Probes of an hour: one each 45 to 60 s, and the first ones faster.
const PROBES: u64 = 3600 / 45 + 15;

fn is_quiet(object: &ConnectorDeployment) -> bool {
    object.name_any().starts_with("quiet")
}

async fn all(shop: &Shop) -> Vec<ConnectorDeployment> {
    shop.api::<ConnectorDeployment>().list(&ListParams::default()).await.unwrap().items
}

/// Lets time pass until all resources satisfy `is`.
async fn until_all(shop: &Shop, what: &str, is: impl Fn(&ConnectorDeployment) -> bool) -> Vec<ConnectorDeployment> {
    for _ in 0..150 {
        let all = all(shop).await;
        if all.iter().all(&is) {
            return all;
        }
        pass(&shop.clock, FINE, Duration::from_secs(2)).await;
    }
    let not: Vec<_> = all(shop).await.into_iter().filter(|object| !is(object)).collect();
    let status = not.first().and_then(|object| object.status.clone());
    panic!("{} are not {what}: {status:#?}\n{:?}", not.len(), shop.dev.counts());
}

fn is_live(object: &ConnectorDeployment) -> bool {
    reason(object) == "Deployed" && state(object).operation.is_none()
}

#[tokio::test]
async fn rule_20_an_hour_without_the_remote_while_100_resources_change_leads_to_one_redeploy_each() {
    let shop = Shop::with(Options { deploy_duration: Duration::from_secs(5), ..Options::default() }, stepped()).await;
    let rate = json!({"spec": {"requestsPerSecond": RATE}});
    shop.sandbox.change(&shop.project(), &rate).await.unwrap();
    shop.put_token("first-token-of-the-shop").await;
    shop.put_secret("quiet", &[("token", "other-token-of-the-shop")]).await;
    for number in 0..CHANGED + QUIET {
        let quiet = number >= CHANGED;
        let name = format!("{}-{number:03}", if quiet { "quiet" } else { "tax" });
        let mut manifest = named(shop.deployment(), &name);
        if quiet {
            let secured = &mut manifest["spec"]["configurations"][0]["securedConfiguration"][0];
            secured["valueFrom"]["secretKeyRef"]["name"] = json!("quiet");
        }
        shop.sandbox.apply(&manifest).await.unwrap();
    }
    until_all(&shop, "live", is_live).await;
    pass(&shop.clock, COARSE, Duration::from_mins(6)).await;
    let live = until_all(&shop, "annotated", |object| object.annotations().contains_key(names::REMOTE_ID)).await;

    shop.dev.fault(Fault { answer: FaultAnswer::text(503, ""), ..Fault::default() }).unwrap();
    let before = shop.dev.counts();
    shop.put_token("second-token-of-the-shop").await;
    until_all(&shop, "waiting", |object| is_quiet(object) || reason(object) == "ServiceUnavailable").await;
    let reported = shop.until_project("not ready", |project| reason(project) == "ServiceUnavailable");
    meanwhile(&shop.clock, FINE, reported).await;
    pass(&shop.clock, COARSE, Duration::from_mins(30)).await;
    shop.put_token("third-token-of-the-shop").await;
    pass(&shop.clock, COARSE, Duration::from_mins(30)).await;
    let health = Health::new(shop.metrics.clone().unwrap(), shop.lists.clone().unwrap());
    health.set_stage(Stage::Leads);
    assert!(health.readyz().passed, "the process stays ready: {}", health.readyz().text);
    let calls = shop.dev.counts().values().sum::<u64>() - before.values().sum::<u64>();
    assert!(calls <= PROBES, "{calls} calls in an hour without the remote");
    for (now, then) in all(&shop).await.iter().zip(&live).filter(|(now, _)| is_quiet(now)) {
        assert_eq!(now.resource_version(), then.resource_version(), "{} was written", now.name_any());
    }

    let back = shop.clock.now();
    shop.dev.clear_faults();
    let before = shop.dev.counts();
    until_all(&shop, "live again", |object| {
        let redeployed = object.status.as_ref().and_then(ConnectorDeploymentStatus::remote_version) == Some(2);
        is_live(object) && redeployed != is_quiet(object)
    })
    .await;
    // Time for late calls.
    pass(&shop.clock, FINE, Duration::from_mins(3)).await;
    let after = shop.dev.counts();
    assert_eq!(shop.calls("updateDeploymentById"), CHANGED as u64);
    assert_eq!(shop.calls("createDeployment"), (CHANGED + QUIET) as u64);
    let world = shop.there();
    let redeployed = world.iter().filter(|live| live.version == 2 && live.status == DeploymentStatus::Deployed);
    assert_eq!((redeployed.count(), world.len()), (CHANGED, CHANGED + QUIET));
    let most = most_in_10_seconds(&shop.dev.calls(), back);
    assert!(most <= RATE * 10 + BURST, "{most} calls in 10 s: {before:?}, then {after:?}");
    let calls = after.values().sum::<u64>() - before.values().sum::<u64>();
    assert!(calls <= 2 * CHANGED as u64, "{calls} calls afterwards: {before:?}, then {after:?}");
}
