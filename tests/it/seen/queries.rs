//! Each metric and label in alerts and dashboard is served by the operator, or by kube-state-metrics with the
//! configuration of the chart; and each alert has its runbook.

use connect_operator::metrics::families::{ALL, Description};
use prometheus_client::metrics::MetricType;

use super::chart;
use super::resource_metrics::{KIND, resource_metrics};
use crate::prelude::*;

/// Labels that scraping adds, and that of the bounds of a histogram.
const OTHER_LABELS: &[&str] = &["job", "instance", "namespace", "le"];

/// Returns the family of a name in a query.
fn family(name: &str) -> Option<&'static Description> {
    ALL.iter().find(|family| match family.metric {
        MetricType::Histogram => {
            ["_bucket", "_sum", "_count"].iter().any(|end| name == format!("{}{end}", family.name))
        }
        _ => name == family.name,
    })
}

/// Returns the names of metrics in an expression.
fn metrics(expression: &str) -> Vec<&str> {
    let words = expression.split(|sign: char| !(sign.is_ascii_alphanumeric() || sign == '_'));
    let ours = |word: &&str| ["connect_operator_", "process_", "kube_"].iter().any(|prefix| word.starts_with(prefix));
    words.filter(ours).collect()
}

/// Returns the names of labels in an expression: those that it matches, and those by which it groups.
fn labels(expression: &str) -> BTreeSet<&str> {
    let matched = expression.split('{').skip(1).filter_map(|rest| rest.split('}').next());
    let matched = matched.flat_map(|inner| inner.split("\",")).filter_map(|one| one.split(['=', '!']).next());
    let grouped = ["by (", "on ("].into_iter().flat_map(|word| expression.split(word).skip(1));
    let grouped = grouped.filter_map(|rest| rest.split(')').next()).flat_map(|inner| inner.split(','));
    matched.chain(grouped).map(str::trim).filter(|label| !label.is_empty()).collect()
}

fn check(what: &str, expression: &str) {
    let names = metrics(expression);
    assert!(!names.is_empty(), "{what} uses no metric: {expression}");
    let of_resources = resource_metrics();
    let mut allowed: BTreeSet<&str> = OTHER_LABELS.iter().copied().collect();
    for name in names {
        if let Some(metric) = of_resources.iter().find(|metric| metric.name == name) {
            allowed.extend(metric.labels.iter().map(String::as_str).chain([KIND]));
        } else {
            allowed.extend(family(name).unwrap_or_else(|| panic!("{what}: {name} is not served")).labels);
        }
    }
    let unknown: Vec<_> = labels(expression).into_iter().filter(|label| !allowed.contains(label)).collect();
    assert!(unknown.is_empty(), "{what}: {unknown:?} in {expression}");
}

/// Returns the alerts of both files.
fn alerts() -> Vec<Value> {
    ["alerts.yaml", "alerts-by-resource.yaml"].into_iter().flat_map(alerts_of).collect()
}

/// Returns the alerts of a file of the chart, with expression and annotations.
pub(super) fn alerts_of(file: &str) -> Vec<Value> {
    let file = yaml_of(chart(file));
    let groups = file["groups"].as_array().expect("groups");
    groups.iter().flat_map(|group| group["rules"].as_array().expect("rules").clone()).collect()
}

#[test]
fn alerts_use_served_metrics_and_each_has_all_annotations_and_a_runbook() {
    let page = include_str!("../../../docs/runbooks.md");
    let runbooks: BTreeMap<_, _> = page.split("\n## ").skip(1).filter_map(|part| part.split_once('\n')).collect();
    let mut names = BTreeSet::new();
    for alert in alerts() {
        let name = alert["alert"].as_str().expect("a name");
        check(name, alert["expr"].as_str().expect("an expression"));
        assert!(alert["for"].is_string(), "{name}");
        assert!(matches!(alert["labels"]["severity"].as_str(), Some("warning" | "critical")), "{name}");
        for annotation in ["summary", "description", "runbook_url"] {
            assert!(
                alert["annotations"][annotation].as_str().is_some_and(|text| text.len() > 10),
                "{name}: {annotation}"
            );
        }
        let heading = format!("docs/runbooks.md#{}", name.to_lowercase());
        assert!(alert["annotations"]["runbook_url"].as_str().unwrap().ends_with(&heading), "{name}");
        let runbook = runbooks.get(name).unwrap_or_else(|| panic!("{name} has no runbook"));
        for part in ["**Impact.**", "**Find out.**", "**Do.**"] {
            assert!(runbook.contains(part), "{name} has no part {part}");
        }
        names.insert(name.to_owned());
    }
    assert!(runbooks.keys().all(|name| names.contains(*name)), "a runbook for each alert, and no other");
}

#[test]
fn the_dashboard_uses_served_metrics_and_shows_every_family() {
    let dashboard = yaml_of(chart("dashboard.json"));
    let mut ids = BTreeSet::new();
    let mut shown = BTreeSet::new();
    for panel in dashboard["panels"].as_array().expect("panels") {
        let title = panel["title"].as_str().expect("a title");
        assert!(ids.insert(panel["id"].as_u64().expect("an id")), "{title}: its id is taken");
        if panel["type"] == "row" {
            continue;
        }
        assert!(panel["description"].as_str().is_some_and(|text| text.len() > 10), "{title} says what it shows");
        assert_eq!(panel["datasource"]["uid"], "${datasource}", "{title}");
        for target in panel["targets"].as_array().expect("queries") {
            let expression = target["expr"].as_str().expect("an expression");
            check(title, expression);
            shown.extend(metrics(expression).into_iter().filter_map(family).map(|family| family.name));
        }
    }
    let missing: Vec<_> = ALL.iter().map(|family| family.name).filter(|name| !shown.contains(name)).collect();
    assert_eq!(missing, Vec::<&str>::new(), "families that no panel shows");
}
