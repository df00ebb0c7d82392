//! `docs/metrics.md`: every family of metrics, its type and labels, and the metrics of each resource.

use connect_operator::metrics::families::ALL;

use crate::prelude::*;
use crate::seen::resource_metrics::{ResourceMetric, resource_metrics};

#[test]
fn the_page_of_metrics_lists_every_family() {
    let mut table = String::from("| Metric | Type | Labels | Meaning |\n|---|---|---|---|\n");
    for family in ALL {
        let labels: Vec<_> = family.labels.iter().map(|label| format!("`{label}`")).collect();
        let (labels, kind) = (labels.join(", "), family.metric.as_str());
        writeln!(table, "| `{}` | {kind} | {labels} | {} |", family.name, family.help).unwrap();
    }
    assert_golden_parts("docs/metrics.md", &[("families", table), ("resources", resources())]);
}

/// Returns the table of the metrics of each resource: a line for those that several kinds have.
fn resources() -> String {
    let mut table = String::from("| Metric | Kinds | Type | More labels | Meaning |\n|---|---|---|---|---|\n");
    let mut lines: Vec<(String, Vec<String>, ResourceMetric)> = Vec::new();
    for metric in resource_metrics() {
        let name = metric.name.replacen(&metric.kind.to_lowercase(), "KIND", 1);
        match lines.iter_mut().find(|(before, _, first)| *before == name && first.help == metric.help) {
            Some((_, kinds, _)) => kinds.push(metric.kind),
            None => lines.push((name, vec![metric.kind.clone()], metric)),
        }
    }
    for (name, kinds, ResourceMetric { name: own, metric, labels, help, .. }) in lines {
        let name = if kinds.len() == 1 { own } else { name };
        let more = labels.iter().filter(|label| !["namespace", "name"].contains(&label.as_str()));
        let more: Vec<_> = more.map(|label| format!("`{label}`")).collect();
        let kinds = match kinds.len() {
            5 => "all".to_owned(),
            _ => kinds.join(", "),
        };
        writeln!(table, "| `{name}` | {kinds} | {metric} | {} | {help} |", more.join(", ")).unwrap();
    }
    table
}
