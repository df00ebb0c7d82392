//! What `deny.toml` requires of sources, licences and crates, checked without `cargo deny`, which CI does not install.
//! `just deny` checks more: advisories, yanked crates, and the texts of licences.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use test_support::go_tools::succeed;

/// The registry that cargo, and so `deny.toml`, uses by default.
const STANDARD_REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

fn read(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
}

/// Returns the strings in the list `name` of `deny.toml`.
fn list_of_deny(name: &str) -> BTreeSet<String> {
    let text = read("deny.toml");
    let list = text.split_once(&format!("\n{name} = [")).unwrap().1.split_once("\n]").unwrap().0;
    let lines = list.lines().filter(|line| !line.trim().starts_with('#'));
    lines.filter_map(|line| line.split('"').nth(1)).map(str::to_owned).collect()
}

/// Returns each crate that becomes part of a program of this project on this machine, with its licence. It downloads
/// nothing: the crates of the benchmarks may be missing, because nothing compiles them.
fn crates() -> BTreeSet<String> {
    let mut command = Command::new(env!("CARGO"));
    command.args(["tree", "--quiet", "--locked", "--offline", "--workspace", "--exclude", "connect-operator-benches"]);
    command.args([
        "--all-features",
        "--edges",
        "normal,build",
        "--prefix",
        "none",
        "--no-dedupe",
        "--format",
        "{p}|{l}",
    ]);
    let text = String::from_utf8(succeed(command.current_dir(env!("CARGO_MANIFEST_DIR")))).unwrap();
    text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// Returns whether a licence expression (SPDX) can be fulfilled with these licences.
fn is_fulfilled(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let expression = expression.trim();
    // A slash is the older form of OR.
    for (separators, all) in [(&[" OR ", "/"][..], false), (&[" AND "][..], true)] {
        let parts = outermost_parts(expression, separators);
        if parts.len() > 1 {
            let mut fulfilled = parts.iter().map(|part| is_fulfilled(part, allowed));
            return if all { fulfilled.all(|it| it) } else { fulfilled.any(|it| it) };
        }
    }
    match expression.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')) {
        Some(inner) => is_fulfilled(inner, allowed),
        None => allowed.contains(expression),
    }
}

/// Splits at separators that are not in parentheses.
fn outermost_parts<'a>(text: &'a str, separators: &[&str]) -> Vec<&'a str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0);
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        let separator = separators.iter().find(|separator| depth == 0 && text[at..].starts_with(**separator));
        if let Some(separator) = separator.filter(|_| at >= start) {
            parts.push(&text[start..at]);
            start = at + separator.len();
        }
    }
    parts.push(&text[start..]);
    parts
}

#[test]
fn licence_expressions_are_evaluated() {
    let allowed: BTreeSet<String> = ["MIT", "Apache-2.0 WITH LLVM-exception", "ISC"].map(str::to_owned).into();
    for (expression, expected) in [
        ("MIT", true),
        ("GPL-3.0", false),
        ("", false),
        ("GPL-3.0 OR MIT", true),
        ("GPL-3.0 / MIT", true),
        ("MIT/GPL-3.0", true),
        ("MIT AND GPL-3.0", false),
        ("MIT AND ISC", true),
        ("(MIT OR GPL-3.0) AND ISC", true),
        ("(MIT OR GPL-3.0) AND Zlib", false),
        ("Zlib AND (MIT OR ISC)", false),
        ("MIT OR ISC AND GPL-3.0", true),
        ("Apache-2.0 WITH LLVM-exception", true),
        ("Apache-2.0", false),
    ] {
        assert_eq!(is_fulfilled(expression, &allowed), expected, "{expression}");
    }
}

#[test]
fn every_crate_comes_from_the_standard_registry_with_its_checksum() {
    let deny = read("deny.toml");
    for setting in ["unknown-registry", "unknown-git", "wildcards"] {
        assert!(deny.contains(&format!("\n{setting} = \"deny\"")), "{setting}");
    }
    let lock = read("Cargo.lock");
    let mut from_registry = 0;
    for package in lock.split("\n[[package]]\n").skip(1) {
        let value = |name: &str| package.lines().find_map(|line| line.strip_prefix(&format!("{name} = ")));
        // A crate without a source is one of the workspace.
        let Some(source) = value("source") else { continue };
        assert_eq!(source.trim_matches('"'), STANDARD_REGISTRY, "{package}");
        assert!(value("checksum").is_some_and(|checksum| checksum.len() == 66), "{package}");
        from_registry += 1;
    }
    assert!(from_registry > 100, "{from_registry} crates were found");
}

#[test]
fn licences_are_allowed_and_no_denied_crate_is_used() {
    let (allowed, denied) = (list_of_deny("allow"), list_of_deny("deny"));
    assert!(allowed.contains("MIT") && denied.contains("openssl-sys"), "{allowed:?} {denied:?}");
    let crates = crates();
    assert!(crates.len() > 100, "{} crates were found", crates.len());
    for line in crates {
        let (package, licence) = line.rsplit_once('|').unwrap();
        let name = package.split_whitespace().next().unwrap();
        assert!(!denied.contains(name), "{package} is denied");
        // Crates of the workspace have a path.
        assert!(package.contains(" (/") || is_fulfilled(licence, &allowed), "{package} has {licence}");
    }
}
