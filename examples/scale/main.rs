//! Measures the operator with many ConnectorDeployments: a real etcd and kube-apiserver, the dev server, and the
//! operator as a separate process, all on this machine.
//!
//! ```text
//! cargo build --release
//! cargo run --release --example scale -- [DEPLOYMENTS [MINUTES [INTERVAL]]]
//! cargo run --release --example scale -- projects [PROJECTS [MINUTES]]
//! ```
//!
//! The first form applies DEPLOYMENTS (100) at once. After all are Ready it measures for MINUTES (3) the activity while
//! nothing changes, with INTERVAL (5m) as the poll interval of each resource; then it restarts the operator, and
//! deletes all. Each remote call takes 25 ms, each deployment 2 s. It prints the figures to standard output, one on
//! each line, and at the end all of them as one line of JSON, which `scripts/bench scale` compares with that of another
//! run (`report.rs`); counts are exact, times depend on the machine. The second form measures ConnectProjects
//! (`projects.rs`). It measures `target/release/connect-operator`, or the binary that `OPERATOR` names. etcd and
//! kube-apiserver can be profiled meanwhile (docs/operations/performance.md).

use std::collections::BTreeMap;
use std::error::Error;
use std::time::{Duration, Instant};

use clock::{Clock, between};
use connect_operator::crd::{self, ConnectorDeployment};
use connect_operator::names;
use dev_server::{Call, DevServer, Fault, FaultAnswer, Options};
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::runtime::{WatchStreamExt, conditions, wait, watcher};
use kube::{Api, Client, ResourceExt};
use local_control_plane::{self, Assets, LocalCluster};
use serde_json::{Value, json};

use crate::process::Operator;
use crate::report::{Report, rounded};
use crate::requests::Requests;

mod process;
mod projects;
mod report;
mod requests;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const NAMESPACE: &str = "default";

#[tokio::main]
async fn main() -> Outcome {
    let mut arguments = std::env::args().skip(1).peekable();
    let of_projects = arguments.next_if(|word| word == "projects").is_some();
    let many = arguments.next().map_or(Ok(if of_projects { 1_000 } else { 100 }), |text| text.parse())?;
    let minutes = arguments.next().map_or(Ok(3), |text| text.parse::<u64>())?.max(1);
    let interval = arguments.next().unwrap_or_else(|| "5m".to_owned());
    let binary = std::env::var("OPERATOR").unwrap_or_else(|_| "target/release/connect-operator".to_owned());
    let assets = Assets::find_or_build(|step| eprintln!("{step}")).await?;
    let options = local_control_plane::Options::new(assets, binary.clone().into());
    let cluster = LocalCluster::start(local_control_plane::Options { profiling: true, ..options }).await?;
    eprintln!("folder of the cluster: {}", cluster.folder().display());
    let settled = Duration::from_mins(minutes);
    let measured = if of_projects {
        projects::measure(&cluster, &binary, many, settled).await
    } else {
        measure(&cluster, &binary, many, settled, &interval).await
    };
    cluster.stop().await?;
    measured?.print();
    Ok(())
}

async fn measure(
    cluster: &LocalCluster,
    binary: &str,
    deployments: usize,
    settled: Duration,
    interval: &str,
) -> Outcome<Report> {
    let settings = json!({"deployments": deployments, "settled_seconds": settled.as_secs(), "interval": interval});
    let mut report = Report::begin("deployments", &settings);
    let client = cluster.client()?;
    install(&client).await?;
    let slow = FaultAnswer { delay_ms: 25, ..FaultAnswer::default() };
    let faults = vec![Fault { answer: slow, ..Fault::default() }];
    let options = Options { deploy_duration: Duration::from_secs(2), faults, ..Options::default() };
    let dev = DevServer::start(options, Clock::system()).await?;
    prepare(&client, &dev.url()).await?;
    let mut operator = Operator::start(cluster, binary, &[])?;

    report.phase("until_ready");
    let requests = Requests::begin(&client).await?;
    let started = Instant::now();
    apply(&client, deployments, interval).await?;
    report.figure("seconds to apply all", rounded(started.elapsed().as_secs_f64(), 1));
    until_ready(&client, deployments).await?;
    report.figure("seconds until all are Ready", rounded(started.elapsed().as_secs_f64(), 1));
    report.figure("calls until Ready", calls(&dev, 0));
    report.figure("most calls for one resource in 10 s", most_in_10_seconds(&dev.calls()));
    violations(&mut report, &dev, deployments);
    // What follows Ready immediately (events, counts) belongs to it.
    tokio::time::sleep(Duration::from_secs(10)).await;
    requests.end(&client, &mut report, "until Ready", deployments).await?;
    operator.figures(&mut report, deployments)?;

    report.phase("settled");
    let requests = Requests::begin(&client).await?;
    let before = dev.calls().len();
    tokio::time::sleep(settled).await;
    report.figure("calls while settled", calls(&dev, before));
    let made = dev.calls().len() - before;
    let each_minute = ratio(made * 60, usize::try_from(settled.as_secs())?);
    report.figure("calls a minute while settled", rounded(each_minute, 1));
    requests.end(&client, &mut report, "while settled", deployments).await?;
    operator.figures(&mut report, deployments)?;

    report.phase("restarted");
    let requests = Requests::begin(&client).await?;
    let before = dev.calls().len();
    operator.stop().await?;
    operator = Operator::start(cluster, binary, &[])?;
    tokio::time::sleep(Duration::from_secs(30)).await;
    report.figure("calls after a restart", calls(&dev, before));
    requests.end(&client, &mut report, "after a restart", deployments).await?;
    operator.figures(&mut report, deployments)?;
    violations(&mut report, &dev, deployments);

    report.phase("deleted");
    let requests = Requests::begin(&client).await?;
    let before = dev.calls().len();
    let started = Instant::now();
    let api = Api::<ConnectorDeployment>::namespaced(client.clone(), NAMESPACE);
    api.delete_collection(&DeleteParams::default(), &ListParams::default()).await?;
    until_none(&api).await?;
    report.figure("seconds until all are gone", rounded(started.elapsed().as_secs_f64(), 1));
    report.figure("calls of the deletion", calls(&dev, before));
    report.figure("deployments left at the remote", dev.world().all(dev.now()).len());
    requests.end(&client, &mut report, "of the deletion", deployments).await?;
    operator.figures(&mut report, deployments)?;
    operator.stop().await?;
    dev.stop().await?;
    Ok(report)
}

#[allow(clippy::cast_precision_loss, reason = "rounded figures are sufficient")]
fn ratio(count: usize, of: usize) -> f64 {
    count as f64 / of as f64
}

async fn install(client: &Client) -> Outcome {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    for crd in crd::all() {
        let name = crd.name_any();
        definitions.patch(&name, &PatchParams::apply(names::FIELD_MANAGER), &Patch::Apply(&crd)).await?;
        wait::await_condition(definitions.clone(), &name, conditions::is_crd_established()).await?;
    }
    Ok(())
}

async fn prepare(client: &Client, url: &str) -> Outcome {
    let parameters = PatchParams::apply("scale");
    let secrets = Api::<Secret>::namespaced(client.clone(), NAMESPACE);
    for (name, data) in [
        ("shop-credentials", json!({"clientId": "dev-client", "clientSecret": "dev-secret"})),
        ("tax", json!({"token": "token-of-the-tax-service"})),
    ] {
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data});
        secrets.patch(name, &parameters, &Patch::Apply(secret)).await?;
    }
    let project = json!({
        "apiVersion": "connect-operator.io/v1alpha1", "kind": "ConnectProject", "metadata": {"name": "shop"},
        "spec": {"projectKey": "demo", "region": "europe-west1.gcp", "apiUrl": url, "authUrl": url,
            "credentialsSecretRef": {"name": "shop-credentials"}, "requestsPerSecond": 1000},
    });
    let projects = Api::<crd::ConnectProject>::namespaced(client.clone(), NAMESPACE);
    projects.patch("shop", &parameters, &Patch::Apply(project)).await?;
    Ok(())
}

async fn apply(client: &Client, deployments: usize, interval: &str) -> Outcome {
    let api = Api::<ConnectorDeployment>::namespaced(client.clone(), NAMESPACE);
    let apply = async |number: usize| {
        let name = format!("tax-{number:05}");
        let secured = json!({"key": "API_TOKEN", "valueFrom": {"secretKeyRef": {"name": "tax", "key": "token"}}});
        let manifest = json!({
            "apiVersion": "connect-operator.io/v1alpha1", "kind": "ConnectorDeployment", "metadata": {"name": name},
            "spec": {"projectRef": {"name": "shop"}, "connector": {"key": "demo-connector"}, "interval": interval,
                "configurations": [{"applicationName": "service",
                    "standardConfiguration": [{"key": "LOG_LEVEL", "value": "info"}],
                    "securedConfiguration": [secured]}]},
        });
        api.patch(&name, &PatchParams::apply("scale"), &Patch::Apply(manifest)).await.map(|_| ())
    };
    stream::iter(0..deployments).map(apply).buffer_unordered(16).try_collect::<()>().await?;
    Ok(())
}

async fn until_ready(client: &Client, deployments: usize) -> Outcome {
    let api = Api::<ConnectorDeployment>::namespaced(client.clone(), NAMESPACE);
    let mut ready = BTreeMap::new();
    let mut events = watcher(api, watcher::Config::default()).default_backoff().applied_objects().boxed();
    while let Some(object) = events.try_next().await? {
        let conditions = object.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
        let is = conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True");
        ready.insert(object.name_any(), is);
        if ready.values().filter(|ready| **ready).count() == deployments {
            break;
        }
    }
    Ok(())
}

async fn until_none(api: &Api<ConnectorDeployment>) -> Outcome {
    let one = ListParams::default().limit(1);
    while !api.list_metadata(&one).await?.items.is_empty() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}

/// Counts the calls by operation, from the given index on.
fn calls(dev: &DevServer, from: usize) -> Value {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for call in dev.calls().iter().skip(from) {
        *counts.entry(call.operation).or_default() += 1;
    }
    json!(counts)
}

/// Reports the violations: two deployments for one resource, and redeploys that nothing requested.
fn violations(report: &mut Report, dev: &DevServer, deployments: usize) {
    let all = dev.world().all(dev.now());
    report.figure("duplicate creates", all.len().saturating_sub(deployments));
    report.figure("needless redeploys", all.iter().filter(|deployment| deployment.version != 1).count());
    report.figure("tokens", dev.counts().get("token").copied().unwrap_or_default());
}

/// Returns the most calls to one path within 10 s; a LIST belongs to no resource.
fn most_in_10_seconds(calls: &[Call]) -> usize {
    let mut times: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for call in calls.iter().filter(|call| call.path.matches('/').count() > 2) {
        times.entry(&call.path).or_default().push(call.at);
    }
    let most = |times: &Vec<jiff::Timestamp>| {
        let within = |start: &jiff::Timestamp| {
            times.iter().filter(|at| *at >= start && between(*start, **at) < Duration::from_secs(10)).count()
        };
        times.iter().map(within).max().unwrap_or_default()
    };
    times.values().map(most).max().unwrap_or_default()
}
