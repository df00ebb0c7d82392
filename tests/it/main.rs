//! All tests without a cluster, in one binary.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod architecture;
mod bench;
mod chart;
mod client;
mod commands;
mod contract;
mod controllers;
mod crds;
mod described;
mod dev_server;
mod documentation;
#[path = "../common/go_tools.rs"]
#[allow(dead_code, reason = "each test binary uses other parts of it")]
mod go_tools;
mod golden;
#[path = "../common/helm.rs"]
mod helm;
mod hostile_checks;
mod official_client;
#[path = "../common/patience.rs"]
#[allow(dead_code, reason = "each test binary uses other parts of it")]
mod patience;
mod reliability;
mod secrecy;
mod seen;
mod shell;
mod sources;
mod timeouts;
#[path = "../common/tls_listener.rs"]
mod tls_listener;
