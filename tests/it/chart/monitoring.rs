//! What the chart renders for Prometheus and Grafana: monitors, and alerts as their values adjust them.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};

use super::renders::{only, without_log_filter};
use crate::helm::{self, CHART, identity};

/// Returns the text of a file of the chart.
pub(super) fn text_of(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(CHART).join(name)).unwrap()
}

fn file(name: &str) -> Value {
    serde_saphyr::from_str(&text_of(name)).unwrap()
}

#[test]
fn both_monitors_scrape_the_same_in_the_configured_way() {
    for (kind, values, endpoints) in [
        ("ServiceMonitor", "serviceMonitor", "/spec/endpoints"),
        ("PodMonitor", "podMonitor", "/spec/podMetricsEndpoints"),
    ] {
        let monitor = |set: &str| {
            let set = set.replace('@', &format!("metrics.{values}"));
            only(kind, &format!("metrics.{values}.enabled=true,{set}"))
        };
        let default = monitor("replicaCount=2");
        assert_eq!(
            default.pointer(endpoints),
            Some(&json!([{"port": "metrics", "path": "/metrics", "interval": "30s", "scrapeTimeout": "10s",
                "honorLabels": true}])),
            "{kind}"
        );
        assert_eq!(default["spec"]["namespaceSelector"], json!({"matchNames": ["connect-operator"]}), "{kind}");
        let service = only("Service", "replicaCount=2")["spec"]["selector"].clone();
        assert_eq!(default["spec"]["selector"]["matchLabels"], service, "{kind}");
        for (set, pointer, expected) in [
            ("@.interval=1m", "/0/interval", json!("1m")),
            ("@.scrapeTimeout=20s", "/0/scrapeTimeout", json!("20s")),
            ("@.relabelings[0].targetLabel=a", "/0/relabelings", json!([{"targetLabel": "a"}])),
            ("@.metricRelabelings[0].action=drop", "/0/metricRelabelings", json!([{"action": "drop"}])),
        ] {
            assert_eq!(monitor(set).pointer(&format!("{endpoints}{pointer}")), Some(&expected), "{kind}: {set}");
        }
    }
}

#[test]
fn objects_of_the_monitoring_have_the_configured_namespace_labels_and_annotations() {
    for (kind, values) in [
        ("ServiceMonitor", "serviceMonitor"),
        ("PodMonitor", "podMonitor"),
        ("PrometheusRule", "prometheusRule"),
        ("ConfigMap", "dashboard"),
    ] {
        let end = if kind == "ConfigMap" { "-dashboard" } else { "" };
        let enabled = format!("metrics.{values}.enabled=true");
        assert_eq!(identity(&only(kind, &enabled)), format!("{kind}/connect-operator/connect-operator{end}"));
        let set = ["namespace=monitoring", "labels.release=prometheus", "annotations.note=a"];
        let set = set.map(|it| format!("metrics.{values}.{it}")).join(",");
        let object = only(kind, &format!("{enabled},{set}"));
        // Releases of two namespaces with one name do not replace each other's objects.
        assert_eq!(identity(&object), format!("{kind}/monitoring/connect-operator-connect-operator{end}"));
        assert_eq!(object["metadata"]["labels"]["release"], "prometheus", "{kind}");
        assert_eq!(object["metadata"]["labels"]["app.kubernetes.io/name"], "connect-operator", "{kind}");
        assert_eq!(object["metadata"]["annotations"], json!({"note": "a"}), "{kind}");
    }
}

/// Returns the rendered alerts; each `@` in `set` stands for the values of the rule.
pub(super) fn alerts(set: &str) -> Vec<Value> {
    let set = set.replace('@', "metrics.prometheusRule");
    let enabled = "metrics.prometheusRule.enabled=true,metrics.kubeStateMetrics.enabled=true";
    let rule = only("PrometheusRule", &format!("{enabled},{set}"));
    let groups = rule["spec"]["groups"].as_array().unwrap().clone();
    groups.iter().flat_map(|group| group["rules"].as_array().expect("a list").clone()).collect()
}

fn names() -> Vec<String> {
    alerts("replicaCount=2").iter().map(|alert| alert["alert"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_single_alert_is_adjusted_and_all_others_stay() {
    let default = alerts("replicaCount=2");
    for (set, alert, field, expected) in [
        ("for=1d", "ConnectOperatorDown", "/for", "1d"),
        ("labels.severity=info", "ConnectOperatorDown", "/labels/severity", "info"),
        ("labels.team=a", "ConnectResourceStalled", "/labels/team", "a"),
        ("labels.team=a", "ConnectResourceStalled", "/labels/severity", "warning"),
        ("annotations.summary=a", "ConnectOperatorDown", "/annotations/summary", "a"),
        (
            "threshold=5",
            "ConnectOperatorPanics",
            "/expr",
            "sum by (kind) (increase(connect_operator_panics_total[1h])) > 5",
        ),
    ] {
        let adjusted = alerts(&format!("@.alerts.{alert}.{set}"));
        let found = adjusted.iter().find(|it| it["alert"] == alert).expect("it is rendered");
        assert_eq!(found.pointer(field), Some(&json!(expected)), "{alert}: {set}");
        let others = |all: &[Value]| all.iter().filter(|it| it["alert"] != alert).cloned().collect::<Vec<_>>();
        assert_eq!(others(&adjusted), others(&default), "{alert}: {set}");
        let unchanged = ["/for", "/expr", "/labels/severity", "/annotations/summary", "/annotations/description"];
        let before = default.iter().find(|it| it["alert"] == alert).expect("it is rendered");
        for pointer in unchanged.iter().filter(|pointer| **pointer != field) {
            assert_eq!(found.pointer(pointer), before.pointer(pointer), "{alert}: {set}: {pointer}");
        }
    }
}

#[test]
fn each_alert_can_be_disabled() {
    let all = names();
    for name in &all {
        let left = alerts(&format!("@.alerts.{name}.enabled=false"));
        assert_eq!(left.len(), all.len() - 1, "{name}");
        assert!(left.iter().all(|alert| alert["alert"] != name.as_str()), "{name}");
        assert_eq!(alerts(&format!("@.alerts.{name}.enabled=true")).len(), all.len(), "{name}");
    }
    let none = all.iter().map(|name| format!("@.alerts.{name}.enabled=false")).collect::<Vec<_>>();
    assert_eq!(alerts(&none.join(",")), Vec::<Value>::new());
}

#[test]
fn the_values_on_the_page_about_metrics_adjust_the_alerts() {
    let page = include_str!("../../../docs/metrics.md");
    let block = page.split("```").skip(1).step_by(2).find_map(|block| block.strip_prefix("yaml\n")).expect("values");
    let folder = tempfile::tempdir().unwrap();
    let values = folder.path().join("values.yaml");
    std::fs::write(&values, block).unwrap();
    let manifests = helm::manifests(&["--values", values.to_str().unwrap()]);
    let rule = manifests.iter().find(|it| it["kind"] == "PrometheusRule").expect("it is enabled");
    let groups = rule["spec"]["groups"].as_array().expect("a list");
    let alerts: Vec<_> = groups.iter().flat_map(|group| group["rules"].as_array().expect("a list")).collect();
    assert_eq!(alerts.len(), names().len() - 1);
    let stalled = alerts.iter().find(|alert| alert["alert"] == "ConnectResourceStalled").expect("it is rendered");
    assert_eq!((&stalled["for"], &stalled["labels"]["severity"]), (&json!("30m"), &json!("info")));
    let panics = alerts.iter().find(|alert| alert["alert"] == "ConnectOperatorPanics").expect("it is rendered");
    assert!(panics["expr"].as_str().expect("a text").ends_with("> 5"), "{panics}");
}

#[test]
fn labels_of_all_alerts_give_way_to_those_of_one() {
    for alert in alerts("@.additionalRuleLabels.team=a,@.alerts.ConnectOperatorDown.labels.team=b") {
        let expected = if alert["alert"] == "ConnectOperatorDown" { "b" } else { "a" };
        assert_eq!(alert["labels"]["team"], expected, "{alert}");
        assert!(alert["labels"]["severity"].is_string(), "{alert}");
    }
}

#[test]
fn the_schema_names_every_alert() {
    let schema = file("values.schema.json");
    let pointer = "/properties/metrics/properties/prometheusRule/properties/alerts/propertyNames/enum";
    let listed = schema.pointer(pointer).and_then(Value::as_array).expect("a list");
    let listed: BTreeSet<_> = listed.iter().map(|name| name.as_str().unwrap().to_owned()).collect();
    assert_eq!(listed, names().into_iter().collect());
}

#[test]
fn nobody_is_monitored_without_metrics() {
    let set = "metrics.enabled=false,metrics.prometheusRule.enabled=true,metrics.dashboard.enabled=true";
    let kinds: Vec<_> = without_log_filter(set).iter().map(|it| it["kind"].clone()).collect();
    assert!(!kinds.contains(&json!("PrometheusRule")) && !kinds.contains(&json!("ConfigMap")), "{kinds:?}");
}
