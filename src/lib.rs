//! Kubernetes operator for commercetools Connect.
//!
//! Arrows of `use` point upwards in this list, never down: [`names`] · [`crd`] · [`leader`], [`metrics`] · [`controllers`] ·
//! [`cli`]. What stands alone is in `crates/`: `clock`, `connect-api`, `dev-server`, `local-control-plane`.

pub mod cli;
pub mod controllers;
pub mod crd;
pub mod leader;
pub mod metrics;
pub mod names;
#[cfg(test)]
#[path = "../tests/common/patience.rs"]
#[allow(dead_code, reason = "each test binary asks other things of it")]
mod patience;
pub mod telemetry;
