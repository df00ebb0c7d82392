//! Tests that pages cite as evidence exist, most of all in `docs/security.md`.

use std::collections::BTreeSet;
use std::path::Path;

use connect_operator::metrics::families::{ALL, Description};

#[test]
fn every_test_that_a_page_names_exists() {
    let mut tests = BTreeSet::new();
    for folder in ["src", "crates", "tests"] {
        collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &mut tests);
    }
    let (mut named, mut missing) = (0, Vec::new());
    for page in super::book::pages(&Path::new(env!("CARGO_MANIFEST_DIR")).join("docs")) {
        let text = std::fs::read_to_string(&page).unwrap();
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

fn collect(path: &Path, tests: &mut BTreeSet<String>) {
    if path.is_dir() {
        for entry in std::fs::read_dir(path).unwrap() {
            collect(&entry.unwrap().path(), tests);
        }
    } else if path.extension().is_some_and(|end| end == "rs") {
        let text = std::fs::read_to_string(path).unwrap();
        let mut lines = text.lines().map(str::trim);
        while let Some(line) = lines.next() {
            if line == "#[test]" || line.starts_with("#[tokio::test") {
                let name = lines.find_map(|line| line.split_once("fn ")?.1.split('(').next());
                tests.extend(name.map(ToOwned::to_owned));
            }
        }
    }
}
