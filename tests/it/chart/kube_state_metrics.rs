//! What the chart renders for kube-state-metrics: its configuration, its rights, and alerts that name the resource. What
//! values change of it is in `tests/fixtures/chart/monitoring.changes`.

use super::monitoring::alerts;
use super::renders::only;
use super::rights::words;
use crate::helm::identity;
use crate::prelude::*;

const ENABLED: &str = "metrics.kubeStateMetrics.enabled=true";

/// Alerts that name the resource where kube-state-metrics is used.
const BY_RESOURCE: [&str; 4] =
    ["ConnectDeploymentStuck", "ConnectProjectFailing", "ConnectResourceMetricsMissing", "ConnectResourceStalled"];

#[test]
fn the_configuration_is_the_file_in_the_namespace_of_kube_state_metrics() {
    let default = only("ConfigMap", ENABLED);
    assert_eq!(identity(&default), "ConfigMap/connect-operator/connect-operator-kube-state-metrics");
    let file = text_of(format!("{CHART}/files/kube-state-metrics.yaml"));
    assert_eq!(default["data"], json!({"config.yaml": file.trim_end()}));
}

#[test]
fn its_account_may_list_and_watch_the_kinds_and_nothing_else() {
    let kinds = connect_operator::crd::all()
        .into_iter()
        .map(|crd| format!("connect-operator.io/{}: list watch", crd.spec.names.plural));
    let definitions = "apiextensions.k8s.io/customresourcedefinitions: list watch".to_owned();
    let expected: BTreeSet<_> = kinds.chain([definitions]).collect();
    let manifests = helm::manifests(&["--set", ENABLED]);
    let name = "connect-operator:connect-operator:kube-state-metrics";
    let role = manifests.iter().find(|it| it["kind"] == "ClusterRole" && it["metadata"]["name"] == name);
    assert_eq!(words(&role.expect("a role")["rules"]), expected);
}

fn names(alerts: &[Value]) -> Vec<&str> {
    alerts.iter().map(|alert| alert["alert"].as_str().unwrap()).collect()
}

#[test]
fn alerts_of_resources_come_with_their_metrics() {
    let (without, with) = (alerts("metrics.kubeStateMetrics.enabled=false"), alerts(ENABLED));
    let added: Vec<_> = with.iter().filter(|alert| !without.contains(alert)).cloned().collect();
    assert_eq!(names(&added).into_iter().collect::<BTreeSet<_>>(), BY_RESOURCE.into());
    assert_eq!(with.len(), without.len() + added.len());
    for alert in &with {
        let uses = alert["expr"].as_str().unwrap().contains("kube_connect");
        assert_eq!(uses, added.contains(alert), "{}", alert["alert"]);
    }
}
