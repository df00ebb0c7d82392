//! `docs/security.md`: what it claims is shown by tests that exist.

use std::collections::BTreeSet;
use std::path::Path;

const PAGE: &str = include_str!("../../../docs/security.md");

#[test]
fn every_test_that_the_page_names_exists() {
    let mut tests = BTreeSet::new();
    for folder in ["src", "tests"] {
        collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &mut tests);
    }
    let prose: String = PAGE.split("```").step_by(2).collect();
    let named: Vec<_> = prose.split('`').skip(1).step_by(2).filter(|word| is_name_of_a_test(word)).collect();
    assert!(named.len() > 30, "{} tests are named", named.len());
    let missing: Vec<_> = named.iter().filter(|name| !tests.contains(**name)).collect();
    assert!(missing.is_empty(), "named, and not there: {missing:?}");
}

/// Words joined by underscores, and several of them: no flag, field or file looks like that.
fn is_name_of_a_test(word: &str) -> bool {
    word.matches('_').count() > 2
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
            if line == "#[test]" || line == "#[tokio::test]" {
                let name = lines.find_map(|line| line.split_once("fn ")?.1.split('(').next());
                tests.extend(name.map(ToOwned::to_owned));
            }
        }
    }
}
