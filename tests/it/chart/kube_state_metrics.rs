//! What the chart renders for kube-state-metrics: its configuration, its rights, and alerts that name the resource.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::monitoring::{alerts, text_of};
use super::renders::only;
use super::rights::words;
use crate::helm::{self, identity};

const ENABLED: &str = "metrics.kubeStateMetrics.enabled=true";

/// Alerts that name the resource where kube-state-metrics is used.
const BY_RESOURCE: [&str; 4] =
    ["ConnectDeploymentStuck", "ConnectProjectFailing", "ConnectResourceMetricsMissing", "ConnectResourceStalled"];

#[test]
fn the_configuration_is_the_file_in_the_namespace_of_kube_state_metrics() {
    let default = only("ConfigMap", ENABLED);
    assert_eq!(identity(&default), "ConfigMap/connect-operator/connect-operator-kube-state-metrics");
    assert_eq!(default["data"], json!({"config.yaml": text_of("files/kube-state-metrics.yaml").trim_end()}));

    let set = ["namespace=monitoring", "labels.team=a", "annotations.note=b"]
        .map(|it| format!("metrics.kubeStateMetrics.{it}"));
    let elsewhere = only("ConfigMap", &format!("{ENABLED},{}", set.join(",")));
    assert_eq!(identity(&elsewhere), "ConfigMap/monitoring/connect-operator-connect-operator-kube-state-metrics");
    assert_eq!(elsewhere["metadata"]["labels"]["team"], "a");
    assert_eq!(elsewhere["metadata"]["annotations"], json!({"note": "b"}));
}

#[test]
fn its_account_may_list_and_watch_the_kinds_and_nothing_else() {
    let kinds = connect_operator::crd::all()
        .into_iter()
        .map(|crd| format!("connect-operator.io/{}: list watch", crd.spec.names.plural));
    let definitions = "apiextensions.k8s.io/customresourcedefinitions: list watch".to_owned();
    let expected: BTreeSet<_> = kinds.chain([definitions]).collect();
    for (set, account, namespace) in [
        ("replicaCount=2", "kube-state-metrics", "connect-operator"),
        (
            "metrics.kubeStateMetrics.namespace=monitoring,metrics.kubeStateMetrics.serviceAccountName=ksm",
            "ksm",
            "monitoring",
        ),
        ("watchNamespaces={shop}", "kube-state-metrics", "connect-operator"),
    ] {
        let manifests = helm::manifests(&["--set", &format!("{ENABLED},{set}")]);
        let name = "connect-operator:connect-operator:kube-state-metrics";
        let find = |kind: &str| {
            let found = manifests.iter().find(|it| it["kind"] == kind && it["metadata"]["name"] == name);
            found.unwrap_or_else(|| panic!("{set}: {kind}"))
        };
        assert_eq!(words(&find("ClusterRole")["rules"]), expected, "{set}");
        let binding = find("ClusterRoleBinding");
        assert_eq!(binding["roleRef"]["name"], name, "{set}");
        let subjects = json!([{"kind": "ServiceAccount", "name": account, "namespace": namespace}]);
        assert_eq!(binding["subjects"], subjects, "{set}");
    }
}

#[test]
fn nothing_of_it_is_rendered_unless_it_is_enabled() {
    for (set, expected) in [
        ("replicaCount=2", vec![]),
        ("metrics.kubeStateMetrics.enabled=true,metrics.enabled=false", vec![]),
        ("metrics.kubeStateMetrics.enabled=true,rbac.create=false", vec!["ConfigMap"]),
        ("metrics.kubeStateMetrics.enabled=true", vec!["ClusterRole", "ClusterRoleBinding", "ConfigMap"]),
    ] {
        let manifests = helm::manifests(&["--set", set]);
        let its = manifests
            .iter()
            .filter(|it| it["metadata"]["name"].as_str().is_some_and(|it| it.ends_with("kube-state-metrics")));
        let kinds: BTreeSet<_> = its.map(|it| it["kind"].as_str().unwrap()).collect();
        assert_eq!(kinds, expected.into_iter().collect(), "{set}");
    }
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

#[test]
fn an_alert_by_resource_is_adjusted_like_any_other() {
    let stalled = |set: &str| {
        let alerts = alerts(&format!("{ENABLED},@.alerts.ConnectResourceStalled.{set}"));
        alerts.into_iter().find(|alert| alert["alert"] == "ConnectResourceStalled")
    };
    for (set, pointer, expected) in [
        ("for=1d", "/for", "1d"),
        ("labels.team=a", "/labels/team", "a"),
        ("annotations.summary=a", "/annotations/summary", "a"),
    ] {
        let alert = stalled(set).expect("it is rendered");
        assert_eq!(alert.pointer(pointer), Some(&json!(expected)), "{set}");
        assert!(alert["expr"].as_str().unwrap().contains("kube_connectordeployment_status_stalled"), "{set}");
    }
    assert_eq!(stalled("enabled=false"), None);
    let adjusted = alerts(&format!("{ENABLED},@.alerts.ConnectDeploymentStuck.threshold=900"));
    let stuck = adjusted.iter().find(|alert| alert["alert"] == "ConnectDeploymentStuck").expect("it is rendered");
    let stuck = stuck["expr"].as_str().unwrap();
    assert!(stuck.contains("> 900") && !stuck.contains("1800"), "{stuck}");
    let rule = "metrics.prometheusRule";
    let set = format!("{ENABLED},{rule}.enabled=true,{rule}.alerts.ConnectResourceStalled.threshold=5");
    let refusal = helm::text(&["--set", &set]).expect_err("it fires for each resource");
    assert!(refusal.contains("this alert has no threshold, because it fires for each resource"), "{refusal}");
}

#[test]
fn a_wrong_account_is_refused() {
    for (set, words) in [
        ("serviceAccountName=", "minLength"),
        ("serviceAccountName=A_b", "does not match pattern"),
        ("namespace=A_b", "does not match pattern"),
        ("customResourceState.enabled=true", "'customResourceState' not allowed"),
    ] {
        let refusal = helm::text(&["--set", &format!("metrics.kubeStateMetrics.{set}")]).expect_err(set);
        assert!(refusal.contains("kubeStateMetrics") && refusal.contains(words), "{set}: {refusal}");
    }
}
