//! Tests that pages cite as evidence exist, most of all in `docs/security.md`.

use connect_operator::metrics::families::{ALL, Description};

use crate::prelude::*;

#[test]
fn every_test_that_a_page_names_exists() {
    let mut tests = BTreeSet::new();
    for file in files(&["src", "crates", "tests"], &["rs"]) {
        let text = text_of(file);
        let mut lines = text.lines().map(str::trim);
        while let Some(line) = lines.next() {
            if line == "#[test]" || line.starts_with("#[tokio::test") {
                let name = lines.find_map(|line| line.split_once("fn ")?.1.split('(').next());
                tests.extend(name.map(ToOwned::to_owned));
            }
        }
    }
    let (mut named, mut missing) = (0, Vec::new());
    for page in files(&["docs"], &["md"]) {
        let text = text_of(&page);
        let prose: String = text.split("```").step_by(2).collect();
        for name in prose.split('`').skip(1).step_by(2).filter(|word| is_name_of_a_test(word)) {
            named += 1;
            if !tests.contains(name) {
                missing.push(format!("{}: {name}", page.display()));
            }
        }
    }
    assert!(named > 40, "{named} tests are named");
    assert_eq!(missing, Vec::<String>::new(), "named, but missing");
}

/// Whether a word consists of several parts joined by underscores: no flag, field or file looks like that, but metrics
/// do.
fn is_name_of_a_test(word: &str) -> bool {
    let is_metric = |family: &Description| word.starts_with(family.name);
    word.matches('_').count() > 2
        && !ALL.iter().any(is_metric)
        // The metrics of each resource.
        && !word.starts_with("kube_")
        && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}
