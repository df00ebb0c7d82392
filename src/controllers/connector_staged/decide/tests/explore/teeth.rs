//! Breaks each rule of the table: the property that depends on it must detect that.

use super::scenarios::{NOTHING, ONE};
use super::{Budget, Rule, Settings, explore};

/// Number of steps that is enough to detect each broken rule.
const ENOUGH: usize = 40_000;

#[test]
fn every_broken_rule_is_detected() {
    let new = |budget| Settings { budget, ..Settings::default() };
    let live = |budget| Settings { live: true, ..new(budget) };
    let lost = Budget { lost: 1, ..NOTHING };
    let previewed = |budget| Settings { previewable: true, ..live(budget) };
    let tag = Budget { tags: 1, ..NOTHING };
    let rows = [
        (Rule::OperationFirst, new(ONE), "FORGOTTEN"),
        (Rule::Calm, new(Budget { deletions: 1, ..lost }), "ORPHAN"),
        (Rule::Answered, previewed(lost), "READY-WRONG"),
        (Rule::OneTag, previewed(tag), "READY-WRONG"),
        (Rule::Publication, Settings { publish: true, ..live(Budget { failures: 1, ..NOTHING }) }, "TWICE"),
        (Rule::Identity, new(Budget { foreign: 1, ..NOTHING }), "STRANGER"),
        (Rule::OldLooks, Settings { lag: true, ..previewed(tag) }, "TWICE"),
    ];
    let mut unnoticed = Vec::new();
    for (rule, settings, property) in rows {
        match explore(Settings { without: Some(rule), ..settings }, ENOUGH) {
            Ok(worlds) => {
                unnoticed.push(format!("without {rule:?}: {property} should break, and holds in {worlds}"));
            }
            Err((found, _)) if found == property => {}
            Err((found, trace)) => {
                unnoticed.push(format!("without {rule:?}: {property} should break, not {found}\n{trace}"));
            }
        }
    }
    assert!(unnoticed.is_empty(), "{}", unnoticed.join("\n"));
}
