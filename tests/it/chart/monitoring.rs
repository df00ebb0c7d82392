//! The alerts that the chart renders, and the values on the page about metrics.

use super::renders::only;
use crate::prelude::*;

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
fn the_schema_names_every_alert() {
    let schema = yaml_of(format!("{CHART}/values.schema.json"));
    let pointer = "/properties/metrics/properties/prometheusRule/properties/alerts/propertyNames/enum";
    let listed = schema.pointer(pointer).and_then(Value::as_array).expect("a list");
    let listed: BTreeSet<_> = listed.iter().map(|name| name.as_str().unwrap().to_owned()).collect();
    assert_eq!(listed, names().into_iter().collect());
}
