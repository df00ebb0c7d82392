//! Measures the operator with many ConnectorDeployments: a real etcd and kube-apiserver, the dev server, and the
//! operator as a separate process, all on this machine.
//!
//! ```text
//! cargo build --release
//! cargo run --release --example scale -- [DEPLOYMENTS [MINUTES [INTERVAL]]]
//! cargo run --release --example scale -- projects [PROJECTS [MINUTES]]
//! cargo run --release --example scale -- tenants [TENANTS [MINUTES]]
//! cargo run --release --example scale -- shards [DEPLOYMENTS [MINUTES]]
//! ```
//!
//! The first form applies DEPLOYMENTS (100) at once. After all are Ready it measures for MINUTES (3) the activity while
//! nothing changes, with INTERVAL (5m) as the poll interval of each resource; then it restarts the operator, replaces the
//! credentials of the project, changes the Secret that all of them name, which redeploys each once, and deletes all. Each
//! remote call takes 25 ms, each deployment 2 s. It prints the figures to standard output, one on each line, and at the end
//! all of them as one line of JSON, which `scripts/bench scale` compares with that of another run (`report.rs`); counts are
//! exact, times depend on the machine. The other forms are described in `projects.rs`, `tenants.rs` and `shards.rs`. It measures `target/release/connect-operator`, or the binary that `OPERATOR` names. etcd and kube-apiserver can be profiled
//! meanwhile (docs/operations/performance.md).

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

use crate::answers::Answers;
use crate::process::Operator;
use crate::report::{Report, rounded};
use crate::requests::Requests;

mod answers;
mod process;
mod projects;
mod report;
mod requests;
mod shards;
mod tenants;

/// Numbers of calls, by operation.
type Counts = BTreeMap<&'static str, u64>;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const NAMESPACE: &str = "default";
/// Arguments of an operator that watches this namespace only.
const WATCHED: [&str; 2] = ["--watch-namespaces", NAMESPACE];
/// Time until the remote answers a call.
const LATENCY: Duration = Duration::from_millis(25);
/// Requests that delete all resources, at most.
const ATTEMPTS: usize = 20;

#[tokio::main]
async fn main() -> Outcome {
    let mut arguments = std::env::args().skip(1).peekable();
    let form = arguments.next_if(|word| ["projects", "tenants", "shards"].contains(&word.as_str()));
    let many = arguments.next().map_or(Ok(if form.is_some() { 1_000 } else { 100 }), |text| text.parse())?;
    let minutes = arguments.next().map_or(Ok(3), |text| text.parse::<u64>())?.max(1);
    let interval = arguments.next().unwrap_or_else(|| "5m".to_owned());
    let binary = std::env::var("OPERATOR").unwrap_or_else(|_| "target/release/connect-operator".to_owned());
    let assets = Assets::find_or_build(|step| eprintln!("{step}")).await?;
    let cluster = LocalCluster::start(local_control_plane::Options { assets, profiling: true }).await?;
    eprintln!("folder of the cluster: {}", cluster.folder().display());
    let settled = Duration::from_mins(minutes);
    let measured = match form.as_deref() {
        Some("projects") => projects::measure(&cluster, &binary, many, settled).await,
        Some("tenants") => tenants::measure(&cluster, &binary, many, settled).await,
        Some(_) => shards::measure(&cluster, &binary, many, settled).await,
        None => measure(&cluster, &binary, many, settled, &interval).await,
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
    let dev = open_shop(&client).await?;
    let created = Answers::of_creates(&dev);
    let mut operator = Operator::start(cluster, binary, &WATCHED)?;

    report.phase("until_ready");
    let requests = Requests::begin(&client).await?;
    let started = Instant::now();
    let applied = apply(&client, deployments, interval).await?;
    report.figure("seconds to apply all", rounded(started.elapsed().as_secs_f64(), 1));
    until_ready(&deployments_of(&client), deployments).await?;
    report.figure("seconds until all are Ready", rounded(started.elapsed().as_secs_f64(), 1));
    created.figures(&mut report, "from apply to create", |name| applied.get(name).copied());
    report.figure("calls until Ready", calls(&dev, &Counts::new()));
    report.figure("most calls for one resource in 10 s", most_in_10_seconds(&dev.calls()));
    violations(&mut report, &dev, deployments, 1);
    // What follows Ready immediately (events, counts) belongs to it.
    tokio::time::sleep(Duration::from_secs(10)).await;
    requests.end(&client, &mut report, "until Ready", deployments).await?;
    operator.figures(&mut report, deployments)?;

    report.phase("settled");
    let requests = Requests::begin(&client).await?;
    let before = dev.counts();
    tokio::time::sleep(settled).await;
    report.figure("calls while settled", calls(&dev, &before));
    let made = dev.counts().values().sum::<u64>() - before.values().sum::<u64>();
    let each_minute = ratio(usize::try_from(made * 60)?, usize::try_from(settled.as_secs())?);
    report.figure("calls a minute while settled", rounded(each_minute, 1));
    requests.end(&client, &mut report, "while settled", deployments).await?;
    operator.figures(&mut report, deployments)?;

    report.phase("restarted");
    let requests = Requests::begin(&client).await?;
    let before = dev.counts();
    operator.stop().await?;
    operator = Operator::start(cluster, binary, &WATCHED)?;
    tokio::time::sleep(Duration::from_secs(30)).await;
    report.figure("calls after a restart", calls(&dev, &before));
    requests.end(&client, &mut report, "after a restart", deployments).await?;
    operator.figures(&mut report, deployments)?;
    violations(&mut report, &dev, deployments, 1);

    report.phase("rotated");
    let requests = Requests::begin(&client).await?;
    let before = dev.counts();
    write_secret(&client, "shop-credentials", &json!({"clientId": "api-clients-client", "clientSecret": "dev-secret"}))
        .await?;
    tokio::time::sleep(Duration::from_secs(30)).await;
    report.figure("calls after other credentials", calls(&dev, &before));
    requests.end(&client, &mut report, "after other credentials", deployments).await?;
    violations(&mut report, &dev, deployments, 1);

    report.phase("redeployed");
    let requests = Requests::begin(&client).await?;
    let redeployed = Answers::of_redeploys(&dev);
    let (before, started) = (dev.counts(), Instant::now());
    write_secret(&client, "tax", &json!({"token": "next-token-of-the-tax-service"})).await?;
    while dev.world().all(dev.now()).iter().any(|deployment| deployment.version == 1) {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    report.figure("seconds until all are redeployed", rounded(started.elapsed().as_secs_f64(), 1));
    until_ready(&deployments_of(&client), deployments).await?;
    report.figure("seconds until all are Ready again", rounded(started.elapsed().as_secs_f64(), 1));
    redeployed.figures(&mut report, "from the Secret to the redeploy", |_| Some(started));
    report.figure("calls of the redeploys", calls(&dev, &before));
    tokio::time::sleep(Duration::from_secs(10)).await;
    requests.end(&client, &mut report, "of the redeploys", deployments).await?;
    operator.figures(&mut report, deployments)?;
    violations(&mut report, &dev, deployments, 2);

    report.phase("deleted");
    let requests = Requests::begin(&client).await?;
    let before = dev.counts();
    let started = Instant::now();
    let api = deployments_of(&client);
    delete_all(&api).await?;
    until_none(&api).await?;
    report.figure("seconds until all are gone", rounded(started.elapsed().as_secs_f64(), 1));
    report.figure("calls of the deletion", calls(&dev, &before));
    report.figure("deployments left at the remote", dev.world().all(dev.now()).len());
    requests.end(&client, &mut report, "of the deletion", deployments).await?;
    operator.figures(&mut report, deployments)?;
    operator.stop().await?;
    dev.stop().await?;
    Ok(report)
}

/// Delays the answers of the remote. `path`: only those of calls whose path contains it.
fn delayed(by: Duration, path: Option<String>) -> Fault {
    let delay_ms = u64::try_from(by.as_millis()).unwrap_or(u64::MAX);
    Fault { path, answer: FaultAnswer { delay_ms, ..FaultAnswer::default() }, ..Fault::default() }
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

async fn write_secret(client: &Client, name: &str, data: &Value) -> Outcome {
    write_secret_in(client, NAMESPACE, name, data).await
}

async fn write_secret_in(client: &Client, namespace: &str, name: &str, data: &Value) -> Outcome {
    let secrets = Api::<Secret>::namespaced(client.clone(), namespace);
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data});
    secrets.patch(name, &PatchParams::apply("scale"), &Patch::Apply(secret)).await?;
    Ok(())
}

/// Installs the CRDs, starts a remote, and prepares the namespace with a project for it.
async fn open_shop(client: &Client) -> Outcome<DevServer> {
    install(client).await?;
    let faults = vec![delayed(LATENCY, None)];
    let options = Options { deploy_duration: Duration::from_secs(2), faults, ..Options::default() };
    let dev = DevServer::start(options, Clock::system()).await?;
    prepare(client, NAMESPACE, "demo", &dev.url(), json!({})).await?;
    Ok(dev)
}

/// Applies the ConnectProject `shop` and the Secrets that are named, in a namespace. `more`: further fields of its spec.
async fn prepare(client: &Client, namespace: &str, key: &str, url: &str, more: Value) -> Outcome {
    let credentials = json!({"clientId": client_of(key), "clientSecret": "dev-secret"});
    write_secret_in(client, namespace, "shop-credentials", &credentials).await?;
    write_secret_in(client, namespace, "tax", &json!({"token": "token-of-the-tax-service"})).await?;
    let mut spec = json!({"projectKey": key, "region": "europe-west1.gcp", "apiUrl": url, "authUrl": url,
        "credentialsSecretRef": {"name": "shop-credentials"}, "requestsPerSecond": 1000});
    if let (Some(spec), Value::Object(more)) = (spec.as_object_mut(), more) {
        spec.extend(more);
    }
    let project = json!({"apiVersion": "connect-operator.io/v1alpha1", "kind": "ConnectProject", "metadata": {"name": "shop"},
        "spec": spec});
    let projects = Api::<crd::ConnectProject>::namespaced(client.clone(), namespace);
    projects.patch("shop", &PatchParams::apply("scale"), &Patch::Apply(project)).await?;
    Ok(())
}

/// The id of the API client of a project.
fn client_of(key: &str) -> String {
    if key == "demo" { "dev-client".to_owned() } else { format!("client-of-{key}") }
}

/// Applies the resources; returns when each was sent to the API server.
async fn apply(client: &Client, deployments: usize, interval: &str) -> Outcome<BTreeMap<String, Instant>> {
    let api = deployments_of(client);
    let apply = async |number: usize| {
        let name = format!("tax-{number:05}");
        let (manifest, at) = (manifest(&name, interval), Instant::now());
        api.patch(&name, &PatchParams::apply("scale"), &Patch::Apply(manifest)).await.map(|_| (name, at))
    };
    Ok(stream::iter(0..deployments).map(apply).buffer_unordered(16).try_collect().await?)
}

fn deployments_of(client: &Client) -> Api<ConnectorDeployment> {
    Api::namespaced(client.clone(), NAMESPACE)
}

/// A ConnectorDeployment that names the ConnectProject `shop` and the Secret `tax`.
fn manifest(name: &str, interval: &str) -> Value {
    let secured = json!({"key": "API_TOKEN", "valueFrom": {"secretKeyRef": {"name": "tax", "key": "token"}}});
    json!({
        "apiVersion": "connect-operator.io/v1alpha1", "kind": "ConnectorDeployment", "metadata": {"name": name},
        "spec": {"projectRef": {"name": "shop"}, "connector": {"key": "demo-connector"}, "interval": interval,
            "configurations": [{"applicationName": "service",
                "standardConfiguration": [{"key": "LOG_LEVEL", "value": "info"}],
                "securedConfiguration": [secured]}]},
    })
}

/// Returns once that many resources are Ready.
async fn until_ready(api: &Api<ConnectorDeployment>, deployments: usize) -> Outcome {
    let mut ready = BTreeMap::new();
    let mut events = watcher(api.clone(), watcher::Config::default()).default_backoff().applied_objects().boxed();
    while let Some(object) = events.try_next().await? {
        let conditions = object.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
        let is = conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True");
        ready.insert((object.namespace(), object.name_any()), is);
        if ready.values().filter(|ready| **ready).count() == deployments {
            break;
        }
    }
    Ok(())
}

/// Deletes all resources. The API server ends a request after a minute, and has not deleted thousands by then.
async fn delete_all(api: &Api<ConnectorDeployment>) -> Outcome {
    for _ in 0..ATTEMPTS {
        match api.delete_collection(&DeleteParams::default(), &ListParams::default()).await {
            Ok(_) => return Ok(()),
            Err(error) => eprintln!("the deletion is sent again: {error}"),
        }
    }
    Err("the API server does not delete the resources".into())
}

async fn until_none(api: &Api<ConnectorDeployment>) -> Outcome {
    let one = ListParams::default().limit(1);
    while !api.list_metadata(&one).await?.items.is_empty() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}

/// Returns the calls by operation since `before`.
fn calls(dev: &DevServer, before: &Counts) -> Value {
    let since = |(operation, count): (&'static str, u64)| {
        let new = count - before.get(operation).copied().unwrap_or_default();
        (new > 0).then_some((operation, new))
    };
    json!(dev.counts().into_iter().filter_map(since).collect::<Counts>())
}

/// Reports the violations: two deployments for one resource, and redeploys that nothing requested. `version`: that of each
/// deployment after those that were requested.
fn violations(report: &mut Report, dev: &DevServer, deployments: usize, version: i64) {
    let all = dev.world().all(dev.now());
    report.figure("duplicate creates", all.len().saturating_sub(deployments));
    report.figure("needless redeploys", all.iter().filter(|deployment| deployment.version != version).count());
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
