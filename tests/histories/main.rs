//! Histories: the real controllers against a simulated cluster and the dev server's state machine, with everything that
//! can go wrong, in every order. `CONTRIBUTING.md` says how to run and to repeat them.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod cluster;
mod crashes;
mod desired;
mod gate;
mod history;
mod informer;
mod judge;
mod makers;
mod named;
mod operator;
mod people;
mod play;
mod remote;
mod service;
mod settled;
mod simulation;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::thread;

use proptest::test_runner::{Config, FileFailurePersistence, RngSeed, TestCaseError, TestError, TestRunner};

/// Histories of a plain `cargo test`.
const FEW: u32 = 60;
/// Where chance begins, if nothing else is asked for: a test run finds today what it found yesterday.
const SEED: u64 = 1;
/// Threads, whatever the machine has, so that a seed means the same everywhere.
const THREADS: u32 = 4;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{variable} must be a number")))
}

type Counts = Mutex<BTreeMap<String, u64>>;

/// Plays `cases` histories of one seed; the text says what failed, and how to see it again.
fn explore(cases: u32, seed: u64, counts: &Counts) -> Result<(), String> {
    let regressions = Box::new(FileFailurePersistence::Direct("tests/histories/regressions.txt"));
    let config = Config {
        cases,
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: Some(regressions),
        max_shrink_iters: 2_000,
        source_file: Some(file!()),
        ..Config::default()
    };
    let result = TestRunner::new(config).run(&history::histories(), |history| {
        let (played, result) = play::play(&history, false);
        let mut counts = gate::lock(counts);
        for (what, times) in &played.judge.counts {
            *counts.entry(what.clone()).or_default() += times;
        }
        result.map_err(TestCaseError::fail)
    });
    result.map_err(|error| match error {
        TestError::Fail(reason, history) => {
            let told = play::play(&history, true).0.told.join("\n");
            let steps: Vec<String> = history.steps.iter().map(|step| format!("    {step:?}")).collect();
            let steps = steps.join("\n");
            let history::History { order, reading, skew, live, .. } = &history;
            format!("{told}\n\norder {order}, {reading:?}, skew {skew}, live {live:?}\n{steps}\n{reason}\nSeen with HISTORIES_SEED={seed}, and kept in tests/histories/regressions.txt")
        }
        TestError::Abort(reason) => reason.to_string(),
    })
}

#[test]
fn whatever_happens_nothing_is_done_twice_and_nothing_is_forgotten() {
    let cases = number("HISTORIES").and_then(|cases| u32::try_from(cases).ok()).unwrap_or(FEW);
    let seed = number("HISTORIES_SEED").unwrap_or(SEED);
    let share = cases.div_ceil(THREADS);
    let counts = Counts::default();
    let failed: Vec<String> = thread::scope(|scope| {
        let explore = |index| explore(share, seed.wrapping_add(index), &counts);
        let tasks: Vec<_> = (0..u64::from(THREADS)).map(|index| scope.spawn(move || explore(index))).collect();
        tasks.into_iter().filter_map(|task| task.join().unwrap().err()).collect()
    });
    println!("{cases} histories, from seed {seed}: {:#?}", gate::lock(&counts));
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}
