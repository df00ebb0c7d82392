//! Kubernetes operator for commercetools Connect.
//!
//! A module may use those before it in this list, never those after it: [`names`], `mutex`, `error_text` · [`crd`] · [`leader`], [`metrics`] ·
//! [`operator`] · [`cli`]. Independent crates are in `crates/`: `clock`, `connect-api`, `dev-server`,
//! `local-control-plane`, and `test-support` for tests.

pub mod cli;
pub mod crd;
mod error_text;
pub mod leader;
pub mod metrics;
mod mutex;
pub mod names;
pub mod operator;
pub mod telemetry;

#[cfg(test)]
use test_support::patience;
