//! `docs/rules.md`: every rule that a comment or a test names is on the page, and every rule has a test.

use crate::prelude::*;

const PAGE: &str = include_str!("../../../docs/rules.md");

#[test]
fn every_rule_that_is_named_is_on_the_page_and_every_rule_has_a_test() {
    let listed: Vec<u32> = PAGE.lines().filter_map(|line| line.split_once(". ")?.0.parse().ok()).collect();
    assert!(listed.is_sorted_by(|one, next| one < next), "rules on the page: {listed:?}");
    let listed: BTreeSet<u32> = listed.into_iter().collect();
    // Those in comments (`rule 3`, `rules 17 to 23`), and in names of tests (`fn rule_3_…`).
    let (mut commented, mut tested) = (BTreeSet::new(), BTreeSet::new());
    for line in files(&["src", "crates", "tests"], &["rs"]).into_iter().map(text_of).collect::<String>().lines() {
        if let Some(name) = line.trim().trim_start_matches("async ").strip_prefix("fn rule") {
            tested.extend(numbers(name.trim_start_matches('s').trim_start_matches('_'), '_'));
            continue;
        }
        let words = line.replace("Rule", "rule");
        for (at, _) in words.match_indices(" rule") {
            let rest = words[at + " rule".len()..].trim_start_matches('s');
            commented.extend(numbers(rest.trim_start_matches(' '), ' '));
        }
    }
    let unknown: Vec<_> = commented.union(&tested).filter(|rule| !listed.contains(rule)).collect();
    assert!(unknown.is_empty(), "named, but not on the page: {unknown:?}");
    let untested: Vec<_> = listed.difference(&tested).copied().collect();
    assert!(untested.is_empty(), "rules that no test names: {untested:?}");
}

/// Returns the numbers with which a text begins: `3`, `17 and 18`, `17, 18 and 19`, `17 to 23`.
fn numbers(text: &str, blank: char) -> Vec<u32> {
    let mut found: Vec<u32> = Vec::new();
    let mut until = false;
    for word in text.split(blank) {
        let digits: String = word.chars().take_while(char::is_ascii_digit).collect();
        match (digits.parse(), word) {
            (Ok(number), _) if until => found.extend(found.last().map_or(number, |last| last + 1)..=number),
            (Ok(number), _) => found.push(number),
            (Err(_), "to") => until = true,
            (Err(_), "and" | ",") => {}
            (Err(_), _) => break,
        }
    }
    found
}
