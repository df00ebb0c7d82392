//! The same resources and one project, in two shards: what each operator needs of memory and processor time. Compare with
//! the first form and as many deployments.

use std::time::Duration;

use futures::{StreamExt, TryStreamExt, stream};
use kube::api::{Patch, PatchParams};
use local_control_plane::LocalCluster;
use serde_json::json;

use crate::process::Operator;
use crate::report::Report;
use crate::requests::Requests;
use crate::{Counts, Outcome, WATCHED, calls, deployments_of, manifest, open_shop, until_ready, violations};

/// Selectors of the two: exactly one matches each resource.
const SHARDS: [(&str, &str); 2] = [("even", "shard=even"), ("odd", "shard!=even")];

pub(crate) async fn measure(
    cluster: &LocalCluster,
    binary: &str,
    deployments: usize,
    settled: Duration,
) -> Outcome<Report> {
    let settings = json!({"deployments": deployments, "settled_seconds": settled.as_secs()});
    let mut report = Report::begin("shards", &settings);
    let client = cluster.client()?;
    let dev = open_shop(&client).await?;
    let start = |(lease, selector)| {
        let of_shard = ["--leader-elect", "--lease-name", lease, "--selector", selector];
        Operator::start(cluster, binary, &[&WATCHED[..], &of_shard].concat())
    };
    let operators = SHARDS.into_iter().map(start).collect::<Outcome<Vec<_>>>()?;

    report.phase("until_ready");
    let requests = Requests::begin(&client).await?;
    let api = deployments_of(&client);
    let apply = async |number: usize| {
        let name = format!("tax-{number:05}");
        let mut manifest = manifest(&name, "5m");
        let shard = if number.is_multiple_of(2) { "even" } else { "odd" };
        manifest["metadata"]["labels"] = json!({"shard": shard});
        api.patch(&name, &PatchParams::apply("scale"), &Patch::Apply(manifest)).await.map(drop)
    };
    stream::iter(0..deployments).map(apply).buffer_unordered(16).try_collect::<()>().await?;
    until_ready(&api, deployments).await?;
    report.figure("calls until Ready", calls(&dev, &Counts::new()));
    violations(&mut report, &dev, deployments, 1);
    requests.end(&client, &mut report, "until Ready", deployments).await?;

    let before = dev.counts();
    tokio::time::sleep(settled).await;
    for ((lease, _), operator) in SHARDS.iter().zip(&operators) {
        report.phase(lease);
        operator.figures(&mut report, deployments / SHARDS.len())?;
    }
    report.phase("settled");
    report.figure("calls while settled", calls(&dev, &before));
    for operator in operators {
        operator.stop().await?;
    }
    dev.stop().await?;
    Ok(report)
}
