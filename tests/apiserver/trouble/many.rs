//! Many resources at once: exact counts of writes and calls. `examples/scale/` measures the rest.

use std::collections::BTreeMap;
use std::time::Duration;

use connect_operator::crd::ConnectorDeployment;
use dev_server::Options;
use futures::StreamExt as _;
use kube::ResourceExt as _;
use kube::runtime::{WatchStreamExt as _, watcher};
use serde_json::json;

use super::pace::{COARSE, FINE, meanwhile, pass, stepped};
use crate::patience::in_time;
use crate::shop::{SECRET, Shop};

const MANY: usize = 50;

/// Finalizer, planned, accepted, the annotation with the id, Deploying, and the end.
const WRITES: usize = 6;

#[tokio::test]
async fn fifty_deployments_cost_the_minimum_and_nothing_while_nothing_changes() {
    let options = Options { deploy_duration: Duration::from_secs(5), ..Options::default() };
    let mut shop = Shop::with(options, stepped()).await;
    shop.put_secret(SECRET, &[("token", "first-token-of-the-shop")]).await;
    let watched = watcher(shop.api::<ConnectorDeployment>(), watcher::Config::default());
    let mut seen = std::pin::pin!(watched.default_backoff().applied_objects());
    for number in 0..MANY {
        let mut manifest = shop.deployment();
        manifest["metadata"]["name"] = json!(format!("tax-{number:02}"));
        shop.sandbox.apply(&manifest).await.unwrap();
    }
    let mut versions: BTreeMap<String, Vec<ConnectorDeployment>> = BTreeMap::new();
    let all_ready = async {
        while let Some(object) = seen.next().await {
            // The watch retries after an error.
            let Ok(object) = object else { continue };
            versions.entry(object.name_any()).or_default().push(object);
            let ready = versions.values().filter(|versions| versions.last().is_some_and(is_ready));
            if ready.count() == MANY {
                break;
            }
        }
    };
    let all_ready = meanwhile(&shop.clock, FINE, all_ready);
    in_time(all_ready).await.expect("all become Ready");

    assert_eq!(shop.calls("createDeployment"), MANY as u64);
    assert_eq!(shop.calls("updateDeploymentById"), 0);
    assert_eq!(shop.calls("token"), 1);
    for (name, versions) in &versions {
        // The first version may be the applied one, or already a write of the operator.
        assert!(versions.len() <= WRITES + 1, "{name}: {} writes", versions.len() - 1);
    }

    let before = shop.dev.counts();
    pass(&shop.clock, COARSE, Duration::from_hours(1)).await;
    let after = shop.dev.counts();
    let calls: u64 = after.values().sum::<u64>() - before.values().sum::<u64>();
    assert!(calls <= 30, "{calls} calls in an hour: {before:?}, then {after:?}");
    let untouched = shop.api::<ConnectorDeployment>().list(&kube::api::ListParams::default()).await.unwrap();
    for object in untouched {
        let last = versions[&object.name_any()].last().and_then(kube::ResourceExt::resource_version);
        assert_eq!(object.resource_version(), last, "{} was written while nothing changed", object.name_any());
    }

    // A restarted operator writes nothing.
    shop.stop_operator().await;
    let before = shop.dev.counts();
    shop.start_operator();
    shop.until_project("reconciled", |project| project.status.is_some()).await;
    pass(&shop.clock, FINE, Duration::from_mins(1)).await;
    let after = shop.dev.counts();
    let calls: u64 = after.values().sum::<u64>() - before.values().sum::<u64>();
    assert!(calls <= 5, "{calls} calls after a restart: {before:?}, then {after:?}");
    for operation in ["createDeployment", "updateDeploymentById"] {
        assert_eq!(before.get(operation), after.get(operation), "{operation} after a restart");
    }
}

fn is_ready(object: &ConnectorDeployment) -> bool {
    let conditions = object.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}
