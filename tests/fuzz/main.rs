//! The targets of `fuzz/` on a stable compiler, for a few seconds: first their corpus, then inputs that a seeded
//! mutator derives from it. The seed is fixed, so that a failure is the same on every machine; `FUZZ_SEED` and
//! `FUZZ_RUNS` select another seed or more inputs.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod mutate;
mod targets;

use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use targets::TARGETS;

/// Number of inputs for each target, besides its corpus.
const RUNS: u64 = 1_500;

fn corpus(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files.into_iter().map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().map_or(default, |text| text.parse().expect("a number"))
}

/// Runs a target; a failure prints the input as text that can be put into a file.
fn run(name: &str, target: fn(&[u8]), what: &str, input: &[u8]) {
    let outcome = catch_unwind(|| target(input));
    assert!(outcome.is_ok(), "{name} fails on {what}: b\"{}\"", input.escape_ascii());
}

#[test]
fn whatever_comes_in_nothing_panics_and_what_must_hold_holds() {
    let (seed, runs) = (number("FUZZ_SEED", 1), number("FUZZ_RUNS", RUNS));
    std::thread::scope(|scope| {
        for (name, target) in TARGETS {
            scope.spawn(move || {
                let corpus = corpus(name);
                assert!(!corpus.is_empty(), "{name} has a corpus");
                for (path, input) in &corpus {
                    run(name, *target, &path.display().to_string(), input);
                }
                let inputs: Vec<_> = corpus.into_iter().map(|(_, input)| input).collect();
                let mut mutator = mutate::Mutator::new(seed, inputs);
                for number in 0..runs {
                    run(name, *target, &format!("input {number} of seed {seed}"), &mutator.next());
                }
            });
        }
    });
}

#[test]
fn every_target_has_a_program_for_the_fuzzer() {
    let manifest = include_str!("../../fuzz/Cargo.toml");
    for (name, _) in TARGETS {
        assert!(manifest.contains(&format!("name = \"{name}\"")), "{name} is in fuzz/Cargo.toml");
    }
    assert_eq!(manifest.matches("[[bin]]").count(), TARGETS.len());
}
