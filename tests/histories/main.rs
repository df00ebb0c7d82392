//! Histories: the real controllers against a simulated cluster and the dev server's state machine, with everything that
//! can go wrong, in every order. `CONTRIBUTING.md` describes how to run and to repeat them.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod allocations;
mod checker;
mod checker_tests;
mod checks;
mod cluster;
mod crashes;
mod desired;
mod frontend;
mod history;
mod informer;
mod interceptor;
mod named;
mod operator;
mod prelude;
mod relists;
mod remote;
mod replay;
mod service;
mod settled;
mod sharing;
mod simulation;
mod staged;
mod users;
mod watches;

use std::fmt;
use std::thread;

use proptest::prelude::Strategy;
use proptest::test_runner::{Config, FileFailurePersistence, RngSeed, TestCaseError, TestError, TestRunner};

use crate::prelude::*;

/// Number of histories in a plain `cargo test`.
const FEW: u32 = 60;
/// The default seed, so that two test runs play the same histories.
const SEED: u64 = 1;
/// Number of threads, whatever the machine has, so that a seed means the same everywhere.
const THREADS: u32 = 4;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{variable} must be a number")))
}

type Counts = Mutex<BTreeMap<String, u64>>;

/// A history of some kind.
trait Replay: fmt::Debug {
    /// Replays it; returns the simulation, and the violation, if any. `logging`: whether to log what happens.
    fn replay(&self, logging: bool) -> (Simulation, Result<(), String>);

    /// Returns its steps, for the report.
    fn description(&self) -> String;
}

/// Plays `cases` histories of one seed; the error describes what failed, and how to repeat it.
fn explore<H: Replay>(
    histories: impl Strategy<Value = H>,
    (cases, seed): (u32, u64),
    kept: &'static str,
    counts: &Counts,
) -> Result<(), String> {
    let config = Config {
        cases,
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(kept))),
        max_shrink_iters: 2_000,
        source_file: Some(file!()),
        ..Config::default()
    };
    let result = TestRunner::new(config).run(&histories, |history| {
        let (simulation, result) = history.replay(false);
        let mut counts = interceptor::lock(counts);
        for (what, times) in &simulation.checker.counts {
            *counts.entry(what.clone()).or_default() += times;
        }
        result.map_err(TestCaseError::fail)
    });
    result.map_err(|error| match error {
        TestError::Fail(reason, history) => {
            let log = history.replay(true).0.log.join("\n");
            let steps = history.description();
            format!("{log}\n\n{steps}\n{reason}\nSeen with HISTORIES_SEED={seed}, and kept in {kept}")
        }
        TestError::Abort(reason) => reason.to_string(),
    })
}

/// Plays as many as requested, from several seeds at once.
fn explore_all<H: Replay, S: Strategy<Value = H>>(histories: impl Fn() -> S + Sync, kept: &'static str) {
    let cases = number("HISTORIES").and_then(|cases| u32::try_from(cases).ok()).unwrap_or(FEW);
    let seed = number("HISTORIES_SEED").unwrap_or(SEED);
    let share = cases.div_ceil(THREADS);
    let counts = Counts::default();
    println!("{cases} histories, from seed {seed}");
    let failed: Vec<String> = thread::scope(|scope| {
        let explore = |index| explore(histories(), (share, seed.wrapping_add(index)), kept, &counts);
        let tasks: Vec<_> = (0..u64::from(THREADS)).map(|index| scope.spawn(move || explore(index))).collect();
        tasks.into_iter().filter_map(|task| task.join().unwrap().err()).collect()
    });
    println!("{:#?}", interceptor::lock(&counts));
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

#[test]
fn whatever_happens_nothing_is_done_twice_and_nothing_is_forgotten() {
    explore_all(history::histories, "tests/histories/regressions.txt");
}

#[test]
fn whatever_happens_no_connector_is_previewed_or_published_twice() {
    explore_all(staged::random::staged_histories, "tests/histories/regressions-staged.txt");
}
