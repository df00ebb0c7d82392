//! Kubernetes operator for commercetools Connect.
//!
//! A module may use those before it in this list, never those after it: [`names`] · [`crd`] · [`leader`], [`metrics`] ·
//! [`controllers`] · [`cli`]. Independent crates are in `crates/`: `clock`, `connect-api`, `dev-server`,
//! `local-control-plane`.

pub mod cli;
pub mod controllers;
pub mod crd;
pub mod leader;
pub mod metrics;
pub mod names;
#[cfg(test)]
#[path = "../tests/common/patience.rs"]
#[allow(dead_code, reason = "each test binary uses a different part of it")]
mod patience;
pub mod telemetry;
