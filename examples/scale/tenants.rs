//! Many namespaces of one install, each with a ConnectProject for another project and [`EACH`] ConnectorDeployments. The
//! remote does not answer for one project in [`HANGING`], and it measures how long the others wait.

use std::time::{Duration, Instant};

use clock::Clock;
use connect_operator::crd::ConnectorDeployment;
use dev_server::{Catalogue, Client as ApiClient, DevServer, Options, Project};
use futures::{StreamExt, TryStreamExt, stream};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use local_control_plane::LocalCluster;
use serde_json::json;

use crate::process::Operator;
use crate::report::{Report, rounded};
use crate::requests::Requests;
use crate::{LATENCY, Outcome, calls, client_of, delayed, install, manifest, prepare, ratio, until_ready};

/// ConnectorDeployments of each tenant.
const EACH: usize = 10;
/// One project in so many hangs.
const HANGING: usize = 10;

pub(crate) async fn measure(
    cluster: &LocalCluster,
    binary: &str,
    tenants: usize,
    settled: Duration,
) -> Outcome<Report> {
    let settings = json!({"tenants": tenants, "deployments_of_each": EACH, "settled_seconds": settled.as_secs()});
    let mut report = Report::begin("tenants", &settings);
    let client = cluster.client()?;
    install(&client).await?;
    let dev = DevServer::start(remote(tenants), Clock::system()).await?;
    let operator = Operator::start(cluster, binary, &[])?;
    let url = dev.url();

    report.phase("until_ready");
    let requests = Requests::begin(&client).await?;
    let started = Instant::now();
    let apply = |number| apply(&client, &url, number);
    stream::iter(0..tenants).map(apply).buffer_unordered(16).try_collect::<()>().await?;
    report.figure("seconds to apply all", rounded(started.elapsed().as_secs_f64(), 1));
    let working = (0..tenants).filter(|number| !hangs(*number)).count();
    until_ready(&Api::<ConnectorDeployment>::all(client.clone()), working * EACH).await?;
    report.figure("seconds until all of the others are Ready", rounded(started.elapsed().as_secs_f64(), 1));
    requests.end(&client, &mut report, "until Ready", tenants * EACH).await?;
    operator.figures(&mut report, tenants * EACH)?;

    report.phase("settled");
    let (before, since) = (dev.counts(), dev.now());
    tokio::time::sleep(settled).await;
    report.figure("calls while settled", calls(&dev, &before));
    report.figure("calls of one project that hangs", calls_of_a_project_that_hangs(&dev, since));
    operator.figures(&mut report, tenants * EACH)?;
    report.figure("deployments at the remote", dev.world().all(dev.now()).len());
    report.figure("memory for each tenant, KiB", rounded(ratio(operator.kibibytes("VmRSS:")?, tenants), 1));
    operator.stop().await?;
    dev.stop().await?;
    Ok(report)
}

fn hangs(number: usize) -> bool {
    number.is_multiple_of(HANGING)
}

fn key(number: usize) -> String {
    format!("tenant-{number:04}")
}

/// A remote with one project and API client for each tenant.
fn remote(tenants: usize) -> Options {
    let keys = || (0..tenants).map(key);
    let client = |key: String| ApiClient {
        id: client_of(&key),
        secret: "dev-secret".to_owned(),
        scopes: vec![format!("manage_project:{key}")],
    };
    let projects = keys().map(|key| Project { key, production: false }).collect();
    let more = Catalogue { projects, clients: keys().map(client).collect(), ..Catalogue::default() };
    let hour = Duration::from_hours(1);
    let hanging =
        (0..tenants).filter(|number| hangs(*number)).map(|number| delayed(hour, Some(format!("/{}/", key(number)))));
    let faults = hanging.chain([delayed(LATENCY, None)]).collect();
    let catalogue = Catalogue::built_in().and(more);
    Options { catalogue, deploy_duration: Duration::from_secs(2), faults, ..Options::default() }
}

async fn apply(client: &Client, url: &str, number: usize) -> Outcome {
    let (key, parameters) = (key(number), PatchParams::apply("scale"));
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": key}});
    Api::<Namespace>::all(client.clone()).patch(&key, &parameters, &Patch::Apply(namespace)).await?;
    prepare(client, &key, &key, url, json!({})).await?;
    let api = Api::<ConnectorDeployment>::namespaced(client.clone(), &key);
    for number in 0..EACH {
        let name = format!("tax-{number}");
        api.patch(&name, &parameters, &Patch::Apply(manifest(&name, "5m"))).await?;
    }
    Ok(())
}

/// Returns the number of calls since a time; the dev server keeps the last 20,000.
fn calls_of_a_project_that_hangs(dev: &DevServer, since: Timestamp) -> usize {
    let path = format!("/{}/", key(0));
    dev.calls().iter().filter(|call| call.at >= since && call.path.contains(&path)).count()
}
