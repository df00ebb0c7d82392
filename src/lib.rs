//! Kubernetes operator for commercetools Connect.
//!
//! Arrows of `use` point upwards in this list, never down: [`names`], [`clock`] · [`crd`] · [`connect`] ·
//! [`leader`] · [`controllers`] · [`dev_server`] · [`local_cluster`] · [`cli`].

pub mod cli;
pub mod clock;
pub mod connect;
pub mod controllers;
pub mod crd;
pub mod dev_server;
pub mod leader;
#[cfg(feature = "local-cluster")]
pub mod local_cluster;
pub mod metrics;
pub mod names;
#[cfg(test)]
#[path = "../tests/common/patience.rs"]
#[allow(dead_code, reason = "each test binary asks other things of it")]
mod patience;
pub mod telemetry;
