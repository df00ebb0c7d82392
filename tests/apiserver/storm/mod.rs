//! The real operator as a separate process, between a real API server and the dev server, while everything that can
//! fail does; then violations are counted. Sizes, seed and how to run it: `CONTRIBUTING.md`.

pub(crate) mod checker;
mod checker_tests;
pub(crate) mod environment;
mod faults;
mod frozen;
mod jumping;
mod killed;
mod leader_killed;
pub(crate) mod life;
pub(crate) mod operator;
mod requested;
pub(crate) mod size;
mod two;
mod watched;

use std::io::Write as _;

/// Prints a text even if the test passes.
fn print(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
