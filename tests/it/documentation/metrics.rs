//! `docs/metrics.md`: every family of metrics, its type, unit and labels.

use std::fmt::Write as _;

use connect_operator::metrics::families::ALL;

use crate::golden::assert_golden_parts;

#[test]
fn the_page_of_metrics_lists_every_family() {
    let mut table = String::from("| Metric | Type | Unit | Labels | What it says |\n|---|---|---|---|---|\n");
    for family in ALL {
        let labels: Vec<_> = family.labels.iter().map(|label| format!("`{label}`")).collect();
        let (labels, kind) = (labels.join(", "), family.metric.as_str());
        writeln!(table, "| `{}` | {kind} | {} | {labels} | {} |", family.name, family.unit, family.help).unwrap();
    }
    assert_golden_parts("docs/metrics.md", &[("families", table)]);
}
