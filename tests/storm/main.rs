//! The real operator as a process of its own, between a real API server and the dev server, while everything that can
//! break does; then it is counted what must not be. Sizes, seed and how to run it: `CONTRIBUTING.md`.
#![cfg(feature = "local-cluster")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(clippy::large_futures, reason = "a test has the room")]

mod backup;
mod cluster;
mod digest_key;
mod faults;
mod frozen;
mod judge;
mod jumping;
mod killed;
mod leader_killed;
mod ledger;
mod life;
mod namespace;
mod operator;
#[path = "../common/patience.rs"]
#[allow(dead_code, reason = "each test binary asks other things of it")]
mod patience;
mod place;
mod size;
mod trial;
mod two;
mod watched;

use std::io::Write as _;

/// Shows a text also of a test that passes.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
