//! All tests without a cluster, in one binary.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod architecture;
mod chart;
mod client;
mod commands;
mod contract;
mod controllers;
mod crds;
mod dependencies;
mod described;
mod dev_server;
mod documentation;
mod golden;
mod local_plan;
mod official_client;
mod prelude;
mod release;
mod reliability;
mod repeated_options;
mod secrecy;
mod seen;
mod shell;
mod shells;
mod sources;
mod timeouts;

use test_support::{addresses, helm, patience, tls_listener};
