//! Tests of the table of families, and that remote servers cannot create series.

use std::collections::{BTreeMap, BTreeSet};

use prometheus_client::metrics::MetricType;

use super::families::ALL;
use super::*;

/// Returns metrics with every value recorded once.
fn full() -> Arc<Metrics> {
    let metrics = Metrics::new(Timestamp::UNIX_EPOCH);
    let second = Duration::from_secs(1);
    metrics.leads(true);
    metrics.reconciled("ConnectProject", "Available", second);
    metrics.watch_interrupted("Secret");
    metrics.request("queryDeployments", RequestEnd::Status(200), second);
    metrics.waited(second);
    metrics.throttled();
    metrics.token(TokenEnd::Issued);
    metrics.panicked("ConnectProject");
    metrics.list_refused("ConnectProject", Some("shop"), true);
    metrics
}

/// Samples by name, each with its labels and its value.
fn samples(page: &str) -> Vec<(String, BTreeMap<String, String>, String)> {
    let lines = page.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let (name, value) = line.rsplit_once(' ').expect("a value");
            let (name, labels) = name.split_once('{').unwrap_or((name, "}"));
            let labels = labels.trim_end_matches('}').split(',').filter(|label| !label.is_empty());
            let labels = labels.map(|label| {
                let (key, value) = label.split_once('=').expect("a label");
                (key.to_owned(), value.trim_matches('"').to_owned())
            });
            (name.to_owned(), labels.collect(), value.to_owned())
        })
        .collect()
}

#[test]
fn every_family_of_the_table_is_served_with_its_type_unit_help_and_labels_and_no_other() {
    let page = full().encode();
    assert!(page.ends_with("# EOF\n"));
    let samples = samples(&page);
    for family in ALL {
        let base = family.name.strip_suffix("_total").unwrap_or(family.name);
        assert!(page.contains(&format!("# HELP {base} {}.\n", family.help)), "{}", family.name);
        assert!(page.contains(&format!("# TYPE {base} {}\n", family.metric.as_str())), "{}", family.name);
        let unit = format!("# UNIT {base} {}\n", family.unit);
        assert_eq!(page.contains(&unit), !family.unit.is_empty(), "{}", family.name);
        let names = match family.metric {
            MetricType::Histogram => ["_bucket", "_count", "_sum"].map(|end| format!("{base}{end}")).to_vec(),
            _ => vec![family.name.to_owned()],
        };
        for name in names {
            let mut found = samples.iter().filter(|(found, ..)| *found == name).peekable();
            assert!(found.peek().is_some(), "{name} is not served");
            for (_, labels, _) in found {
                let labels: BTreeSet<_> = labels.keys().map(String::as_str).filter(|label| *label != "le").collect();
                assert_eq!(labels, family.labels.iter().copied().collect(), "{name}");
            }
        }
    }
    assert_eq!(page.matches("# TYPE ").count(), ALL.len());
}

#[test]
fn the_table_is_in_order() {
    for family in ALL {
        assert_eq!(matches!(family.metric, MetricType::Counter), family.name.ends_with("_total"), "{}", family.name);
        assert!(!family.help.ends_with('.'), "{}", family.name);
        let ends = family.name.ends_with(&format!("_{}", family.unit));
        assert!(family.unit.is_empty() || ends, "{} ends with its unit", family.name);
    }
}

#[test]
fn remote_servers_cannot_create_series() {
    let metrics = Metrics::new(Timestamp::UNIX_EPOCH);
    for number in 0..=u16::MAX {
        metrics.request("queryDeployments", RequestEnd::Status(number), Duration::ZERO);
    }
    let samples = samples(&metrics.encode());
    let of = |name: &str| samples.iter().filter(|(found, ..)| found == name).count();
    assert!(of("connect_operator_remote_requests_total") < 80, "{}", of("connect_operator_remote_requests_total"));
    for (status, label) in [(200, "200"), (299, "2xx"), (420, "4xx"), (599, "5xx"), (600, "other"), (0, "other")] {
        assert_eq!(labels::code(RequestEnd::Status(status)), label);
    }
}
