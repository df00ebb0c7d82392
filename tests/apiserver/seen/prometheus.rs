//! A real Prometheus scrapes a real operator: every query of the dashboard and of the alerts is evaluated on the
//! result.

use super::kube_state_metrics::KubeStateMetrics;
use super::{get, traced};
use crate::prelude::*;

/// Starts Prometheus, which scrapes the operator and kube-state-metrics; `None`: it is not installed, which is printed,
/// and fails with `REQUIRE_PROMETHEUS`.
pub(super) fn prometheus(
    folder: &Path,
    address: SocketAddr,
    operator: SocketAddr,
    resources: SocketAddr,
) -> Option<Child> {
    let files = in_checkout("charts/connect-operator/files");
    let config = format!(
        "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\n\
         rule_files: ['{rules}/alerts.yaml', '{rules}/alerts-by-resource.yaml']\n\
         scrape_configs:\n\
         - {{job_name: operator, honor_labels: true, static_configs: [{{targets: ['{operator}']}}]}}\n\
         - {{job_name: resources, honor_labels: true, static_configs: [{{targets: ['{resources}']}}]}}\n",
        rules = files.display()
    );
    std::fs::write(folder.join("prometheus.yml"), config).unwrap();
    let started = Command::new("prometheus")
        .arg(format!("--config.file={}", folder.join("prometheus.yml").display()))
        .arg(format!("--storage.tsdb.path={}", folder.join("data").display()))
        .arg(format!("--web.listen-address={address}"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(folder.join("log")).unwrap())
        .kill_on_drop(true)
        .spawn();
    match started {
        Ok(child) => Some(child),
        Err(error) if std::env::var_os("REQUIRE_PROMETHEUS").is_none() => {
            eprintln!("NOT TRIED: prometheus: {error}; install the package `prometheus`");
            None
        }
        Err(error) => panic!("prometheus: {error}; install the package `prometheus`"),
    }
}

/// A response of the HTTP API of Prometheus.
pub(super) async fn ask(address: SocketAddr, path: &str) -> Value {
    let answer = get(address, path).await;
    let body = answer.split_once("\r\n\r\n").expect("a body").1;
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{path}: {error}: {answer}"))
}

/// Samples of an instant query, which must be valid.
async fn query(address: SocketAddr, expression: &str) -> Vec<Value> {
    let query: String = form_urlencoded::byte_serialize(expression.as_bytes()).collect();
    let answer = ask(address, &format!("/api/v1/query?query={query}")).await;
    assert_eq!(answer["status"], "success", "{expression}: {answer}");
    answer["data"]["result"].as_array().expect("a vector").clone()
}

/// Returns once a query has a result.
pub(super) async fn until(address: SocketAddr, expression: &str) -> Vec<Value> {
    let some = async {
        loop {
            let samples = query(address, expression).await;
            if !samples.is_empty() {
                return samples;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    in_time(some).await.unwrap_or_else(|_| panic!("no data: {expression}"))
}

/// Expressions of the dashboard, as Grafana sends them.
fn dashboard() -> Vec<String> {
    let dashboard = yaml_of("charts/connect-operator/files/dashboard.json");
    let panels = dashboard["panels"].as_array().unwrap().clone();
    let targets = panels.into_iter().filter_map(|panel| panel["targets"].as_array().cloned()).flatten();
    let expressions = targets.map(|target| target["expr"].as_str().unwrap().to_owned());
    let filled = |text: String| text.replace("$job", ".+").replace("$__rate_interval", "10s");
    expressions.map(filled).collect()
}

#[tokio::test]
async fn every_query_of_dashboard_and_alerts_works_on_the_metrics_of_a_real_operator() {
    let shop = Shop::without_operator(quick(), Clock::system()).await;
    let (target, address, folder) = (addresses::free(), addresses::free(), tempfile::tempdir().unwrap());
    let resources = KubeStateMetrics::start(&shop.sandbox).await;
    let Some(_prometheus) = prometheus(folder.path(), address, target, resources.address) else { return };
    let log = tempfile::NamedTempFile::new().unwrap();
    let listen = target.to_string();
    let _operator = traced::start(&shop, log.as_file(), &["--metrics-listen", &listen, "--health-listen", &listen]);
    shop.put_project_and_secrets().await;
    shop.deploy().await;
    let ready = get(target, "/readyz").await;
    assert!(ready.contains(" 200 ") && ready.ends_with("readyz check passed\n"), "{ready}");
    until(address, "connect_operator_leader == 1").await;

    let (by_resource, of_operator): (Vec<_>, Vec<_>) =
        dashboard().into_iter().partition(|expression| expression.contains("kube_connect"));
    for expression in of_operator {
        until(address, &expression).await;
    }
    let namespace = shop.sandbox.namespace.as_str();
    until(address, &format!("kube_connectordeployment_status_ready{{namespace=\"{namespace}\"}} == 1")).await;
    let groups = ask(address, "/api/v1/rules").await;
    let groups = groups["data"]["groups"].as_array().expect("groups").clone();
    assert_eq!(groups.len(), 2, "{groups:?}");
    for rule in groups.iter().flat_map(|group| group["rules"].as_array().expect("rules")) {
        assert_eq!(rule["health"], "ok", "{rule}");
    }
    // Other tests have objects in the same cluster.
    let alerts = format!("ALERTS{{customresource_kind=\"\"}} or ALERTS{{namespace=\"{namespace}\"}}");
    until(address, &format!("absent({alerts})")).await;
    // An alert that becomes pending: the remote refuses the credentials.
    shop.dev.revoke_tokens();
    let refused = FaultAnswer {
        status: Some(401),
        body: Some(serde_json::json!({"error": "invalid_client"})),
        ..FaultAnswer::default()
    };
    shop.dev.fault(Fault::of("token", refused)).unwrap();
    shop.annotate(connect_operator::names::RECONCILE_REQUESTED_AT, "now").await;
    let pending = "ALERTS{alertname=\"ConnectProjectFailing\",alertstate=\"pending\"";
    let named = until(address, &format!("{pending},namespace=\"{namespace}\"}}")).await;
    assert_eq!(named[0]["metric"]["name"], PROJECT, "{named:?}");
    assert_eq!(named[0]["metric"]["reason"], "CredentialsRejected", "{named:?}");
    let not_ready = by_resource.iter().find(|expression| expression.contains("_status_ready_time")).expect("a table");
    until(address, not_ready).await;
    for expression in by_resource {
        query(address, &expression).await;
    }
}
